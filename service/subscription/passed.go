package subscription

import "slices"

// passed is a set of numbers from 1, most of which are the first ones.
type passed struct {
	all   uint64 // 1 to all
	spans []span // further ones, ordered, with gaps before them
}

// span is the numbers from and to, and those between them.
type span struct{ from, to uint64 }

func (p *passed) has(n uint64) bool {
	if n <= p.all {
		return true
	}
	at, found := slices.BinarySearchFunc(p.spans, n, func(s span, n uint64) int {
		switch {
		case s.to < n:
			return -1
		case s.from > n:
			return 1
		}
		return 0
	})
	return found && at < len(p.spans)
}

// add adds the numbers of a span.
func (p *passed) add(s span) {
	if s.to < s.from || s.to <= p.all {
		return
	}
	s.from = max(s.from, p.all+1)
	// The spans that touch it become one with it.
	from, _ := slices.BinarySearchFunc(p.spans, s.from, func(t span, n uint64) int {
		if t.to+1 < n {
			return -1
		}
		return 1
	})
	to := from
	for ; to < len(p.spans) && p.spans[to].from <= s.to+1; to++ {
		s.from, s.to = min(s.from, p.spans[to].from), max(s.to, p.spans[to].to)
	}
	p.spans = slices.Replace(p.spans, from, to, s)
	if first := p.spans[0]; first.from == p.all+1 {
		p.all = first.to
		p.spans = slices.Delete(p.spans, 0, 1)
	}
}
