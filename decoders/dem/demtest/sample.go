package demtest

import (
	"strconv"
)

// Sample returns a small demo of Dota 2 that has every kind of record, message and operation that the decoder knows.
func Sample() []byte {
	d := New()
	d.Record(CmdFileHeader, -1, Proto(nil).Text(1, "PBDEMS2\x00").Varint(2, 48).Text(3, "a server").Text(4, "SourceTV Demo").
		Text(5, "dota").Text(6, "/opt/dota").Varint(7, 2).Varint(8, 1).Varint(9, 1).Text(10, "").
		Text(11, "valve_demo_2").Text(12, "8e9d71ab-04a1-4c01-bb61-acfede27c046").Varint(13, 10000).Text(14, "dota").Varint(15, 900))
	d.Record(CmdSignonPacket, -1, PackMessages(
		Message{51, Proto(nil).Text(1, "dota")},
		Message{4, Proto(nil).Varint(1, 900)},
		Message{40, Proto(nil).Varint(1, 48).Varint(2, 1).Varint(3, 1).Varint(4, 1).Varint(10, 24).Varint(11, int64(len(sampleClasses))).
			Varint(12, -1).Float(13, 1.0/30).Text(14, "/opt/srcds/dota/dota_v6000/dota").Text(15, "dota").Text(17, "host")},
		Message{205, Proto(nil).
			Bytes(1, Proto(nil).Varint(1, 7).Text(2, "player_death").
				Bytes(3, Proto(nil).Varint(1, 9).Text(2, "userid")).Bytes(3, Proto(nil).Varint(1, 1).Text(2, "weapon")).
				Bytes(3, Proto(nil).Varint(1, 2).Text(2, "distance")).Bytes(3, Proto(nil).Varint(1, 3).Text(2, "long")).
				Bytes(3, Proto(nil).Varint(1, 4).Text(2, "short")).Bytes(3, Proto(nil).Varint(1, 5).Text(2, "byte")).
				Bytes(3, Proto(nil).Varint(1, 6).Text(2, "headshot")).Bytes(3, Proto(nil).Varint(1, 7).Text(2, "xuid")).
				Bytes(3, Proto(nil).Varint(1, 8).Text(2, "userid_pawn"))).
			Bytes(1, Proto(nil).Varint(1, 8).Text(2, "dota_combatlog").
				Bytes(3, Proto(nil).Varint(1, 5).Text(2, "type")).Bytes(3, Proto(nil).Varint(1, 4).Text(2, "targetname")).
				Bytes(3, Proto(nil).Varint(1, 3).Text(2, "value")).Bytes(3, Proto(nil).Varint(1, 2).Text(2, "timestamp")).
				Bytes(3, Proto(nil).Varint(1, 6).Text(2, "targethero")))},
	))
	names := Table{}
	fixed := Table{FixedBits: 2}
	packed := Table{Flags: 1, Varint: true}
	var many []Entry
	for i := range 40 {
		e := Entry{Index: i, Key: "modifier_number_" + strconv.Itoa(i)}
		if i > 0 {
			e.History, e.Prefix = min(i, 3), len("modifier_number_")
		}
		many = append(many, e)
	}
	d.Compressed(CmdSignonPacket, -1, PackMessages(
		packed.Create("instancebaseline", true,
			Entry{Index: 0, Key: "0", HasValue: true, Value: sampleBaseline(), Compress: true},
			Entry{Index: 1, Key: "1", HasValue: true, Value: emptyUpdate()},
			Entry{Index: 2, Key: "0:1", HasValue: true, Value: sampleAlternate()},
		),
		names.Create("CombatLogNames", false, Entry{Index: 0, Key: "dota_unknown"}, Entry{Index: 1, Key: "npc_dota_hero_axe"}),
		names.Create("ModifierNames", true, many...),
		names.Create("ActiveModifiers", false),
		fixed.Create("genericprecache", false, Entry{Index: 0, Key: "", HasValue: true, Value: []byte{2}}),
		names.Create("userinfo", false, Entry{Index: 0, Key: "0", HasValue: true, Value: Proto(nil).Text(1, "a bot").Fixed64(2, 0).Varint(3, 0).Varint(5, 1)},
			Entry{Index: 1, Key: "1", HasValue: true},
			Entry{Index: 2, Key: "2"},
			Entry{Index: 3, Key: "3", HasValue: true, Value: Proto(nil).Text(1, "somebody").Fixed64(2, 76561197960265729).Varint(3, 3)}),
	))
	d.Compressed(CmdSendTables, -1, SendTables(sampleSchema()...))
	d.Record(CmdClassInfo, -1, Classes(sampleClasses...))
	d.Record(CmdStringTables, -1, append(Dump("CombatLogNames", Entry{Key: "dota_unknown"}, Entry{Key: "npc_dota_hero_axe"}, Entry{Key: "npc_dota_hero_lina"}),
		Dump("nobody knows this table", Entry{Key: "x"})...))
	d.Record(CmdSyncTick, -1, nil)

	full := &Entities{ClassBits: sampleClassBits}
	full.Create(0, 0, 5, sampleValues()...)
	full.Create(3, 1, 6, gameRules(0)...)
	full.Create(9, 0, 7)
	full.Extra(Proto(nil).Bytes(15, Proto(nil).Varint(1, 9).Varint(2, 2)))
	d.Packet(0, Message{4, Proto(nil).Varint(1, 901)}, full.Message(false))
	d.Record(CmdFullPacket, 0, Proto(nil).Bytes(1, Dump("CombatLogNames", Entry{Key: "dota_unknown"})).
		Bytes(2, PackMessages(Message{4, Proto(nil).Varint(1, 901)}, full.Message(false))))

	// The clock runs; everything that players do.
	e := &Entities{ClassBits: sampleClassBits}
	e.Update(0, Value{[]int{0}, func(w *Bits) { w.Bool(false) }}, Value{[]int{2}, func(w *Bits) { w.Zigzag(-5) }})
	e.Update(3, gameRules(20)...)
	e.Leave(9)
	d.Packet(2,
		Message{554, Proto(nil).Varint(1, 0).Varint(2, 2).Varint(4, 1).Varint(6, 3).Varint(13, 75).Varint(14, 400).Float(15, 12.5).Varint(10, 1).Varint(40, 3).Varint(40, 4)},
		Message{554, Proto(nil).Varint(1, 11).Varint(2, 1).Varint(13, 3)},
		Message{466, Proto(nil).Varint(1, 0).Varint(2, 300).Sint(3, 4).Sint(4, 5).Float(11, 1)},
		Message{612, Proto(nil).Varint(1, 2).Varint(2, 11).Text(3, "gg \xff wp")},
		Message{117, Proto(nil).Varint(1, 1).Text(2, "hello").Varint(3, 1)},
		Message{118, Proto(nil).Varint(1, 3).Varint(2, 1).Text(3, "DOTA_Chat_All").Text(4, "somebody").Text(5, "hi")},
		Message{477, Proto(nil).Varint(1, 3).Bytes(2, Proto(nil).Varint(1, -100).Varint(2, 200).Varint(3, 9).Varint(4, 1).Varint(5, 2))},
		Message{478, Proto(nil).Varint(1, 3).Bytes(2, Proto(nil).Varint(1, 10).Varint(2, -20).Varint(3, 1))},
		Message{501, Proto(nil).Varint(1, 71).Varint(2, 8).Varint(3, 12345).Varint(4, 2)},
		Message{547, Proto(nil).Varint(1, 3).Varint(2, 5).Varint(3, 0).Varint(3, 9).Varint(4, 9).Varint(5, 5003).
			Bytes(6, Proto(nil).Float(1, 1).Float(2, -2).Float(3, 3)).Varint(7, 1).Varint(8, 17).Varint(9, 4)},
		Message{208, Proto(nil).Varint(1, 77).Fixed32(2, 0xdeadbeef).Varint(3, 9).Varint(4, 1).Bytes(5, []byte{1, 2}).Float(6, 0.5)},
		Message{76, Proto(nil).Bytes(1, Proto(nil).Bytes(1, []byte("input")).Varint(2, 4).Varint(3, 1).Varint(4, 901).Varint(5, 900)).
			Bytes(1, Proto(nil).Bytes(1, []byte("more")))},
		Message{72, Proto(nil).Varint(1, 612).Bytes(2, Proto(nil).Varint(1, 6).Text(3, "wrapped"))},
		Message{6, Proto(nil).Bytes(1, Proto(nil).
			Bytes(1, Proto(nil).Text(1, "sv_cheats").Text(2, "0")).Bytes(1, Proto(nil).Text(1, "sv_password").Text(2, "secret")))},
		Message{483, Proto(nil).Varint(1, 0).Varint(2, 50)},
		Message{9999, []byte("nobody knows this message")},
		Message{4, Proto(nil).Varint(1, 903)},
		names.Update(1, Entry{Index: 3, Key: "item_blink"}),
		names.Update(3, Entry{Index: 0, Key: "0", HasValue: true, Value: Proto(nil).Varint(1, 1).Varint(2, 9).Varint(3, 1).Varint(4, 8).
			Varint(5, 33).Varint(6, 2).Varint(7, 3).Float(8, 4).Float(9, 5).Varint(10, 0).Varint(11, 1).Varint(14, 1).Varint(23, 1).Varint(34, 0)}),
		Message{207, Proto(nil).Varint(2, 7).
			Bytes(3, Proto(nil).Varint(1, 9).Varint(5, 3)).Bytes(3, Proto(nil).Varint(1, 1).Text(2, "ak47")).
			Bytes(3, Proto(nil).Varint(1, 2).Float(3, 9.5)).Bytes(3, Proto(nil).Varint(1, 3).Varint(4, -70000)).
			Bytes(3, Proto(nil).Varint(1, 4).Varint(5, -7)).Bytes(3, Proto(nil).Varint(1, 5).Varint(6, 200)).
			Bytes(3, Proto(nil).Varint(1, 6).Varint(7, 1)).Bytes(3, Proto(nil).Varint(1, 7).Varint(8, -1)).
			Bytes(3, Proto(nil).Varint(1, 8).Varint(4, 9|6<<14))},
		Message{207, Proto(nil).Varint(2, 8).
			Bytes(3, Proto(nil).Varint(1, 5).Varint(6, 4)).Bytes(3, Proto(nil).Varint(1, 4).Varint(5, 1)).
			Bytes(3, Proto(nil).Varint(1, 3).Varint(4, 12)).Bytes(3, Proto(nil).Varint(1, 2).Float(3, 7.5)).
			Bytes(3, Proto(nil).Varint(1, 6).Varint(7, 1))},
		e.Message(true),
	)
	d.Record(CmdConsoleCmd, 2, Proto(nil).Text(1, "say hello"))
	d.Record(CmdUserCmd, 2, Proto(nil).Varint(1, 5).Bytes(2, []byte("input")))

	// Coming back into view, a new tenant of a slot, one that is sent again, one that is deleted at the end.
	e = &Entities{ClassBits: sampleClassBits, Visible: true}
	e.Update(0, Value{[]int{4}, func(w *Bits) { w.Varint(9) }})
	e.Hide(3)
	e.Update(9, Value{[]int{4}, func(w *Bits) { w.Varint(10) }})
	d.Packet(4, Message{4, Proto(nil).Varint(1, 905)}, e.Message(true))
	e = &Entities{ClassBits: sampleClassBits}
	e.Create(0, 0, 8, Value{[]int{4}, func(w *Bits) { w.Varint(11) }})
	e.Delete(3)
	e.Create(9, 0, 7, Value{[]int{4}, func(w *Bits) { w.Varint(12) }})
	d.Packet(6, Message{4, Proto(nil).Varint(1, 907)}, e.Message(true))
	e = &Entities{ClassBits: sampleClassBits, NoSizes: true}
	e.Update(0, Value{[]int{4}, func(w *Bits) { w.Varint(13) }})
	e.Deletions(9)
	d.Packet(8, Message{4, Proto(nil).Varint(1, 909)}, e.Message(true))
	// An update of another size than announced.
	e = &Entities{ClassBits: sampleClassBits}
	e.head(0, 0)
	e.bits.Fields(Value{[]int{4}, func(w *Bits) { w.Varint(14) }})
	e.bits.Bits(0, 3)
	e.sizes.Varint(uint64(e.bits.Len() - 8))
	d.Packet(10, Message{4, Proto(nil).Varint(1, 911)}, e.Message(true))

	// The wrapped combat log, speech, and the results of the match.
	d.Packet(10,
		Message{468, Proto(nil).Varint(1, 4).Varint(2, 1).Float(15, 20)},
		Message{470, Proto(nil).Bytes(1, Proto(nil).Varint(1, 1).Varint(2, 1).Varint(13, 10)).Bytes(1, Proto(nil).Varint(1, 8).Varint(2, 2).Varint(13, 20)).
			Float(2, 20).Float(3, 10).Varint(4, 3).Float(5, 21)},
		Message{47, Proto(nil).Bytes(1, Proto(nil).Bytes(2, []byte("speech")).Varint(5, 22050)).Varint(2, 3).Fixed64(4, 76561197960265729).Varint(6, 911)},
		Message{558, Proto(nil).Varint(3, 2400).Fixed32(4, 1700000000).
			Bytes(5, Proto(nil).Varint(1, 1).Varint(2, 0).Varint(3, 2).Varint(4, 1).Varint(5, -1).Varint(76, 5003).Varint(14, 10).Varint(15, 2).Varint(16, 7).
				Varint(17, 0).Varint(18, 1200).Varint(19, 200).Varint(20, 12).Varint(21, 600).Varint(22, 700).Varint(23, 20000).Varint(24, 31000).
				Varint(25, 4000).Varint(26, 500).Varint(27, 25).Text(29, "somebody").Varint(52, 24000).Varint(80, 0)).
			Bytes(5, Proto(nil).Varint(1, 2).Varint(2, 128).Varint(3, 25).Varint(17, 1).Varint(80, 1)).
			Varint(6, 7000000001).Varint(8, 2047).Varint(8, 0).Varint(9, 63).Varint(9, 3).Varint(12, 95).Varint(16, 7).Varint(22, 15).Varint(31, 22).
			Varint(48, 40).Varint(49, 21).Varint(50, 2).Varint(53, 90)},
		Message{4, Proto(nil).Varint(1, 911)},
	)
	d.Record(10, 10, Proto(nil).Varint(1, 1).Bytes(2, []byte("custom")))
	d.Record(16, 10, Proto(nil).Sint(1, 3).Varint(2, 1))
	d.Record(50, 10, []byte("nobody knows this record"))
	d.Record(CmdPacket|64, 10, []byte("this is no snappy"))
	d.Record(CmdStop, 10, nil)
	d.Record(CmdSpawnGroups, 10, Proto(nil).Bytes(3, []byte{1}))
	d.Record(CmdFileInfo, 10, Proto(nil).Float(1, 10.0/30).Varint(2, 10).Varint(3, 6).Bytes(4, Proto(nil).Bytes(4,
		Proto(nil).Varint(1, 7000000001).Varint(2, 22).Varint(3, 2).
			Bytes(4, Proto(nil).Text(1, "npc_dota_hero_axe").Text(2, "somebody").Varint(4, 76561197960265729).Varint(5, 2)).
			Bytes(4, Proto(nil).Text(1, "npc_dota_hero_lina").Text(2, "a bot").Varint(3, 1).Varint(5, 3)).
			Varint(5, 15).Bytes(6, Proto(nil).Varint(2, 2).Varint(3, 1)).Bytes(6, Proto(nil).Varint(1, 1).Varint(2, 3).Varint(3, 25)).
			Varint(7, 1).Varint(8, 2).Text(9, "RAD").Text(10, "DIR").Varint(11, 1700000000))))
	return d.Bytes()
}

var sampleClasses = []string{"CEverything", "CDOTAGamerulesProxy"}

const sampleClassBits = 2

func sampleSchema() []Serializer {
	return []Serializer{
		{Name: "CBodyComponent", Fields: []Field{{Name: "m_cellX", Type: "uint16"}, {Name: "m_vecX", Type: "float32", Bits: 15, High: 256, Flags: -8}}},
		{Name: "CRulesA", Fields: []Field{{Name: "m_iA", Type: "int32"}}},
		{Name: "CRulesB", Fields: []Field{{Name: "m_iB0", Type: "uint8"}, {Name: "m_iB1", Type: "CUtlString"}}},
		{Name: "Item_t", Fields: []Field{{Name: "m_nID", Type: "uint32"}, {Name: "m_szName", Type: "CUtlString"}, {Name: "m_vecTags", Type: "CNetworkUtlVectorBase< uint32 >"}}},
		{Name: "CDOTAGamerules", Fields: []Field{
			{Name: "m_flGameStartTime", Type: "float32"}, {Name: "m_bGamePaused", Type: "bool"},
			{Name: "m_nTotalPausedTicks", Type: "int32"}, {Name: "m_nPauseStartTick", Type: "int32"},
			{Name: "m_nGameState", Type: "int32"}, {Name: "m_flStateTransitionTime", Type: "GameTime_t"},
		}},
		{Name: "CDOTAGamerulesProxy", Fields: []Field{{Name: "m_pGameRules", Type: "CDOTAGamerules*", Serializer: "CDOTAGamerules"}}},
		{Name: "CEverything", Fields: []Field{
			0:  {Name: "m_bFlag", Type: "bool"},
			1:  {Name: "m_iFixed8", Type: "int8", Encoder: "fixed8"},
			2:  {Name: "m_iInt", Type: "int32"},
			3:  {Name: "m_iInt64", Type: "int64"},
			4:  {Name: "m_iUint", Type: "uint32"},
			5:  {Name: "m_iUint8", Type: "uint8", Encoder: "fixed8"},
			6:  {Name: "m_iUint64", Type: "uint64"},
			7:  {Name: "m_iFixed64", Type: "uint64", Encoder: "fixed64"},
			8:  {Name: "m_hOwner", Type: "CHandle< CBaseEntity >"},
			9:  {Name: "m_hSequence", Type: "HSequence"},
			10: {Name: "m_flTime", Type: "GameTime_t"},
			11: {Name: "m_flCoord", Type: "float32", Encoder: "coord"},
			12: {Name: "m_flNormal", Type: "float32", Encoder: "normal"},
			13: {Name: "m_flSimulationTime", Type: "float32"},
			14: {Name: "m_flQuantized", Type: "CNetworkedQuantizedFloat", Bits: 10, Low: -1, High: 1, Flags: 4},
			15: {Name: "m_vecOrigin", Type: "Vector"},
			16: {Name: "m_vecNormal", Type: "Vector", Encoder: "normal"},
			17: {Name: "m_vec2", Type: "Vector2D"},
			18: {Name: "m_quat", Type: "Quaternion"},
			19: {Name: "m_transform", Type: "CTransform"},
			20: {Name: "m_angPitchYaw", Type: "QAngle", Encoder: "qangle_pitch_yaw", Bits: 8},
			21: {Name: "m_angPrecise", Type: "QAngle", Encoder: "qangle_precise"},
			22: {Name: "m_angCoord", Type: "QAngle"},
			23: {Name: "m_angRaw", Type: "QAngle", Bits: 32},
			24: {Name: "m_angBits", Type: "QAngle", Bits: 13},
			25: {Name: "m_szName", Type: "char[128]"},
			26: {Name: "m_block", Type: "CUtlBinaryBlock"},
			27: {Name: "m_array", Type: "CHandle< CBaseEntity >[4]"},
			28: {Name: "m_vector", Type: "CNetworkUtlVectorBase< float32 >", Bits: 12, Low: 0, High: 1, Flags: 1},
			29: {Name: "m_items", Type: "CUtlVectorEmbeddedNetworkVar< Item_t >", Serializer: "Item_t"},
			30: {Name: "CBodyComponent", Type: "CBodyComponent", Serializer: "CBodyComponent"},
			31: {Name: "m_pRules", Type: "CRulesA*", Serializer: "CRulesA", Polymorphic: []string{"CRulesB"}},
			32: {Name: "m_eEnum", Type: "SomeEnum_t"},
			33: {Name: "m_nBlood", Type: "BloodType"},
		}},
	}
}

func sampleValues() []Value {
	num := func(v uint64) func(*Bits) { return func(w *Bits) { w.Varint(v) } }
	zig := func(v int64) func(*Bits) { return func(w *Bits) { w.Zigzag(v) } }
	raw := func(v uint64, n int) func(*Bits) { return func(w *Bits) { w.Bits(v, n) } }
	floats := func(v ...float32) func(*Bits) {
		return func(w *Bits) {
			for _, f := range v {
				w.Float32(f)
			}
		}
	}
	return []Value{
		{[]int{0}, raw(1, 1)},
		{[]int{1}, raw(0xfe, 8)},
		{[]int{2}, zig(-100000)},
		{[]int{3}, zig(-1 << 40)},
		{[]int{4}, num(4000000000)},
		{[]int{5}, raw(200, 8)},
		{[]int{6}, num(1 << 60)},
		{[]int{7}, raw(1<<63|5, 64)},
		{[]int{8}, num(9 | 7<<14)},
		{[]int{9}, num(0)},
		{[]int{10}, floats(12.25)},
		{[]int{11}, func(w *Bits) { w.Code("111"); w.Bits(41, 14); w.Bits(16, 5) }},
		{[]int{12}, func(w *Bits) { w.Bool(false); w.Bits(2047, 11) }},
		{[]int{13}, num(45)},
		{[]int{14}, func(w *Bits) { w.Bool(false); w.Bits(0, 10) }},
		{[]int{15}, floats(1, -2, 3.5)},
		{[]int{16}, func(w *Bits) { w.Code("00"); w.Bool(true) }},
		{[]int{17}, floats(4, 5)},
		{[]int{18}, floats(0, 0, 0, 1)},
		{[]int{19}, floats(1, 2, 3, 4, 5, 6)},
		{[]int{20}, func(w *Bits) { w.Bits(64, 8); w.Bits(128, 8) }},
		{[]int{21}, func(w *Bits) { w.Code("010"); w.Bits(3<<18, 20) }},
		{[]int{22}, func(w *Bits) { w.Code("100"); w.Code("100"); w.Bits(44, 14) }},
		{[]int{23}, floats(10, 20, 30)},
		{[]int{24}, func(w *Bits) { w.Bits(1<<12, 13); w.Bits(1<<11, 13); w.Bits(0, 13) }},
		{[]int{25}, func(w *Bits) { w.CString("na\xefve") }},
		{[]int{26}, func(w *Bits) { w.Varint(3); w.Raw([]byte{9, 8, 7}) }},
		{[]int{27, 1}, num(1<<24 - 1)},
		{[]int{28}, num(3)},
		{[]int{28, 2}, func(w *Bits) { w.Bits(4095, 12) }},
		{[]int{29}, num(2)},
		{[]int{29, 0, 0}, num(41)},
		{[]int{29, 1, 1}, func(w *Bits) { w.CString("blink") }},
		{[]int{29, 1, 2}, num(1)},
		{[]int{29, 1, 2, 0}, num(5)},
		{[]int{30}, raw(1, 1)},
		{[]int{30, 0}, num(130)},
		{[]int{30, 1}, func(w *Bits) { w.Bits(1<<14, 15) }},
		{[]int{31}, func(w *Bits) { w.Bool(true); w.UBitVar(1) }},
		{[]int{31, 1}, func(w *Bits) { w.CString("of the second type") }},
		{[]int{32}, num(7)},
		{[]int{33}, raw(3, 8)},
	}
}

func sampleBaseline() []byte {
	var w Bits
	w.Fields(Value{[]int{4}, func(w *Bits) { w.Varint(1) }}, Value{[]int{25}, func(w *Bits) { w.CString("default") }})
	return w.Bytes()
}

func sampleAlternate() []byte {
	var w Bits
	w.Fields(Value{[]int{25}, func(w *Bits) { w.CString("alternate") }})
	return w.Bytes()
}

func emptyUpdate() []byte {
	var w Bits
	w.Fields()
	return w.Bytes()
}

func gameRules(pausedTicks int64) []Value {
	return []Value{
		{[]int{0}, func(w *Bits) { w.Bool(true) }},
		{[]int{0, 0}, func(w *Bits) { w.Float32(29) }},
		{[]int{0, 1}, func(w *Bits) { w.Bool(pausedTicks > 0) }},
		{[]int{0, 2}, func(w *Bits) { w.Zigzag(pausedTicks) }},
		{[]int{0, 3}, func(w *Bits) { w.Zigzag(903) }},
		{[]int{0, 4}, func(w *Bits) { w.Zigzag(5) }},
	}
}

// SampleSchema returns the sample's CDemoSendTables.
func SampleSchema() []byte { return SendTables(sampleSchema()...) }
