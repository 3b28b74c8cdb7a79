package demtest

// Fight returns a demo of Deadlock of two players. One buys an item, shoots the other one, and kills him; they talk, and the
// match ends. It has each message of the game that becomes an event of a kind of its own.
func Fight() []byte {
	g := &gameOf{}
	user := func(slot int, name string, steam uint64) Entry {
		return Entry{Index: slot, Key: string(rune('0' + slot)), HasValue: true, Value: Proto(nil).Text(1, name).Fixed64(2, steam).Varint(3, int64(slot))}
	}
	const (
		controllers, pawns = 1, 10 // slots of the entities of the first player
		gun, item          = 1427059555, 1537272748
	)
	g.start(
		Proto(nil).Text(1, "PBDEMS2\x00").Text(5, "dl_midtown").Text(14, "citadel").Varint(13, 10700), 1.0/64,
		[]string{"CCitadelPlayerController", "CCitadelPlayerPawn"},
		[]Serializer{
			{Name: "CBodyComponent", Fields: bodyFields},
			{Name: "CCitadelPlayerController", Fields: []Field{
				{Name: "m_iszPlayerName", Type: "char[128]"},
				{Name: "m_steamID", Type: "uint64", Encoder: "fixed64"},
				{Name: "m_hPawn", Type: "CHandle< CBasePlayerPawn >"},
			}},
			{Name: "CCitadelPlayerPawn", Fields: []Field{
				{Name: "CBodyComponent", Type: "CBodyComponent", Serializer: "CBodyComponent"}, {Name: "m_iHealth", Type: "int32"},
			}},
		},
		Message{40, Proto(nil).Varint(11, 2).Float(13, 1.0/64).Text(14, "/opt/srcds/citadel_v6712/citadel")},
		Table{}.Create("userinfo", false, user(0, "somebody", 76561197960265729), user(1, "another", 76561197960265730)),
	)
	controller := func(name string, steam uint64, slot int) []Value {
		return []Value{g.text([]int{0}, name), g.bits([]int{1}, steam, 64), g.uint([]int{2}, uint64(pawns+slot|1<<14))}
	}
	packet := func(tick int32, e *Entities, delta bool, messages ...Message) {
		g.d.Packet(tick, append(append([]Message{{4, Proto(nil).Varint(1, 1000+int64(tick))}}, messages...), e.Message(delta))...)
	}
	e := g.entities()
	e.Create(controllers, 0, 1, controller("somebody", 76561197960265729, 0)...)
	e.Create(controllers+1, 0, 1, controller("another", 76561197960265730, 1)...)
	e.Create(pawns, 1, 1, append(g.body(512, -1000.5, 2000, 64), g.int([]int{1}, 600))...)
	e.Create(pawns+1, 1, 1, append(g.body(512, 1000, -500, 64), g.int([]int{1}, 550))...)
	packet(0, e, false)

	common := Proto(nil).Varint(1, 41).Bytes(2, place(-1000.5, 2000, 64)).Varint(3, pawns+1|1<<14).Varint(4, 0).Varint(5, 7).Text(6, "ping_enemy").Float(7, 0.5)
	e = g.entities()
	e.Update(pawns, g.body(512, -900, 1900, 64)...)
	packet(64, e, true,
		Message{314, Proto(nil).Varint(1, 0).Text(2, "have fun").Varint(3, 1).Varint(4, 3)},
		Message{312, Proto(nil).Varint(1, 99).Varint(2, 1).Varint(3, pawns+1).Varint(4, 12345).Varint(5, 15).Text(6, "lane").Varint(7, 4)},
		Message{303, Proto(nil).Bytes(1, common).Varint(2, 3).Varint(3, 1).Varint(4, 1).Varint(5, 2).Varint(6, 1).Text(7, "hero_inferno").Varint(8, 1)},
		Message{331, Proto(nil).Bytes(1, common).Varint(2, item).Float(3, 12.5).Varint(4, 2)},
		Message{322, Proto(nil).Varint(1, 1).Bytes(2, Proto(nil).Varint(1, 10).Varint(2, -20).Varint(3, 1))},
		Message{317, Proto(nil).Varint(1, 5).Varint(2, 30).Varint(2, 2).Varint(3, 1)},
		Message{309, Proto(nil).Varint(1, 0).Varint(2, item).Varint(3, 0)},
		Message{309, Proto(nil).Varint(1, 0).Varint(2, item).Varint(3, 4)},
		Message{47, Proto(nil).Bytes(1, Proto(nil).Varint(1, 2).Bytes(2, []byte("hello")).Varint(3, 10).Varint(4, 2).Varint(5, 24000).
			Varint(6, 480).Varint(7, 1).Bytes(8, []byte{5}).Float(9, 0.25)).Varint(2, 1).Varint(3, 1).Fixed64(4, 76561197960265730).Varint(5, 3).
			Varint(6, 1060).Varint(7, 1).Varint(8, pawns+1)},
	)
	e = g.entities()
	e.Update(pawns+1, g.int([]int{1}, 0))
	packet(128, e, true,
		Message{450, Proto(nil).Bytes(1, place(-900, 1900, 100)).Bytes(2, place(1, 90, 0)).Varint(4, 77).Varint(5, pawns).Varint(7, 20).Float(8, 1.5).
			Float(9, 0.25).Varint(10, 0).Varint(11, 3).Bytes(12, Proto(nil).Varint(1, 1<<40).Varint(2, 3)).Bytes(13, Proto(nil).Varint(1, 5).Varint(2, 4)).
			Bytes(14, place(1, 89, 0)).Varint(15, gun).Varint(16, 9).Varint(17, 30).Float(18, 2500).Varint(19, 4).Varint(20, 0).Float(21, 2).Float(22, 3000).
			Float(23, 0.5).Varint(24, 1).Varint(25, 1)},
		Message{461, Proto(nil).Bytes(1, place(-900, 1900, 100)).Bytes(2, place(990, -490, 90)).Bytes(3, place(0, 0, 1)).Varint(4, 40).Varint(5, 3).
			Varint(7, 20|1<<14).Varint(8, pawns+1|1<<14).Varint(9, 6).Varint(10, gun).Varint(11, pawns|1<<14).Float(12, 2)},
		Message{300, Proto(nil).Varint(1, 46).Varint(3, 2).Varint(4, 1).Bytes(5, place(-900, 1900, 100)).Varint(6, pawns+1).Varint(7, 31).Varint(8, pawns).
			Varint(9, 20).Varint(11, 550).Varint(12, 0).Varint(13, 1<<40|2).Varint(14, gun).Varint(15, 1).Varint(16, 1).Varint(17, 100).Varint(18, 12).
			Varint(19, 2).Varint(20, 40).Varint(21, 1).Varint(22, 32).Bytes(23, place(0, 1, 0)).Varint(24, 1).Float(25, 0.5).Float(26, 22.5).Float(27, 24.75).
			Float(28, 6).Varint(29, 1128)},
		Message{319, Proto(nil).Varint(1, pawns+1).Varint(2, 31).Varint(3, pawns).Varint(4, 12).Varint(4, 13).Varint(5, pawns).Varint(6, 1).Varint(7, 3)},
		Message{351, Proto(nil).Varint(1, pawns|1<<14).Varint(2, 1).Varint(3, 1).Varint(4, 0).Float(5, 4)},
		Message{300, Proto(nil).Varint(1, 5).Varint(2, 7).Varint(10, 2)}, // of an old build
		Message{338, Proto(nil).Varint(1, pawns+1).Varint(2, pawns).Varint(3, gun)},
	)
	packet(256, g.entities(), true, Message{316, Proto(nil).Bytes(1, Proto(nil).Bytes(2, Proto(nil).Varint(1, 1801).Varint(2, 0).Varint(3, 1).
		Bytes(4, Proto(nil).Varint(1, 1).Varint(2, 0).Bytes(4, Proto(nil).Varint(1, 64).Varint(2, item)).Bytes(5, Proto(nil).Varint(1, 180).Varint(21, 500)).
			Bytes(5, Proto(nil).Varint(1, 1801).Varint(21, 40000).Varint(23, 7000).Varint(25, 900)).Varint(6, 1).Varint(8, 10).Varint(9, 2).Varint(10, 7).
			Varint(11, 45000).Varint(12, 15).Varint(13, 120).Varint(14, 9).Varint(17, 4).Varint(18, 33)).
		Bytes(4, Proto(nil).Varint(1, 2).Varint(2, 1).Varint(6, 0).Varint(9, 10).Varint(12, 1).Varint(23, 1700)).
		Varint(5, 1790000000).Varint(6, 50000001).Varint(9, 1).Varint(10, 2).Varint(28, 3).Varint(28, 1)))})
	g.d.Record(CmdStop, 256, nil)
	g.d.Record(CmdFileInfo, 256, Proto(nil).Float(1, 4).Varint(2, 256).Varint(3, 4))
	return g.d.Bytes()
}

// place is a vector.
func place(x, y, z float32) Proto { return Proto(nil).Float(1, x).Float(2, y).Float(3, z) }
