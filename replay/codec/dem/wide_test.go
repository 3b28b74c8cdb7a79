package dem_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/replayd/replayd/clients/go/dem"
	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/decoders/dem/demtest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/codectest"
	encoder "github.com/replayd/replayd/replay/codec/dem"
	"github.com/replayd/replayd/replay/filter"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/replay/table"
	"github.com/replayd/replayd/replay/table/arrowipc"
)

// wideOf returns the filter for samples of a class at multiples of a number of ticks, and the tables with a column for each of the fields.
func wideOf(t *testing.T, in source.Input, class string, every int32, fields ...string) (source.Input, *filter.Filter, *table.Format, error) {
	t.Helper()
	of := &replaydv1.DemFilter{Classes: []string{class}, Fields: fields}
	f, err := filter.Compile(&encoder.Codec.Filters, []*replaydv1.EventFilter{
		{Kinds: []string{"sample_entity"}, Ticks: &replaydv1.TickRange{Every: &every}, Dem: of},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	in, format, err := encoder.Codec.Widen(in, f, of)
	return in, f, format, err
}

// refusal returns the error of a wide table of each tick.
func refusal(t *testing.T, data []byte, class string, fields ...string) error {
	t.Helper()
	_, _, format, err := wideOf(t, codectest.Input(data), class, 1, fields...)
	if (format == nil) != (err != nil) {
		t.Fatalf("a format and %v", err)
	}
	return err
}

// kindOfSamples returns the kind of samples of entities.
func kindOfSamples() uint8 {
	return uint8(slices.IndexFunc(encoder.Tables.Kinds, func(k table.Kind) bool { return k.Name == "sample_entity" }))
}

// rows reads a wide table, each row as a map of columns that have a value.
func rows(t *testing.T, in source.Input, f *filter.Filter, format *table.Format) (all []map[string]any) {
	t.Helper()
	return rowsOf(t, in, f, format, kindOfSamples())
}

// rowsOf reads the table of a kind, as rows does.
func rowsOf(t *testing.T, in source.Input, f *filter.Filter, format *table.Format, kind uint8) (all []map[string]any) {
	t.Helper()
	layout := format.Layout(false)
	set := table.NewSet(layout)
	r, err := encoder.Codec.Open(in, codec.Options{Filter: f, Tables: set})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Header(new(replaydv1.Replay)); err != nil {
		t.Fatal(err)
	}
	if err := codectest.Seek(r); err != nil {
		t.Fatal(err)
	}
	schema := arrowipc.Schema(layout, kind)
	b := codec.Batch{MaxEvents: 1000, MaxBytes: 256 << 10, Tables: set}
	for err = nil; err == nil || errors.Is(err, codec.ErrYield); {
		err = r.Fill(&b)
		if failed := set.All(func(tab *table.Table) error {
			if tab.Kind != kind {
				return fmt.Errorf("a row of the kind %s", format.Kinds[tab.Kind].Name)
			}
			record := arrowipc.Record(tab, schema)
			for i := range int(record.NumRows()) {
				row := map[string]any{}
				for j, c := range record.Columns() {
					if v := cell(c, i); v != nil {
						row[record.ColumnName(j)] = v
					}
				}
				all = append(all, row)
			}
			return nil
		}); failed != nil {
			t.Fatal(failed)
		}
		b.Reset()
	}
	return all
}

// cell returns a value as dem.Entity has it, except that handles are uint32; nil for a missing one.
func cell(c arrow.Array, i int) any {
	if c.IsNull(i) {
		return nil
	}
	switch c := c.(type) {
	case *array.Int64:
		return c.Value(i)
	case *array.Int32:
		return int64(c.Value(i))
	case *array.Uint64:
		return c.Value(i)
	case *array.Uint32:
		return c.Value(i)
	case *array.Float32:
		return c.Value(i)
	case *array.Float64:
		return c.Value(i)
	case *array.Boolean:
		return c.Value(i)
	case *array.String:
		return strings.Clone(c.Value(i))
	case *array.Binary:
		return slices.Clone(c.Value(i))
	case *array.Dictionary:
		return strings.Clone(c.Dictionary().(*array.String).Value(c.GetValueIndex(i)))
	case *array.Struct:
		return [3]float32{c.Field(0).(*array.Float32).Value(i), c.Field(1).(*array.Float32).Value(i), c.Field(2).(*array.Float32).Value(i)}
	case *array.List:
		from, to := c.ValueOffsets(i)
		if texts, ok := c.ListValues().(*array.String); ok {
			all := []string{}
			for i := from; i < to; i++ {
				all = append(all, strings.Clone(texts.Value(int(i))))
			}
			return all
		}
		if _, floats := c.ListValues().(*array.Float32); !floats {
			all := []any{}
			for i := from; i < to; i++ {
				all = append(all, cell(c.ListValues(), int(i)))
			}
			return all
		}
		return slices.Clone(c.ListValues().(*array.Float32).Float32Values()[from:to])
	}
	return c.ValueStr(i)
}

// fold applies the events of entities of a demo, and calls each with the states at the end of each tick that is a multiple of every.
func fold(t *testing.T, data []byte, every int32, each func(tick int32, state *dem.EntityState)) {
	t.Helper()
	events, _ := read(t, open(t, data, codec.Options{}), 4096)
	var state dem.EntityState
	tick := int32(-1)
	for i, ev := range events.list {
		for ; tick < ev.GetAtTick() || tick == ev.GetAtTick() && ev.GetStop() != nil; tick++ { // which ends the last tick
			if tick >= 0 && tick%every == 0 {
				each(tick, &state)
			}
		}
		state.Apply(ev, func(n uint32) string { return events.names[i][n] })
	}
}

// TestWide: each cell of a wide table is what a client has that applies all events of entities up to the tick, whatever the class, and
// what has no column is told by name.
func TestWide(t *testing.T) {
	for _, name := range sampleFiles {
		t.Run(name, func(t *testing.T) { checkWide(t, sampleFile(t, name), 1, 0) })
	}
	for name, data := range map[string][]byte{"world": demtest.World(false), "world of unknown types": demtest.World(true), "doubtful values": doubtful(t)} {
		t.Run(name, func(t *testing.T) { checkWide(t, data, 1, 0) })
	}
}

// doubtful returns a demo with an unknown type of fields, behind which values of known types may be wrong, too.
func doubtful(t *testing.T) []byte {
	t.Helper()
	data, err := demtest.Rewrite(demtest.Zeros(), func(uint32, []byte) []byte { return nil })
	if err != nil {
		t.Fatal(err)
	}
	return bytes.ReplaceAll(data, []byte("Vector"), []byte("Qector"))
}

// TestWideCorpus is TestWide with real demos, and the classes with most entities in them.
func TestWideCorpus(t *testing.T) {
	files, most := []string{"demofile-net/14160.dem", "haste/auto-20240102-2233-start-____.dem"}, 3
	if decodertest.WholeCorpus() {
		files, most = append(files, "demofile-net/14065.dem", "demofile-net/deadlock_hltv_10423.dem"), 12
	}
	for _, name := range files {
		t.Run(name, func(t *testing.T) { checkWide(t, decodertest.Read(t, "corpus", "dem", name), 30, most) })
	}
}

// TestWideRefuses: what cannot be a column is refused by name, and left out where a pattern matches it.
func TestWideRefuses(t *testing.T) {
	data := sampleFile(t, "players of dota")
	for _, test := range []struct{ class, field, problem string }{
		{"CDOTA_PlayerResourc", "m_iTeamNum", `the demo has no class of entities "CDOTA_PlayerResourc", did you mean "CDOTA_PlayerResource"?`},
		{"CDOTA_PlayerResource", "m_vecPlayerDat", `has no field "m_vecPlayerDat", did you mean "m_vecPlayerData"?`},
		{"CDOTA_PlayerResource", "m_vecPlayerData", "m_vecPlayerData is a list: name its elements, such as m_vecPlayerData.0000, or m_vecPlayerData.* for all of them in one column"},
		{"CDOTA_PlayerResource", "m_vecPlayerData.0000", "has no field"},
		{"CDOTA_PlayerResource", "m_vecPlayerData.0", "has no field"},
		{"CDOTA_PlayerResource", "m_vecPlayerData.0000.x", "has no field"},
		{"CDOTA_PlayerResource", "m_vecPlayerData.99999.m_iszPlayerName", "has no field"},
		{"CDOTA_PlayerResource", "m_vecPlayerData.*", `no field matches "m_vecPlayerData.*"`},
	} {
		err := refusal(t, data, test.class, test.field)
		refused, ok := errors.AsType[*filter.FieldError](err)
		if !ok || !strings.Contains(refused.Problem, test.problem) {
			t.Errorf("%s.%s: %v, want %q", test.class, test.field, err, test.problem)
		}
	}
	d := doubtful(t)
	_, f, all, err := wideOf(t, codectest.Input(d), "*", 1, "*")
	if err != nil || len(rows(t, codectest.Input(d), f, all)) == 0 {
		t.Fatal(err)
	}
	if left := all.Kinds[kindOfSamples()].Comment; !strings.Contains(left, "m_vecSounds") {
		t.Errorf("what is left out: %s", left)
	}
	err = refusal(t, d, "*", "m_vecSounds.0000")
	if refused, ok := errors.AsType[*filter.FieldError](err); !ok || !strings.Contains(refused.Problem, "not known for certain") {
		t.Errorf("an unknown type: %v", err)
	}
	_, _, format, err := wideOf(t, codectest.Input(data), "CDOTA_PlayerResource", 1, "m_vecPlayerData.0001.m_iszPlayerName", "m_vecPlayer*", "*")
	if err == nil || format != nil {
		t.Fatal("a pattern that matches only lists was not refused")
	}
	_, _, format, err = wideOf(t, codectest.Input(data), "CDOTA_PlayerResource", 1, "m_vecPlayerData.0001.m_iszPlayerName")
	if err != nil {
		t.Fatal(err)
	}
	if got := format.Layout(false).Fields(kindOfSamples()); got[len(got)-2].Name != "m_vecPlayerData.0001.m_iszPlayerName" || got[len(got)-2].Type != table.Text {
		t.Errorf("columns %+v", got)
	}
}

// TestWideLimits: columns are limited in number and size, and one name has one type, none of another column.
func TestWideLimits(t *testing.T) {
	numbers, long := demtest.Serializer{Name: "CMany"}, demtest.Serializer{Name: "CLong"}
	for i := range 300 {
		numbers.Fields = append(numbers.Fields, demtest.Field{Name: fmt.Sprintf("m_%d", i), Type: "int32"})
		long.Fields = append(long.Fields, demtest.Field{Name: fmt.Sprintf("m_%d", i), Type: "Vector"})
	}
	d := demtest.New()
	d.Record(demtest.CmdFileHeader, -1, demtest.Proto(nil).Text(1, "PBDEMS2\x00"))
	d.Record(demtest.CmdSignonPacket, -1, demtest.PackMessages(demtest.Message{ID: 40, Data: demtest.Proto(nil).Varint(11, 3).Float(13, 1.0/64)}))
	d.Compressed(demtest.CmdSendTables, -1, demtest.SendTables(numbers, long, demtest.Serializer{Name: "COther", Fields: []demtest.Field{
		{Name: "m_1", Type: "bool"}, {Name: "m_2", Type: "int32"}, {Name: "serial", Type: "int32"},
	}}))
	d.Record(demtest.CmdClassInfo, -1, demtest.Classes("CMany", "CLong", "COther"))
	d.Record(demtest.CmdSyncTick, -1, nil)
	e := &demtest.Entities{ClassBits: 2}
	e.Create(1, 2, 1)
	d.Packet(0, demtest.Message{ID: 4, Data: demtest.Proto(nil).Varint(1, 1000)}, e.Message(false))
	for _, test := range []struct{ class, field, problem string }{
		{"CMany", "*", "more than 256 columns"},
		{"CMany", "m_2*", ""},
		{"CLong", "m_*2*", "too many columns"},
		{"CLong", "m_20*", ""},
		{"C?*", "m_1", "another class"},
		{"[CM]*", "m_1", `no class of entities "[CM]*"`},
		{"CMany", "m_1", ""},
		{"COther", "serial", "another column has the name serial"},
		{"COther", "*", ""},
	} {
		err := refusal(t, d.Bytes(), test.class, test.field)
		if (err == nil) != (test.problem == "") || err != nil && !strings.Contains(err.Error(), test.problem) {
			t.Errorf("%s.%s: %v, want %q", test.class, test.field, err, test.problem)
		}
	}
}

// TestWidePatterns: patterns select fields in the order of the schema, of all classes that match; lists are left out and named.
func TestWidePatterns(t *testing.T) {
	data := decodertest.Sample(t, "dem", "dota.dem")
	in, f, format, err := wideOf(t, codectest.Input(data), "CDOTA_*", 30, "CBodyComponent.place", "m_i*", "*")
	if err != nil {
		t.Fatal(err)
	}
	k := format.Kinds[kindOfSamples()]
	if k.Name != "sample_entity" || !strings.Contains(k.Comment, "Without a column") || !strings.Contains(k.Comment, "m_vecDataTeam") {
		t.Errorf("the table %s: %s", k.Name, k.Comment)
	}
	names := map[string]bool{}
	for _, c := range k.Fields {
		if names[c.Name] {
			t.Errorf("two columns are called %s", c.Name)
		}
		names[c.Name] = true
	}
	classes := map[any]bool{}
	for _, row := range rows(t, in, f, format) {
		classes[row["class"]] = true
	}
	if !names["CBodyComponent.place"] || !names["m_iHealth"] || names["m_vecDataTeam"] || len(classes) < 2 {
		t.Errorf("columns %v, classes %v", names, classes)
	}
}

// TestWideInputs: an input that can be read only once, in whatever parts, has the same table; a demo that ends before its entities has none.
func TestWideInputs(t *testing.T) {
	data := decodertest.Sample(t, "dem", "cs2.dem")
	of := func(in source.Input) []map[string]any {
		in, f, format, err := wideOf(t, in, "CCSPlayerPawn", 8, "m_iHealth", "CBodyComponent.place")
		if err != nil {
			t.Fatal(err)
		}
		return rows(t, in, f, format)
	}
	whole := of(codectest.Input(data))
	once := of(source.Input{Front: iotest.OneByteReader(bytes.NewReader(data)), Size: -1})
	if len(whole) < 10 || !reflect.DeepEqual(whole, once) {
		t.Errorf("%d rows, and of an input that is read once %d", len(whole), len(once))
	}
	pawn := &replaydv1.DemFilter{Classes: []string{"CCSPlayerPawn"}}
	_, _, err := encoder.Codec.Widen(codectest.Input(data[:1000]), sampling(t, 8, pawn), pawn)
	if refused, ok := errors.AsType[*filter.FieldError](err); !ok || refused.Field != "field_columns" {
		t.Error(err)
	}
}

func checkWide(t *testing.T, data []byte, every int32, most int) {
	type sample struct {
		tick          int64
		index, serial uint32
		view          bool
		fields        map[string]any
	}
	want := map[string][]sample{}
	names := map[string]map[string]bool{} // the fields of a class that have values
	fold(t, data, every, func(tick int32, state *dem.EntityState) {
		for _, e := range state.All() {
			s := sample{int64(tick), e.Index, e.Serial, e.InView, maps.Clone(e.Fields)}
			if names[e.Class] == nil {
				names[e.Class] = map[string]bool{}
			}
			for name, v := range s.fields {
				if h, ok := v.(dem.Handle); ok {
					s.fields[name] = uint32(h)
				}
				if names[e.Class][name] = true; e.Unproven[name] {
					delete(s.fields, name)
				}
			}
			want[e.Class] = append(want[e.Class], s)
		}
	})
	if len(want) == 0 {
		t.Fatal("no entities")
	}
	classes := slices.SortedFunc(maps.Keys(want), func(a, b string) int { return len(want[b]) - len(want[a]) })
	cells, told := 0, 0
	for _, class := range classes[:min(len(classes), max(most, len(classes)*(1-min(most, 1))))] {
		fields := slices.Sorted(maps.Keys(names[class]))
		for len(fields) > 0 {
			some := fields[:min(len(fields), 60)]
			fields = fields[len(some):]
			in, f, format, err := wideOf(t, codectest.Input(data), class, every, some...)
			for ; err != nil; in, f, format, err = wideOf(t, codectest.Input(data), class, every, some...) {
				refused, ok := errors.AsType[*filter.FieldError](err)
				var i int
				if !ok {
					t.Fatal(err)
				}
				if _, failed := fmt.Sscanf(refused.Field, "include[0].dem.fields[%d]", &i); failed != nil || !strings.Contains(refused.Problem, some[i]) {
					t.Fatalf("%s: %v", class, err)
				}
				told++
				some = slices.Delete(slices.Clone(some), i, i+1)
			}
			if format.Kinds[kindOfSamples()].Name != class {
				t.Fatalf("the table of %s is called %s", class, format.Kinds[kindOfSamples()].Name)
			}
			got := rows(t, in, f, format)
			next := 0
			for _, s := range want[class] {
				has := false
				for _, name := range some {
					_, there := s.fields[name]
					has = has || there
				}
				if !has && (next == len(got) || got[next]["sample_entity_index"] != s.index || got[next]["at_tick"] != s.tick) {
					continue // no row, as no selected field has a value
				}
				if next == len(got) {
					t.Fatalf("%s: %d rows only", class, len(got))
				}
				row := got[next]
				next++
				if row["at_tick"] != s.tick || row["sample_entity_index"] != s.index || row["serial"] != s.serial || row["class"] != class || row["out_of_view"] == s.view {
					t.Fatalf("%s: row %d is %v, want that of %+v", class, next, row, s)
				}
				for _, name := range some {
					if got, want := fmt.Sprintf("%T%v", row[name], row[name]), fmt.Sprintf("%T%v", s.fields[name], s.fields[name]); got != want && (s.fields[name] != nil || got != "[]float32[]") {
						t.Fatalf("%s, tick %d, entity %d: %s is %s, want %s", class, s.tick, s.index, name, got, want)
					}
					cells++
				}
			}
			if next < len(got) {
				t.Fatalf("%s: row %v is too much", class, got[next])
			}
		}
	}
	if t.Logf("%d cells of %d classes, %d fields refused", cells, len(classes), told); cells < 100 {
		t.Errorf("%d cells only", cells)
	}
}

// TestWideReference compares wide tables of the last tick with the state that another decoder has at the end of the demo: truth values,
// texts, and numbers of types that it reads alike.
func TestWideReference(t *testing.T) {
	packed, err := gzip.NewReader(bytes.NewReader(decodertest.Read(t, "reference", "dem-auto-20240102.state.txt.gz")))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(packed)
	if err != nil {
		t.Fatal(err)
	}
	entities := map[string]map[string]string{} // by "slot serial class"
	classes := map[string][]string{}
	var fields map[string]string
	class := ""
	for line := range strings.Lines(string(text)) {
		name, value, isField := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if !isField {
			fields, class = map[string]string{}, name[strings.LastIndexByte(name, ' ')+1:]
			entities[name] = fields
			continue
		}
		if fields[name] = value; !slices.Contains(classes[class], name) {
			classes[class] = append(classes[class], name)
		}
	}
	data := decodertest.Read(t, "corpus", "dem", "haste/auto-20240102-2233-start-____.dem")
	compared := 0
	for _, class := range []string{"CDOTABaseAbility", "CDOTA_BaseNPC_Tower", "CDOTAPlayerController", "CDOTAPlayerPawn", "CDOTA_NeutralSpawner", "CDOTATeam", "CDOTA_Unit_Courier"} {
		in, f, format, err := wideOf(t, codectest.Input(data), class, 812, "*")
		if err != nil {
			t.Fatal(err)
		}
		last := rows(t, in, f, format)
		for _, row := range last[len(last)/2:] {
			key := fmt.Sprintf("%v %v %s", row["sample_entity_index"], row["serial"], class)
			want := entities[key]
			if want == nil {
				t.Fatalf("%s is not in the reference", key)
			}
			for name, v := range row {
				var got string
				switch v := v.(type) {
				case bool:
					got = fmt.Sprintf("b%t", v)
				case uint64:
					got = fmt.Sprintf("i%d", v)
				case string:
					got = fmt.Sprintf("s%q", v)
				default:
					continue
				}
				if told, ok := want[name]; ok && told[0] == got[0] {
					if compared++; told != got {
						t.Errorf("%s: %s is %s, want %s", key, name, got, told)
					}
				}
			}
		}
	}
	if t.Logf("%d cells", compared); compared < 4000 {
		t.Errorf("%d cells only", compared)
	}
}
