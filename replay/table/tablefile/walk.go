package tablefile

import (
	"math"
	"slices"

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

// add adds the values of an array, which must not be a slice of a larger one. They are copied.
func (c *chunk) add(a arrow.Array) {
	if c.nothing(a) || c.flat(a) {
		return
	}
	w := walk{to: c, way: c.leaf.way, arrays: make([]arrow.Array, len(c.leaf.way))}
	rows := a.Len()
	for i, at := range w.way {
		w.arrays[i] = a
		switch {
		case at.kind == arrow.LIST:
			a = a.(*array.List).ListValues()
		case at.kind == arrow.STRUCT && at.field >= 0:
			a = a.(*array.Struct).Field(at.field)
		}
	}
	w.value = c.valueOf(a)
	for i := range rows {
		w.add(0, i, 0, 0)
	}
}

// nothing adds an array that has no values: all of it is missing, or it has only empty lists. It returns false for others.
func (c *chunk) nothing(a arrow.Array) bool {
	def := byte(0)
	if list, ok := a.(*array.List); ok && a.NullN() == 0 && list.ListValues().Len() == 0 {
		if c.leaf.way[0].nullable {
			def = 1
		}
	} else if a.NullN() < a.Len() {
		return false
	}
	for rows := a.Len(); rows > 0; {
		c.room()
		n := min(rows, maxPageValues-c.entries)
		if c.def = appendRun(c.def, def, n); c.leaf.rep > 0 {
			c.rep = appendRun(c.rep, 0, n)
		}
		c.entries += n
		c.missing += n
		rows -= n
	}
	return true
}

// flat adds the numbers of a column, a page at a time and not value by value, if it has no lists, and no structs that are missing. It
// returns false for other values.
func (c *chunk) flat(a arrow.Array) bool {
	for _, at := range c.leaf.way[:len(c.leaf.way)-1] {
		if at.kind != arrow.STRUCT || at.field < 0 || a.NullN() > 0 {
			return false
		}
		a = a.(*array.Struct).Field(at.field)
	}
	switch a.DataType().ID() {
	case arrow.BOOL:
		c.work.bools = c.work.bools[:0]
		for i := range a.Len() {
			c.work.bools = append(c.work.bools, byte(bit(a.(*array.Boolean).Value(i))))
		}
		runs(c, a, c.work.bools)
	case arrow.INT32, arrow.DATE32, arrow.UINT32, arrow.FLOAT32:
		runs(c, a, numbersOf[uint32](a.Data().Buffers()[1].Bytes())[:a.Len()])
	case arrow.INT64, arrow.UINT64, arrow.TIMESTAMP, arrow.FLOAT64:
		runs(c, a, numbersOf[uint64](a.Data().Buffers()[1].Bytes())[:a.Len()])
	default:
		return false
	}
	return true
}

// runs adds numbers, by runs of those that are there and of those that are missing.
func runs[N uint8 | uint32 | uint64](c *chunk, a arrow.Array, numbers []N) {
	for from := 0; from < len(numbers); {
		c.room()
		n := min(len(numbers)-from, maxPageValues-c.entries, (maxPageBytes-c.size()+7)/8) // some take less than 8 bytes
		if c.dictionary.open {                                                            // it may close
			n = min(n, (maxDictionaryBytes-c.dictionary.size+7)/8)
		}
		def := c.leaf.def
		if a.NullN() > 0 {
			missing, most := a.IsNull(from), n
			for n = 1; n < most && a.IsNull(from+n) == missing; n++ {
			}
			if missing {
				def--
				c.missing += n
			}
		}
		if c.leaf.def > 0 {
			c.def = appendRun(c.def, def, n)
		}
		if def == c.leaf.def {
			all(c, numbers[from:from+n])
		}
		c.entries += n
		from += n
	}
}

func appendRun(to []byte, b byte, n int) []byte {
	at := len(to)
	to = slices.Grow(to, n)[:at+n]
	for i := range to[at:] {
		to[at+i] = b
	}
	return to
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
		return func(i int) { c.number(bit(a.Value(i))) }
	case *array.Int32:
		return func(i int) { c.number(uint64(uint32(a.Value(i)))) }
	case *array.Date32:
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

func bit(set bool) uint64 {
	if set {
		return 1
	}
	return 0
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
