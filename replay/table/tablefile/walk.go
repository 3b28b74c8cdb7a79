package tablefile

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// walk leads from the rows of a column of a table to the values of a leaf.
type walk struct {
	to     *chunk
	way    []step
	arrays []arrow.Array // by step
	value  func(i int)   // adds the i-th value of the last array
}

// add adds the values of an array, which packer.unpack has returned.
func (c *chunk) add(a arrow.Array) {
	w := walk{to: c, way: c.leaf.way, arrays: make([]arrow.Array, len(c.leaf.way))}
	rows := a.Len()
	for i, at := range w.way {
		w.arrays[i] = a
		switch {
		case at.kind == arrow.LIST:
			a = a.(*array.List).ListValues()
		case at.kind == arrow.STRUCT && at.field >= 0:
			a = a.(*array.Struct).Field(0) // a struct without fields has no other
		}
	}
	w.value = c.valueOf(a)
	for i := range rows {
		w.add(0, i, 0, 0)
	}
}

// add adds the values at the end of the way that belong to the i-th value of the array at a step.
func (w *walk) add(step, i int, rep, def byte) {
	at := &w.way[step]
	if at.nullable {
		if w.arrays[step].IsNull(i) {
			w.to.level(rep, def)
			return
		}
		def++
	}
	switch at.kind {
	case arrow.STRUCT:
		w.add(step+1, i, rep, def)
	case arrow.LIST:
		begin, end := w.arrays[step].(*array.List).ValueOffsets(i)
		if begin == end {
			w.to.level(rep, def)
			return
		}
		for j := begin; j < end; j++ {
			w.add(step+1, int(j), rep, def+1)
			rep = at.rep
		}
	default:
		w.to.level(rep, def)
		w.value(i)
	}
}

// valueOf returns a function that adds the i-th value of an array to the column.
func (c *chunk) valueOf(a arrow.Array) func(i int) {
	switch a := a.(type) {
	case *array.Boolean:
		return func(i int) {
			v := uint64(0)
			if a.Value(i) {
				v = 1
			}
			c.number(v)
		}
	case *array.Int32:
		return func(i int) { c.number(uint64(uint32(a.Value(i)))) }
	case *array.Uint32:
		return func(i int) { c.number(uint64(a.Value(i))) }
	case *array.Int64:
		return func(i int) { c.number(uint64(a.Value(i))) }
	case *array.Uint64:
		return func(i int) { c.number(a.Value(i)) }
	case *array.Timestamp:
		return func(i int) { c.number(uint64(a.Value(i))) }
	case *array.Float32:
		return func(i int) { c.number(uint64(math.Float32bits(a.Value(i)))) }
	case *array.Float64:
		return func(i int) { c.number(math.Float64bits(a.Value(i))) }
	case *array.Binary:
		return func(i int) { c.text(a.Value(i)) }
	case *array.String:
		return func(i int) { c.text(textBytes(a, i)) }
	case *array.Dictionary:
		return c.nameOf(a)
	default: // a struct without fields
		return func(int) { c.number(1) }
	}
}

// nameOf is valueOf for names. It looks each name up once.
func (c *chunk) nameOf(a *array.Dictionary) func(i int) {
	names := a.Dictionary().(*array.String)
	known := make([]int32, names.Len()) // the index in the column's dictionary plus 1; 0 if unknown
	return func(i int) {
		k := a.GetValueIndex(i)
		if c.dictionary.open && known[k] > 0 {
			c.indices = append(c.indices, known[k]-1)
			return
		}
		c.text(textBytes(names, k))
		if c.dictionary.open {
			known[k] = c.indices[len(c.indices)-1] + 1
		}
	}
}

// textBytes returns a text without a copy.
func textBytes(a *array.String, i int) []byte {
	at := a.ValueOffset(i) - a.ValueOffset(0)
	return a.ValueBytes()[at : at+a.ValueLen(i)]
}
