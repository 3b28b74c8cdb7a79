package entity

// recent remembers lists of paths that updates began with, and the nodes that the paths lead to. Entities of a class change the
// same fields again and again: nine of ten lists of a game were read before. The code of a list ends itself, so the bits of an
// update begin with a list exactly if they begin with the bits of the list.
//
// The lists are in sets of two, found by the class and the first bits. A list that has fewer bits than these may be in several
// sets. The zero value is empty.
type recent struct {
	sets [][2]list // nil until the first list is kept
}

// list is a list of paths of a class.
type list struct {
	class    *Class
	replaced uint32 // what the class's was
	size     int32  // in bits
	bits     uint64
	mask     uint64 // of as many bits
	nodes    []*Node
	wanted   bool // a field that the paths lead to is delivered, or the place that it is part of
}

const (
	setBits  = 11 // of the number of a set
	keyBits  = 20 // of a list, of those that find its set
	maxBits  = 57 // of a list that is kept: what bits.Reader.Peek returns
	maxPaths = 24 // of a list that is kept
)

// set returns the set for a list of a class that the bits of w begin with.
func (l *recent) set(c *Class, w uint64) *[2]list {
	const mix = 0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio
	return &l.sets[(w&(1<<keyBits-1)|uint64(c.Id)<<keyBits)*mix>>(64-setBits)]
}

// find returns the list of a class that the bits of w begin with, or nil. It is valid until the next call.
func (l *recent) find(c *Class, w uint64) *list {
	if l.sets == nil {
		return nil
	}
	set := l.set(c, w)
	if set[0].is(c, w) {
		return &set[0]
	}
	if set[1].is(c, w) {
		set[0], set[1] = set[1], set[0]
		return &set[0]
	}
	return nil
}

func (e *list) is(c *Class, w uint64) bool {
	return w&e.mask == e.bits && e.class == c && e.replaced == c.replaced
}

// keep remembers a list of size bits, which w begins with, and the nodes of changes. It replaces the list of the set that was
// used longer ago.
func (l *recent) keep(c *Class, w uint64, size int, changes []Change) {
	if size > maxBits || len(changes) > maxPaths {
		return
	}
	if l.sets == nil {
		l.sets = make([][2]list, 1<<setBits)
	}
	set := l.set(c, w)
	set[0], set[1] = set[1], set[0]
	e := &set[0]
	e.nodes, e.wanted = e.nodes[:0], false
	for i := range changes {
		n := changes[i].Node
		e.nodes = append(e.nodes, n)
		e.wanted = e.wanted || c.Wants(n) || n.Body && c.PlaceWanted
	}
	e.class, e.replaced, e.size, e.mask = c, c.replaced, int32(size), 1<<size-1
	e.bits = w & e.mask
}
