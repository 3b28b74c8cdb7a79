package dem

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
