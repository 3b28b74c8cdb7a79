package table_test

import (
	"bytes"
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
		{Name: "parts", Type: table.List, Fields: []table.Field{{Type: table.Struct, Fields: []table.Field{
			{Name: "flag", Type: table.Bool, Nullable: true}, {Name: "bytes", Type: table.Binary, Nullable: true},
			{Name: "pair", Type: table.Struct, Nullable: true, Fields: pair},
		}}}},
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
	parts  []part
}

// part has one value at most, as a field of an entity.
type part struct {
	flag  *bool
	bytes *string
	pair  *pair
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
	text := func(f func(*table.Column, []byte)) func(*table.Column, string) {
		return func(c *table.Column, v string) { f(c, []byte(v)) }
	}
	put(&c[3], r.text, text((*table.Column).Text))
	put(&c[4], r.name, text((*table.Column).Name))
	addPair(r.pair, c[5:])
	c[8].Items(len(r.list))
	for _, item := range r.list {
		c[9].Text([]byte(item))
	}
	put(&c[10], r.at, (*table.Column).Time)
	c[11].Enum(r.enum)
	c[12].Ref(r.ref)
	c[13].Items(len(r.parts))
	for i := range r.parts {
		table.Fields(c[14:])
		put(&c[15], r.parts[i].flag, (*table.Column).Bool)
		put(&c[16], r.parts[i].bytes, text((*table.Column).Binary))
		addPair(r.parts[i].pair, c[17:])
	}
}

func addPair(p *pair, c []table.Column) {
	if p == nil {
		c[0].Null()
		return
	}
	table.Fields(c)
	put(&c[1], p.x, (*table.Column).Int32)
	c[2].Name([]byte(p.who))
}

// addTogether adds as many rows as the numbers are, with a number and a pair each.
func addTogether(s *table.Set, at int64, numbers []int64) (want []string) {
	c, n := s.BeginRows(1, make([]int64, len(numbers)), at, 7), len(numbers)
	copy(table.Extend[int64](&c[1], n), numbers)
	table.BeginFields(c[5:], n)
	x := table.Extend[int32](&c[6], n)
	for i, number := range numbers {
		x[i] = int32(number)
		for _, missing := range []int{0, 2, 3, 4, 10} {
			c[missing].Null()
		}
		c[7].Name([]byte("a"))
		c[8].Items(0)
		c[11].Enum(0)
		c[12].Ref(0)
		c[13].Items(0)
		want = append(want, (&row{number: &numbers[i], pair: &pair{&x[i], "a"}}).String())
	}
	return want
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
	case table.Text, table.Binary:
		return string(c.Data[c.Offsets[i]:c.Offsets[i+1]])
	case table.Name:
		at := binary.LittleEndian.Uint32(c.Data[4*i:])
		return string(c.Names.Data[c.Names.Offsets[at]:c.Names.Offsets[at+1]])
	case table.Struct:
		var fields []string
		for at := 1; at < c.Width(); at += columns[at].Width() {
			fields = append(fields, read(columns[at:], i))
		}
		return "{" + strings.Join(fields, " ") + "}"
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
	text += " " + shown(r.pair)
	enum := map[int32]string{0: "none", 63: "last", 64: "far", -1: "below"}[r.enum]
	var parts []string
	for _, p := range r.parts {
		parts = append(parts, "{"+shown(p.flag)+" "+shown(p.bytes)+" "+shown(p.pair)+"}")
	}
	return text + fmt.Sprintf(" %q ", r.list) + shown(r.at) + " " + cmp.Or(enum, strconv.Itoa(int(r.enum))) + " " + refText(r.ref) + fmt.Sprintf(" %q", parts)
}

// String returns the pair as read does.
func (p pair) String() string { return "{" + shown(p.x) + " " + p.who + "}" }

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
		pairs := rapid.Custom(func(t *rapid.T) pair { return pair{rapid.Ptr(rapid.Int32(), true).Draw(t, "x"), word.Draw(t, "who")} })
		parts := rapid.Custom(func(t *rapid.T) (p part) {
			switch rapid.IntRange(0, 9).Draw(t, "part") { // many in a row have none
			case 0:
				p.flag = rapid.Ptr(rapid.Bool(), false).Draw(t, "flag")
			case 1:
				p.bytes = rapid.Ptr(word, false).Draw(t, "bytes")
			case 2:
				p.pair = rapid.Ptr(pairs, false).Draw(t, "pair")
			}
			return p
		})
		return &row{
			flag: rapid.Ptr(rapid.Bool(), true).Draw(t, "flag"), number: rapid.Ptr(rapid.Int64(), true).Draw(t, "number"),
			double: rapid.Ptr(rapid.Float64(), true).Draw(t, "double"), text: rapid.Ptr(word, true).Draw(t, "text"),
			name: rapid.Ptr(word, true).Draw(t, "name"), list: rapid.SliceOfN(word, 0, 3).Draw(t, "list"),
			at:   rapid.Ptr(rapid.Map(rapid.Int64Range(-1<<55, 1<<57), func(n int64) decoders.Time { return decoders.Time(n) }), true).Draw(t, "at"),
			pair: rapid.Ptr(pairs, true).Draw(t, "pair"), parts: rapid.SliceOfN(parts, 0, 12).Draw(t, "parts"),
			enum: rapid.Int32Range(-2, 66).Draw(t, "enum"), ref: rapid.SampledFrom([]uint32{0, 1, 1<<16 - 1, 1 << 16, 1<<32 - 1}).Draw(t, "ref"),
		}
	})
}

// TestColumns: the columns hold what was appended, also after rows were undone and after the set was emptied or left, and count the
// values that are missing.
func TestColumns(t *testing.T) {
	layout := made().Layout(false)
	set := table.NewSet(layout)
	set.Refs = func(uint32) string { return "a name of an earlier replay" }
	new(row).add(set, 0)
	set.Leave()
	set = table.NewSet(layout)
	rapid.Check(t, func(t *rapid.T) {
		if rapid.Bool().Draw(t, "leave") {
			set.Leave()
			set = table.NewSet(layout)
			if set.Refs != nil || set.TicksPerSecond != 0 || set.Size() != 0 {
				t.Fatalf("a new set has %d bytes, or is of an earlier replay", set.Size())
			}
		}
		set.Reset()
		set.Refs, set.TicksPerSecond = refText, 50
		var want []string
		for _, r := range rapid.SliceOfN(rows(), 1, 40).Draw(t, "rows") {
			if numbers := rapid.SliceOfN(rapid.Int64(), 1, 20).Draw(t, "numbers"); rapid.IntRange(0, 3).Draw(t, "together") == 0 {
				want = append(want, addTogether(set, int64(len(want)), numbers)...)
			} else {
				r.add(set, int64(len(want)))
				want = append(want, r.String())
			}
			if rapid.IntRange(0, 3).Draw(t, "undo") == 0 {
				set.Undo()
				want = want[:len(want)-1]
			}
			if rapid.IntRange(0, 3).Draw(t, "read") == 0 {
				set.Table(1)
			}
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
			for at := 0; at < len(tb.Columns); at += tb.Columns[at].Width() {
				complete(t, tb.Columns[at:], tb.Rows)
			}
			return nil
		})
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%v\ngot  %q\nwant %q", err, got, want)
		}
	})
}

// complete: the first column has n values, of which it counts the missing ones, with a bit and data for each and nothing else. So have
// those below it.
func complete(t *rapid.T, columns []table.Column, n int) {
	c := &columns[0]
	missing := 0
	for i := 0; i < n && c.Nulls > 0; i++ {
		if c.Valid[i>>3]>>(i&7)&1 == 0 {
			missing++
		}
	}
	size := map[table.Type]int{table.Bool: (n + 7) / 8, table.Int32: 4 * n, table.Name: 4 * n, table.Int64: 8 * n, table.Time: 8 * n, table.Float64: 8 * n}[c.Field.Type]
	below := n
	if c.Offsets != nil {
		if below = int(c.Offsets[n]); c.Field.Type != table.List {
			size = below
		}
	}
	switch {
	case c.Nulls == 0 && len(c.Valid) > 0:
		t.Fatalf("%s has %d bytes of bits, and no value is missing", c.Field.Name, len(c.Valid))
	case c.Len != n || c.Nulls != missing:
		t.Fatalf("%s has %d values, not %d, and %d are missing, not %d", c.Field.Name, c.Len, n, missing, c.Nulls)
	case len(c.Data) != size || c.Offsets != nil && len(c.Offsets) != n+1:
		t.Fatalf("%s has %d bytes and %d offsets for %d values", c.Field.Name, len(c.Data), len(c.Offsets), n)
	case c.Nulls > 0 && (len(c.Valid) != (n+7)/8 || n&7 > 0 && c.Valid[n>>3]>>(n&7) != 0):
		t.Fatalf("%s has bits %x for %d values", c.Field.Name, c.Valid, n)
	}
	for at := 1; at < c.Width(); at += columns[at].Width() {
		complete(t, columns[at:], below)
	}
}

// TestSome: a table with some of the columns has in them what a table with all has, and nothing in the others.
func TestSome(t *testing.T) {
	all := made().Layout(false)
	some, err := all.Select([]string{"index", "double", "pair.who", "parts.pair.x"}, func(uint8) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		want, got := table.NewSet(all), table.NewSet(some)
		want.Refs, got.Refs = refText, refText
		for i, r := range rapid.SliceOfN(rows(), 1, 20).Draw(t, "rows") {
			r.add(want, int64(i))
			r.add(got, int64(i))
		}
		for i, g := range got.Table(1).Columns {
			w := want.Table(1).Columns[i]
			if g.Off {
				w.Len, w.Nulls, w.Valid, w.Data, w.Offsets = 0, 0, nil, nil, nil
			}
			if g.Len != w.Len || g.Nulls != w.Nulls || !bytes.Equal(g.Valid, w.Valid) || !bytes.Equal(g.Data, w.Data) || !slices.Equal(g.Offsets, w.Offsets) {
				t.Fatalf("column %s (%v) has %d values, %x; want %d, %x", g.Field.Name, g.Off, g.Len, g.Data, w.Len, w.Data)
			}
		}
	})
}
