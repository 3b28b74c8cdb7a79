package demtest

import (
	"fmt"
	"math/rand/v2"
)

// Classes of World.
const (
	worldController = iota
	worldPawn
	worldWeapon
	worldClasses
)

const worldClassBits = 2

// worldSchema has a field of each of the types that games use most.
func worldSchema(odd bool) []Serializer {
	strange := Field{Name: "m_strange", Type: "uint32"}
	if odd {
		strange.Type = "Strange_t"
	}
	return []Serializer{
		{Name: "Stats_t", Fields: []Field{{Name: "m_iKills", Type: "int32"}, {Name: "m_flDamage", Type: "float32"}}},
		{Name: "CBodyComponent", Fields: []Field{{Name: "m_cellX", Type: "uint16"}, {Name: "m_vecX", Type: "CNetworkedQuantizedFloat", Bits: 15, Low: 0, High: 512, Flags: 1}}},
		{Name: "CCSPlayerController", Fields: []Field{
			{Name: "m_iszPlayerName", Type: "char[128]"},
			{Name: "m_iTeamNum", Type: "uint8"},
			{Name: "m_hPlayerPawn", Type: "CHandle< CCSPlayerPawn >"},
			{Name: "m_iScore", Type: "int32"},
			{Name: "m_bPawnIsAlive", Type: "bool"},
			{Name: "m_steamID", Type: "uint64", Encoder: "fixed64"},
			{Name: "m_flJoinTime", Type: "GameTime_t"},
			{Name: "m_rounds", Type: "CUtlVectorEmbeddedNetworkVar< Stats_t >", Serializer: "Stats_t"},
			{Name: "m_eState", Type: "PlayerState_t"},
		}},
		{Name: "CCSPlayerPawn", Fields: []Field{
			{Name: "CBodyComponent", Type: "CBodyComponent", Serializer: "CBodyComponent"},
			{Name: "m_iHealth", Type: "int32"},
			{Name: "m_angEyeAngles", Type: "QAngle", Encoder: "qangle_precise"},
			{Name: "m_vecVelocity", Type: "Vector"},
			{Name: "m_flSpeed", Type: "float32"},
			{Name: "m_hWeapons", Type: "CNetworkUtlVectorBase< CHandle< CWeapon > >"},
			{Name: "m_flLastHit", Type: "GameTime_t"},
			{Name: "m_nMoney", Type: "uint32"},
			{Name: "m_bDucking", Type: "bool"},
			strange,
			{Name: "m_flArmor", Type: "float32", Bits: 8, Low: 0, High: 100, Flags: 1},
		}},
		{Name: "CWeapon", Fields: []Field{
			{Name: "m_iClip1", Type: "int32", VarSerializer: "minusone"},
			{Name: "m_sName", Type: "CUtlString"},
			{Name: "m_hOwner", Type: "CHandle< CCSPlayerPawn >"},
			{Name: "m_flNext", Type: "GameTime_t"},
			{Name: "m_nSkin", Type: "uint16"},
			{Name: "m_bSilencer", Type: "bool"},
		}},
	}
}

// world writes World.
type world struct {
	*rand.Rand
	odd bool
	own bool // entities are created from their own default states
	// slot is the slot of the present own default states.
	slot int64
}

func (g *world) uint(path []int, v uint64) Value {
	return Value{path, func(w *Bits) { w.Varint(v) }}
}

func (g *world) int(path []int, v int64) Value {
	return Value{path, func(w *Bits) { w.Zigzag(v) }}
}

func (g *world) bool(path []int, v bool) Value { return Value{path, func(w *Bits) { w.Bool(v) }} }

func (g *world) text(path []int, v string) Value { return Value{path, func(w *Bits) { w.CString(v) }} }

func (g *world) floats(path []int, v ...float32) Value {
	return Value{path, func(w *Bits) {
		for _, f := range v {
			w.Float32(f)
		}
	}}
}

func (g *world) bits(path []int, v uint64, n int) Value {
	return Value{path, func(w *Bits) { w.Bits(v, n) }}
}

// strange returns a value that a decoder reads as a number. In an odd world the value has 13 bits, which no known encoder writes.
func (g *world) strange() Value {
	v := g.Uint64N(1 << 13)
	if g.odd {
		return g.bits([]int{9}, v, 13)
	}
	return g.uint([]int{9}, v)
}

func (g *world) angles() Value {
	x, y := g.Uint64N(1<<20), g.Uint64N(1<<20)
	return Value{[]int{2}, func(w *Bits) {
		w.Code("110")
		w.Bits(x, 20)
		w.Bits(y, 20)
	}}
}

func (g *world) controller(i int) []Value {
	return []Value{
		g.text([]int{0}, fmt.Sprintf("player %d", i)),
		g.uint([]int{1}, uint64(2+i%2)),
		g.uint([]int{2}, handle(worldPawns+i)),
		g.int([]int{3}, 0),
		g.bool([]int{4}, true),
		g.bits([]int{5}, 76561197960265728+uint64(i), 64),
		g.floats([]int{6}, 0.5+float32(i)),
		g.uint([]int{7}, 2),
		g.int([]int{7, 0, 0}, int64(i)),
		g.floats([]int{7, 0, 1}, 12.5),
		g.int([]int{7, 1, 0}, -1),
		g.uint([]int{8}, uint64(1+i%4)),
	}
}

func (g *world) pawn(i int) []Value {
	return []Value{
		g.bool([]int{0}, true),
		g.uint([]int{0, 0}, uint64(30+i)),
		g.quantized([]int{0, 1}),
		g.int([]int{1}, 100),
		g.angles(),
		g.floats([]int{3}, 1.5, -2.25, float32(i)),
		g.floats([]int{4}, 250),
		g.uint([]int{5}, 2),
		g.uint([]int{5, 0}, handle(worldWeapons+2*i)),
		g.uint([]int{5, 1}, handle(worldWeapons+2*i+1)),
		g.floats([]int{6}, 0),
		g.uint([]int{7}, 800),
		g.bool([]int{8}, false),
		g.strange(),
		g.bits([]int{10}, 0x80, 8),
	}
}

func (g *world) quantized(path []int) Value { return g.bits(path, g.Uint64N(1<<15), 15) }

func (g *world) weapon(i int) []Value {
	return []Value{
		g.uint([]int{0}, 31),
		g.text([]int{1}, [...]string{"weapon_ak47", "weapon_knife"}[i%2]),
		g.uint([]int{2}, handle(worldPawns+i/2)),
		g.floats([]int{3}, 3.25),
		g.uint([]int{4}, uint64(i*37)),
		g.bool([]int{5}, i%3 == 0),
	}
}

// Slots of World.
const (
	worldPlayers     = 10
	worldControllers = 1
	worldPawns       = 20
	worldWeapons     = 40
)

// handle returns the handle of an entity with serial number 1.
func handle(index int) uint64 { return uint64(index) | 1<<14 }

// World returns a demo of Counter-Strike 2 with a few hundred ticks of ten players: their controllers, bodies and weapons, which
// appear and vanish, leave the view and come back, with lists that grow and shrink and an object that vanishes. It has a key
// frame every 50 ticks. With odd, a field has an unknown type of 13 bits.
func World(odd bool) []byte { return (&world{Rand: rand.New(rand.NewPCG(7, 7)), odd: odd}).demo() }

// ClientWorld returns World as a client records it: now and then the state with which entities are created becomes their default,
// in two slots by turns, and weapons that are created again have that default except for a field or two.
func ClientWorld() []byte { return (&world{Rand: rand.New(rand.NewPCG(7, 7)), own: true}).demo() }

func (g *world) demo() []byte {
	d := New()
	d.Record(CmdFileHeader, -1, Proto(nil).Text(1, "PBDEMS2\x00").Text(5, "de_dust2").Text(14, "csgo").Varint(13, 10000))
	baseline := func(values []Value) []byte {
		var w Bits
		w.Fields(values...)
		return w.Bytes()
	}
	d.Record(CmdSignonPacket, -1, PackMessages(
		Message{40, Proto(nil).Varint(11, worldClasses).Float(13, 1.0/64)},
		Table{}.Create("instancebaseline", false,
			Entry{Index: 0, Key: "0", HasValue: true, Value: baseline(g.controller(0))},
			Entry{Index: 1, Key: "1", HasValue: true, Value: baseline(g.pawn(0))},
			Entry{Index: 2, Key: "2", HasValue: true, Value: baseline(g.weapon(0))},
		),
	))
	d.Compressed(CmdSendTables, -1, SendTables(worldSchema(g.odd)...))
	d.Record(CmdClassInfo, -1, Classes("CCSPlayerController", "CCSPlayerPawn", "CWeapon"))
	d.Record(CmdSyncTick, -1, nil)

	full := &Entities{ClassBits: worldClassBits}
	for i := range worldPlayers {
		full.Create(worldControllers+i, worldController, 1, g.controller(i)...)
	}
	for i := range worldPlayers {
		full.Create(worldPawns+i, worldPawn, 1, g.pawn(i)...)
	}
	live := map[int]int{} // serial numbers of weapons
	for i := range 2 * worldPlayers {
		full.Create(worldWeapons+i, worldWeapon, 1, g.weapon(i)...)
		live[i] = 1
	}
	g.defaults(full, true)
	d.Packet(0, Message{4, Proto(nil).Varint(1, 1000)}, full.Message(false))
	for tick := int32(1); tick <= 300; tick++ {
		if tick%50 == 0 {
			// Its contents are already known: the state is the packets' state.
			d.Record(CmdFullPacket, tick, Proto(nil).Bytes(2, PackMessages(Message{4, Proto(nil).Varint(1, 1000+int64(tick))}, full.Message(false))))
		}
		e := &Entities{ClassBits: worldClassBits}
		g.tick(e, int(tick), live)
		g.defaults(e, tick%20 == 0)
		d.Packet(tick, Message{4, Proto(nil).Varint(1, 1000+int64(tick))}, e.Message(true))
	}
	d.Record(CmdStop, 300, nil)
	d.Record(CmdFileInfo, 300, Proto(nil).Float(1, 300.0/64).Varint(2, 300).Varint(3, 301))
	return d.Bytes()
}

// defaults says where the entities' own default states are. With store, it makes the decoder store those of the created entities.
func (g *world) defaults(e *Entities, store bool) {
	if !g.own {
		return
	}
	e.Extra(Proto(nil).Varint(5, g.slot))
	if store {
		e.Extra(Proto(nil).Varint(4, 1))
		g.slot = 1 - g.slot
	}
}

// tick writes what changes in a tick.
func (g *world) tick(e *Entities, tick int, live map[int]int) {
	for i := range worldPlayers {
		if g.IntN(9) == 0 {
			rounds := g.IntN(4)
			values := []Value{g.int([]int{3}, int64(tick-20)), g.bool([]int{4}, g.IntN(2) > 0), g.uint([]int{7}, uint64(rounds))}
			for k := range rounds {
				values = append(values, g.int([]int{7, k, 0}, int64(g.IntN(40)-5)))
			}
			e.Update(worldControllers+i, append(values, g.uint([]int{8}, g.Uint64N(5)))...)
		}
	}
	for i := range worldPlayers {
		switch g.IntN(6) {
		case 0:
			e.Update(worldPawns+i, g.uint([]int{0, 0}, g.Uint64N(64)), g.quantized([]int{0, 1}), g.int([]int{1}, int64(g.IntN(101))), g.angles(),
				g.floats([]int{3}, float32(g.IntN(100))/4, -float32(tick), 0), g.floats([]int{4}, float32(g.IntN(260))))
		case 1:
			e.Update(worldPawns+i, g.uint([]int{5}, 1), g.uint([]int{5, 0}, handle(worldWeapons+2*i)), g.floats([]int{6}, float32(tick)/64),
				g.uint([]int{7}, 800+g.Uint64N(200)*50), g.bool([]int{8}, g.IntN(2) > 0), g.strange(), g.bits([]int{10}, g.Uint64N(256), 8))
		case 2:
			e.Update(worldPawns+i, g.bool([]int{0}, false), g.uint([]int{5}, 2), g.uint([]int{5, 1}, handle(worldWeapons+2*i+1)))
		case 3:
			e.Update(worldPawns+i, g.bool([]int{0}, true), g.uint([]int{0, 0}, g.Uint64N(64)))
		}
	}
	for i := range 2 * worldPlayers {
		switch serial := live[i]; {
		case serial == 0 && g.IntN(20) == 0:
			live[i] = tick
			values := g.weapon(i)
			if g.own {
				values = values[tick%3 : 1+tick%3]
			}
			e.Create(worldWeapons+i, worldWeapon, tick, values...)
		case serial == 0:
		case g.IntN(60) == 0:
			delete(live, i)
			e.Delete(worldWeapons + i)
		case g.IntN(50) == 0:
			e.Leave(worldWeapons + i)
		case g.IntN(10) == 0:
			e.Update(worldWeapons+i, g.uint([]int{0}, g.Uint64N(32)), g.floats([]int{3}, float32(tick)/64+1), g.uint([]int{4}, g.Uint64N(1<<16)), g.bool([]int{5}, tick%2 > 0))
		}
	}
}
