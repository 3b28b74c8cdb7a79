package arrowipc

import (
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/replayd/replayd/replay/table"
)

// TypeKey is the key of a field's metadata for the full type of a narrowed column.
const TypeKey = "replayd.type"

// form is a way to send the values of a column.
type form struct {
	typ arrow.DataType
	// add adds the column in this form unless a value does not fit.
	add func(w *workspace, c *table.Column) (fits bool)
}

// small has the forms of each type, from the smallest. Only the columns of the clock have long runs.
var (
	i8, i16, i32 = arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32
	u8, u16, u32 = arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Uint32

	small = map[table.Type][]form{
		table.Int32:  {{i8, squeeze[int8, int32]}, {i16, squeeze[int16, int32]}},
		table.Uint32: {{u8, squeeze[uint8, uint32]}, {u16, squeeze[uint16, uint32]}},
		table.Int64:  {{i8, squeeze[int8, int64]}, {i16, squeeze[int16, int64]}, {i32, squeeze[int32, int64]}},
		table.Uint64: {{u8, squeeze[uint8, uint64]}, {u16, squeeze[uint16, uint64]}, {u32, squeeze[uint32, uint64]}},
	}
	ticks = append([]form{{arrow.RunEndEncodedOf(i32, i32), runs[uint32]}}, small[table.Int32]...)
	times = []form{{arrow.RunEndEncodedOf(i32, arrow.PrimitiveTypes.Float64), runs[uint64]}}
)

func newKind(t *table.Table, narrow bool) *kind {
	k := &kind{about: aboutOf(t.Layout, t.Kind)}
	for index, c := range shown(t.Columns) {
		var forms []form
		switch {
		case !narrow:
		case index == table.TickColumn:
			forms = ticks
		case index == table.TimeColumn:
			forms = times
		default:
			forms = small[c[0].Field.Type]
		}
		k.forms = append(k.forms, forms)
	}
	return k
}

// add adds the rows of a table, and reports whether a column has taken another form.
func (k *kind) add(w *workspace, t *table.Table) (changed bool) {
	rest := k.forms
	for _, c := range shown(t.Columns) {
		forms := &rest[0]
		for len(*forms) > 0 && !(*forms)[0].add(w, &c[0]) {
			*forms, changed = (*forms)[1:], true
		}
		if len(*forms) == 0 {
			w.add(c)
		}
		rest = rest[1:]
	}
	return changed
}

type integer interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// squeeze adds the values as smaller integers.
func squeeze[N, W integer](w *workspace, c *table.Column) bool {
	from := arrow.GetData[W](c.Data)
	to := take[N](w, len(from))
	var lost W
	for i, v := range from {
		n := N(v)
		to[i] = n
		lost |= v ^ W(n)
	}
	if lost == 0 {
		w.record.node(c.Len, c.Nulls, valid(c), arrow.GetBytes(to))
	}
	return lost == 0
}

// runs adds the values as runs of equal values, unless that would not be shorter, or values are missing.
func runs[W integer](w *workspace, c *table.Column) bool {
	if c.Nulls > 0 {
		return false
	}
	from := arrow.GetData[W](c.Data)
	most := len(from)/3 + 1
	values, ends := take[W](w, most)[:0], take[int32](w, most)[:0]
	for begin := 0; begin < len(from); {
		if len(values) == most {
			return false
		}
		v, end := from[begin], begin+1
		for end < len(from) && from[end] == v {
			end++
		}
		values, ends = append(values, v), append(ends, int32(end))
		begin = end
	}
	w.record.node(c.Len, 0) // runs have no marks of missing values
	w.record.node(len(ends), 0, nil, arrow.GetBytes(ends))
	w.record.node(len(values), 0, nil, arrow.GetBytes(values))
	return true
}

// take returns n values in memory of w, which the caller must set.
func take[N integer](w *workspace, n int) []N {
	var one N
	return arrow.GetData[N](w.take(padded(n * int(unsafe.Sizeof(one)))))[:n:n]
}
