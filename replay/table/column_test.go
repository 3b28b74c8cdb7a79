package table_test

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/replay/table"
)

// made is a format with one kind, which has a column of each type.
func made() *table.Format {
	pair := []table.Field{{Name: "x", Type: table.Int32, Nullable: true}, {Name: "who", Type: table.Name}}
	return &table.Format{Name: "made", Kinds: []table.Kind{{}, {Name: "thing", Fields: []table.Field{
		{Name: "bool", Type: table.Bool, Nullable: true}, {Name: "int64", Type: table.Int64, Nullable: true},
		{Name: "double", Type: table.Float64, Nullable: true}, {Name: "text", Type: table.Text, Nullable: true},
		{Name: "name", Type: table.Name, Nullable: true},
		{Name: "pair", Type: table.Struct, Nullable: true, Fields: pair},
		{Name: "list", Type: table.List, Fields: []table.Field{{Name: "item", Type: table.Text}}},
		{Name: "at", Type: table.Time, Nullable: true},
		{Name: "enum", Type: table.Name, Enum: map[int32]string{0: "none", 63: "last", 64: "far", -1: "below"}},
		{Name: "ref", Type: table.Name},
	}}}}
}

// row is what an event has for each column; a nil is missing.
type row struct {
	flag   *bool
	number *int64
	double *float64
	text   *string
	name   *string
	pair   *pair
	list   []string
	at     *decoders.Time
	enum   int32
	ref    uint32
}

type pair struct {
	x   *int32
	who string
}

func (r *row) add(s *table.Set, at int64) {
	c := s.Begin(1, decoders.Position{Offset: at}, 7)
	put(&c[0], r.flag, (*table.Column).Bool)
	put(&c[1], r.number, (*table.Column).Int64)
	put(&c[2], r.double, (*table.Column).Float64)
	bytes := func(f func(*table.Column, []byte)) func(*table.Column, string) {
		return func(c *table.Column, v string) { f(c, []byte(v)) }
	}
	put(&c[3], r.text, bytes((*table.Column).Text))
	put(&c[4], r.name, bytes((*table.Column).Name))
	if r.pair == nil {
		c[5].Null()
	} else {
		table.Fields(c[5:])
		put(&c[6], r.pair.x, (*table.Column).Int32)
		c[7].Name([]byte(r.pair.who))
	}
	c[8].Items(len(r.list))
	for _, item := range r.list {
		c[9].Text([]byte(item))
	}
	put(&c[10], r.at, (*table.Column).Time)
	c[11].Enum(r.enum)
	c[12].Ref(r.ref)
}

func put[T any](c *table.Column, v *T, add func(*table.Column, T)) {
	if v == nil {
		c.Null()
	} else {
		add(c, *v)
	}
}

// read returns the i-th value of a column as text, and of the columns below it. The layout is that of Arrow's memory.
func read(columns []table.Column, i int) string {
	c := &columns[0]
	if c.Field.Type == table.Name { // a missing one, too: readers look up the index before they look whether it counts
		if at := binary.LittleEndian.Uint32(c.Data[4*i:]); int(at)+1 >= len(c.Names.Offsets) {
			return fmt.Sprintf("name %d of %d", at, len(c.Names.Offsets)-1)
		}
	}
	if c.Nulls > 0 && c.Valid[i>>3]>>(i&7)&1 == 0 {
		return "null"
	}
	switch c.Field.Type {
	case table.Bool:
		return fmt.Sprint(c.Data[i>>3]>>(i&7)&1 == 1)
	case table.Int32:
		return fmt.Sprint(int32(binary.LittleEndian.Uint32(c.Data[4*i:])))
	case table.Int64:
		return fmt.Sprint(int64(binary.LittleEndian.Uint64(c.Data[8*i:])))
	case table.Time:
		return decoders.Time(binary.LittleEndian.Uint64(c.Data[8*i:])).String()
	case table.Float64:
		return fmt.Sprint(math.Float64frombits(binary.LittleEndian.Uint64(c.Data[8*i:])))
	case table.Text:
		return string(c.Data[c.Offsets[i]:c.Offsets[i+1]])
	case table.Name:
		at := binary.LittleEndian.Uint32(c.Data[4*i:])
		return string(c.Names.Data[c.Names.Offsets[at]:c.Names.Offsets[at+1]])
	case table.Struct:
		return "{" + read(columns[1:], i) + " " + read(columns[2:], i) + "}"
	case table.List:
		var items []string
		for at := c.Offsets[i]; at < c.Offsets[i+1]; at++ {
			items = append(items, read(columns[1:], int(at)))
		}
		return fmt.Sprintf("%q", items)
	default:
		return c.Field.Type.String()
	}
}

// String returns the row as read does.
func (r *row) String() string {
	text := strings.Join([]string{shown(r.flag), shown(r.number), shown(r.double), shown(r.text), shown(r.name)}, " ")
	if r.pair == nil {
		text += " null"
	} else {
		text += " {" + shown(r.pair.x) + " " + r.pair.who + "}"
	}
	enum := map[int32]string{0: "none", 63: "last", 64: "far", -1: "below"}[r.enum]
	return text + fmt.Sprintf(" %q ", r.list) + shown(r.at) + " " + cmp.Or(enum, strconv.Itoa(int(r.enum))) + " " + refText(r.ref)
}

// refText is the text of a reference.
func refText(id uint32) string { return fmt.Sprint("text ", id) }

func shown[T any](v *T) string {
	if v == nil {
		return "null"
	}
	return fmt.Sprint(*v)
}

func rows() *rapid.Generator[*row] {
	return rapid.Custom(func(t *rapid.T) *row {
		word := rapid.SampledFrom([]string{"", "a", "b", "longer"})
		return &row{
			flag: rapid.Ptr(rapid.Bool(), true).Draw(t, "flag"), number: rapid.Ptr(rapid.Int64(), true).Draw(t, "number"),
			double: rapid.Ptr(rapid.Float64(), true).Draw(t, "double"), text: rapid.Ptr(word, true).Draw(t, "text"),
			name: rapid.Ptr(word, true).Draw(t, "name"), list: rapid.SliceOfN(word, 0, 3).Draw(t, "list"),
			at: rapid.Ptr(rapid.Map(rapid.Int64Range(-1<<55, 1<<57), func(n int64) decoders.Time { return decoders.Time(n) }), true).Draw(t, "at"),
			pair: rapid.Ptr(rapid.Custom(func(t *rapid.T) pair {
				return pair{rapid.Ptr(rapid.Int32(), true).Draw(t, "x"), word.Draw(t, "who")}
			}), true).Draw(t, "pair"),
			enum: rapid.Int32Range(-2, 66).Draw(t, "enum"), ref: rapid.SampledFrom([]uint32{0, 1, 1<<16 - 1, 1 << 16, 1<<32 - 1}).Draw(t, "ref"),
		}
	})
}

// TestColumns: the columns hold what was appended, also after rows were undone and after the set was emptied, and count the
// values that are missing.
func TestColumns(t *testing.T) {
	set := table.NewSet(made().Layout(false))
	set.Refs = refText
	rapid.Check(t, func(t *rapid.T) {
		set.Reset()
		var want []string
		for _, r := range rapid.SliceOfN(rows(), 1, 40).Draw(t, "rows") {
			r.add(set, int64(len(want)))
			if rapid.IntRange(0, 3).Draw(t, "undo") == 0 {
				set.Undo()
				continue
			}
			want = append(want, r.String())
		}
		var got []string
		err := set.All(func(tb *table.Table) error {
			c := tb.Columns[table.Positions:]
			for i := range tb.Rows {
				text := ""
				for at := 0; at < len(c); at += c[at].Width() {
					text += " " + read(c[at:], i)
				}
				got = append(got, text[1:])
			}
			for at := 0; at < len(c); at += c[at].Width() {
				missing := 0
				for i := range tb.Rows {
					if c[at].Nulls > 0 && c[at].Valid[i>>3]>>(i&7)&1 == 0 {
						missing++
					}
				}
				if c[at].Len != tb.Rows || c[at].Nulls != missing {
					t.Errorf("%s has %d values in %d rows, and %d are missing, not %d", c[at].Field.Name, c[at].Len, tb.Rows, missing, c[at].Nulls)
				}
			}
			return nil
		})
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%v\ngot  %q\nwant %q", err, got, want)
		}
	})
}
