package demtest

import "math"

// gameOf writes a small demo with the events that people ask a match for.
type gameOf struct {
	world     // for its values
	classBits int
	d         *Demo
}

// start writes the sign-on part.
func (g *gameOf) start(header Proto, interval float32, classes []string, schema []Serializer, messages ...Message) {
	g.d = New()
	g.d.Record(CmdFileHeader, -1, header)
	messages = append([]Message{{40, Proto(nil).Varint(11, int64(len(classes))).Float(13, interval)}}, messages...)
	g.d.Record(CmdSignonPacket, -1, PackMessages(messages...))
	g.d.Compressed(CmdSendTables, -1, SendTables(schema...))
	g.d.Record(CmdClassInfo, -1, Classes(classes...))
	g.d.Record(CmdSyncTick, -1, nil)
	for g.classBits = 1; 1<<g.classBits <= len(classes); g.classBits++ {
	}
}

func (g *gameOf) entities() *Entities { return &Entities{ClassBits: g.classBits} }

// body returns the values of a CBodyComponent at a place. It is the first field of its entity.
func (g *gameOf) body(width int, x, y, z float64) []Value {
	values := []Value{g.bool([]int{0}, true)}
	for i, v := range [...]float64{x, y, z} {
		cell := math.Floor((v + 16384) / float64(width))
		values = append(values, g.uint([]int{0, 2 * i}, uint64(cell)), g.floats([]int{0, 2*i + 1}, float32(v+16384-cell*float64(width))))
	}
	return values
}

var bodyFields = []Field{
	{Name: "m_cellX", Type: "uint16"}, {Name: "m_vecX", Type: "CNetworkedQuantizedFloat"},
	{Name: "m_cellY", Type: "uint16"}, {Name: "m_vecY", Type: "CNetworkedQuantizedFloat"},
	{Name: "m_cellZ", Type: "uint16"}, {Name: "m_vecZ", Type: "CNetworkedQuantizedFloat"},
	{Name: "m_hParent", Type: "CGameSceneNodeHandle"},
}

// Classes of Match.
const (
	matchRules = iota
	matchResource
	matchData
	matchAxe
	matchLina
	matchWard
	matchItem
)

// Match returns a demo of Dota 2 of two players. Both buy; one places a ward and kills the other one and Roshan; a tower falls.
// It has the events that the cookbook's examples read.
func Match() []byte {
	g := &gameOf{}
	unit := []Field{
		{Name: "CBodyComponent", Type: "CBodyComponent", Serializer: "CBodyComponent"},
		{Name: "m_pEntity", Type: "CEntityIdentity*", Serializer: "CEntityIdentity"},
		{Name: "m_iHealth", Type: "int32"},
	}
	names := []Entry{{Index: 0, Key: "dota_unknown"}}
	for i, name := range []string{
		"npc_dota_hero_axe", "npc_dota_hero_lina", "item_blink", "npc_dota_roshan", "npc_dota_badguys_tower1_mid", "axe_culling_blade",
	} {
		names = append(names, Entry{Index: i + 1, Key: name})
	}
	const axe, lina, blink, roshan, tower, blade = 1, 2, 3, 4, 5, 6
	user := func(slot int, name string, steam uint64) Entry {
		return Entry{Index: slot, Key: string(rune('0' + slot)), HasValue: true, Value: Proto(nil).Text(1, name).Fixed64(2, steam).Varint(3, int64(slot))}
	}
	g.start(
		Proto(nil).Text(1, "PBDEMS2\x00").Text(5, "start").Text(14, "dota").Varint(13, 10000), 1.0/30,
		[]string{
			"CDOTAGamerulesProxy", "CDOTA_PlayerResource", "CDOTA_DataRadiant", "CDOTA_Unit_Hero_Axe", "CDOTA_Unit_Hero_Lina",
			"CDOTA_NPC_Observer_Ward", "CDOTA_Item_BlinkDagger",
		},
		[]Serializer{
			{Name: "CBodyComponent", Fields: bodyFields},
			{Name: "CEntityIdentity", Fields: []Field{{Name: "m_nameStringableIndex", Type: "int32"}}},
			{Name: "PlayerResourcePlayerData_t", Fields: []Field{{Name: "m_iszPlayerName", Type: "CUtlString"}}},
			{Name: "PlayerResourcePlayerTeamData_t", Fields: []Field{{Name: "m_nSelectedHeroID", Type: "HeroID_t"}}},
			{Name: "DataTeamPlayer_t", Fields: []Field{{Name: "m_iNetWorth", Type: "int32"}}},
			{Name: "CDOTAGamerules", Fields: []Field{
				{Name: "m_nGameState", Type: "int32"}, {Name: "m_flGameStartTime", Type: "float32"}, {Name: "m_flStateTransitionTime", Type: "float32"},
			}},
			{Name: "CDOTAGamerulesProxy", Fields: []Field{{Name: "m_pGameRules", Type: "CDOTAGamerules*", Serializer: "CDOTAGamerules"}}},
			{Name: "CDOTA_PlayerResource", Fields: []Field{
				{Name: "m_vecPlayerData", Type: "CUtlVectorEmbeddedNetworkVar< PlayerResourcePlayerData_t >", Serializer: "PlayerResourcePlayerData_t"},
				{Name: "m_vecPlayerTeamData", Type: "CUtlVectorEmbeddedNetworkVar< PlayerResourcePlayerTeamData_t >", Serializer: "PlayerResourcePlayerTeamData_t"},
			}},
			{Name: "CDOTA_DataRadiant", Fields: []Field{
				{Name: "m_vecDataTeam", Type: "CUtlVectorEmbeddedNetworkVar< DataTeamPlayer_t >", Serializer: "DataTeamPlayer_t"},
			}},
			{Name: "CDOTA_Unit_Hero_Axe", Fields: unit},
			{Name: "CDOTA_Unit_Hero_Lina", Fields: unit},
			{Name: "CDOTA_NPC_Observer_Ward", Fields: unit},
			{Name: "CDOTA_Item_BlinkDagger", Fields: []Field{
				{Name: "m_pEntity", Type: "CEntityIdentity*", Serializer: "CEntityIdentity"}, {Name: "m_nAbilityID", Type: "AbilityID_t"},
			}},
		},
		Table{}.Create("userinfo", false, user(0, "somebody", 76561197960265729), user(1, "another", 76561197960265730)),
		Table{}.Create("EntityNames", false, Entry{Index: 0, Key: "npc_dota_hero_axe"}, Entry{Index: 1, Key: "npc_dota_hero_lina"},
			Entry{Index: 2, Key: "npc_dota_observer_wards"}, Entry{Index: 3, Key: "item_blink"}),
		Table{}.Create("CombatLogNames", false, names...),
	)
	rules := func(state int64, start, transition float32) []Value {
		return []Value{g.bool([]int{0}, true), g.int([]int{0, 0}, state), g.floats([]int{0, 1}, start), g.floats([]int{0, 2}, transition)}
	}
	named := func(values []Value, field int, name int64) []Value {
		return append(values, g.bool([]int{field}, true), g.int([]int{field, 0}, name))
	}
	packet := func(tick int32, e *Entities, delta bool, messages ...Message) {
		g.d.Packet(tick, append(append([]Message{{4, Proto(nil).Varint(1, 1000+int64(tick))}}, messages...), e.Message(delta))...)
	}
	const slotRules, slotResource, slotData, slotAxe, slotLina, slotItem, slotWard = 1, 2, 3, 10, 11, 12, 13
	e := g.entities()
	e.Create(slotRules, matchRules, 1, rules(4, 0, 36)...)
	e.Create(slotResource, matchResource, 1, g.uint([]int{0}, 2), g.text([]int{0, 0, 0}, "somebody"), g.text([]int{0, 1, 0}, "another"),
		g.uint([]int{1}, 2), g.int([]int{1, 0, 0}, 2), g.int([]int{1, 1, 0}, 25))
	e.Create(slotData, matchData, 1, g.uint([]int{0}, 1), g.int([]int{0, 0, 0}, 600))
	e.Create(slotAxe, matchAxe, 1, append(named(g.body(128, -6700, -6300, 384), 1, 0), g.int([]int{2}, 700))...)
	e.Create(slotLina, matchLina, 1, append(named(g.body(128, 6700.5, 6300, 384), 1, 1), g.int([]int{2}, 600))...)
	packet(0, e, false)
	at := func(tick int32) float32 { return (1000 + float32(tick)) / 30 }
	log := func(typ int64, tick int32) Proto { return Proto(nil).Varint(1, typ).Float(15, at(tick)) }

	e = g.entities()
	e.Update(slotData, g.int([]int{0, 0, 0}, 850))
	e.Update(slotAxe, g.body(128, -2000, -1800.25, 256)...)
	e.Create(slotItem, matchItem, 1, append(named(nil, 0, 3), g.int([]int{1}, 1))...)
	e.Create(slotWard, matchWard, 1, append(named(g.body(128, -1500, 900, 256), 1, 2), g.int([]int{2}, 200))...)
	packet(30, e, true,
		Message{554, log(11, 30).Varint(2, axe).Varint(13, blink)},
		Message{547, Proto(nil).Varint(1, 3).Varint(2, 5).Varint(3, slotAxe).Varint(5, 5010)},
		Message{477, Proto(nil).Varint(1, 0).Bytes(2, Proto(nil).Varint(1, -1500).Varint(2, 900))},
	)
	e = g.entities()
	e.Update(slotRules, rules(5, 36, 0)...)
	e.Update(slotAxe, g.body(128, 100, 90, 128)...)
	e.Update(slotLina, g.body(128, 130, 128, 128)...)
	packet(90, e, true, Message{612, Proto(nil).Varint(1, 1).Varint(2, 11).Text(3, "gl hf")})
	e = g.entities()
	e.Update(slotLina, g.int([]int{2}, 0))
	e.Update(slotWard, append(g.body(128, -1500, 900, 256), g.int([]int{2}, 0))...)
	packet(120, e, true,
		Message{554, log(4, 120).Varint(2, lina).Varint(4, axe).Varint(5, axe).Varint(6, blade).Varint(8, 1).Varint(10, 1).
			Float(21, 130).Float(22, 128).Varint(28, 2).Varint(29, 3)},
		Message{466, Proto(nil).Varint(1, 0).Varint(2, 250).Sint(3, 1).Sint(4, 0)},
	)
	e = g.entities()
	e.Delete(slotWard)
	packet(150, e, true,
		Message{554, log(17, 150).Varint(2, tower).Varint(4, axe).Varint(13, 2).Varint(42, 1)},
		Message{466, Proto(nil).Varint(1, 3).Varint(2, 2).Sint(3, 0)},
		Message{554, log(4, 150).Varint(2, roshan).Varint(4, axe).Varint(8, 1)},
		Message{466, Proto(nil).Varint(1, 9).Varint(2, 2)},
		Message{612, Proto(nil).Varint(1, 0).Varint(2, 11).Text(3, "gg")},
	)
	e = g.entities()
	e.Update(slotData, g.int([]int{0, 0, 0}, 1400))
	packet(180, e, true)
	g.d.Record(CmdStop, 180, nil)
	g.d.Record(CmdFileInfo, 180, Proto(nil).Float(1, 6).Varint(2, 180).Varint(3, 6).Bytes(4, Proto(nil).Bytes(4,
		Proto(nil).Varint(1, 7000000002).Varint(2, 2).Varint(3, 2).
			Bytes(4, Proto(nil).Text(1, "npc_dota_hero_axe").Text(2, "somebody").Varint(4, 76561197960265729).Varint(5, 2)).
			Bytes(4, Proto(nil).Text(1, "npc_dota_hero_lina").Text(2, "another").Varint(4, 76561197960265730).Varint(5, 3)).
			Bytes(6, Proto(nil).Varint(2, 2).Varint(3, 74)).Bytes(6, Proto(nil).Varint(1, 1).Varint(2, 2).Varint(3, 2)).
			Bytes(6, Proto(nil).Varint(1, 1).Varint(2, 3).Varint(3, 25)).Varint(11, 1700000000))))
	return g.d.Bytes()
}

// Round returns a demo of Counter-Strike 2 of a round with two players. One plants the bomb and is killed by the other one, who
// defuses it. It has the events that the cookbook's examples read.
func Round() []byte {
	g := &gameOf{}
	key := func(typ int64, name string) Proto { return Proto(nil).Varint(1, typ).Text(2, name) }
	described := func(id int64, name string, keys ...Proto) Proto {
		p := Proto(nil).Varint(1, id).Text(2, name)
		for _, k := range keys {
			p = p.Bytes(3, k)
		}
		return p
	}
	player := func(slot int64) Proto { return Proto(nil).Varint(1, 9).Varint(5, slot) }
	pawn := func(slot int) Proto { return Proto(nil).Varint(1, 8).Varint(4, int64(handle(10+slot))) }
	happened := func(id int64, keys ...Proto) Message {
		p := Proto(nil).Varint(2, id)
		for _, k := range keys {
			p = p.Bytes(3, k)
		}
		return Message{207, p}
	}
	const roundStart, roundEnd, death, planted, defused = 1, 2, 3, 4, 5
	user := func(slot int, name string, steam uint64, bot int64) Entry {
		return Entry{Index: slot, Key: string(rune('0' + slot)), HasValue: true,
			Value: Proto(nil).Text(1, name).Fixed64(2, steam).Varint(3, int64(slot)).Varint(5, bot)}
	}
	g.start(
		Proto(nil).Text(1, "PBDEMS2\x00").Text(5, "de_dust2").Text(14, "csgo").Varint(13, 10000), 1.0/64,
		[]string{"CCSPlayerController", "CCSPlayerPawn", "CWeaponAK47"},
		[]Serializer{
			{Name: "CBodyComponent", Fields: bodyFields},
			{Name: "CCSPlayerController_InGameMoneyServices", Fields: []Field{{Name: "m_iAccount", Type: "int32"}}},
			{Name: "CCSPlayerController", Fields: []Field{
				{Name: "m_iszPlayerName", Type: "char[128]"},
				{Name: "m_steamID", Type: "uint64", Encoder: "fixed64"},
				{Name: "m_hPawn", Type: "CHandle< CBasePlayerPawn >"},
				{Name: "m_pInGameMoneyServices", Type: "CCSPlayerController_InGameMoneyServices*", Serializer: "CCSPlayerController_InGameMoneyServices"},
			}},
			{Name: "CCSPlayerPawn", Fields: []Field{
				{Name: "CBodyComponent", Type: "CBodyComponent", Serializer: "CBodyComponent"}, {Name: "m_iHealth", Type: "int32"},
			}},
			{Name: "CWeaponAK47", Fields: []Field{{Name: "CBodyComponent", Type: "CBodyComponent", Serializer: "CBodyComponent"}}},
		},
		Table{}.Create("userinfo", false, user(0, "somebody", 76561197960265729, 0), user(1, "Larry", 0, 1), Entry{Index: 2, Key: "2", HasValue: true}),
		Message{205, Proto(nil).
			Bytes(1, described(roundStart, "round_start")).
			Bytes(1, described(roundEnd, "round_end", key(5, "winner"))).
			Bytes(1, described(death, "player_death", key(9, "userid"), key(9, "attacker"), key(9, "assister"), key(8, "userid_pawn"),
				key(1, "weapon"), key(6, "headshot"))).
			Bytes(1, described(planted, "bomb_planted", key(9, "userid"), key(8, "userid_pawn"), key(4, "site"))).
			Bytes(1, described(defused, "bomb_defused", key(9, "userid"), key(8, "userid_pawn"), key(4, "site")))},
	)
	controller := func(name string, steam uint64, slot int, money int64) []Value {
		return []Value{g.text([]int{0}, name), g.bits([]int{1}, steam, 64), g.uint([]int{2}, handle(10+slot)), g.bool([]int{3}, true), g.int([]int{3, 0}, money)}
	}
	parent := func(handle uint64) Value { return g.uint([]int{0, 6}, handle) }
	const noHandle = 1<<24 - 1
	packet := func(tick int32, e *Entities, delta bool, messages ...Message) {
		g.d.Packet(tick, append(append([]Message{{4, Proto(nil).Varint(1, 1000+int64(tick))}}, messages...), e.Message(delta))...)
	}
	e := g.entities()
	e.Create(1, 0, 1, controller("somebody", 76561197960265729, 0, 800)...)
	e.Create(2, 0, 1, controller("Larry", 0, 1, 800)...)
	e.Create(10, 1, 1, append(g.body(512, -1000.5, 2000, 64), parent(noHandle), g.int([]int{1}, 100))...)
	e.Create(11, 1, 1, append(g.body(512, 1000, -500, 64), parent(noHandle), g.int([]int{1}, 100))...)
	e.Create(12, 2, 1, append(g.body(512, 0, 0, 0), parent(handle(10)))...)
	packet(0, e, false, happened(roundStart))
	e = g.entities()
	e.Update(1, g.int([]int{3, 0}, 100))
	e.Update(10, g.body(512, -900, 1900, 64)...)
	packet(64, e, true)
	packet(128, g.entities(), true, happened(planted, player(0), pawn(0), Proto(nil).Varint(1, 4).Varint(5, 301)))
	e = g.entities()
	e.Update(2, g.int([]int{3, 0}, 1100))
	e.Update(10, g.int([]int{1}, 0))
	e.Update(12, append(g.body(512, -900, 1900, 20), parent(noHandle))...) // the bomb falls to the ground
	packet(192, e, true,
		Message{452, Proto(nil).Bytes(1, place(-900, 1900, 128)).Bytes(2, place(1, 45, 0)).Varint(3, int64(handle(12))).Varint(4, 1).Varint(5, 77).
			Fixed32(6, uint32(handle(11))).Float(7, 0.25).Float(8, 1.5).Float(9, 0.125).Varint(10, 2).Varint(11, 7).Fixed32(12, 99).
			Bytes(13, place(-900, 1900, 64)).Varint(14, 29).Varint(15, 1).Bytes(16, Proto(nil).Bytes(1, place(0.5, 0, 0)).Varint(2, 1180).Float(3, 0.5).
			Varint(4, 1178).Float(5, 0.75).Float(6, 0.0625).Float(7, 0.03125).Varint(8, 1)).Varint(17, 1).Varint(18, 1).Varint(19, 1192)},
		Message{453, Proto(nil).Varint(1, 1).Varint(2, 0).Bytes(3, place(-900, 1900, 64)).Varint(4, 1).Varint(5, 143).Varint(6, 1).Varint(7, 1)},
		Message{321, Proto(nil).Varint(1, 100).Bytes(2, place(1000, -500, 64)).Varint(3, 10)},
		happened(death, player(0), player(1), player(65535), pawn(0), Proto(nil).Varint(1, 1).Text(2, "ak47"), Proto(nil).Varint(1, 6).Varint(7, 1)),
		Message{118, Proto(nil).Varint(1, 2).Text(3, "Cstrike_Chat_All").Text(4, "Larry").Text(5, "nice")})
	e = g.entities()
	e.Update(12, parent(handle(11))) // and is picked up
	packet(256, e, true, happened(defused, player(1), pawn(1), Proto(nil).Varint(1, 4).Varint(5, 301)), happened(roundEnd, Proto(nil).Varint(1, 5).Varint(6, 3)))
	g.d.Record(CmdStop, 256, nil)
	g.d.Record(CmdFileInfo, 256, Proto(nil).Float(1, 4).Varint(2, 256).Varint(3, 5))
	return g.d.Bytes()
}
