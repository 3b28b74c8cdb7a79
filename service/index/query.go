package index

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
	"unique"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/replay/cursor"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/catalog"
)

// Query describes the replays to find.
type Query struct {
	// Scope holds the roots that the caller may see.
	Scope Scope
	// Dir is the directory to search, with all directories below it. Empty means all roots.
	Dir string
	// Formats are the formats to find; none means all.
	Formats []decoders.Format
	// Filter holds further conditions.
	Filter Filter
	// Order is the order of the replays.
	Order Order
}

// Order is an order of replays. The API's ReplayOrder has the same names, but for ByName.
type Order uint8

// The orders. Replays that are equal by the others are ordered by name.
const (
	ByName  Order = iota
	Newest        // by start, or by last write where that is not known
	Longest       // those whose length is not known come last
	Largest       // by size of the file
)

var orderNames = [...]string{ByName: "unspecified", Newest: "newest", Longest: "longest", Largest: "largest"}

// Orders returns all orders.
func Orders() []Order { return []Order{ByName, Newest, Longest, Largest} }

// String returns the order's name in the API.
func (o Order) String() string { return orderNames[o] }

// facts reports whether a query needs facts of headers.
func (q *Query) facts() bool { return q.Filter.facts() || q.Order != ByName }

// Filter holds the conditions that a replay must meet. A zero field is no condition. Texts are patterns, in which * stands for
// any characters and ? for one. Case does not matter.
type Filter struct {
	Map, Server, Player string
	// Text has words, each of which is in the replay's name, its map's, its server's, or a player's. It is no pattern.
	Text string
	// From and Until bound the start time of the recording, both included.
	From, Until time.Time
	// States are the states to find; none means all.
	States []State
}

// facts reports whether the filter needs facts of the header.
func (f *Filter) facts() bool {
	return f.Map != "" || f.Server != "" || f.Player != "" || f.Text != "" || !f.From.IsZero() || !f.Until.IsZero()
}

// Page is a part of a query's result.
type Page struct {
	Replays []*Entry
	Next    string // the token of the next page, empty on the last
	// Total is the number of files to search. Searched is the number of files known well enough to decide.
	Total, Searched int
	// Matching is the number of replays on all pages. It is counted for all orders but ByName.
	Matching int
}

// ErrToken means that a page token is invalid, or belongs to another query.
var ErrToken = catalog.ErrToken

// List returns up to size replays. The token is the previous page's Next, or empty for the first page.
func (x *Index) List(ctx context.Context, q Query, token string, size int) (Page, error) {
	after, err := parseToken(token, &q)
	if err != nil {
		return Page{}, err
	}
	if err := x.CheckDirectory(ctx, q.Dir, q.Scope); err != nil {
		return Page{}, err
	}
	if err := x.refresh(ctx, q.Dir, q.Scope); err != nil {
		return Page{}, err
	}
	now := time.Now()
	collect := x.page
	if q.Order != ByName {
		collect = x.ranked
	}
	page, err := collect(ctx, &q, after, size, now)
	if err != nil {
		return Page{}, err
	}
	for i, e := range page.Replays {
		if x.mayGrow(e) && now.Sub(e.Modified) < quiet { // its entry may be a second old
			if _, _, err := x.look(e.Name); err == nil && x.get(e.Name) != nil {
				page.Replays[i] = x.get(e.Name)
			}
		}
	}
	if q.facts() || len(q.Filter.States) > 0 {
		page.Total, page.Searched = x.coverage(&q)
	}
	return page, nil
}

// page collects the replays of a page in the order of their names.
func (x *Index) page(ctx context.Context, q *Query, after string, size int, now time.Time) (Page, error) {
	var page Page
	wanted := newWanted(&q.Filter)
	for at := after; ; {
		entries := x.next(at, q.Dir)
		if len(entries) == 0 {
			return page, nil
		}
		at = entries[len(entries)-1].Name
		for _, e := range entries {
			if !q.Scope.has(e.Name) {
				continue
			}
			if !q.facts() {
				if e = x.identify(ctx, e); ctx.Err() != nil {
					return Page{}, ctx.Err()
				}
			}
			if e == nil || !x.matches(e, q, wanted, now) {
				continue
			}
			if len(page.Replays) == size {
				page.Next = makeToken(page.Replays[size-1].Name, q)
				return page, nil
			}
			page.Replays = append(page.Replays, e)
		}
	}
}

// chunk is the number of entries collected while the index is locked once.
const chunk = 256

// CheckDirectory returns an error if a directory cannot be listed. No name means all roots.
func (x *Index) CheckDirectory(ctx context.Context, name string, scope Scope) error {
	if name == "" {
		return nil
	}
	if err := x.ready(ctx, name, scope); err != nil {
		return err
	}
	if !scope.has(name) {
		return notFound(name)
	}
	if x.listed(name) {
		return x.listedDirectory(name)
	}
	_, dir, err := x.Files.Look(name)
	switch {
	case errors.Is(err, catalog.ErrNotFound) && !strings.Contains(name, "/") && x.isRoot(name):
		return nil // a root may be missing for a while
	case err != nil:
		return err
	case !dir:
		return catalog.NotDirectory(name)
	}
	return nil
}

// listedDirectory is like directory, below a root that is listed. Requests do not ask that root.
func (x *Index) listedDirectory(name string) error {
	x.mu.RLock()
	defer x.mu.RUnlock()
	file, _ := x.files.Get(name)
	switch state := x.of(name); {
	case state.failed != nil && x.dirs[root(name)].read.IsZero(): // it was never listed
		return state.failed
	case file != nil:
		return catalog.NotDirectory(name)
	case x.dirs[name] == nil:
		return notFound(name)
	}
	return nil
}

func notFound(name string) error { return catalog.NotFound(name) }

func (x *Index) isRoot(name string) bool {
	return slices.ContainsFunc(x.Files.Roots(), func(r catalog.Root) bool { return r.Alias == name })
}

// next returns the first files, a chunk at most, below a directory whose names sort after another name.
func (x *Index) next(after, dir string) []*Entry {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if below := dir + "/"; dir != "" && after < below {
		after = below
	}
	var found []*Entry
	x.files.Ascend(after, func(name string, e *Entry) bool {
		if name == after {
			return true
		}
		if dir != "" && !strings.HasPrefix(name, dir+"/") {
			return false
		}
		found = append(found, e)
		return len(found) < chunk
	})
	return found
}

// matches reports whether a file is a replay that matches the query.
func (x *Index) matches(e *Entry, q *Query, wanted *wanted, now time.Time) bool {
	f := &q.Filter
	switch {
	case e.Format == decoders.Unknown, len(q.Formats) > 0 && !slices.Contains(q.Formats, e.Format):
		return false
	case f.Map != "" && !wanted.mapName.match(e.MapName), f.Server != "" && !wanted.server.match(e.Server):
		return false
	case !f.From.IsZero() && e.Started.Before(f.From), !f.Until.IsZero() && (e.Started.IsZero() || e.Started.After(f.Until)):
		return false
	case len(f.States) > 0 && !slices.Contains(f.States, x.StateOf(e, now)):
		return false
	}
	return (f.Player == "" || e.hasPlayer(wanted.player.match)) && wanted.words(e)
}

// hasPlayer reports whether a player of the replay has a name that matches.
func (e *Entry) hasPlayer(match func(string) bool) bool {
	return slices.ContainsFunc(e.Players(), match) || e.Survey != nil &&
		slices.ContainsFunc(e.Survey.names, func(name unique.Handle[string]) bool { return match(name.Value()) })
}

// coverage returns the number of files to search, and the number of files known well enough to decide.
func (x *Index) coverage(q *Query) (total, searched int) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	deep := q.Filter.Player != "" || q.Filter.Text != "" || len(q.Filter.States) > 0
	x.files.Scan(func(_ string, e *Entry) bool {
		switch codec := x.Codec(e.Format); {
		case !q.Scope.has(e.Name) || q.Dir != "" && !strings.HasPrefix(e.Name, q.Dir+"/"):
		case e.Identified && (e.Format == decoders.Unknown || len(q.Formats) > 0 && !slices.Contains(q.Formats, e.Format)):
		case e.Identified && (!deep || codec == nil || codec.Survey == nil || e.Survey != nil || e.Identity == ""):
			searched++
			total++
		default:
			total++
		}
		return true
	})
	return total, searched
}

// StateOf returns the state of a replay. It is the same for every caller that may see the replay.
func (x *Index) StateOf(e *Entry, now time.Time) State {
	succeeded := e.Identity != "" && len(x.Family(e.Name, Everything()).After(e.Identity)) > 0
	return e.state(x.Codec(e.Format), succeeded, now)
}

// Get returns the present entry of a name. It returns the catalogue's errors if the name is not a file or is out of scope.
func (x *Index) Get(ctx context.Context, name string, scope Scope) (*Entry, error) {
	if !scope.has(name) {
		return nil, notFound(name)
	}
	for range 3 { // the file may change meanwhile
		f, dir, err := x.look(name)
		switch {
		case err != nil:
			return nil, err
		case dir:
			return nil, catalog.IsDirectory(name)
		}
		if err := x.ready(ctx, name, scope); err != nil {
			return nil, err
		}
		if !x.knows(ctx, dirOf(name)) { // the file is reached through a link, or lies too deep
			e := newEntry(&f)
			if err := x.describe(ctx, e); err != nil {
				return nil, err
			}
			e.Identified = true
			return e, nil
		}
		if known := x.get(name); known != nil {
			if e := x.identify(ctx, known); e != nil {
				return e, nil
			}
		}
	}
	return nil, notFound(name)
}

// InDirectory returns the present entries of the files in a directory, without those in directories below it.
func (x *Index) InDirectory(ctx context.Context, dir string, scope Scope) ([]*Entry, error) {
	if !scope.has(dir) {
		return nil, notFound(dir)
	}
	if err := x.ready(ctx, dir, scope); err != nil {
		return nil, err
	}
	if x.knows(ctx, dir) {
		x.freshen(ctx, dir)
	}
	x.mu.RLock()
	list := slices.Collect(x.in(dir))
	x.mu.RUnlock()
	all := list[:0]
	for _, e := range list {
		if e = x.identify(ctx, e); e != nil {
			all = append(all, e)
		}
	}
	return all, ctx.Err()
}

// Maps returns the files of that size, in bytes, that are maps, or whose beginnings were not read yet: first those in the root of a
// replay, then the others in the order of their names. It reads nothing. Who takes one for a map compares its checksum.
func (x *Index) Maps(size int64, of string, scope Scope) []*Entry {
	x.mu.RLock()
	list := slices.DeleteFunc(x.byMapSize.find(strconv.FormatInt(size, 10)), func(e *Entry) bool { return !scope.has(e.Name) })
	x.mu.RUnlock()
	slices.SortFunc(list, func(a, b *Entry) int {
		if own := root(a.Name) == root(of); own != (root(b.Name) == root(of)) {
			if own {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
	return list
}

// mapSize returns the size of a file that may be a game's map, as a text, and an empty text for other files.
func mapSize(e *Entry) string {
	if e.Identified && e.Format != decoders.Datafile || e.Compression != source.Plain {
		return ""
	}
	return strconv.FormatInt(e.Size, 10)
}

const (
	// maxWalks is how often a root is searched for a file while its directories change.
	maxWalks = 500
	// betweenWalks is the pause between two searches.
	betweenWalks = 2 * time.Millisecond
	// maxUnread is how often reading an unchanged file is tried. Reading fails while the file is being written to.
	maxUnread = 3
)

// OfFile returns the present entry of a file in the family's root, whatever its name was before, or nil. The file may be moved
// during the search, so OfFile returns nil only when no directory changed meanwhile.
func (f Family) OfFile(ctx context.Context, id source.ID, identity string) *Entry {
	x := f.x
	state := x.roots[f.alias]
	if state == nil {
		return nil
	}
	for walk, unread := 0, 0; walk < maxWalks && unread < maxUnread; walk++ {
		before := state.reads.Load()
		if x.refresh(ctx, f.alias, f.scope) != nil {
			return nil
		}
		changed := state.reads.Load() != before // in this search or another goroutine
		e := f.ofID(id)
		if e == nil && !changed {
			return nil
		}
		if e != nil {
			switch e = x.identify(ctx, e); {
			case e != nil && e.Identity == identity:
				return e
			case e != nil && e.Identified:
				return nil // the inode now belongs to another file
			case !changed:
				unread++
			}
		}
		select {
		case <-time.After(betweenWalks):
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

// ofID returns the entry of a file in the family's root, or nil.
func (f Family) ofID(id source.ID) *Entry {
	x := f.x
	x.mu.RLock()
	defer x.mu.RUnlock()
	last := x.at(f.alias, id)
	if last == nil {
		return nil
	}
	if now, _ := x.files.Get(last.Name); now != nil && now.ID == id && f.Has(now.Name) {
		return now
	}
	// It may have other names.
	for e := range x.below(f.alias) {
		if e.ID == id && f.Has(e.Name) {
			return e
		}
	}
	return nil
}

// OfCursor returns a file that holds the replay of a cursor, or nil. It looks in the family's root first, and reads new files
// there. In other roots it uses only what the index knows.
func (f Family) OfCursor(ctx context.Context, at cursor.Cursor) (*Entry, error) {
	if f.x == nil || !f.scope.has(f.alias) {
		return nil, nil
	}
	if err := f.x.refresh(ctx, f.alias, f.scope); err != nil {
		return nil, err
	}
	identify := func(e *Entry) *Entry { return f.x.identify(ctx, e) }
	if found := f.cursorIn(ctx, f.alias, at, identify); found != nil || ctx.Err() != nil {
		return found, ctx.Err()
	}
	for alias := range f.x.roots {
		if alias == f.alias {
			continue
		}
		if found := f.cursorIn(ctx, alias, at, func(e *Entry) *Entry { return e }); found != nil {
			return found, nil
		}
	}
	return nil, ctx.Err()
}

// cursorIn returns a file of the family in a root that holds the replay of a cursor, or nil.
func (f Family) cursorIn(ctx context.Context, alias string, at cursor.Cursor, identify func(*Entry) *Entry) *Entry {
	var found *Entry
	for name := ""; ; {
		entries := f.x.next(name, alias)
		if len(entries) == 0 {
			return found
		}
		name = entries[len(entries)-1].Name
		for _, e := range entries {
			if !f.Has(e.Name) {
				continue
			}
			if e = identify(e); ctx.Err() != nil {
				return nil
			}
			if e == nil || e.Identity == "" || e.Format != at.Format || cursor.HashOf(e.Identity) != at.Replay {
				continue
			}
			if found == nil || e.Growable() && !found.Growable() {
				found = e
			}
		}
	}
}

// wanted is what a query wants of texts: patterns, and words.
type wanted struct {
	mapName, server, player pattern

	each   []string
	inName []map[string]bool // for each word, the names of players that it was looked for in
}

func newWanted(f *Filter) *wanted {
	w := &wanted{mapName: newPattern(f.Map), server: newPattern(f.Server), player: newPattern(f.Player), each: strings.Fields(strings.ToLower(f.Text))}
	for range w.each {
		w.inName = append(w.inName, map[string]bool{})
	}
	return w
}

// words reports whether each word is in a text of the replay.
func (w *wanted) words(e *Entry) bool {
	if len(w.each) == 0 {
		return true
	}
	all := strings.ToLower(strings.Join([]string{e.Name, e.MapName, e.Server}, "\n"))
	for i, word := range w.each {
		if strings.Contains(all, word) {
			continue
		}
		known := w.inName[i]
		if !e.hasPlayer(func(name string) bool {
			is, ok := known[name]
			if !ok {
				is = strings.Contains(strings.ToLower(name), word)
				known[name] = is
			}
			return is
		}) {
			return false
		}
	}
	return true
}

// pattern is a pattern in lower case.
type pattern []rune

func newPattern(text string) pattern { return []rune(strings.ToLower(text)) }

// match reports whether a text matches. It allocates nothing: a search asks each of a million texts.
func (p pattern) match(text string) bool {
	star, mark := -1, 0 // behind the last * that was met, and where what it stands for ends
	i := 0
	for j := 0; j < len(text); {
		r, size := utf8.DecodeRuneInString(text[j:])
		switch {
		case i < len(p) && p[i] == '*':
			i++
			star, mark = i, j
		case i < len(p) && (p[i] == '?' || p[i] == unicode.ToLower(r)):
			i++
			j += size
		case star >= 0:
			_, size = utf8.DecodeRuneInString(text[mark:])
			mark += size
			i, j = star, mark
		default:
			return false
		}
	}
	for i < len(p) && p[i] == '*' {
		i++
	}
	return i == len(p)
}

// A token consists of tokenTag bytes that identify the query, and the place of the last replay of the previous page: its name, or its rank.
const tokenTag = 6

func tagOf(q *Query) []byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %v %q %q %q %q %v %v %v %v", q.Dir, q.Formats, q.Filter.Map, q.Filter.Server,
		q.Filter.Player, q.Filter.Text, q.Order, q.Filter.From.UnixNano(), q.Filter.Until.UnixNano(), q.Filter.States))
	return sum[:tokenTag]
}

func makeToken(after string, q *Query) string {
	return base64.RawURLEncoding.EncodeToString(append(tagOf(q), after...))
}

func parseToken(token string, q *Query) (string, error) {
	if token == "" {
		return "", nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(raw) <= tokenTag || !slices.Equal(raw[:tokenTag], tagOf(q)) {
		return "", ErrToken
	}
	return string(raw[tokenTag:]), nil
}
