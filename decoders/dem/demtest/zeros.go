package demtest

import "math/rand/v2"

// Zeros returns a demo whose values, nearly all 0, can be read in several ways by a decoder that does not know one of the types:
// a list of vectors takes as many bits as a list of numbers plus two letters of the following text; an empty text, empty bytes
// and the number 0 look the same; and each of two types can be taken for the other. Later values tell these readings apart.
func Zeros() []byte {
	const entities, vectors = 50, 8
	g := rand.New(rand.NewPCG(7, 7))
	fields := []Field{
		{Name: "m_nFirst", Type: "uint32", VarSerializer: "default"},
		{Name: "m_vecSounds", Type: "Vector[8]", Encoder: "coord"},
		{Name: "m_sSound", Type: "CUtlString"},
		{Name: "m_sEmpty", Type: "CUtlSymbolLarge"},
		{Name: "m_bytes", Type: "CUtlBinaryBlock"},
		{Name: "m_eZero", Type: "Zero_t"},
		{Name: "m_bOff", Type: "bool"},
		{Name: "m_eSmall", Type: "Small_t"},
		{Name: "m_nLast", Type: "uint16"},
	}
	number := func(field int, v uint64) Value { return Value{[]int{field}, func(w *Bits) { w.Varint(v) }} }
	text := func(field int, s string) Value { return Value{[]int{field}, func(w *Bits) { w.CString(s) }} }
	vector := func(i int, whole uint64) Value {
		return Value{[]int{1, i}, func(w *Bits) {
			for range 3 {
				if w.Bits(min(whole, 1), 2); whole > 0 {
					w.Bool(false)
					w.Bits(whole-1, 14)
				}
			}
		}}
	}
	state := func() []Value {
		values := []Value{number(0, g.Uint64N(1<<20))}
		for i := range vectors {
			values = append(values, vector(i, 0))
		}
		return append(values, text(2, "ab"), text(3, ""), number(4, 0), number(5, 0),
			Value{[]int{6}, func(w *Bits) { w.Bool(false) }}, number(7, 1+g.Uint64N(50)), number(8, g.Uint64N(1<<16)))
	}
	var standard Bits
	standard.Fields(state()...)
	d := New()
	d.Record(CmdFileHeader, -1, Proto(nil).Text(1, "PBDEMS2\x00").Text(5, "de_dust2").Text(14, "csgo").Varint(13, 10000))
	d.Record(CmdSignonPacket, -1, PackMessages(
		Message{40, Proto(nil).Varint(11, 1).Float(13, 1.0/64)},
		Table{}.Create("instancebaseline", false, Entry{Index: 0, Key: "0", HasValue: true, Value: standard.Bytes()}),
	))
	d.Compressed(CmdSendTables, -1, SendTables(Serializer{Name: "CZeros", Fields: fields}))
	d.Record(CmdClassInfo, -1, Classes("CZeros"))
	d.Record(CmdSyncTick, -1, nil)
	e := &Entities{ClassBits: 1}
	for i := range entities {
		e.Create(i, 0, 1, state()...)
	}
	d.Packet(0, Message{4, Proto(nil).Varint(1, 1000)}, e.Message(false))
	later := []func() Value{
		func() Value { return number(0, g.Uint64N(1<<20)) },
		func() Value { return vector(g.IntN(vectors), g.Uint64N(1<<14)) },
		func() Value { return text(2, "another"[g.IntN(7):]) },
		func() Value { return text(3, "text"[g.IntN(4):]) },
		func() Value {
			return Value{[]int{4}, func(w *Bits) {
				n := g.IntN(5)
				w.Varint(uint64(n))
				w.Bits(g.Uint64N(1<<(8*n)), 8*n)
			}}
		},
		func() Value { return number(5, g.Uint64N(200)) },
		func() Value { return Value{[]int{6}, func(w *Bits) { w.Bool(g.IntN(2) > 0) }} },
		func() Value { return number(7, g.Uint64N(300)) },
		func() Value { return number(8, g.Uint64N(1<<16)) },
	}
	for tick := range int32(20) {
		e := &Entities{ClassBits: 1}
		for i := range entities {
			var values []Value
			for _, v := range later {
				if g.IntN(3) == 0 {
					values = append(values, v())
				}
			}
			if len(values) > 0 {
				e.Update(i, values...)
			}
		}
		d.Packet(tick+1, Message{4, Proto(nil).Varint(1, 1001+int64(tick))}, e.Message(true))
	}
	d.Record(CmdStop, 20, nil)
	d.Record(CmdFileInfo, 20, Proto(nil).Float(1, 20.0/64).Varint(2, 20).Varint(3, 21))
	return d.Bytes()
}
