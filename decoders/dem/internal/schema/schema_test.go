package schema_test

import (
	"math"
	"testing"

	"github.com/replayd/replayd/decoders/dem/demtest"
	"github.com/replayd/replayd/decoders/dem/internal/pb"
	"github.com/replayd/replayd/decoders/dem/internal/schema"
	"github.com/replayd/replayd/decoders/dem/internal/value"
)

// parse compiles send tables.
func parse(t *testing.T, build int, serializers ...demtest.Serializer) *schema.Schema {
	t.Helper()
	s, ok := schema.Parse(tables(serializers...), build)
	if !ok {
		t.Fatal("the schema cannot be read")
	}
	return s
}

// tables returns CDemoSendTables.data.
func tables(serializers ...demtest.Serializer) []byte {
	m := pb.NewReader(demtest.SendTables(serializers...))
	m.Next()
	return m.Raw
}

// parseField compiles a class C with a field, behind a class S, and returns the field.
func parseField(t *testing.T, build int, f demtest.Field) *schema.Field {
	t.Helper()
	if f.Name == "" {
		f.Name = "m_f"
	}
	return parse(t, build, demtest.Serializer{Name: "S"}, demtest.Serializer{Name: "C", Fields: []demtest.Field{f}}).Lookup("C", 0).Fields[0]
}

// TestCodecs: how values of each kind of field are read, and what of that is not known.
func TestCodecs(t *testing.T) {
	for _, test := range []struct {
		field   demtest.Field
		op      value.Op
		float   value.FloatOp
		num     uint8
		unknown string // what is not known
	}{
		{demtest.Field{Type: "bool"}, value.OpBool, 0, 0, ""},
		{demtest.Field{Type: "int8"}, value.OpInt32, 0, 0, ""},
		{demtest.Field{Type: "int8", Encoder: "fixed8"}, value.OpFixedInt8, 0, 0, ""},
		{demtest.Field{Type: "uint8", Encoder: "fixed8"}, value.OpFixedUint8, 0, 0, ""},
		{demtest.Field{Type: "uint16", Encoder: "fixed8"}, value.OpUint32, 0, 0, "uint16(fixed8)"},
		{demtest.Field{Type: "int64"}, value.OpInt64, 0, 0, ""},
		{demtest.Field{Type: "uint64"}, value.OpUint64, 0, 0, ""},
		{demtest.Field{Type: "uint64", Encoder: "fixed64"}, value.OpFixed64, 0, 0, ""},
		{demtest.Field{Type: "uint64", Encoder: "coord"}, value.OpUint64, 0, 0, "uint64(coord)"},
		{demtest.Field{Type: "CHandle< C >"}, value.OpHandle, 0, 0, ""},
		{demtest.Field{Type: "HeroID_t"}, value.OpInt32, 0, 0, ""},
		{demtest.Field{Type: "int32", VarSerializer: "minusone"}, value.OpMinusOne, 0, 0, ""},
		{demtest.Field{Type: "int32", VarSerializer: "default"}, value.OpInt32, 0, 0, ""},
		{demtest.Field{Type: "int32", Name: "m_iClip1"}, value.OpMinusOne, 0, 0, ""},
		{demtest.Field{Type: "uint32", Name: "m_iClip1"}, value.OpUint32, 0, 0, ""},
		{demtest.Field{Type: "float32"}, value.OpFloat, value.FloatRaw, 0, ""},
		{demtest.Field{Type: "float32", Bits: 32}, value.OpFloat, value.FloatRaw, 0, ""},
		{demtest.Field{Type: "float32", Bits: 31}, value.OpFloat, value.FloatQuantized, 0, ""},
		{demtest.Field{Type: "float32", Name: "m_flSimulationTime"}, value.OpFloat, value.FloatTicks, 0, ""},
		{demtest.Field{Type: "Vector", Encoder: "normal"}, value.OpNormal3, 0, 0, ""},
		{demtest.Field{Type: "Vector", Encoder: "coord"}, value.OpVector, value.FloatCoord, 0, ""},
		{demtest.Field{Type: "Vector2D", Encoder: "normal"}, value.OpTuple, value.FloatRaw, 2, "Vector2D(normal)"},
		{demtest.Field{Type: "CTransform"}, value.OpTuple, value.FloatRaw, 6, ""},
		{demtest.Field{Type: "QAngle"}, value.OpCoordAngles, 0, 0, ""},
		{demtest.Field{Type: "QAngle", Encoder: "qangle"}, value.OpCoordAngles, 0, 0, ""},
		{demtest.Field{Type: "QAngle", Bits: 32}, value.OpRawAngles, 0, 0, ""},
		{demtest.Field{Type: "QAngle", Bits: 12}, value.OpBitAngles, 0, 12, ""},
		{demtest.Field{Type: "QAngle", Bits: 12, Encoder: "qangle_pitch_yaw"}, value.OpPitchYaw, 0, 12, ""},
		{demtest.Field{Type: "QAngle", Bits: 32, Encoder: "qangle_pitch_yaw"}, value.OpPitchYaw, 0, 0, ""},
		{demtest.Field{Type: "QAngle", Encoder: "qangle_precise"}, value.OpPreciseAngles, 0, 0, ""},
		{demtest.Field{Type: "QAngle", Encoder: "qangle_new"}, value.OpCoordAngles, 0, 0, "QAngle(qangle_new)"},
		{demtest.Field{Type: "char[16]"}, value.OpText, 0, 0, ""},
		{demtest.Field{Type: "CUtlBinaryBlock"}, value.OpBlob, 0, 0, ""},
		{demtest.Field{Type: "Mystery_t"}, value.OpUint64, 0, 0, "Mystery_t"},
		{demtest.Field{Type: "Mystery_t", Encoder: "fixed64"}, value.OpFixed64, 0, 0, ""},
		{demtest.Field{Type: "Mystery_t", Encoder: "fixed8"}, value.OpUint64, 0, 0, "Mystery_t(fixed8)"},
		{demtest.Field{Type: "S*", Serializer: "S", Polymorphic: []string{"C"}}, value.OpPointer, 0, 2, ""},
		{demtest.Field{Type: "CUtlVector< S >", Serializer: "S"}, value.OpLength, 0, 0, ""},
		{demtest.Field{Type: "S", Serializer: "S"}, value.OpLength, 0, 0, "S"},
	} {
		f := parseField(t, 0, test.field)
		unknown := ""
		if f.Unknown != nil {
			unknown = f.Unknown.Name
		}
		if c := f.Own; c.Op != test.op || c.Float != test.float || c.Num != test.num || unknown != test.unknown || c.Guess != (unknown != "") {
			t.Errorf("%+v: %+v, unknown %q", test.field, c, unknown)
		}
	}
}

// TestElements: the elements of lists and arrays are read as values of their type, of which not everything may be known.
func TestElements(t *testing.T) {
	for typ, want := range map[string]struct {
		shape   schema.Shape
		op      value.Op
		count   int
		unknown string
	}{
		"CUtlVector< CHandle< C > >":         {schema.ShapeVector, value.OpHandle, 0, ""},
		"CNetworkUtlVectorBase< Mystery_t >": {schema.ShapeVector, value.OpUint64, 0, "Mystery_t"},
		"int32[7]":                           {schema.ShapeArray, value.OpInt32, 7, ""},
		"Mystery_t[MAX_ITEM_STOCKS]":         {schema.ShapeArray, value.OpUint64, 8, "Mystery_t"},
		"bool[NOBODY_KNOWS]":                 {schema.ShapeArray, value.OpBool, 1024, ""},
		"bool[20000]":                        {schema.ShapeArray, value.OpBool, 1024, ""},
		"NewList< CHandle< C > >":            {schema.ShapeValue, value.OpHandle, 0, ""},
	} {
		f := parseField(t, 0, demtest.Field{Type: typ})
		unknown := ""
		if f.UnknownElem != nil {
			unknown = f.UnknownElem.Name
		}
		if f.Shape != want.shape || f.Elem.Op != want.op || f.Count != want.count || unknown != want.unknown || f.MayBeList() != (f.Unknown != nil) {
			t.Errorf("%s: shape %d, %d elements of %+v, unknown %q", typ, f.Shape, f.Count, f.Elem, unknown)
		}
	}
}

// TestUnknown: of which types it is known that they are numbers, and of which not even whether they are sent plus one.
func TestUnknown(t *testing.T) {
	for _, test := range []struct {
		field           demtest.Field
		number, shifted bool
	}{
		{demtest.Field{Type: "Mystery_t"}, false, true},
		{demtest.Field{Type: "RenderFx_t"}, true, false},
		{demtest.Field{Type: "CSPlayerState"}, true, true},
		{demtest.Field{Type: "RenderFx_t", Encoder: "new"}, false, false},
		{demtest.Field{Type: "Mystery_t", VarSerializer: "default"}, false, false}, // from February 2024 on schemas say it
		{demtest.Field{Type: "uint32", Encoder: "new"}, false, false},
	} {
		u := parseField(t, 0, test.field).Unknown
		if u == nil || u.Numeric != test.number || u.MayBeShifted != test.shifted || u.Encoder != (test.field.Encoder != "") {
			t.Errorf("%+v: %+v", test.field, u)
		}
	}
	if parse(t, 0, demtest.Serializer{Name: "C", Fields: []demtest.Field{{Name: "m_n", Type: "uint32"}}}).Guesses {
		t.Error("something is not known of a number")
	}
	if !parse(t, 0, demtest.Serializer{Name: "C", Fields: []demtest.Field{{Name: "m_n", Type: "Mystery_t[3]"}}}).Guesses {
		t.Error("everything is known of elements")
	}
}

// TestPatches: builds of 2015 describe fields wrongly, and later ones do not.
func TestPatches(t *testing.T) {
	mana := demtest.Field{Name: "m_flMana", Type: "float32", Bits: 11, Low: -1, High: math.MaxFloat32}
	for build, high := range map[int]float32{1: 8192, 954: 8192, 955: math.MaxFloat32, 0: math.MaxFloat32} {
		if q := parseField(t, build, mana).Own.Quant; q.High != high {
			t.Errorf("build %d: mana up to %g", build, q.High)
		}
	}
	for build, op := range map[int]value.Op{1015: value.OpUint64, 1016: value.OpFixed64, 1027: value.OpFixed64, 1028: value.OpUint64, 0: value.OpUint64} {
		if got := parseField(t, build, demtest.Field{Name: "m_ulTeamLogo", Type: "uint64"}).Own.Op; got != op {
			t.Errorf("build %d: a logo is read by %d", build, got)
		}
	}
	for build, float := range map[int]value.FloatOp{990: value.FloatCoord, 991: value.FloatRaw} {
		if got := parseField(t, build, demtest.Field{Name: "origin", Type: "Vector"}).Own.Float; got != float {
			t.Errorf("build %d: an origin is read by %d", build, got)
		}
	}
}

// TestLookup: serializers are found by name and version, else the last one of the name; of a name that occurs twice the last one counts
// from there on.
func TestLookup(t *testing.T) {
	field := func(name string) []demtest.Field { return []demtest.Field{{Name: name, Type: "bool"}} }
	s := parse(t, 0,
		demtest.Serializer{Name: "A", Version: 1, Fields: field("one")},
		demtest.Serializer{Name: "A", Version: 2, Fields: field("two")},
		demtest.Serializer{Name: "B", Fields: []demtest.Field{{Name: "m_a", Type: "A*", Serializer: "A", SerializerVersion: 1}}},
		demtest.Serializer{Name: "A", Version: 1, Fields: field("again")},
	)
	for version, want := range map[int32]string{1: "again", 2: "two", 3: "again"} {
		if got := s.Lookup("A", version).Fields[0].Name; got != want {
			t.Errorf("version %d: %s", version, got)
		}
	}
	if got := s.Lookup("B", 0).Fields[0].Types[0].Fields[0].Name; got != "one" {
		t.Errorf("an object has the field %s", got)
	}
	if s.Lookup("C", 0) != nil {
		t.Error("a serializer that is not there")
	}
}

// TestNames: fields of one serializer that have the same name get the path of their structure in front of it.
func TestNames(t *testing.T) {
	s := parse(t, 0,
		demtest.Serializer{Name: "A", Fields: []demtest.Field{
			{Name: "m_x", Type: "bool", SendNode: "velocity"}, {Name: "m_x", Type: "bool", SendNode: "eyes"}, {Name: "m_x", Type: "int32", SendNode: "(root)"},
			{Name: "m_y", Type: "bool", SendNode: "eyes"},
		}},
		demtest.Serializer{Name: "B", Fields: []demtest.Field{{Name: "m_x", Type: "bool", SendNode: "eyes"}}},
		demtest.Serializer{Name: "C", Fields: []demtest.Field{{Name: "m_x", Type: "bool", SendNode: "eyes"}, {Name: "m_x", Type: "int32", SendNode: "hands"}}},
	)
	if got := s.Lookup("C", 0).Fields[1].Name; got != "hands.m_x" {
		t.Errorf("the second of two is %s", got)
	}
	for i, want := range []string{"velocity.m_x", "eyes.m_x", "m_x", "m_y"} {
		if got := s.Lookup("A", 0).Fields[i].Name; got != want {
			t.Errorf("field %d is %s", i, got)
		}
	}
	if got := s.Lookup("B", 0).Fields[0].Name; got != "m_x" {
		t.Errorf("the only one is %s", got)
	}
}

// TestTorn: send tables that end early cannot be read, and do not panic.
func TestTorn(t *testing.T) {
	data := tables(demtest.Serializer{Name: "C", Fields: []demtest.Field{{Name: "m_n", Type: "uint32"}}})
	for n := range data {
		if _, ok := schema.Parse(data[:n], 0); ok {
			t.Errorf("%d of %d bytes are read", n, len(data))
		}
	}
}

// TestCache: the same data are compiled once for a build, and eight schemas are kept, those that were used last.
func TestCache(t *testing.T) {
	var c schema.Cache
	data := func(i int) []byte {
		return tables(demtest.Serializer{Name: "C", Version: i, Fields: []demtest.Field{{Name: "m_n", Type: "uint32"}}})
	}
	get := func(i, build int) *schema.Schema {
		s, ok := c.Get(data(i), build)
		if !ok {
			t.Fatal("the schema cannot be read")
		}
		return s
	}
	first := get(0, 0)
	if get(0, 0) != first || get(0, 5) == first {
		t.Error("not the same schema for the same data and build")
	}
	for i := 1; i <= 6; i++ {
		get(i, 0)
	}
	if get(0, 0) != first || c.Len() != 8 { // used again, so that the one of build 5 goes next
		t.Errorf("%d are kept", c.Len())
	}
	get(7, 0)
	if get(0, 0) != first || c.Len() != 8 {
		t.Errorf("%d are kept, and the one that was used last is not", c.Len())
	}
	if _, ok := c.Get([]byte{1}, 0); ok || c.Len() != 8 {
		t.Error("what cannot be read is kept")
	}
}

// TestPacked: a schema is found by its compressed record, for one build, as long as it is kept.
func TestPacked(t *testing.T) {
	var c schema.Cache
	packed, data := []byte("packed"), tables(demtest.Serializer{Name: "C"})
	key := schema.KeyOf(packed, 1)
	s, ok := c.Get(data, 1)
	if !ok || c.Packed(key) != nil {
		t.Fatal("a record is known that nobody has decompressed")
	}
	c.Pack(key, s)
	if c.Packed(key) != s || c.Packed(schema.KeyOf(packed, 2)) != nil || c.Packed(schema.KeyOf(packed[1:], 1)) != nil {
		t.Error("not the schema of the record and build")
	}
	for i := range 20 {
		if _, ok := c.Get(data, 2+i); !ok {
			t.Fatal("the schema cannot be read")
		}
	}
	if got := c.Packed(key); got != nil {
		t.Error("a schema is found that is not kept")
	}
	if s, ok = c.Get(data, 1); !ok || c.Packed(key) != s {
		t.Error("a schema that is compiled again is not found")
	}
	for i := range 20 {
		c.Pack(schema.KeyOf(packed, 2+i), s)
	}
	if c.Packed(key) != nil {
		t.Error("more records are known than schemas are kept")
	}
}

// TestKept: few things are kept with a schema, and no large one.
func TestKept(t *testing.T) {
	var k schema.Kept
	k.Put(schema.Key{1}, "large", 1<<20)
	for i := range 7 {
		k.Put(schema.Key{2, byte(i)}, i, 1<<18)
	}
	if k.Get(schema.Key{1}) != nil || k.Get(schema.Key{2, 0}) != nil || k.Get(schema.Key{2, 1}) != 1 || k.Get(schema.Key{2, 6}) != 6 {
		t.Error("not the last six")
	}
}
