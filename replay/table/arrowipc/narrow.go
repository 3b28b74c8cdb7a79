package arrowipc

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/replayd/replayd/replay/table"
)

// form is a smaller way to send the values of a column.
type form struct {
	typ arrow.DataType
	// add adds the column in this form unless a value does not fit.
	add func(w *workspace, c *table.Column) (fits bool)
}

// clock has the forms of the columns of the clock, by their indices. They alone have long runs.
var clock = map[int][]form{
	table.TickColumn: append([]form{{arrow.RunEndEncodedOf(i32, i32), runs[uint32]}}, types[table.Int32].small...),
	table.TimeColumn: {{arrow.RunEndEncodedOf(i32, arrow.PrimitiveTypes.Float64), runs[uint64]}},
}

// kind holds the state of an Encoder for the tables of a kind. A column begins with its smallest form, and takes the next one when the
// values of a table do not fit. It never goes back, so the schema changes a few times at most.
type kind struct {
	*about
	forms   [][]form // by column: the form in use, then the larger ones but the schema's, which needs none
	changed bool     // the schema of these forms was not sent
}

func newKind(t *table.Table, narrow bool) *kind {
	k := &kind{about: aboutOf(t.Layout, t.Kind), changed: true}
	for index, c := range table.Shown(t.Columns) {
		forms, ofClock := clock[index]
		if !narrow {
			forms = nil
		} else if !ofClock {
			forms = types[c[0].Field.Type].small
		}
		k.forms = append(k.forms, forms)
	}
	return k
}

// add adds the rows of a table.
func (k *kind) add(w *workspace, t *table.Table) {
	at := 0
	for _, c := range table.Shown(t.Columns) {
		forms := &k.forms[at]
		for len(*forms) > 0 && !(*forms)[0].add(w, &c[0]) {
			*forms, k.changed = (*forms)[1:], true
		}
		if len(*forms) == 0 {
			w.addColumns(c)
		}
		at++
	}
}

// squeeze adds the values as smaller integers.
func squeeze[N, W arrow.IntType | arrow.UintType](w *workspace, c *table.Column) bool {
	from := arrow.GetData[W](c.Data)
	to := take[N](w, len(from))
	var lost W
	for i, v := range from {
		to[i] = N(v)
		lost |= v ^ W(N(v))
	}
	if lost == 0 {
		w.add(&w.record, c.Len, c.Nulls, c.Valid, arrow.GetBytes(to))
	}
	return lost == 0
}

// runs adds the values as runs of equal values, unless that would not be shorter, or values are missing.
func runs[W arrow.UintType](w *workspace, c *table.Column) bool {
	if c.Nulls > 0 {
		return false
	}
	from := arrow.GetData[W](c.Data)
	most := len(from)/3 + 1
	values, ends := take[W](w, most)[:0], take[int32](w, most)[:0]
	for begin, end := 0, 0; begin < len(from); begin = end {
		if len(values) == most {
			return false
		}
		v := from[begin]
		for end < len(from) && from[end] == v {
			end++
		}
		values, ends = append(values, v), append(ends, int32(end))
	}
	w.add(&w.record, c.Len, 0) // runs have no marks of missing values
	w.add(&w.record, len(ends), 0, nil, arrow.GetBytes(ends))
	w.add(&w.record, len(values), 0, nil, arrow.GetBytes(values))
	return true
}
