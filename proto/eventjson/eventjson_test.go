package eventjson_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/replayd/replayd/proto/eventjson"
	demv1 "github.com/replayd/replayd/proto/replayd/dem/v1"
	optionsv1 "github.com/replayd/replayd/proto/replayd/options/v1"
	teehistorianv1 "github.com/replayd/replayd/proto/replayd/teehistorian/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// lists returns the event lists of all formats.
func lists() (all []protoreflect.MessageDescriptor) {
	fields := (*replaydv1.EventBatch)(nil).ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		if m := fields.Get(i).Message(); m != nil && !fields.Get(i).IsList() { // tables are no events
			all = append(all, m)
		}
	}
	return all
}

func kindsOf(list protoreflect.MessageDescriptor) protoreflect.FieldDescriptors {
	return list.Fields().ByNumber(1).Message().Oneofs().ByName("kind").Fields()
}

// texts are the strings of the batch, to which events of some formats refer.
var texts = []string{"CDOTA_Unit_Hero_Axe", "m_iHealth", "ä \" \\ \u2028", ""}

// fill fills a message with random values.
func fill(r *rand.Rand, m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	if m.Descriptor().FullName() == "google.protobuf.Timestamp" {
		seconds := []int64{-62135596800, -1, 0, 1790000000, 253402300799}[r.IntN(5)]
		m.Set(fields.ByName("seconds"), protoreflect.ValueOfInt64(seconds))
		m.Set(fields.ByName("nanos"), protoreflect.ValueOfInt32([]int32{0, 1, 5000, 120000000, 999999999}[r.IntN(5)]))
		return
	}
	for i := range fields.Len() {
		f := fields.Get(i)
		switch {
		case f.ContainingOneof() != nil && !f.ContainingOneof().IsSynthetic(): // one alternative is set below
		case f.IsList():
			list := m.Mutable(f).List()
			for range r.IntN(4) {
				if f.Message() == nil {
					list.Append(value(r, f))
				} else if depth > 0 {
					fill(r, list.AppendMutable().Message(), depth-1)
				}
			}
		case f.Message() != nil:
			if depth > 0 && r.IntN(3) > 0 {
				fill(r, m.Mutable(f).Message(), depth-1)
			}
		case r.IntN(4) > 0:
			m.Set(f, value(r, f))
		}
	}
	for i := range m.Descriptor().Oneofs().Len() {
		o := m.Descriptor().Oneofs().Get(i)
		if o.IsSynthetic() || o.Name() == "kind" || r.IntN(4) == 0 {
			continue
		}
		f := o.Fields().Get(r.IntN(o.Fields().Len()))
		if f.Message() == nil {
			m.Set(f, value(r, f))
		} else if depth > 0 {
			fill(r, m.Mutable(f).Message(), depth-1)
		}
	}
}

// refers reports whether a field is an index into the batch's strings.
func refers(f protoreflect.FieldDescriptor) bool {
	ref, _ := proto.GetExtension(f.Options(), optionsv1.E_StringIndex).(bool)
	return ref
}

func value(r *rand.Rand, f protoreflect.FieldDescriptor) protoreflect.Value {
	bits := r.Uint64() >> r.IntN(64)
	if r.IntN(8) == 0 {
		bits = []uint64{9, 10, 99, 100, 999, 1000}[r.IntN(6)] // the number of digits changes
	}
	if r.IntN(6) == 0 {
		bits = -bits
	}
	switch f.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(bits&1 == 0)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(int32(bits % 9)))
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(int32(bits))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		if refers(f) {
			bits %= uint64(len(texts))
		}
		return protoreflect.ValueOfUint32(uint32(bits))
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(int64(bits))
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(bits)
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32([]float32{0, 1.5, -3e-9, 2e30, float32(math.Inf(1)), math.Float32frombits(uint32(bits))}[r.IntN(6)])
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64([]float64{0, 0.1, -1e-7, 1e21, math.NaN(), math.Float64frombits(bits)}[r.IntN(6)])
	case protoreflect.BytesKind:
		b := make([]byte, r.IntN(9))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return protoreflect.ValueOfBytes(b)
	default:
		var b strings.Builder
		for range r.IntN(12) {
			b.WriteRune([]rune("aZ0 \"\\/<>&\b\f\n\r\t\x00\x01\x1f\x7fäß€\u2028\u2029\ufffd😀")[r.IntN(26)])
		}
		return protoreflect.ValueOfString(b.String())
	}
}

// tree parses JSON. It keeps numbers as written.
func tree(tb testing.TB, text []byte) map[string]any {
	tb.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		tb.Fatalf("%v: %s", err, text)
	}
	return v
}

// resolve replaces indices into the batch's strings by the strings.
func resolve(m protoreflect.MessageDescriptor, v map[string]any) {
	for key, inner := range v {
		f := m.Fields().ByName(protoreflect.Name(key))
		if f == nil {
			continue
		}
		one := func(x any) any {
			switch x := x.(type) {
			case map[string]any:
				resolve(f.Message(), x)
			case json.Number:
				if n, err := x.Int64(); err == nil && refers(f) {
					return texts[n]
				}
			}
			return x
		}
		if list, ok := inner.([]any); ok {
			for i := range list {
				list[i] = one(list[i])
			}
			continue
		}
		v[key] = one(inner)
	}
}

// expected returns the expected contents of a line, based on protojson's output for the event.
func expected(tb testing.TB, event protoreflect.Message, at eventjson.Place) map[string]any {
	tb.Helper()
	text, err := protojson.MarshalOptions{UseProtoNames: true, EmitDefaultValues: true}.Marshal(event.Interface())
	if err != nil {
		tb.Fatal(err)
	}
	v := tree(tb, text)
	resolve(event.Descriptor(), v)
	want := map[string]any{"sequence": fmt.Sprint(at.Sequence), "offset": fmt.Sprint(at.Offset), "index": fmt.Sprint(at.Index)}
	clock := event.Descriptor().Fields().ByName("at_tick")
	want["at_tick"] = json.Number(fmt.Sprint(event.Get(clock).Int()))
	if kind := event.WhichOneof(event.Descriptor().Oneofs().ByName("kind")); kind != nil {
		want["kind"] = string(kind.Name())
		want[string(kind.Name())] = v[string(kind.Name())]
	}
	fields := event.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if o := f.ContainingOneof(); o != nil && o.Name() == "kind" || f == clock || !event.Has(f) {
			continue
		}
		want[string(f.Name())] = v[string(f.Name())]
	}
	return want
}

// compare prints an event and compares the line with protojson's output.
func compare(tb testing.TB, p *eventjson.Printer, event protoreflect.Message) {
	tb.Helper()
	wire, err := proto.Marshal(event.Interface())
	if err != nil {
		tb.Fatal(err)
	}
	var refs [][]byte
	for _, s := range texts {
		refs = append(refs, []byte(s))
	}
	at := eventjson.Place{Sequence: math.MaxUint64, Offset: 1<<53 + 1, Index: 129}
	line, err := p.AppendLine([]byte("before"), at, wire, refs)
	if err != nil {
		tb.Fatalf("%v: %v", err, event)
	}
	if !bytes.HasPrefix(line, []byte("before{")) || !bytes.HasSuffix(line, []byte("}\n")) || bytes.Count(line, []byte("\n")) != 1 {
		tb.Fatalf("not one line: %q", line)
	}
	if diff := cmp.Diff(expected(tb, event, at), tree(tb, line[len("before"):])); diff != "" {
		tb.Fatalf("protojson (-) and eventjson (+) differ:\n%s\n%s", diff, line)
	}
	kind, tick, err := p.Kind(wire)
	if err != nil {
		tb.Fatal(err)
	}
	if which := event.WhichOneof(event.Descriptor().Oneofs().ByName("kind")); which != nil && kind != string(which.Name()) {
		tb.Errorf("kind %q, want %q", kind, which.Name())
	}
	if f := event.Descriptor().Fields().ByName("at_tick"); f != nil && int64(tick) != event.Get(f).Int() {
		tb.Errorf("tick %d, want %d", tick, event.Get(f).Int())
	}
}

// TestEveryKind prints events of every kind of every format, both empty and with random values.
func TestEveryKind(t *testing.T) {
	for _, list := range lists() {
		p := eventjson.New(list)
		kinds := kindsOf(list)
		for i := range kinds.Len() {
			kind := kinds.Get(i)
			t.Run(string(list.ParentFile().Package())+"/"+string(kind.Name()), func(t *testing.T) {
				r := rand.New(rand.NewPCG(1, uint64(i)))
				for round := range 50 {
					event := dynamicpb.NewMessage(kind.ContainingMessage())
					inner := event.Mutable(kind).Message()
					if round > 0 {
						fill(r, event, 0)
						fill(r, inner, 4)
					}
					compare(t, p, event)
				}
			})
		}
	}
}

// TestAnyOrder: the fields of an event may come in any order, several times, and beside others that the program does not know. Only
// the last value of a field counts.
func TestAnyOrder(t *testing.T) {
	unknown := protowire.AppendVarint(protowire.AppendTag(nil, 1000, protowire.VarintType), 5)
	for _, list := range lists() {
		p := eventjson.New(list)
		kinds := kindsOf(list)
		for i := range kinds.Len() {
			kind := kinds.Get(i)
			event := dynamicpb.NewMessage(kind.ContainingMessage())
			fill(rand.New(rand.NewPCG(2, uint64(i))), event.Mutable(kind).Message(), 1)
			body, err := proto.Marshal(event.Get(kind).Message().Interface())
			if err != nil {
				t.Fatal(err)
			}
			line := func(body []byte) string {
				wire := protowire.AppendBytes(protowire.AppendTag(nil, kind.Number(), protowire.BytesType), body)
				var refs [][]byte
				for _, s := range texts {
					refs = append(refs, []byte(s))
				}
				line, err := p.AppendLine(nil, eventjson.Place{}, wire, refs)
				if err != nil {
					t.Errorf("%s: %v", kind.Name(), err)
				}
				return string(line)
			}
			var fields [][]byte
			var doubled, reversed []byte
			for rest := body; len(rest) > 0; {
				number, _, n := protowire.ConsumeField(rest)
				fields = append(fields, rest[:n])
				if f := kind.Message().Fields().ByNumber(number); !f.IsList() {
					doubled = protowire.AppendVarint(protowire.AppendTag(doubled, number, protowire.VarintType), 1)
				}
				doubled = append(append(doubled, rest[:n]...), unknown...)
				rest = rest[n:]
			}
			slices.SortStableFunc(fields, func(a, b []byte) int { // elements of a list stay in order
				first, _, _ := protowire.ConsumeTag(a)
				second, _, _ := protowire.ConsumeTag(b)
				return int(second - first)
			})
			for _, f := range fields {
				reversed = append(reversed, f...)
			}
			want := line(body)
			if got := line(reversed); got != want {
				t.Errorf("reversed: %s, want %s", got, want)
			}
			if got := line(doubled); got != want {
				t.Errorf("doubled: %s, want %s", got, want)
			}
			if got := line(append(bytes.Clone(body), bytes.Repeat(unknown, 2)...)); got != want {
				t.Errorf("unknown fields: %s, want %s", got, want)
			}
		}
	}
}

// TestTooLarge: of a number that is longer than its field, the lower bits count, as they do for protobuf.
func TestTooLarge(t *testing.T) {
	list := (&teehistorianv1.EventList{}).ProtoReflect().Descriptor()
	p, kind := eventjson.New(list), kindsOf(list).ByName("player_diff").Number()
	line := func(body []byte) string {
		wire := protowire.AppendBytes(protowire.AppendTag(nil, kind, protowire.BytesType), body)
		line, err := p.AppendLine(nil, eventjson.Place{}, wire, nil)
		if err != nil {
			t.Fatal(err)
		}
		return string(line)
	}
	for _, v := range []uint64{1<<31 - 1, 1 << 31, 1<<32 - 1, 1<<32 + 5, 1<<63 + 6, 1<<64 - 1} {
		for number := range protowire.Number(5) { // client_id is an int32, the others are sint32
			body := protowire.AppendVarint(protowire.AppendTag(nil, number+1, protowire.VarintType), v)
			var m teehistorianv1.PlayerDiff
			if err := proto.Unmarshal(body, &m); err != nil {
				t.Fatal(err)
			}
			value := m.ProtoReflect().Get(m.ProtoReflect().Descriptor().Fields().ByNumber(number + 1))
			if got := line(body); !strings.Contains(got, ":"+value.String()) {
				t.Errorf("%d in field %d: %s, want %v", v, number+1, got, value)
			}
		}
	}
}

// TestNoNumber: no field has the number 0.
func TestNoNumber(t *testing.T) {
	list := (&teehistorianv1.EventList{}).ProtoReflect().Descriptor()
	wire := protowire.AppendTag(nil, kindsOf(list).ByName("player_diff").Number(), protowire.BytesType)
	wire = protowire.AppendBytes(wire, []byte{0, 5})
	if line, err := eventjson.New(list).AppendLine(nil, eventjson.Place{}, wire, nil); err == nil {
		t.Errorf("%s", line)
	}
}

// TestAllocations: nothing is allocated for an event whose fields are in order.
func TestAllocations(t *testing.T) {
	list := &teehistorianv1.EventList{Events: []*teehistorianv1.Event{
		{AtTick: 700, Kind: &teehistorianv1.Event_PlayerDiff{PlayerDiff: &teehistorianv1.PlayerDiff{ClientId: 3, Dx: -5, X: proto.Int32(1234)}}},
		{AtTick: 700, Kind: &teehistorianv1.Event_InputDiff{InputDiff: &teehistorianv1.InputDiff{Input: &teehistorianv1.Input{Fire: 70}}}},
	}}
	wire, err := proto.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	p := eventjson.New(list.ProtoReflect().Descriptor())
	var events, names [][]byte
	var line []byte
	if n := testing.AllocsPerRun(100, func() {
		events, names, _ = p.List(wire, events[:0], names[:0])
		for _, e := range events {
			line, _ = p.AppendLine(line[:0], eventjson.Place{Sequence: 1 << 40, Offset: 1 << 30}, e, names)
		}
	}); n > 0 {
		t.Errorf("%v allocations for two events", n)
	}
}

// TestTimes: what is no time of the years 1 to 9999 is an error, and no line.
func TestTimes(t *testing.T) {
	p := eventjson.New((&demv1.EventList{}).ProtoReflect().Descriptor())
	for what, at := range map[string]*timestamppb.Timestamp{
		"before the year 1": {Seconds: -62135596801}, "the year 10000": {Seconds: 253402300800}, "negative nanoseconds": {Nanos: -1},
		"a second of nanoseconds": {Nanos: 1e9},
	} {
		wire, err := proto.Marshal(&demv1.Event{Kind: &demv1.Event_MatchSummary{MatchSummary: &demv1.MatchSummary{StartTime: at}}})
		if err != nil {
			t.Fatal(err)
		}
		if line, err := p.AppendLine(nil, eventjson.Place{}, wire, nil); err == nil {
			t.Errorf("%s: %s", what, line)
		}
	}
}

func FuzzEvents(f *testing.F) {
	all := lists()
	var printers []*eventjson.Printer
	for i, list := range all {
		printers = append(printers, eventjson.New(list))
		f.Add(uint8(i), uint16(0), uint64(1))
	}
	f.Fuzz(func(t *testing.T, format uint8, kind uint16, seed uint64) {
		i := int(format) % len(all)
		kinds := kindsOf(all[i])
		k := kinds.Get(int(kind) % kinds.Len())
		r := rand.New(rand.NewPCG(seed, 0))
		event := dynamicpb.NewMessage(k.ContainingMessage())
		fill(r, event, 0)
		fill(r, event.Mutable(k).Message(), 4)
		compare(t, printers[i], event)
	})
}

// FuzzMalformed checks that any bytes give either a line of JSON or an error.
func FuzzMalformed(f *testing.F) {
	var printers []*eventjson.Printer
	for _, list := range lists() {
		printers = append(printers, eventjson.New(list))
	}
	f.Add(uint8(0), []byte{0x08, 0x05, 0x12, 0x02, 0x08, 0x01})
	f.Fuzz(func(t *testing.T, format uint8, data []byte) {
		p := printers[int(format)%len(printers)]
		events, refs, err := p.List(data, nil, nil)
		if err == nil {
			for _, e := range events {
				if line, err := p.AppendLine(nil, eventjson.Place{}, e, refs); err == nil && !json.Valid(bytes.ToValidUTF8(line, nil)) {
					t.Errorf("not JSON: %q", line)
				}
			}
		}
		if line, err := p.AppendLine(nil, eventjson.Place{}, data, nil); err == nil && !json.Valid(bytes.ToValidUTF8(line, nil)) {
			t.Errorf("not JSON: %q", line)
		}
		_, _, _ = p.Kind(data)
	})
}
