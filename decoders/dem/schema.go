package dem

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"sync"
)

// schema is what the send tables of a file say: serializers, which are lists of fields. It is immutable, and shared by
// all decoders that meet the same bytes.
type schema struct {
	serializers []*serializer
	byKey       map[serializerKey]*serializer
	byName      map[string]*serializer // the last one of each name
}

type serializerKey struct {
	name    string
	version int32
}

// serializer is a list of fields. A path index is a position in it.
type serializer struct {
	name     string
	version  int32
	fields   []*field
	nameTold []byte
}

// field is one field of a serializer, ready to be decoded.
type field struct {
	name  string
	typ   string
	shape shape
	// own reads the field's own value, elem the values of the elements of a vector or an array.
	own, elem codec
	// types are the serializers of what is below: more than one for a polymorphic pointer.
	types []*serializer
	count int // length of an array

	bitCount        int32
	low, high       float32
	hasLow, hasHigh bool
	flags           int32
	encoder         string

	// told is the field as the file describes it.
	told SerializerField
}

// symbol is a name of the schema.
type symbol struct {
	text string
	raw  []byte
}

func (s symbol) get() (text string, raw []byte) { return s.text, s.raw }

// lookup finds a serializer by name and version, and falls back on the last one of that name.
func (s *schema) lookup(name string, version int32) *serializer {
	if ser, ok := s.byKey[serializerKey{name, version}]; ok {
		return ser
	}
	return s.byName[name]
}

// Limits of a schema: ten times what the largest game has.
const (
	maxSymbols     = 1 << 17
	maxSerializers = 1 << 15
	maxFields      = 1 << 16
	maxFieldRefs   = 1 << 21 // fields of all serializers together
)

// parseSendTables reads CDemoSendTables.data: a length and a CSVCMsg_FlattenedSerializer. ok is false when the bytes
// are no such thing.
func parseSendTables(data []byte, build int, game game) (*schema, bool) {
	n, used := uvarint(data)
	if used <= 0 || n > uint64(len(data)-used) {
		return nil, false
	}
	return parseFlattenedSerializer(data[used:used+int(n)], build, game)
}

func parseFlattenedSerializer(data []byte, build int, game game) (*schema, bool) {
	data = bytes.Clone(data) // names stay parts of it
	var symbols []symbol
	var fieldData, serializerData [][]byte
	msg := wire{buf: data}
	for msg.next() {
		if len(symbols) > maxSymbols || len(serializerData) > maxSerializers || len(fieldData) > maxFields {
			return nil, false
		}
		switch msg.num {
		case 1:
			serializerData = append(serializerData, msg.raw)
		case 2:
			symbols = append(symbols, symbol{string(msg.raw), msg.raw})
		case 3:
			fieldData = append(fieldData, msg.raw)
		}
	}
	if msg.bad {
		return nil, false
	}
	sym := func(i int32) symbol {
		if uint32(i) < uint32(len(symbols)) {
			return symbols[i]
		}
		return symbol{}
	}
	s := &schema{
		serializers: make([]*serializer, 0, len(serializerData)),
		byKey:       make(map[serializerKey]*serializer, len(serializerData)),
		byName:      make(map[string]*serializer, len(serializerData)),
	}
	c := compiler{schema: s, raw: fieldData, sym: sym, fields: make([]*field, len(fieldData)), build: build, game: game}
	refs := 0
	var indices []int32
	for _, b := range serializerData {
		ser := &serializer{}
		indices = indices[:0]
		m := wire{buf: b}
		for m.next() {
			switch m.num {
			case 1:
				ser.name, ser.nameTold = sym(m.int32()).get()
			case 2:
				ser.version = m.int32()
			case 3:
				indices = m.appendInt32s(indices)
			}
		}
		if refs += len(indices); m.bad || refs > maxFieldRefs || len(indices) > maxIndex+1 {
			return nil, false
		}
		ser.fields = make([]*field, len(indices))
		for i, index := range indices {
			f := c.field(index, ser)
			if f == nil {
				return nil, false
			}
			ser.fields[i] = f
		}
		s.serializers = append(s.serializers, ser)
		// A name can occur twice: the last one counts, from there on.
		s.byKey[serializerKey{ser.name, ser.version}] = ser
		s.byName[ser.name] = ser
	}
	return s, true
}

// compiler turns field descriptions into fields.
type compiler struct {
	schema *schema
	raw    [][]byte
	sym    func(int32) symbol
	fields []*field
	build  int
	game   game
}

// field compiles a field of a serializer at its first use: by then the serializers that it refers to are known. It
// returns nil for a field that is not there or cannot be read.
func (c *compiler) field(index int32, in *serializer) *field {
	if uint32(index) >= uint32(len(c.raw)) {
		return nil
	}
	if f := c.fields[index]; f != nil {
		return f
	}
	f := &field{}
	told := &f.told
	var serializer string
	type candidate struct {
		name    string
		version int32
	}
	var others []candidate
	m := wire{buf: c.raw[index]}
	for m.next() {
		switch m.num {
		case 1:
			f.typ, told.Type = c.sym(m.int32()).get()
		case 2:
			f.name, told.Name = c.sym(m.int32()).get()
		case 3:
			told.BitCount = m.int32()
		case 4:
			told.Low, told.HasLow = m.float32(), true
		case 5:
			told.High, told.HasHigh = m.float32(), true
		case 6:
			told.EncodeFlags = m.int32()
		case 7:
			serializer, told.Serializer = c.sym(m.int32()).get()
		case 8:
			told.SerializerVersion = m.int32()
		case 9:
			_, told.SendNode = c.sym(m.int32()).get()
		case 10:
			f.encoder, told.Encoder = c.sym(m.int32()).get()
		case 11:
			var o candidate
			p := wire{buf: m.raw}
			for p.next() {
				switch p.num {
				case 1:
					var name []byte
					o.name, name = c.sym(p.int32()).get()
					told.Polymorphic = append(told.Polymorphic, name)
				case 2:
					o.version = p.int32()
				}
			}
			m.bad = m.bad || p.bad
			others = append(others, o)
		}
	}
	if m.bad {
		return nil
	}
	f.bitCount, f.flags = told.BitCount, told.EncodeFlags
	f.low, f.hasLow, f.high, f.hasHigh = told.Low, told.HasLow, told.High, told.HasHigh
	t := parseFieldType(f.typ)
	f.shape = t.shape(serializer != "")
	if serializer != "" {
		f.types = append(f.types, c.schema.lookup(serializer, told.SerializerVersion))
		for _, o := range others {
			f.types = append(f.types, c.schema.lookup(o.name, o.version))
		}
	}
	f.count = t.count
	c.patch(f, in)
	c.choose(f, t)
	// A patch that depends on the serializer must not leak into others that share the field.
	if f.name != "m_angRotation" || c.build == 0 || c.build > lastEncoderPatch {
		c.fields[index] = f
	}
	return f
}

// choose sets how the field's values are read.
func (c *compiler) choose(f *field, t fieldType) {
	switch f.shape {
	case shapePointer:
		f.own = codec{op: opPointer, num: uint8(min(len(f.types), math.MaxUint8))}
	case shapeTable:
		f.own = codec{op: opLength}
	case shapeVector:
		f.own = codec{op: opLength}
		elem := parseFieldType(t.generic)
		f.elem = f.codec(elem)
	case shapeArray:
		f.elem = f.codec(t)
	case shapeValue:
		f.own = f.codec(t)
	}
}

// handles are the types whose values name entities.
var handles = map[string]bool{
	"CHandle": true, "CEntityHandle": true, "CGameSceneNodeHandle": true, "CBaseVRHandAttachmentHandle": true,
}

// signedTypes are types that are read as signed varints, although nothing in the schema says so. Numbers are signed where
// the game's own type is; enums where one of their members is below zero. Read without the sign, a number is doubled,
// and -1 is 1: of the types whose values occur in recordings all values are even but for those that stand for "none".
var signedTypes = map[string]bool{
	// Numbers. In recordings: even ones, and 1.
	"HeroID_t": true, "PlayerID_t": true, "CPlayerSlot": true, "CEntityIndex": true, "AbilityID_t": true,
	// Even numbers, 1 (-1) and 4294967294 (2³¹-1), both of which are "never", and 2047 (-1024).
	"GameTick_t": true,
	// Enums with -1 for "invalid". In recordings: even ones.
	"AnimLoopMode_t": true, "AnimationAlgorithm_t": true, "HitGroup_t": true, "NPC_STATE": true,
	// The same, and 1: slots that are none, and the innate abilities' bucket.
	"EAbilitySlots_t": true, "EAbilityBucketType": true, "loadout_slot_t": true,
	// Enums with a -1 ("init", "never connected", "invalid") of which recordings have hardly more than 0.
	"CourierState_t": true, "PlayerConnectedState": true, "WeaponAttackType_t": true,
}

// knownUint64 are types that are read as varuint64. Numbers of matches and items passed 2³² long ago.
var knownUint64 = map[string]bool{
	"uint64": true, "CStrongHandle": true, "HeroFacetKey_t": true, "ResourceId_t": true,
	"MatchID_t": true, "itemid_t": true,
}

// knownUnsigned are types that are read as varuint32 for certain; any other type is only guessed to be an enum.
var knownUnsigned = map[string]bool{
	"uint8": true, "uint16": true, "uint32": true, "color32": true, "Color": true, "CUtlStringToken": true,
}

// codec returns how values of a type are read, given the encoder, bits and bounds of the field.
func (f *field) codec(t fieldType) codec {
	switch t.base {
	case "bool":
		return codec{op: opBool}
	case "int8", "int16", "int32":
		if t.base == "int8" && f.encoder == "fixed8" {
			return codec{op: opFixedInt8}
		}
		return codec{op: opInt32}
	case "int64":
		return codec{op: opInt64}
	case "uint8":
		if f.encoder == "fixed8" {
			return codec{op: opFixedUint8}
		}
		return codec{op: opUint32}
	case "HSequence":
		return codec{op: opSequence}
	case "BloodType":
		return codec{op: opFixedUint8}
	case "GameTime_t":
		return codec{op: opFloat}
	case "float32", "CNetworkedQuantizedFloat":
		return f.floatCodec(opFloat)
	case "Vector", "VectorWS":
		if f.encoder == "normal" {
			return codec{op: opNormal3}
		}
		return f.floatCodec(opVector)
	case "Vector2D":
		return f.tupleCodec(2)
	case "Vector4D", "Quaternion":
		return f.tupleCodec(4)
	case "CTransform":
		return f.tupleCodec(6)
	case "QAngle":
		return f.angleCodec()
	case "char", "CUtlString", "CUtlSymbolLarge", "CGlobalSymbol":
		return codec{op: opText}
	case "CUtlBinaryBlock":
		return codec{op: opBlob}
	}
	if handles[t.base] {
		return codec{op: opHandle}
	}
	switch {
	case f.encoder == "fixed64":
		return codec{op: opFixed64}
	case signedTypes[t.base]:
		return codec{op: opInt32}
	case knownUint64[t.base]:
		return codec{op: opUint64}
	case knownUnsigned[t.base]:
		return codec{op: opUint32}
	}
	// With 64 bits even a number that is no enum is read to its end.
	return codec{op: opUint64, guess: true}
}

func (f *field) tupleCodec(n uint8) codec {
	c := f.floatCodec(opTuple)
	c.num = n
	return c
}

// floatCodec applies the float rule (docs/formats/dem.md, Floats).
func (f *field) floatCodec(o op) codec {
	switch {
	case f.encoder == "coord":
		return codec{op: o, float: floatCoord}
	case f.encoder == "normal" && o != opTuple:
		return codec{op: o, float: floatNormal}
	case f.name == "m_flSimulationTime" || f.name == "m_flAnimTime":
		return codec{op: o, float: floatTicks}
	case f.bitCount <= 0 || f.bitCount >= 32:
		return codec{op: o}
	}
	low, high := float32(0), float32(1)
	if f.hasLow {
		low = f.low
	}
	if f.hasHigh {
		high = f.high
	}
	if f.name == "m_flRuneTime" && high-low > math.MaxFloat32 {
		// Builds of 2018 and 2019 give the whole range of floats to four bits: the bounds mean nothing.
		low, high = 0, 1
	}
	return codec{op: o, float: floatQuantized, quant: newQuantizer(int(f.bitCount), low, high, int(f.flags))}
}

func (f *field) angleCodec() codec {
	n := f.bitCount
	if n < 0 || n > 32 {
		n = 0
	}
	switch {
	case f.encoder == "qangle_pitch_yaw":
		if n == 32 {
			n = 0
		}
		return codec{op: opPitchYaw, num: uint8(n)}
	case f.encoder == "qangle_precise":
		return codec{op: opPreciseAngles}
	case n == 0:
		return codec{op: opCoordAngles}
	case n == 32:
		return codec{op: opRawAngles}
	}
	return codec{op: opBitAngles, num: uint8(n)}
}

// Schemas keeps compiled schemas, so that decoders of files of one game build share them. It is safe for concurrent use.
// It keeps the most recent ones only.
type Schemas struct {
	mu      sync.Mutex
	entries []schemaEntry // the most recently used one last
}

type schemaEntry struct {
	key    schemaKey
	schema *schema
}

type schemaKey [sha256.Size]byte

// maxSchemas is how many schemas are kept. One takes about 2 MB.
const maxSchemas = 8

// Len returns how many schemas are kept.
func (c *Schemas) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.entries)
}

// get returns the compiled send tables of a file, compiling them at most once. A nil cache compiles.
func (c *Schemas) get(data []byte, build int, game game) (*schema, bool) {
	if c == nil {
		return parseSendTables(data, build, game)
	}
	h := sha256.New()
	h.Write(data)
	h.Write(binary.LittleEndian.AppendUint64([]byte{byte(game)}, uint64(build)))
	key := schemaKey(h.Sum(nil))
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, e := range c.entries {
		if e.key == key {
			copy(c.entries[i:], c.entries[i+1:])
			c.entries[len(c.entries)-1] = e
			return e.schema, true
		}
	}
	s, ok := parseSendTables(data, build, game)
	if !ok {
		return nil, false
	}
	if len(c.entries) == maxSchemas {
		copy(c.entries, c.entries[1:])
		c.entries = c.entries[:maxSchemas-1]
	}
	c.entries = append(c.entries, schemaEntry{key, s})
	return s, true
}
