package demtest

import "math/rand/v2"

// encoded are the fields of Encoders: each encoder with each type that games combine it with, and a writer of its values. Some
// occur more than once, so that updates have several at once.
var encoded = []struct {
	Field
	write func(w *Bits, g *rand.Rand)
}{
	{Field{Name: "m_nPlain", Type: "uint32"}, func(w *Bits, g *rand.Rand) { w.Varint(g.Uint64N(1 << 12)) }},
	{Field{Name: "m_flCoord", Type: "float32", Encoder: "coord"}, (*Bits).coord},
	{Field{Name: "m_vecCoord", Type: "Vector", Encoder: "coord"}, func(w *Bits, g *rand.Rand) { w.times(3, g, (*Bits).coord) }},
	{Field{Name: "m_vecNormal", Type: "Vector", Encoder: "normal"}, (*Bits).normal},
	{Field{Name: "m_angPrecise", Type: "QAngle", Encoder: "qangle_precise"}, (*Bits).precise},
	{Field{Name: "m_nBetween", Type: "int32"}, func(w *Bits, g *rand.Rand) { w.Zigzag(int64(g.IntN(1024)) - 512) }},
	{Field{Name: "m_angPitchYaw", Type: "QAngle", Encoder: "qangle_pitch_yaw", Bits: 8}, func(w *Bits, g *rand.Rand) { w.Bits(g.Uint64N(1<<16), 16) }},
	{Field{Name: "m_angPlain", Type: "QAngle", Encoder: "qangle"}, func(w *Bits, g *rand.Rand) {
		x, y, z := g.IntN(2) > 0, g.IntN(2) > 0, g.IntN(2) > 0
		for _, has := range []bool{x, y, z} {
			w.Bool(has)
		}
		for _, has := range []bool{x, y, z} {
			if has {
				w.coord(g)
			}
		}
	}},
	{Field{Name: "m_steamID", Type: "uint64", Encoder: "fixed64"}, func(w *Bits, g *rand.Rand) { w.Bits(76561197960265728+g.Uint64N(1<<31), 64) }},
	{Field{Name: "m_nByte", Type: "uint8", Encoder: "fixed8"}, func(w *Bits, g *rand.Rand) { w.Bits(g.Uint64N(256), 8) }},
	{Field{Name: "m_nSigned", Type: "int8", Encoder: "fixed8"}, func(w *Bits, g *rand.Rand) { w.Bits(g.Uint64N(256), 8) }},
	{Field{Name: "m_hSequence", Type: "HSequence"}, func(w *Bits, g *rand.Rand) { w.Varint(g.Uint64N(32)) }},
	{Field{Name: "m_nLast", Type: "uint16"}, func(w *Bits, g *rand.Rand) { w.Varint(g.Uint64N(1 << 16)) }},
}

func (w *Bits) times(n int, g *rand.Rand, write func(*Bits, *rand.Rand)) {
	for range n {
		write(w, g)
	}
}

// coord writes a random number of at most 14 bits and 1/32.
func (w *Bits) coord(g *rand.Rand) {
	whole, part := g.IntN(2) > 0, g.IntN(2) > 0
	w.Bool(whole)
	w.Bool(part)
	if !whole && !part {
		return
	}
	w.Bool(g.IntN(2) > 0)
	if whole {
		w.Bits(g.Uint64N(1<<14), 14)
	}
	if part {
		w.Bits(g.Uint64N(1<<5), 5)
	}
}

// normal writes a random vector of length 1.
func (w *Bits) normal(g *rand.Rand) {
	x, y := g.IntN(2) > 0, g.IntN(2) > 0
	w.Bool(x)
	w.Bool(y)
	for _, has := range []bool{x, y} {
		if has {
			w.Bits(g.Uint64N(1<<12), 12)
		}
	}
	w.Bool(g.IntN(2) > 0)
}

// precise writes random angles of 20 bits.
func (w *Bits) precise(g *rand.Rand) {
	has := g.Uint64N(8)
	w.Bits(has, 3)
	for i := range 3 {
		if has>>i&1 > 0 {
			w.Bits(g.Uint64N(1<<20), 20)
		}
	}
}

// Encoders returns a demo with each encoder of the games. At first all values are 0, or next to it. With unsized, it leaves out
// the sizes of updates.
func Encoders(unsized bool) []byte {
	const entities, first = 12, 5
	g := rand.New(rand.NewPCG(3, 9))
	fields := make([]Field, len(encoded))
	none := rand.New(nothing{})
	var zero, some []Value
	for i := range encoded {
		fields[i] = encoded[i].Field
		zero = append(zero, Value{[]int{i}, func(w *Bits) { encoded[i].write(w, none) }})
		some = append(some, Value{[]int{i}, func(w *Bits) { encoded[i].write(w, g) }})
	}
	var state Bits
	state.Fields(zero...)
	d := New()
	d.Record(CmdFileHeader, -1, Proto(nil).Text(1, "PBDEMS2\x00").Text(5, "de_dust2").Text(14, "csgo").Varint(13, 10000))
	d.Record(CmdSignonPacket, -1, PackMessages(
		Message{40, Proto(nil).Varint(11, 1).Float(13, 1.0/64)},
		Table{}.Create("instancebaseline", false, Entry{Index: 0, Key: "0", HasValue: true, Value: state.Bytes()}),
	))
	d.Compressed(CmdSendTables, -1, SendTables(Serializer{Name: "CEncoded", Fields: fields}))
	d.Record(CmdClassInfo, -1, Classes("CEncoded"))
	d.Record(CmdSyncTick, -1, nil)
	e := &Entities{ClassBits: 1, NoSizes: unsized}
	for i := range entities {
		e.Create(first+i, 0, 1, zero[i%len(zero):]...)
	}
	d.Packet(0, Message{4, Proto(nil).Varint(1, 1000)}, e.Message(false))
	for tick := range int32(200) {
		e := &Entities{ClassBits: 1, NoSizes: unsized}
		for i := range entities {
			var values []Value
			for _, v := range some {
				if g.IntN(4) == 0 {
					values = append(values, v)
				}
			}
			if len(values) > 0 {
				e.Update(first+i, values...)
			}
		}
		d.Packet(tick+1, Message{4, Proto(nil).Varint(1, 1001+int64(tick))}, e.Message(true))
	}
	d.Record(CmdStop, 200, nil)
	d.Record(CmdFileInfo, 200, Proto(nil).Float(1, 200.0/64).Varint(2, 200).Varint(3, 201))
	return d.Bytes()
}

// nothing is a source of random numbers that are all 0, for ranges that are powers of two.
type nothing struct{}

func (nothing) Uint64() uint64 { return 0 }
