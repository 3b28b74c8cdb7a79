package index

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"
	"time"
)

// rank is the place of a replay in an order other than that by name: the largest value first, then by name.
type rank struct {
	value int64
	name  string
}

// rankOf returns the rank of an entry.
func rankOf(e *Entry, o Order) rank {
	switch o {
	case ByName:
	case Newest:
		if e.Started.IsZero() {
			return rank{e.Modified.UnixNano(), e.Name}
		}
		return rank{e.Started.UnixNano(), e.Name}
	case Longest:
		return rank{int64(e.Duration()), e.Name}
	case Largest:
		return rank{e.Size, e.Name}
	}
	return rank{0, e.Name}
}

func (r rank) compare(other rank) int {
	if c := cmp.Compare(other.value, r.value); c != 0 {
		return c
	}
	return cmp.Compare(r.name, other.name)
}

// token returns the rank as the place in a page token.
func (r rank) token() string {
	return string(binary.BigEndian.AppendUint64(nil, uint64(r.value))) + r.name
}

// rankAt returns the rank of a page token's place.
func rankAt(place string) (rank, error) {
	if len(place) < 8 {
		return rank{}, ErrToken
	}
	return rank{int64(binary.BigEndian.Uint64([]byte(place))), place[8:]}, nil
}

// ranked collects the replays of a page in an order other than that by name. It looks at all files that the index knows, and keeps
// few more than the page has.
func (x *Index) ranked(ctx context.Context, q *Query, after string, size int, now time.Time) (Page, error) {
	var from rank
	if after != "" {
		var err error
		if from, err = rankAt(after); err != nil {
			return Page{}, err
		}
	}
	type placed struct {
		rank
		entry *Entry
	}
	var page Page
	var best []placed
	compare := func(a, b placed) int { return a.compare(b.rank) }
	wanted := newWanted(&q.Filter)
	for at := ""; ; {
		entries := x.next(at, q.Dir)
		if len(entries) == 0 {
			break
		}
		if ctx.Err() != nil {
			return Page{}, ctx.Err()
		}
		at = entries[len(entries)-1].Name
		for _, e := range entries {
			if !q.Scope.has(e.Name) || !x.matches(e, q, wanted, now) {
				continue
			}
			page.Matching++
			if r := rankOf(e, q.Order); after == "" || r.compare(from) > 0 {
				best = append(best, placed{r, e})
			}
		}
		if len(best) > 4*(size+chunk) {
			slices.SortFunc(best, compare)
			best = best[:size+1]
		}
	}
	slices.SortFunc(best, compare)
	if len(best) > size {
		best = best[:size]
		page.Next = makeToken(best[size-1].token(), q)
	}
	for _, p := range best {
		page.Replays = append(page.Replays, p.entry)
	}
	return page, nil
}
