package dem

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/golang/snappy"
	cmpgo "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/decoders/dem/demtest"
	"github.com/replayd/replayd/decoders/dem/internal/entity"
	"github.com/replayd/replayd/decoders/dem/internal/infer"
	"github.com/replayd/replayd/decoders/dem/internal/pb"
	"github.com/replayd/replayd/decoders/dem/internal/schema"
	"github.com/replayd/replayd/decoders/dem/internal/value"
)

// Numbers of the descriptions of fields that name a type and an encoder.
const (
	fieldType    = 1
	fieldEncoder = 10
)

// renameType gives a type another name, of the same length, wherever a field of the schema has it.
func renameType(t *testing.T, data []byte, typ string) []byte {
	t.Helper()
	return renameSymbol(t, data, fieldType, regexp.MustCompile(`^(?:.*[^A-Za-z0-9_:])?(`+regexp.QuoteMeta(typ)+`)(?:[^A-Za-z0-9_:].*)?$`))
}

// renameEncoder is renameType of an encoder.
func renameEncoder(t *testing.T, data []byte, encoder string) []byte {
	t.Helper()
	return renameSymbol(t, data, fieldEncoder, regexp.MustCompile("^("+regexp.QuoteMeta(encoder)+")$"))
}

// renameSymbol gives symbols that a field of the schema has under a number another name, where the group of word matches.
func renameSymbol(t *testing.T, data []byte, number int, word *regexp.Regexp) []byte {
	t.Helper()
	renamed := 0
	out, err := demtest.Rewrite(data, func(command uint32, payload []byte) []byte {
		if command != demtest.CmdSendTables {
			return nil
		}
		payload = bytes.Clone(payload)
		symbols, used := schemaSymbols(payload, number)
		for i := range used {
			if at := word.FindSubmatchIndex(symbols[i]); at != nil {
				symbols[i][at[2]] = 'Q'
				symbols[i][at[2]+1] = 'z'
				renamed++
			}
		}
		return payload
	})
	if err != nil || renamed == 0 {
		t.Fatalf("%d symbols renamed, %v", renamed, err)
	}
	return out
}

// schemaSymbols returns the symbols of CDemoSendTables, as parts of it, and which of them fields have under a number.
func schemaSymbols(payload []byte, number int) (symbols [][]byte, used map[int32]bool) {
	var tables []byte
	for m := pb.NewReader(payload); m.Next(); {
		_, n := pb.Uvarint(m.Raw)
		tables = m.Raw[n:]
	}
	used = map[int32]bool{}
	for m := pb.NewReader(tables); m.Next(); {
		switch m.Num {
		case 2:
			symbols = append(symbols, m.Raw)
		case 3:
			for f := pb.NewReader(m.Raw); f.Next(); {
				if f.Num == number {
					used[f.Int32()] = true
				}
			}
		}
	}
	return symbols, used
}

// encodersOf returns the encoders of a file.
func encodersOf(t *testing.T, data []byte) (names []string) {
	t.Helper()
	_, err := demtest.Rewrite(data, func(command uint32, payload []byte) []byte {
		if command == demtest.CmdSendTables {
			symbols, used := schemaSymbols(payload, fieldEncoder)
			for i := range used {
				if len(symbols[i]) > 1 {
					names = append(names, string(symbols[i]))
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

// told is what a stream tells of entities: by position, the texts of fields by name; and at last the state of all entities.
type told struct {
	events map[decoders.Position]map[string]string
	last   map[string]string
	fields int
	faults int
	lost   int
	d      *Decoder
}

func tell(t *testing.T, data []byte, opts Options) *told {
	t.Helper()
	out := &told{events: map[decoders.Position]map[string]string{}, last: map[string]string{}}
	out.d = decodeAll(t, data, opts, func(d *Decoder, ev *Event) {
		var fields []FieldValue
		switch ev.Kind {
		case KindEntityCreated:
			fields = ev.EntityCreated.Fields
		case KindEntityUpdated:
			fields = ev.EntityUpdated.Fields
		case KindEntityEntered:
			fields = ev.EntityEntered.Fields
		case KindFault:
			out.faults++
			return
		default:
			return
		}
		values := map[string]string{}
		for i := range fields {
			f := &fields[i]
			if f.ValueCase == FieldValueValueNone {
				out.lost++
				continue
			}
			values[d.Name(f.Field)] = fieldValueText(f)
			if f.Unproven {
				values[d.Name(f.Field)] += " unproven"
			}
			out.fields++
		}
		out.events[d.EventPosition()] = values
	})
	for i := range MaxEntities {
		e, ok := out.d.Entity(i)
		if !ok {
			continue
		}
		for k := range e.Fields {
			f := &e.Fields[k]
			out.last[fmt.Sprintf("%d %s %s", i, e.Class, out.d.Name(f.Field))] = fieldValueText(f)
		}
	}
	return out
}

// fieldValueText writes the value of a field, without telling which kind of a number it is.
func fieldValueText(f *FieldValue) string {
	floats := func(b string, of ...float32) string {
		text := []byte(b)
		for _, x := range of {
			text = strconv.AppendFloat(append(text, ' '), float64(x), 'g', -1, 32)
		}
		return string(text)
	}
	switch f.ValueCase {
	case FieldValueValueInt:
		return strconv.FormatInt(f.Int, 10)
	case FieldValueValueUint:
		return strconv.FormatUint(f.Uint, 10)
	case FieldValueValueHandle:
		return strconv.FormatUint(uint64(f.Handle), 10)
	case FieldValueValueFloat:
		return floats("float", f.Float)
	case FieldValueValueBool:
		return strconv.FormatBool(f.Bool)
	case FieldValueValueText:
		return strconv.Quote(string(f.Text))
	case FieldValueValueVector:
		return floats("vector", f.Vector.X, f.Vector.Y, f.Vector.Z)
	case FieldValueValueTuple:
		return floats("tuple", f.Tuple.Values...)
	case FieldValueValueBlob:
		return hex.EncodeToString(f.Blob)
	}
	return "nothing"
}

// usedTypes returns the types of values that a file has most of.
func usedTypes(t *testing.T, data []byte, n int) []string {
	t.Helper()
	values := map[uint32]int{}
	d := decodeAll(t, data, Options{}, func(_ *Decoder, ev *Event) {
		for _, fields := range [][]FieldValue{ev.EntityCreated.Fields, ev.EntityUpdated.Fields, ev.EntityEntered.Fields} {
			for i := range fields {
				values[fields[i].Field]++
			}
		}
		ev.EntityCreated.Fields, ev.EntityUpdated.Fields, ev.EntityEntered.Fields = nil, nil, nil
	})
	counts := map[string]int{}
	var visit func(n *entity.Node)
	visit = func(n *entity.Node) {
		if n == nil {
			return
		}
		if n.Codec.Op != value.OpNone && values[n.Name] > 0 {
			typ := schema.ParseType(n.Field.Type)
			if n.Elem && n.Field.Shape == schema.ShapeVector {
				typ = schema.ParseType(typ.Generic)
			}
			counts[typ.Base] += values[n.Name]
			delete(values, n.Name)
		}
		for _, k := range n.Kids {
			visit(k)
		}
	}
	for _, c := range d.world.classes {
		if c != nil {
			visit(c.Root)
		}
	}
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(counts[b]-counts[a], strings.Compare(a, b)) })
	return names[:min(n, len(names))]
}

// TestCorpusUnknownTypes: whichever of the three, or with CORPUS=all ten, most used types nobody knows, nothing is told that is not so,
// and nearly everything that is.
func TestCorpusUnknownTypes(t *testing.T) {
	for _, name := range unknownDemos() {
		t.Run(name, func(t *testing.T) {
			data, most := corpusFile(t, name), 3
			if decodertest.WholeCorpus() {
				most = 10
			}
			testUnknownTypes(t, data, usedTypes(t, data, most), 0.9)
		})
	}
}

// TestUnknownTypes is TestCorpusUnknownTypes of a demo of our own making, and of all types of values in it.
func TestUnknownTypes(t *testing.T) {
	data := demtest.World(false)
	types := usedTypes(t, data, 100)
	// Whether something is an object or a list of objects only its type tells, and text that is an array only its own.
	types = slices.DeleteFunc(types, func(typ string) bool { return slices.Contains([]string{"CBodyComponent", "char"}, typ) })
	if len(types) < 13 {
		t.Fatalf("types %q", types)
	}
	testUnknownTypes(t, data, types, 1)
}

// TestUnreadableType: of a type that cannot be read at all, and of what follows it in an update, nothing is told, and that is
// said; whatever is asked for, the figures are the same.
func TestUnreadableType(t *testing.T) {
	want, got := tell(t, demtest.World(false), Options{}), tell(t, demtest.World(true), Options{})
	right := 0
	for name, text := range got.last {
		if want.last[name] != text {
			t.Errorf("at last %s is %s, not %s", name, text, want.last[name])
		}
		right++
	}
	if right == len(want.last) || right < len(want.last)*9/10 {
		t.Errorf("%d of %d last values", right, len(want.last))
	}
	h := got.d.Health()
	if got.faults == 0 || got.lost == 0 || h.FieldsLost == 0 || int64(got.faults) != h.Faults["CCSPlayerPawn"] || len(h.Faults) != 1 {
		t.Errorf("%d faults, %d values lost; %+v", got.faults, got.lost, h)
	}
	for _, g := range h.Types {
		if (g.ReadAs == "") != (g.Name == "Strange_t") {
			t.Errorf("%+v", g)
		}
	}
	for name, opts := range map[string]Options{
		"only faults":      {Kinds: func(k Kind) bool { return k == KindFault }},
		"another class":    {Classes: func(c string) bool { return c == "CWeapon" }},
		"without faults":   {Kinds: func(k Kind) bool { return k != KindFault }, Classes: func(c string) bool { return c == "CWeapon" }},
		"only one field":   {Fields: func(_, f string) bool { return f == "m_iHealth" }},
		"the class itself": {Kinds: func(k Kind) bool { return k == KindEntityUpdated }, Classes: func(c string) bool { return c == "CCSPlayerPawn" }},
	} {
		some := tell(t, demtest.World(true), opts)
		if diff := cmpgo.Diff(h, some.d.Health(), cmpopts.IgnoreFields(Health{}, "Fields")); diff != "" {
			t.Errorf("%s (-all +this):\n%s", name, diff)
		}
		if want := got.faults; name == "only faults" && some.faults != want {
			t.Errorf("%s: %d faults, not %d", name, some.faults, want)
		}
		for at, fields := range some.events {
			for name, text := range fields {
				if got.events[at][name] != text {
					t.Errorf("%s at %v: %s is %s, not %s", name, at, name, text, got.events[at][name])
				}
			}
		}
	}
}

// testUnknownTypes renames each of some types of a file, and compares what is told then with what is told of the file as it
// is. At least a share of the last values must still be there.
func testUnknownTypes(t *testing.T, data []byte, types []string, share float64) {
	// All renamed ones are written in this way.
	data, err := demtest.Rewrite(data, func(uint32, []byte) []byte { return nil })
	if err != nil {
		t.Fatal(err)
	}
	want := tell(t, data, Options{})
	if want.faults > 0 || want.lost > 0 {
		t.Fatalf("%d faults, %d values lost", want.faults, want.lost)
	}
	for _, typ := range types {
		t.Run(typ, func(t *testing.T) {
			got := tell(t, renameType(t, data, typ), Options{})
			wrong := 0
			complain := func(format string, args ...any) {
				if wrong++; wrong <= 5 {
					t.Errorf(format, args...)
				}
			}
			for at, fields := range got.events {
				for name, text := range fields {
					text = strings.TrimSuffix(text, " unproven")
					if whole := strings.TrimSuffix(want.events[at][name], " unproven"); whole != text {
						complain("at %v: %s is %s, not %s", at, name, text, whole)
					}
				}
			}
			right := 0
			for name, text := range got.last {
				if want.last[name] == text {
					right++
				} else {
					complain("at last %s is %s, not %s", name, text, want.last[name])
				}
			}
			t.Logf("%d of %d values wrong; %d of %d last values right; %d faults, %d lost", wrong, got.fields, right, len(want.last), got.faults, got.lost)
			if float64(right) < share*float64(len(want.last)) {
				t.Errorf("%d of %d last values are right", right, len(want.last))
			}
			for _, g := range got.d.Health().Types {
				if strings.HasPrefix(g.Name, "Qz") {
					t.Logf("%+v", g)
				}
			}
		})
	}
}

// TestEncoderWithoutSizes: in an old recording nothing says where an update ends that has a value with an unknown encoder.
func TestEncoderWithoutSizes(t *testing.T) {
	data, err := demtest.Rewrite(demtest.Encoders(true), func(uint32, []byte) []byte { return nil })
	if err != nil {
		t.Fatal(err)
	}
	want, got := tell(t, data, Options{}), tell(t, renameEncoder(t, data, "qangle_precise"), Options{})
	compareTold(t, want, got, "qangle_precise")
	if want.faults > 0 || got.faults == 0 || got.fields == 0 {
		t.Errorf("%d faults, renamed %d, with %d values", want.faults, got.faults, got.fields)
	}
}

// TestUnknownEncoder: what is told of an encoder that nobody knows: a reading that is proven and never sure, marks on values of all kinds,
// and the same figures whatever is asked for.
func TestUnknownEncoder(t *testing.T) {
	data := renameEncoder(t, demtest.Encoders(false), "fixed64")
	got := tell(t, data, Options{})
	if g := got.d.Health().Types; len(g) != 1 || g[0].Name != "uint64(Qzxed64)" || g[0].ReadAs != "uint64(fixed64)" || g[0].Proofs == 0 {
		t.Errorf("%+v", g)
	}
	angles := tell(t, renameEncoder(t, demtest.Encoders(false), "qangle_precise"), Options{})
	marked := 0
	for _, fields := range angles.events {
		if text, ok := fields["m_angPrecise"]; ok {
			if !strings.HasSuffix(text, " unproven") {
				t.Fatalf("%s is not marked", text)
			}
			marked++
		}
	}
	if marked < 100 || angles.d.Health().Types[0].Proofs != 0 {
		t.Errorf("%d marked, %+v", marked, angles.d.Health().Types)
	}
	some := tell(t, data, Options{Fields: func(_, f string) bool { return f == "m_nLast" }})
	if !slices.Equal(some.d.Health().Types, got.d.Health().Types) {
		t.Errorf("%+v", some.d.Health().Types)
	}
}

// TestPlaceOfUnknown: a place is marked if a part of it is.
func TestPlaceOfUnknown(t *testing.T) {
	for _, typ := range []string{"uint16", "CNetworkedQuantizedFloat"} {
		marked, told := 0, 0
		for _, fields := range tell(t, renameType(t, demtest.Round(), typ), Options{}).events {
			if text, ok := fields["CBodyComponent.place"]; ok {
				told++
				if strings.HasSuffix(text, " unproven") {
					marked++
				}
			}
		}
		// Numbers that may be signed are doubtful; floats that come out are not.
		if told == 0 || (marked > 0) != (typ == "uint16") {
			t.Errorf("%s: %d of %d marked", typ, marked, told)
		}
	}
}

// TestInferredOnce: of decoders with the same Schemas that read the same, one infers what unknown types are. The others have the same events
// and types, and those of a demo with other contents have its own.
func TestInferredOnce(t *testing.T) {
	data := renameType(t, demtest.Zeros(), "uint16")
	changed := func(f func(command uint32, all []demtest.Message) []demtest.Message) []byte {
		out, err := demtest.Rewrite(data, func(command uint32, payload []byte) []byte {
			if command == demtest.CmdSignonPacket || command == demtest.CmdPacket {
				return demtest.PackMessages(f(command, demtest.Messages(payload))...)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	none, err := demtest.Rewrite(data, func(command uint32, _ []byte) []byte {
		if command == demtest.CmdClassInfo {
			return demtest.Classes("CNone")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var small demtest.Bits
	small.Fields(demtest.Value{Path: []int{8}, Write: func(w *demtest.Bits) { w.Varint(7) }})
	packets := 0
	demos := map[string][]byte{
		"the same": data, "another class": none,
		"another default state": changed(func(command uint32, all []demtest.Message) []demtest.Message {
			if command == demtest.CmdSignonPacket {
				all[1] = demtest.Table{}.Create("instancebaseline", false, demtest.Entry{Key: "0", HasValue: true, Value: small.Bytes()})
			}
			return all
		}),
		"a class of the server's": changed(func(command uint32, all []demtest.Message) []demtest.Message {
			if command != demtest.CmdPacket {
				return all
			}
			class := demtest.Proto(nil).Varint(1, 0).Text(3, "CNone")
			return append([]demtest.Message{{ID: 42, Data: demtest.Proto(nil).Bytes(2, class)}}, all...)
		}),
		"no creations at first": changed(func(_ uint32, all []demtest.Message) []demtest.Message {
			if packets++; packets == 2 {
				return append([]demtest.Message{(&demtest.Entities{ClassBits: 1}).Message(false)}, all...)
			}
			return all
		}),
	}
	var schemas Schemas
	for i := range 4 {
		opts := Options{}
		if i%2 > 0 {
			opts.Kinds = entityKinds.has
		}
		for name, demo := range demos {
			want := tell(t, demo, opts)
			opts.Schemas = &schemas
			got := tell(t, demo, opts)
			opts.Schemas = nil
			if diff := cmpgo.Diff(want.d.Health(), got.d.Health()); diff != "" || !maps.EqualFunc(want.events, got.events, maps.Equal) {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
	if n := schemas.lessons.Len(); n != len(demos) {
		t.Errorf("inferred %d times, want %d", n, len(demos))
	}
}

// TestPackedSchema: a decoder finds a schema by its compressed record, without the contents. What else is in the record, faults of it, and the
// build of the game are as without.
func TestPackedSchema(t *testing.T) {
	sends := demtest.SendTables(demtest.Serializer{Name: "C", Fields: []demtest.Field{{Name: "m_ulTeamLogo", Type: "uint64"}}})
	play := func(build int, packed []byte) []byte {
		d := demtest.New()
		d.Record(demtest.CmdFileHeader, -1, demtest.Proto(nil).Text(1, "PBDEMS2").Text(14, "dota"))
		d.Record(demtest.CmdSignonPacket, -1, demtest.PackMessages(
			demtest.Message{ID: 40, Data: demtest.Proto(nil).Varint(11, 1).Text(14, fmt.Sprintf("/dota_v%d/dota", build))}))
		d.Record(demtest.CmdSendTables|64, -1, packed)
		d.Record(demtest.CmdClassInfo, -1, demtest.Classes("C"))
		e := &demtest.Entities{ClassBits: 1}
		e.Create(1, 0, 10, demtest.Value{Path: []int{0}, Write: func(w *demtest.Bits) { w.Bits(1, 64) }})
		d.Packet(0, e.Message(false))
		d.Record(demtest.CmdStop, 1, nil)
		d.Record(demtest.CmdFileInfo, 1, nil)
		return d.Bytes()
	}
	pack := func(record []byte) []byte { return snappy.Encode(nil, record) }
	var schemas Schemas
	for _, test := range []struct {
		what     string
		demo     []byte
		inflates bool // at the second time, too
	}{
		{"one build", play(1020, pack(sends)), false},
		{"another build", play(2000, pack(sends)), false},
		{"an unknown field behind", play(1020, pack(slices.Concat(sends, demtest.Proto(nil).Varint(9, 1)))), true},
		{"an unknown field before", play(1020, pack(slices.Concat(demtest.Proto(nil).Varint(9, 1), sends))), true},
		{"damaged", play(1020, pack(sends)[1:]), false},
		{"no schema", play(1020, pack(demtest.Proto(nil).Bytes(1, []byte{200}))), true},
	} {
		for i := range 3 {
			got, want := tell(t, test.demo, Options{Schemas: &schemas}), tell(t, test.demo, Options{})
			if diff := cmpgo.Diff(want.d.Health(), got.d.Health()); diff != "" || !maps.EqualFunc(want.events, got.events, maps.Equal) || want.faults != got.faults {
				t.Errorf("%s: %s", test.what, diff)
			}
			if inflates := got.d.inflated != nil; i > 0 && inflates != test.inflates {
				t.Errorf("%s: decompressed: %v", test.what, inflates)
			}
		}
	}
}

// TestLessons: what is inferred from a file with very many types is not kept, and of others the last.
func TestLessons(t *testing.T) {
	var s lessons
	s.put(lessonKey{1}, learnt{guesses: make([]infer.Guess, maxLesson+1)})
	if _, ok := s.Get(lessonKey{1}); ok {
		t.Error("a large lesson is kept")
	}
	for i := range maxLessons + 1 {
		s.put(lessonKey{2, byte(i)}, learnt{left: i, guesses: make([]infer.Guess, maxLesson)})
	}
	if _, ok := s.Get(lessonKey{2, 0}); ok || s.Len() != maxLessons {
		t.Errorf("%d lessons are kept, the first too: %v", s.Len(), ok)
	}
	if of, ok := s.Get(lessonKey{2, maxLessons}); !ok || of.left != maxLessons {
		t.Errorf("the last lesson is %d, %v", of.left, ok)
	}
}
