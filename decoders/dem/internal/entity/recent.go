package entity

import "github.com/replayd/replayd/decoders/bits"

// recent remembers lists of paths that updates began with, and the nodes that the paths lead to. Entities of a class change the
// same fields again and again: of a thousand lists of a game, all but three were read before. The code of a list ends itself, so
// the bits of an update begin with a list exactly if they begin with the bits of the list.
//
// The lists are in sets of two, found by the class and the first bits. Short lists have sets of their own, found by fewer bits. A
// list that has fewer bits than these may be in several sets. The zero value is empty.
type recent struct {
	short, long [][2]list // nil until the first list is kept
}

// list is a list of paths of a class. It takes 64 bytes, one cache line.
type list struct {
	class    *Class
	replaced uint32 // what the class's was
	size     uint8  // in bits
	wanted   bool   // a field that the paths lead to is delivered, or the place that it is part of
	bits     uint64 // the first ones
	mask     uint64 // of those
	more     uint64 // bits behind them
	nodes    []*Node
}

const (
	setBits   = 10           // of the number of a set
	shortBits = 12           // of a list, of those that find the set of a short one
	longBits  = 40           // ... of a long one; shorter lists are short
	peekBits  = 57           // that bits.Reader.Peek returns
	maxBits   = 2 * peekBits // of a list that is kept
	maxPaths  = 32           // of a list that is kept
)

// setOf returns the number of the set for a list of a class that the bits of w begin with, by its first bits.
func setOf(c *Class, w uint64, first int) uint64 {
	const mix = 0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio
	return (w&(1<<first-1) | uint64(c.Id)<<longBits) * mix >> (64 - setBits)
}

// find returns the list of a class that the next bits of r begin with, or nil. It is valid until the next call.
func (l *recent) find(c *Class, r *bits.Reader) *list {
	if l.short == nil {
		return nil
	}
	w := r.Peek()
	set := &l.short[setOf(c, w, shortBits)]
	if set[0].begins(c, w) {
		return &set[0]
	}
	if set[1].begins(c, w) {
		set[0], set[1] = set[1], set[0]
		return &set[0]
	}
	set = &l.long[setOf(c, w, longBits)]
	if set[0].begins(c, w) && set[0].ends(r) {
		return &set[0]
	}
	if set[1].begins(c, w) && set[1].ends(r) {
		set[0], set[1] = set[1], set[0]
		return &set[0]
	}
	return nil
}

// begins reports whether the bits of w begin with the first bits of the list, of a class.
func (e *list) begins(c *Class, w uint64) bool {
	return w&e.mask == e.bits && e.class == c && e.replaced == c.replaced
}

// ends reports whether the bits that r is at, which begin with the first bits of the list, go on with the others.
func (e *list) ends(r *bits.Reader) bool {
	return e.size <= peekBits || behind(*r, int(e.size)) == e.more
}

// behind returns the bits of a list that r is at, of size bits, behind the first ones.
func behind(r bits.Reader, size int) uint64 {
	r.Skip(peekBits)
	return r.Peek() & (1<<(size-peekBits) - 1)
}

// keep remembers a list of size bits, which r is at, and the nodes of changes. It replaces the list of the set that was used
// longer ago.
func (l *recent) keep(c *Class, r bits.Reader, size int, changes []Change) {
	if size > maxBits || len(changes) > maxPaths {
		return
	}
	if l.short == nil {
		l.short, l.long = make([][2]list, 1<<setBits), make([][2]list, 1<<setBits)
	}
	w := r.Peek()
	set := &l.short[setOf(c, w, shortBits)]
	if size >= longBits {
		set = &l.long[setOf(c, w, longBits)]
	}
	set[0], set[1] = set[1], set[0]
	e := &set[0]
	e.nodes, e.wanted = e.nodes[:0], false
	for i := range changes {
		n := changes[i].Node
		e.nodes = append(e.nodes, n)
		e.wanted = e.wanted || c.Wants(n) || n.Body && c.PlaceWanted
	}
	e.class, e.replaced, e.size, e.mask = c, c.replaced, uint8(size), 1<<min(size, peekBits)-1
	e.bits = w & e.mask
	if size > peekBits {
		e.more = behind(r, size)
	}
}
