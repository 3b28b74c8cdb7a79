package dem

// compiler turns the descriptions of serializers and fields into a schema.
type compiler struct {
	symbols []symbol
	raw     [][]byte // the fields as the file describes them
	build   int
	game    game

	schema  *schema
	fields  []*field  // those of raw, as far as they are compiled
	named   []nameUse // by symbol
	refs    int       // fields of all serializers
	indices []int32
}

// compile compiles all serializers. ok is false when one cannot be read.
func (c *compiler) compile(serializers [][]byte) (s *schema, ok bool) {
	s = &schema{
		serializers: make([]*serializer, 0, len(serializers)),
		byKey:       make(map[serializerKey]*serializer, len(serializers)),
		byName:      make(map[string]*serializer, len(serializers)),
	}
	c.schema, c.fields, c.named = s, make([]*field, len(c.raw)), make([]nameUse, len(c.symbols))
	for _, b := range serializers {
		ser := c.serializer(b)
		if ser == nil {
			return nil, false
		}
		s.serializers = append(s.serializers, ser)
		// A name can occur twice: the last one counts, from there on.
		s.byKey[serializerKey{ser.name, ser.version}] = ser
		s.byName[ser.name] = ser
	}
	s.held = c.held()
	return s, true
}

// serializer compiles a serializer. It returns nil for one that cannot be read.
func (c *compiler) serializer(b []byte) *serializer {
	s := &serializer{}
	c.indices = c.indices[:0]
	m := wire{buf: b}
	for m.next() {
		switch m.num {
		case 1:
			s.name, s.nameTold = c.symbol(m.int32())
		case 2:
			s.version = m.int32()
		case 3:
			c.indices = m.appendInt32s(c.indices)
		}
	}
	if c.refs += len(c.indices); m.bad || c.refs > maxFieldRefs || len(c.indices) > maxIndex+1 {
		return nil
	}
	s.fields = make([]*field, len(c.indices))
	for i, index := range c.indices {
		if s.fields[i] = c.field(index, s); s.fields[i] == nil {
			return nil
		}
	}
	c.tellApart(s)
	return s
}

// nameUse is how often a name was last used by the fields of a serializer.
type nameUse struct {
	by    *serializer
	times int
}

// tellApart gives fields of a serializer that have the same name the path of the embedded structure that they stem from
// in front of it: a player's velocity and where his eyes are both have an m_vecX.
func (c *compiler) tellApart(ser *serializer) {
	shared := false
	for _, f := range ser.fields {
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
	for i, f := range ser.fields {
		if uint32(f.symbol) < uint32(len(c.named)) && c.named[f.symbol].times > 1 {
			ser.fields[i] = f.longer()
		}
	}
}

// maxLongName is how long a name may become, in bytes: the games' have less than 100, and a file could make thousands of
// long ones of two.
const maxLongName = 256

// longer returns the field with a name that tells the embedded structure, if it is in one. The field itself keeps its name:
// other serializers may have it, too, and no other one of its name.
func (f *field) longer() *field {
	node := f.told.SendNode
	if len(node) == 0 || string(node) == "(root)" || len(node)+len(f.name) >= maxLongName {
		return f
	}
	if f.long == nil {
		long := *f
		long.name = string(node) + "." + f.name
		f.long = &long
	}
	return f.long
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
	f, below := c.parseField(c.raw[index])
	if f == nil {
		return nil
	}
	for _, k := range below {
		f.types = append(f.types, c.schema.lookup(k.name, k.version))
	}
	t := parseFieldType(f.typ)
	f.shape = t.shape(len(below) > 0)
	f.count = t.count
	f.minusOne = f.minusOne || clips[f.name] && t.base == "int32"
	c.patch(f, in)
	c.choose(f, t)
	c.schema.guesses = c.schema.guesses || f.unknown != "" || f.unknownElem != ""
	// A patch that depends on the serializer must not leak into others that share the field.
	if f.name != "m_angRotation" || c.build == 0 || c.build > lastEncoderPatch {
		c.fields[index] = f
	}
	return f
}

// parseField reads the description of a field, and which serializers may be below it. It returns nil when it cannot.
func (c *compiler) parseField(b []byte) (f *field, below []serializerKey) {
	f = &field{}
	told := &f.told
	var own string
	var others []serializerKey
	m := wire{buf: b}
	for m.next() {
		switch m.num {
		case 1:
			f.typ, told.Type = c.symbol(m.int32())
		case 2:
			f.symbol = m.int32()
			f.name, told.Name = c.symbol(f.symbol)
		case 3:
			told.BitCount = m.int32()
		case 4:
			told.Low, told.HasLow = m.float32(), true
		case 5:
			told.High, told.HasHigh = m.float32(), true
		case 6:
			told.EncodeFlags = m.int32()
		case 7:
			own, told.Serializer = c.symbol(m.int32())
		case 8:
			told.SerializerVersion = m.int32()
		case 9:
			_, told.SendNode = c.symbol(m.int32())
		case 10:
			f.encoder, told.Encoder = c.symbol(m.int32())
		case 11:
			var o serializerKey
			p := wire{buf: m.raw}
			for p.next() {
				switch p.num {
				case 1:
					var name []byte
					o.name, name = c.symbol(p.int32())
					told.Polymorphic = append(told.Polymorphic, name)
				case 2:
					o.version = p.int32()
				}
			}
			m.bad = m.bad || p.bad
			others = append(others, o)
		case 12:
			// The game's own serializer of the field. No other one changes what is on the wire.
			text, _ := c.symbol(m.int32())
			f.minusOne = text == "minusone"
		}
	}
	if m.bad {
		return nil, nil
	}
	f.bitCount, f.flags = told.BitCount, told.EncodeFlags
	f.low, f.hasLow, f.high, f.hasHigh = told.Low, told.HasLow, told.High, told.HasHigh
	if own != "" {
		below = append(below, serializerKey{own, told.SerializerVersion})
		below = append(below, others...)
	}
	return f, below
}

// symbol returns a name of the schema, or nothing.
func (c *compiler) symbol(i int32) (text string, raw []byte) {
	if uint32(i) < uint32(len(c.symbols)) {
		return c.symbols[i].text, c.symbols[i].raw
	}
	return "", nil
}
