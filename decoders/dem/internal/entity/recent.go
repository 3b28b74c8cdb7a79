package entity

import (
	"math"

	"github.com/replayd/replayd/decoders/bits"
)

// recent remembers lists of paths that updates began with, and the nodes that the paths lead to. Entities of a class change the
// same fields again and again: of a thousand lists of a game, all but three were read before. The code of a list ends itself, so
// the bits of an update begin with a list exactly if they begin with the bits of the list.
//
// Lists are kept in sets of two, which the class and the first bits select. Short lists have separate sets, which fewer bits
// select. A list with still fewer bits may be in several sets. There are few sets until many lists were kept: a stream of few classes takes no
// more. The zero value is empty.
type recent struct {
	short, long [][2]List // of one length, a power of 2; empty until the first list is kept
	shift       int       // 64 without the bits of a set's number
	kept        int       // the number of lists since they have that length
	nodes       []*Node   // memory for lists' nodes
	last        List      // which was too long
}

// List is a list of paths of a class. It takes 64 bytes, one cache line.
type List struct {
	class    *Class
	replaced uint32  // how often nodes of the class had been replaced when the list was kept
	cells    int32   // see Plain
	bits     uint64  // its first bits, below which are zeros
	more     uint64  // the bits after them
	Nodes    []*Node // to which the paths lead
	Size     int32   // the number of its bits
	shift    uint8   // how many of a word's bits are not among the first
	Wanted   bool    // a field that the paths lead to is delivered, or the place that it is part of; or there is no path
}

// Plain reports whether each value lies in a cell that the state has, and no other value depends on it.
func (e *List) Plain(s *State) bool { return int(e.cells) <= len(s.Cells) }

const (
	firstBits = 6            // bits of a set's number at first
	mostBits  = 10           // the most of them
	shortBits = 12           // bits that select the set of a short list
	longBits  = 40           // bits that select the set of a long list; lists with fewer bits are short
	peekBits  = 57           // bits that bits.Reader.Peek returns
	maxBits   = 2 * peekBits // the most bits of a kept list
	maxPaths  = 32           // the most paths of a kept list
)

// setOf returns the number of the set for a class and the first bits of w. All of these change the highest bits of the product.
func (l *recent) setOf(c *Class, w uint64, first int) uint64 {
	const mix = 0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio
	return (w&(1<<first-1) | uint64(c.Id)<<longBits) * mix >> (l.shift & 63)
}

// find returns the class's list with which the next bits of r begin, or nil. It is valid until the next call.
func (l *recent) find(c *Class, r *bits.Reader) *List {
	if len(l.short) == 0 {
		return nil
	}
	w := r.Peek()
	set := &l.short[l.setOf(c, w, shortBits)]
	if set[0].begins(c, w) {
		return &set[0]
	}
	if set[1].begins(c, w) {
		set[0], set[1] = set[1], set[0]
		return &set[0]
	}
	set = &l.long[l.setOf(c, w, longBits)]
	if set[0].begins(c, w) && set[0].ends(r) {
		return &set[0]
	}
	if set[1].begins(c, w) && set[1].ends(r) {
		set[0], set[1] = set[1], set[0]
		return &set[0]
	}
	return nil
}

// begins reports whether w begins with the first bits of the list, and the list belongs to the class.
func (e *List) begins(c *Class, w uint64) bool {
	return w<<(e.shift&63) == e.bits && e.class == c && e.replaced == c.replaced
}

// ends reports whether the bits at r, which begin with the list's first bits, continue with its other bits.
func (e *List) ends(r *bits.Reader) bool {
	return e.Size <= peekBits || behind(*r, int(e.Size)) == e.more
}

// behind returns the bits of a list at r, of size bits, after its first bits.
func behind(r bits.Reader, size int) uint64 {
	r.Skip(peekBits)
	return r.Peek() & (1<<(size-peekBits) - 1)
}

// keep remembers a list of size bits at r, which leads to nodes, and returns it. It replaces the less recently used list of the set. A list
// that is too long is remembered only until the next one.
func (l *recent) keep(c *Class, r bits.Reader, size int, nodes []*Node) *List {
	if size > maxBits || len(nodes) > maxPaths {
		l.last.Nodes, l.last.Size = nodes, int32(size)
		l.last.describe(c)
		return &l.last
	}
	if l.kept >= 2*len(l.short) && l.shift != 64-mostBits { // the lists so far are read once more
		number := firstBits
		if len(l.short) > 0 {
			number = 64 - l.shift + 2
		}
		l.short, l.long = emptied(l.short, 1<<number), emptied(l.long, 1<<number)
		l.shift, l.kept = 64-number, 0
	}
	l.kept++
	w := r.Peek()
	set := &l.short[l.setOf(c, w, shortBits)]
	if size >= longBits {
		set = &l.long[l.setOf(c, w, longBits)]
	}
	set[0], set[1] = set[1], set[0]
	e := &set[0]
	if len(nodes) > cap(e.Nodes) {
		if len(nodes) > len(l.nodes) {
			l.nodes = make([]*Node, 1024)
		}
		e.Nodes, l.nodes = l.nodes[:0:len(nodes)], l.nodes[len(nodes):]
	}
	e.Nodes = append(e.Nodes[:0], nodes...)
	e.describe(c)
	e.class, e.replaced, e.Size, e.shift = c, c.replaced, int32(size), uint8(64-min(size, peekBits))
	e.bits = w << e.shift
	if size > peekBits {
		e.more = behind(r, size)
	}
	return e
}

// describe derives what is known of a list from its nodes.
func (e *List) describe(c *Class) {
	e.Wanted, e.cells = len(e.Nodes) == 0, 0
	for _, n := range e.Nodes {
		e.Wanted = e.Wanted || c.Wants(n) || n.Body && c.PlaceWanted
		if e.cells = max(e.cells, n.Cell+1); !n.Codec.Plain() {
			e.cells = math.MaxInt32
		}
	}
}

// emptied returns n empty sets, in the memory of others if they fit.
func emptied(sets [][2]List, n int) [][2]List {
	clear(sets)
	if n > cap(sets) {
		return make([][2]List, n)
	}
	return sets[:n]
}

// clear empties the sets, and keeps their memory.
func (l *recent) clear() { *l = recent{short: emptied(l.short, 0), long: emptied(l.long, 0)} }
