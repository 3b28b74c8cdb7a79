package arrowipc

import (
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/replayd/replayd/replay/table"
)

// TypeKey is the key of a field's metadata for the full type of a narrowed column.
const TypeKey = "replayd.type"

// narrow adds the rows of a kind's tables, whose columns have small forms. A column begins with its smallest form, and
// takes the next one when the values of a table do not fit. It never goes back, so the schema changes a few times at most.
type narrow struct {
	wide  *arrow.Schema
	forms [][]form // by column: the form in use, then the larger ones; empty for a column without small forms
}

// form is a way to send the values of a column.
type form struct {
	typ arrow.DataType
	// add adds the column in this form, in memory of s, unless a value does not fit.
	add func(m *message, s *scratch, c *table.Column) (fits bool)
}

// small has the forms of each type, from the smallest. Only the columns of the clock have long runs.
var (
	small = map[table.Type][]form{
		table.Int32:  {{arrow.PrimitiveTypes.Int8, squeeze[int8, int32]}, {arrow.PrimitiveTypes.Int16, squeeze[int16, int32]}},
		table.Uint32: {{arrow.PrimitiveTypes.Uint8, squeeze[uint8, uint32]}, {arrow.PrimitiveTypes.Uint16, squeeze[uint16, uint32]}},
		table.Int64: {
			{arrow.PrimitiveTypes.Int8, squeeze[int8, int64]},
			{arrow.PrimitiveTypes.Int16, squeeze[int16, int64]},
			{arrow.PrimitiveTypes.Int32, squeeze[int32, int64]},
		},
		table.Uint64: {
			{arrow.PrimitiveTypes.Uint8, squeeze[uint8, uint64]},
			{arrow.PrimitiveTypes.Uint16, squeeze[uint16, uint64]},
			{arrow.PrimitiveTypes.Uint32, squeeze[uint32, uint64]},
		},
	}
	ticks = append([]form{{arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int32), runs[uint32]}}, small[table.Int32]...)
	times = []form{{arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Float64), runs[uint64]}}
)

func newNarrow(schema *arrow.Schema, t *table.Table) *narrow {
	n := &narrow{wide: schema, forms: make([][]form, schema.NumFields())}
	rest := t.Columns
	for i := range n.forms {
		rest = skip(rest)
		n.forms[i] = formsOf(rest[0].Field.Type, len(t.Columns)-len(rest))
		rest = rest[rest[0].Width():]
	}
	return n
}

// formsOf returns the small forms of the column at an index.
func formsOf(t table.Type, index int) []form {
	switch index {
	case table.TickColumn:
		return ticks
	case table.TimeColumn:
		return times
	}
	return small[t]
}

// add adds the rows of a table, and reports whether a column has taken another form. What it adds is valid until w is freed.
func (n *narrow) add(w *workspace, t *table.Table) (changed bool) {
	w.columns.reset()
	rest := t.Columns
	for i := range n.forms {
		rest = skip(rest)
		for len(n.forms[i]) > 0 && !n.forms[i][0].add(&w.record, &w.columns, &rest[0]) {
			n.forms[i], changed = n.forms[i][1:], true
		}
		if len(n.forms[i]) == 0 {
			w.add(rest)
		}
		rest = rest[rest[0].Width():]
	}
	return changed
}

// key appends what distinguishes the schema of the present forms.
func (n *narrow) key(to []byte) []byte {
	for _, forms := range n.forms {
		to = append(to, byte(len(forms)))
	}
	return to
}

// schema returns the schema of the present forms.
func (n *narrow) schema() *arrow.Schema {
	fields := n.wide.Fields()
	for i := range fields {
		f := &fields[i]
		if forms := n.forms[i]; len(forms) > 0 {
			about := f.Metadata.ToMap()
			about[TypeKey] = f.Type.Name()
			f.Type, f.Metadata = forms[0].typ, arrow.MetadataFrom(about)
		}
	}
	about := n.wide.Metadata()
	return arrow.NewSchema(fields, &about)
}

type integer interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// squeeze adds the values as smaller integers.
func squeeze[N, W integer](m *message, s *scratch, c *table.Column) bool {
	from := arrow.GetData[W](c.Data)
	to := take[N](s, len(from))
	var lost W
	for i, v := range from {
		n := N(v)
		to[i] = n
		lost |= v ^ W(n)
	}
	if lost == 0 {
		m.node(c.Len, c.Nulls, valid(c), arrow.GetBytes(to))
	}
	return lost == 0
}

// runs adds the values as runs of equal values, unless that would not be shorter, or values are missing.
func runs[W integer](m *message, s *scratch, c *table.Column) bool {
	if c.Nulls > 0 {
		return false
	}
	from := arrow.GetData[W](c.Data)
	most := len(from)/3 + 1
	values, ends := take[W](s, most)[:0], take[int32](s, most)[:0]
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
	m.node(c.Len, 0) // runs have no marks of missing values
	m.node(len(ends), 0, nil, arrow.GetBytes(ends))
	m.node(len(values), 0, nil, arrow.GetBytes(values))
	return true
}

// scratch is memory for the columns of one table.
type scratch struct {
	words []uint64
	rest  []uint64 // the free part of words
}

// reset makes the memory free again.
func (s *scratch) reset() { s.rest = s.words }

// take returns n values, which the caller must set.
func take[N integer](s *scratch, n int) []N {
	var one N
	words := (n*int(unsafe.Sizeof(one)) + 7) / 8
	if words > len(s.rest) { // values that were taken before stay where they are
		s.words = make([]uint64, 2*len(s.words)+words)
		s.rest = s.words
	}
	taken := s.rest[:words]
	s.rest = s.rest[words:]
	return arrow.GetData[N](arrow.GetBytes(taken))[:n:n]
}
