package schema

import (
	"strings"
	"unsafe"

	"github.com/replayd/replayd/decoders/dem/internal/fieldpath"
	"github.com/replayd/replayd/decoders/dem/internal/lexicon"
	"github.com/replayd/replayd/decoders/dem/internal/pb"
)

// compiler turns the descriptions of serializers and fields into a schema.
type compiler struct {
	symbols     []symbol
	serializers [][]byte  // as described in the file
	raw         [][]byte  // fields as described in the file
	described   *pb.Shape // the shape of these descriptions
	dotaBuild   int       // the recording build; 0 for another game, or if it is unknown
	// saysShifted: fields have the game's own serializers, and these say which numbers are sent plus one.
	saysShifted bool
	deadlock    bool // the schema is that of Deadlock

	schema  *Schema
	fields  []*Field  // compiled fields by their number in raw; nil for others
	named   []nameUse // by symbol
	refs    int       // the number of fields of all serializers
	indices []int32
}

// compile compiles all serializers. ok is false when one cannot be read.
func (c *compiler) compile() (s *Schema, ok bool) {
	s = c.schema
	n := len(c.serializers)
	s.Serializers = make([]*Serializer, 0, n)
	s.byKey, s.ByName = make(map[key]*Serializer, n), make(map[string]*Serializer, n)
	c.fields, c.named = make([]*Field, len(c.raw)), make([]nameUse, len(c.symbols))
	shape := shapeOf(1)
	c.described = shapeOf(3)
	for _, raw := range c.serializers {
		ser := c.serializer(pb.Read(raw, shape, &s.Unknown))
		if ser == nil {
			return s, false
		}
		s.Serializers = append(s.Serializers, ser)
		// A name can occur twice. From there on, the last one counts.
		s.byKey[key{ser.Name, ser.Version}] = ser
		s.ByName[ser.Name] = ser
	}
	s.Held = c.held()
	return s, true
}

// serializer compiles a serializer. It returns nil for one that cannot be read.
func (c *compiler) serializer(m pb.Reader) *Serializer {
	s := &Serializer{}
	c.indices = c.indices[:0]
	for m.Next() {
		switch m.Num {
		case 1:
			s.Name, s.RawName = c.symbol(m.Int32())
		case 2:
			s.Version = m.Int32()
		case 3:
			c.indices = m.AppendInt32s(c.indices)
		}
	}
	if c.refs += len(c.indices); m.Bad || c.refs > maxFieldRefs || len(c.indices) > fieldpath.MaxIndex+1 {
		return nil
	}
	s.Fields = make([]*Field, len(c.indices))
	for i, index := range c.indices {
		if s.Fields[i] = c.field(index, s); s.Fields[i] == nil {
			return nil
		}
	}
	c.qualifyNames(s)
	return s
}

// nameUse says how often a name is used by the serializer that used it last.
type nameUse struct {
	by    *Serializer
	times int
}

// qualifyNames makes equal names of a serializer's fields distinct: it adds the path of the embedded structure that a field stems
// from. A player's velocity and eye position both have an m_vecX.
func (c *compiler) qualifyNames(ser *Serializer) {
	shared := false
	for _, f := range ser.Fields {
		if uint32(f.symbol) >= uint32(len(c.named)) {
			continue
		}
		use := &c.named[f.symbol]
		if use.by != ser {
			*use = nameUse{by: ser}
		}
		use.times++
		shared = shared || use.times > 1
	}
	if !shared {
		return
	}
	for i, f := range ser.Fields {
		if uint32(f.symbol) < uint32(len(c.named)) && c.named[f.symbol].times > 1 {
			ser.Fields[i] = f.longer()
		}
	}
}

// maxLongName is the maximum length of a name in bytes. Games' names have less than 100, and a file could make thousands of long
// ones from two.
const maxLongName = 256

// longer returns a copy of the field with the path of its embedded structure in its name, if it is in one. The field itself keeps
// its name, which may be unique in other serializers.
func (f *Field) longer() *Field {
	node := f.Described.SendNode
	if len(node) == 0 || string(node) == "(root)" || len(node)+len(f.Name) >= maxLongName {
		return f
	}
	if f.long == nil {
		long := *f
		long.Name = string(node) + "." + f.Name
		f.long = &long
	}
	return f.long
}

// field compiles a field of a serializer at its first use, when the serializers that it refers to are known. It returns nil for a
// field that does not exist or cannot be read.
func (c *compiler) field(index int32, in *Serializer) *Field {
	if uint32(index) >= uint32(len(c.raw)) {
		return nil
	}
	if f := c.fields[index]; f != nil {
		return f
	}
	f, below := c.parseField(pb.Read(c.raw[index], c.described, nil)) // unknown parts are counted
	if f == nil {
		return nil
	}
	for _, k := range below {
		f.Types = append(f.Types, c.schema.Lookup(k.name, k.version))
	}
	t := c.parseType(f.Type)
	f.Shape = t.shape(len(below) > 0)
	f.Count = t.count
	f.minusOne = f.minusOne || clips[f.Name] && t.Base == "int32"
	c.patch(f, in)
	c.choose(f, t)
	c.schema.Guesses = c.schema.Guesses || f.Unknown != nil || f.UnknownElem != nil
	// A patch for one serializer must not affect others that share the field.
	if f.Name != "m_angRotation" || c.dotaBuild == 0 || c.dotaBuild > lastEncoderPatch {
		c.fields[index] = f
	}
	return f
}

// parseType parses the type of a field. Numbers of heroes are unsigned in Deadlock, but signed in Dota 2.
func (c *compiler) parseType(s string) Type {
	if c.deadlock {
		s = strings.ReplaceAll(s, "HeroID_t", "uint32")
	}
	return ParseType(s)
}

// parseField reads the description of a field, and the serializers that may be below it. It returns nil if it cannot.
func (c *compiler) parseField(m pb.Reader) (f *Field, below []key) {
	f = &Field{}
	told := &f.Described
	var own string
	var others []key
	for m.Next() {
		switch m.Num {
		case 1:
			f.Type, told.Type = c.symbol(m.Int32())
		case 2:
			f.symbol = m.Int32()
			f.Name, told.Name = c.symbol(f.symbol)
		case 3:
			told.BitCount = m.Int32()
		case 4:
			told.Low, told.HasLow = m.Float32(), true
		case 5:
			told.High, told.HasHigh = m.Float32(), true
		case 6:
			told.EncodeFlags = m.Int32()
		case 7:
			own, told.Serializer = c.symbol(m.Int32())
		case 8:
			told.SerializerVersion = m.Int32()
		case 9:
			_, told.SendNode = c.symbol(m.Int32())
		case 10:
			f.encoder, told.Encoder = c.symbol(m.Int32())
		case polymorphic:
			var o key
			for p := m.Message(); m.Within(&p); {
				switch p.Num {
				case 1:
					var name []byte
					o.name, name = c.symbol(p.Int32())
					told.Polymorphic = append(told.Polymorphic, name)
				case 2:
					o.version = p.Int32()
				}
			}
			others = append(others, o)
		case ownSerializer:
			// No other encoder changes the bytes.
			text, _ := c.symbol(m.Int32())
			f.minusOne = text == "minusone"
		}
	}
	if m.Bad {
		return nil, nil
	}
	f.bitCount, f.flags = told.BitCount, told.EncodeFlags
	f.low, f.hasLow, f.high, f.hasHigh = told.Low, told.HasLow, told.High, told.HasHigh
	if own != "" {
		below = append(below, key{own, told.SerializerVersion})
		below = append(below, others...)
	}
	return f, below
}

// Field numbers of a description, since February 2024: its other possible objects, and the game's own serializer.
const (
	polymorphic   = 11
	ownSerializer = 12
)

// survey reads the description of a field, to count its unknown parts. It reports whether the description has the game's own
// serializer.
func survey(m pb.Reader) (own bool) {
	for m.Next() {
		switch m.Num {
		case ownSerializer:
			own = true
		case polymorphic:
			for q := m.Message(); m.Within(&q); { // reading counts
			}
		}
	}
	return own
}

// shapeOf returns the known fields of the messages in a field of the schema.
func shapeOf(field int) *pb.Shape {
	f, _ := lexicon.Type("CSVCMsg_FlattenedSerializer").Field(field)
	return f.Of
}

// symbol returns a name of the schema, or an empty text.
func (c *compiler) symbol(i int32) (text string, raw []byte) {
	if uint32(i) < uint32(len(c.symbols)) {
		return c.symbols[i].text, c.symbols[i].raw
	}
	return "", nil
}

// The approximate memory of the parts of a schema, with everything that they point to.
const (
	fieldSize      = int(unsafe.Sizeof(Field{})+unsafe.Sizeof(Unknown{})) + 64
	serializerSize = int(unsafe.Sizeof(Serializer{})) + 128
	symbolSize     = int(unsafe.Sizeof(symbol{})) + 32
)

// held returns the approximate memory of the compiled schema.
func (c *compiler) held() int {
	return serializerSize*len(c.schema.Serializers) + fieldSize*len(c.fields) + int(unsafe.Sizeof(c))*c.refs + symbolSize*len(c.symbols)
}
