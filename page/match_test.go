package page_test

import (
	"bytes"
	"flag"
	"math"
	"math/bits"
	"os"
	"path/filepath"
	"testing"

	"github.com/replayd/replayd/decoders/dem/demtest"
)

var update = flag.Bool("update", false, "write the demos of the browser's tests anew")

// TestMatches checks that two samples, and a demo and the map for the browser tests, are the ones that this package generates.
func TestMatches(t *testing.T) {
	for path, made := range map[string][]byte{
		"../testdata/dem/teamfight.dem": dotaMatch(), "../testdata/dem/round.dem": csMatch(), "test/deadlock.dem": deadlockMatch(),
		"test/designed.map": designedMap(t),
	} {
		path = filepath.FromSlash(path)
		if *update {
			if err := os.WriteFile(path, made, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if have, err := os.ReadFile(path); err != nil || !bytes.Equal(have, made) {
			t.Errorf("%s is another one (%v): go test ./page -run TestMatches -update", path, err)
		}
	}
}

// Constructors for values of fields.
func whole(v uint64, path ...int) demtest.Value {
	return demtest.Value{Path: path, Write: func(w *demtest.Bits) { w.Varint(v) }}
}

func signed(v int64, path ...int) demtest.Value {
	return demtest.Value{Path: path, Write: func(w *demtest.Bits) { w.Zigzag(v) }}
}

func truth(v bool, path ...int) demtest.Value {
	return demtest.Value{Path: path, Write: func(w *demtest.Bits) { w.Bool(v) }}
}

// steamOf returns the Steam ID of a player, a number of no account, in a field of 64 bits.
func steamOf(player int, path ...int) demtest.Value {
	return demtest.Value{Path: path, Write: func(w *demtest.Bits) { w.Bits(steamID(player), 64) }}
}

func steamID(player int) uint64 { return 76561197960265729 + uint64(player) }

func text(v string, path ...int) demtest.Value {
	return demtest.Value{Path: path, Write: func(w *demtest.Bits) { w.CString(v) }}
}

func floats(path []int, v ...float32) demtest.Value {
	return demtest.Value{Path: path, Write: func(w *demtest.Bits) {
		for _, f := range v {
			w.Float32(f)
		}
	}}
}

// place returns the position of a body, as the fields of its CBodyComponent, which is field 0.
func place(x, y, cell float64) []demtest.Value {
	var values []demtest.Value
	for i, at := range []float64{x, y, 0} {
		c := math.Floor((at + 16384) / cell)
		values = append(values, whole(uint64(c), 0, 2*i), floats([]int{0, 2*i + 1}, float32(at+16384-c*cell)))
	}
	return values
}

var body = demtest.Serializer{Name: "CBodyComponent", Fields: []demtest.Field{
	{Name: "m_cellX", Type: "uint16"}, {Name: "m_vecX", Type: "float32"}, {Name: "m_cellY", Type: "uint16"}, {Name: "m_vecY", Type: "float32"},
	{Name: "m_cellZ", Type: "uint16"}, {Name: "m_vecZ", Type: "float32"},
}}

// match is a demo that is being written.
type match struct {
	*demtest.Demo

	classes map[string]int
	names   []string
	schema  []demtest.Serializer
}

func newMatch(game, level string, interval float32, tables []demtest.Message, schema ...demtest.Serializer) *match {
	m := &match{Demo: demtest.New(), classes: map[string]int{}, schema: schema}
	for _, s := range schema {
		if s.Name[0] == 'C' && s.Name != body.Name && s.Name != "CGameRules" && s.Name != "CEntityIdentity" {
			m.classes[s.Name] = len(m.names)
			m.names = append(m.names, s.Name)
		}
	}
	m.Record(demtest.CmdFileHeader, -1, demtest.Proto(nil).Text(1, "PBDEMS2\x00").Text(3, "A match of our own").Text(5, level).Text(6, "/opt/game/"+game).Text(14, game).Varint(13, 10000))
	m.Record(demtest.CmdSignonPacket, -1, demtest.PackMessages(append([]demtest.Message{
		{ID: 40, Data: demtest.Proto(nil).Varint(11, int64(len(m.names))).Float(13, interval).Text(14, "/opt/game/"+game).Text(15, level)}}, tables...)...))
	m.Compressed(demtest.CmdSendTables, -1, demtest.SendTables(schema...))
	m.Record(demtest.CmdClassInfo, -1, demtest.Classes(m.names...))
	m.Record(demtest.CmdSyncTick, -1, nil)
	return m
}

func (m *match) entities() *demtest.Entities {
	return &demtest.Entities{ClassBits: bits.Len(uint(len(m.names)))}
}

func (m *match) create(e *demtest.Entities, index int, class string, values ...demtest.Value) {
	e.Create(index, m.classes[class], 1, values...)
}

// tick writes the changes and messages of one tick.
func (m *match) tick(tick int, e *demtest.Entities, delta bool, messages ...demtest.Message) {
	messages = append([]demtest.Message{{ID: 4, Data: demtest.Proto(nil).Varint(1, int64(1000+tick))}}, messages...)
	m.Compressed(demtest.CmdPacket, int32(tick), demtest.PackMessages(append(messages, e.Message(delta))...))
}

func (m *match) end(tick int, interval float32, more ...byte) []byte {
	m.Record(demtest.CmdStop, int32(tick), nil)
	info := demtest.Proto(nil).Float(1, float32(tick)*interval).Varint(2, int64(tick)).Varint(3, int64(tick))
	m.Record(demtest.CmdFileInfo, int32(tick), append(info, more...))
	return m.Bytes()
}

func handle(index int) uint64 { return uint64(index) | 1<<14 }

// dotaMatch returns half a minute of Dota 2. Ten heroes meet in the middle, and two of them die. There is also a tower. A hero was
// banned before, another one is while it is played, and two are picked; the end says who chose. Axe buys two items.
func dotaMatch() []byte {
	const ticks, interval = 900, 1.0 / 30
	const invoker, rubick = 74, 86
	heroes := []string{"Axe", "Lina", "Juggernaut", "CrystalMaiden", "Sven", "Pudge", "Zuus", "Windrunner", "Lion", "DragonKnight"}
	numbers := []int64{2, 25, 8, 5, 18, 14, 22, 21, 26, 49}
	npcs := []string{"axe", "lina", "juggernaut", "crystal_maiden", "sven", "pudge", "zuus", "windrunner", "lion", "dragon_knight"}
	players := []string{"Ada", "Grace", "Linus", "Margaret", "Edsger", "Barbara", "Donald", "Frances", "Ken", "Radia"}
	schema := []demtest.Serializer{
		body,
		{Name: "Player_t", Fields: []demtest.Field{{Name: "m_iszPlayerName", Type: "char[128]"}, {Name: "m_bIsValid", Type: "bool"}, {Name: "m_iPlayerTeam", Type: "int32"}}},
		{Name: "PlayerTeam_t", Fields: []demtest.Field{{Name: "m_hSelectedHero", Type: "CHandle< CBaseEntity >"}, {Name: "m_iTeamSlot", Type: "int32"},
			{Name: "m_iKills", Type: "int32"}, {Name: "m_iDeaths", Type: "int32"}, {Name: "m_iAssists", Type: "int32"},
			{Name: "m_nSelectedHeroID", Type: "HeroID_t"}, {Name: "m_iLevel", Type: "int32"}}},
		{Name: "CDOTAPlayerController", Fields: []demtest.Field{{Name: "m_iszPlayerName", Type: "char[128]"}, {Name: "m_steamID", Type: "uint64", Encoder: "fixed64"},
			{Name: "m_iTeamNum", Type: "uint8"}, {Name: "m_nPlayerID", Type: "int32"}}},
		{Name: "TeamData_t", Fields: []demtest.Field{{Name: "m_iNetWorth", Type: "int32"}}},
		{Name: "CDOTA_PlayerResource", Fields: []demtest.Field{
			{Name: "m_vecPlayerData", Type: "CUtlVectorEmbeddedNetworkVar< Player_t >", Serializer: "Player_t"},
			{Name: "m_vecPlayerTeamData", Type: "CUtlVectorEmbeddedNetworkVar< PlayerTeam_t >", Serializer: "PlayerTeam_t"}}},
		{Name: "CDOTATeam", Fields: []demtest.Field{{Name: "m_iTeamNum", Type: "uint8"}, {Name: "m_szTeamname", Type: "char[129]"}, {Name: "m_iHeroKills", Type: "int32"}, {Name: "m_iScore", Type: "int32"}}},
		{Name: "CGameRules", Fields: []demtest.Field{{Name: "m_flGameStartTime", Type: "float32"}, {Name: "m_bGamePaused", Type: "bool"},
			{Name: "m_nTotalPausedTicks", Type: "int32"}, {Name: "m_nGameState", Type: "int32"},
			{Name: "m_BannedHeroes", Type: "int32[24]"}, {Name: "m_SelectedHeroes", Type: "int32[24]"}}},
		{Name: "CDOTAGamerulesProxy", Fields: []demtest.Field{{Name: "m_pGameRules", Type: "CGameRules*", Serializer: "CGameRules"}}},
	}
	for _, name := range []string{"CDOTA_DataRadiant", "CDOTA_DataDire"} {
		schema = append(schema, demtest.Serializer{Name: name, Fields: []demtest.Field{
			{Name: "m_vecDataTeam", Type: "CUtlVectorEmbeddedNetworkVar< TeamData_t >", Serializer: "TeamData_t"}}})
	}
	living := []demtest.Field{{Name: "CBodyComponent", Type: "CBodyComponent", Serializer: "CBodyComponent"}, {Name: "m_iHealth", Type: "int32"},
		{Name: "m_iMaxHealth", Type: "int32"}, {Name: "m_lifeState", Type: "uint8"}, {Name: "m_iTeamNum", Type: "uint8"}, {Name: "m_iPlayerID", Type: "int32"}, {Name: "m_iCurrentLevel", Type: "int32"}}
	for _, name := range append([]string{"CDOTA_BaseNPC_Tower", "CDOTA_BaseNPC_Fort"}, heroes...) {
		if name[0] != 'C' || name == "CrystalMaiden" {
			name = "CDOTA_Unit_Hero_" + name
		}
		schema = append(schema, demtest.Serializer{Name: name, Fields: living})
	}
	var entries []demtest.Entry
	for i, name := range append([]string{"unknown", "goodguys_tower1_mid"}, npcs...) {
		if i > 1 {
			name = "hero_" + name
		}
		entries = append(entries, demtest.Entry{Index: i, Key: "npc_dota_" + name})
	}
	items := len(entries)
	for i, name := range []string{"item_tango", "item_blink"} {
		entries = append(entries, demtest.Entry{Index: items + i, Key: name})
	}
	m := newMatch("dota", "dota", interval, []demtest.Message{demtest.Table{}.Create("CombatLogNames", false, entries...)}, schema...)

	const resource, rules, teams, data, hero, tower, controller = 1, 2, 3, 5, 10, 30, 50
	e := m.entities()
	values := []demtest.Value{whole(10, 0)}
	for i, name := range players {
		values = append(values, text(name, 0, i, 0), truth(true, 0, i, 1), signed(int64(2+i/5), 0, i, 2))
	}
	values = append(values, whole(10, 1))
	for i := range players {
		values = append(values, whole(handle(hero+i), 1, i, 0), signed(int64(i%5), 1, i, 1), signed(0, 1, i, 2), signed(0, 1, i, 3), signed(0, 1, i, 4),
			signed(numbers[i], 1, i, 5), signed(6, 1, i, 6))
	}
	m.create(e, resource, "CDOTA_PlayerResource", values...)
	m.create(e, rules, "CDOTAGamerulesProxy", truth(true, 0), floats([]int{0, 0}, 40), truth(false, 0, 1), signed(0, 0, 2), signed(5, 0, 3), signed(invoker, 0, 4, 0))
	for i, name := range []string{"Radiant", "Dire"} {
		m.create(e, teams+i, "CDOTATeam", whole(uint64(2+i), 0), text(name, 1), signed(0, 2), signed(0, 3))
	}
	for i, name := range []string{"CDOTA_DataRadiant", "CDOTA_DataDire"} {
		worths := []demtest.Value{whole(5, 0)}
		for k := range 5 {
			worths = append(worths, signed(int64(600+40*k), 0, k, 0))
		}
		m.create(e, data+i, name, worths...)
	}
	alive := func(team, id, level, most int, at []demtest.Value) []demtest.Value {
		return append(append([]demtest.Value{}, at...), signed(int64(most), 1), signed(int64(most), 2), whole(0, 3), whole(uint64(team), 4), signed(int64(id), 5), signed(int64(level), 6))
	}
	path := func(i, tick int) (x, y float64) {
		side := float64(1 - 2*(i/5)) // from lower left, and from upper right
		part := min(1, float64(tick)/500) * 0.95
		angle := float64(i%5)*0.35 - 0.7 + math.Sin(float64(tick+40*i)/60)*0.1
		return -side * (1 - part) * 6600 * math.Cos(math.Pi/4+angle) * 1.2, -side * (1 - part) * 6600 * math.Sin(math.Pi/4+angle) * 1.2
	}
	for i, name := range heroes {
		x, y := path(i, 0)
		m.create(e, hero+i, "CDOTA_Unit_Hero_"+name, alive(2+i/5, i, 6, 1000+60*i, place(x, y, 128))...)
	}
	spots := [][2]float64{{-1550, -1400}, {-3500, -3000}, {-6200, 1800}, {4900, -6100}, {530, 650}, {3000, 2300}, {6300, -1600}, {-4700, 6000}}
	for i, at := range spots {
		m.create(e, tower+i, "CDOTA_BaseNPC_Tower", alive(2+i/4, -1, 1, 1800, place(at[0], at[1], 128))...)
	}
	for i, at := range []float64{-5500, 5300} {
		m.create(e, tower+len(spots)+i, "CDOTA_BaseNPC_Fort", alive(2+i, -1, 1, 4500, place(at, at, 128))...)
	}
	for i, name := range players {
		m.create(e, controller+i, "CDOTAPlayerController", text(name, 0), steamOf(i, 1), whole(uint64(2+i/5), 2), signed(int64(i), 3))
	}
	m.tick(0, e, false)

	log := func(kind, target, attacker int, more demtest.Proto) demtest.Message {
		return demtest.Message{ID: 554, Data: append(demtest.Proto(nil).Varint(1, int64(kind)).Varint(2, int64(target)).Varint(4, int64(attacker)), more...)}
	}
	heroesFight := demtest.Proto(nil).Varint(8, 1).Varint(10, 1) // both are heroes
	fallen := map[int]int{620: 6, 760: 3}                        // the hero that dies, by tick
	for tick := 2; tick < ticks; tick += 2 {
		e, messages := m.entities(), []demtest.Message{}
		switch tick {
		case 20:
			e.Update(rules, signed(rubick, 0, 4, 1))
		case 100:
			e.Update(rules, signed(numbers[0], 0, 5, 0))
		case 120:
			e.Update(rules, signed(numbers[5], 0, 5, 1))
		}
		if victim, ok := fallen[tick]; ok {
			killer := 9 - victim
			messages = append(messages, log(4, 2+victim, 2+killer, heroesFight))
			kill, death := signed(1, 1, killer, 2), signed(1, 1, victim, 3)
			if killer < victim { // fields must be in the order of their paths
				e.Update(resource, kill, death)
			} else {
				e.Update(resource, death, kill)
			}
			e.Update(teams+killer/5, signed(1, 2), signed(1, 3))
		}
		if tick%300 == 0 {
			for side := range 2 {
				var worths []demtest.Value
				for k := range 5 {
					worths = append(worths, signed(int64(600+40*k+tick*(2+side)), 0, k, 0))
				}
				e.Update(data+side, worths...)
			}
		}
		for i := range heroes {
			if dead := map[int]int{6: 620, 3: 760}[i]; dead > 0 && tick > dead {
				continue
			} else if tick == dead {
				e.Update(hero+i, signed(0, 1), whole(1, 3))
				continue
			}
			x, y := path(i, tick)
			values := place(x, y, 128)
			if tick > 500 && tick%20 == 0 {
				values = append(values, signed(int64(max(120, 1000+60*i-(tick-500)*2)), 1))
				messages = append(messages, log(0, 2+i, 2+9-i, heroesFight))
			}
			e.Update(hero+i, values...)
		}
		switch tick {
		case 40, 660:
			messages = append(messages, log(11, 2, 0, demtest.Proto(nil).Varint(13, int64(items+tick/600))))
		case 60:
			messages = append(messages, demtest.Message{ID: 612, Data: demtest.Proto(nil).Varint(1, 0).Varint(2, 11).Text(3, "glhf")})
		case 700:
			e.Update(tower, signed(0, 1), whole(1, 3))
			messages = append(messages, log(4, 1, 2+9, demtest.Proto(nil).Varint(8, 1).Varint(37, 1)))
		}
		m.tick(tick, e, true, messages...)
	}
	choice := func(pick, team int, hero int64) demtest.Proto {
		return demtest.Proto(nil).Varint(1, int64(pick)).Varint(2, int64(team)).Varint(3, hero)
	}
	played := demtest.Proto(nil).Varint(1, 7000000003).Varint(2, 2).Varint(3, 2).Varint(11, 1700000000).Bytes(6, choice(0, 2, invoker)).Bytes(6, choice(0, 3, rubick))
	for i, number := range numbers {
		played = played.Bytes(6, choice(1, 2+i/5, number)).Bytes(4, demtest.Proto(nil).
			Text(1, "npc_dota_hero_"+npcs[i]).Text(2, players[i]).Varint(4, int64(steamID(i))).Varint(5, int64(2+i/5)))
	}
	return m.end(ticks, interval, demtest.Proto(nil).Bytes(4, demtest.Proto(nil).Bytes(4, played))...)
}

// csMatch returns ten seconds of Counter-Strike 2 with ten players. One of them dies, another one plants the bomb, and a round ends.
func csMatch() []byte {
	const ticks, interval = 640, 1.0 / 64
	key := func(kind int, name string) demtest.Proto {
		return demtest.Proto(nil).Varint(1, int64(kind)).Text(2, name)
	}
	kinds := demtest.Message{ID: 205, Data: demtest.Proto(nil).
		Bytes(1, demtest.Proto(nil).Varint(1, 7).Text(2, "player_death").Bytes(3, key(9, "userid")).Bytes(3, key(9, "attacker")).Bytes(3, key(1, "weapon")).Bytes(3, key(6, "headshot"))).
		Bytes(1, demtest.Proto(nil).Varint(1, 8).Text(2, "round_start")).
		Bytes(1, demtest.Proto(nil).Varint(1, 9).Text(2, "bomb_planted").Bytes(3, key(9, "userid"))).
		Bytes(1, demtest.Proto(nil).Varint(1, 10).Text(2, "round_end").Bytes(3, key(3, "winner")).Bytes(3, key(3, "reason")))}
	m := newMatch("csgo", "de_sample", interval, []demtest.Message{kinds},
		body,
		demtest.Serializer{Name: "Money_t", Fields: []demtest.Field{{Name: "m_iAccount", Type: "int32"}}},
		demtest.Serializer{Name: "Track_t", Fields: []demtest.Field{{Name: "m_iKills", Type: "int32"}, {Name: "m_iDeaths", Type: "int32"}, {Name: "m_iAssists", Type: "int32"}}},
		demtest.Serializer{Name: "CGameRules", Fields: []demtest.Field{{Name: "m_vMinimapMins", Type: "Vector"}, {Name: "m_vMinimapMaxs", Type: "Vector"}, {Name: "m_totalRoundsPlayed", Type: "int32"}}},
		demtest.Serializer{Name: "CCSGameRulesProxy", Fields: []demtest.Field{{Name: "m_pGameRules", Type: "CGameRules*", Serializer: "CGameRules"}}},
		demtest.Serializer{Name: "CCSTeam", Fields: []demtest.Field{{Name: "m_iTeamNum", Type: "uint8"}, {Name: "m_szTeamname", Type: "char[129]"}, {Name: "m_iScore", Type: "int32"},
			{Name: "m_szClanTeamname", Type: "char[129]"}}},
		demtest.Serializer{Name: "CCSPlayerController", Fields: []demtest.Field{{Name: "m_iszPlayerName", Type: "char[128]"}, {Name: "m_iTeamNum", Type: "uint8"},
			{Name: "m_hPlayerPawn", Type: "CHandle< CCSPlayerPawn >"}, {Name: "m_bPawnIsAlive", Type: "bool"},
			{Name: "m_pInGameMoneyServices", Type: "Money_t*", Serializer: "Money_t"},
			{Name: "m_steamID", Type: "uint64", Encoder: "fixed64"}, {Name: "m_pActionTrackingServices", Type: "Track_t*", Serializer: "Track_t"}}},
		demtest.Serializer{Name: "CCSPlayerPawn", Fields: []demtest.Field{{Name: "CBodyComponent", Type: "CBodyComponent", Serializer: "CBodyComponent"},
			{Name: "m_iHealth", Type: "int32"}, {Name: "m_lifeState", Type: "uint8"}, {Name: "m_iTeamNum", Type: "uint8"}}},
	)
	players := []string{"Ada", "Grace", "Linus", "Margaret", "Edsger", "Barbara", "Donald", "Frances", "Ken", "Radia"}
	const controller, pawn, teams, rules = 1, 20, 40, 50
	e := m.entities()
	path := func(i, tick int) (x, y float64) {
		side := float64(1 - 2*(i/5))
		return side*(1500-float64(tick)*1.8) + 120*math.Cos(float64(i)), float64(i%5)*500 - 1000 + 90*math.Sin(float64(tick+30*i)/40)
	}
	for i, name := range players {
		m.create(e, controller+i, "CCSPlayerController", text(name, 0), whole(uint64(2+i/5), 1), whole(handle(pawn+i), 2), truth(true, 3), truth(true, 4), signed(int64(800+150*i), 4, 0),
			steamOf(i, 5), truth(true, 6), signed(int64(4+i*3%7), 6, 0), signed(int64(3+i*5%4), 6, 1), signed(int64(i%3), 6, 2))
	}
	for i := range players {
		x, y := path(i, 0)
		m.create(e, pawn+i, "CCSPlayerPawn", append(place(x, y, 512), signed(100, 1), whole(0, 2), whole(uint64(2+i/5), 3))...)
	}
	for i, name := range []string{"TERRORIST", "CT"} {
		m.create(e, teams+i, "CCSTeam", whole(uint64(2+i), 0), text(name, 1), signed(int64(3+i), 2), text([]string{"Analysts", "Compilers"}[i], 3))
	}
	m.create(e, rules, "CCSGameRulesProxy", truth(true, 0), floats([]int{0, 0}, -2000, -1600, 0), floats([]int{0, 1}, 2000, 1600, 300), signed(7, 0, 2))
	m.tick(0, e, false)
	for tick := 2; tick < ticks; tick += 2 {
		e, messages := m.entities(), []demtest.Message{}
		switch tick {
		case 10:
			messages = append(messages, demtest.Message{ID: 207, Data: demtest.Proto(nil).Varint(2, 8)})
		case 400:
			messages = append(messages, demtest.Message{ID: 207, Data: demtest.Proto(nil).Varint(2, 7).Bytes(3, demtest.Proto(nil).Varint(1, 9).Varint(5, 7)).
				Bytes(3, demtest.Proto(nil).Varint(1, 9).Varint(5, 2)).Bytes(3, demtest.Proto(nil).Varint(1, 1).Text(2, "ak47")).Bytes(3, demtest.Proto(nil).Varint(1, 6).Varint(7, 1))})
			e.Update(controller+2, signed(1400, 4, 0), signed(4+6%7+1, 6, 0))
			e.Update(controller+7, truth(false, 3), signed(3+35%4+1, 6, 1))
		case 440:
			messages = append(messages, demtest.Message{ID: 207, Data: demtest.Proto(nil).Varint(2, 9).Bytes(3, demtest.Proto(nil).Varint(1, 9).Varint(5, 2))})
		case 600:
			messages = append(messages, demtest.Message{ID: 207, Data: demtest.Proto(nil).Varint(2, 10).Bytes(3, demtest.Proto(nil).Varint(1, 3).Varint(4, 2)).
				Bytes(3, demtest.Proto(nil).Varint(1, 3).Varint(4, 1))})
		}
		for i := range players {
			switch {
			case i == 7 && tick > 400:
				continue
			case i == 7 && tick == 400:
				e.Update(pawn+i, signed(0, 1), whole(1, 2))
				continue
			}
			x, y := path(i, tick)
			e.Update(pawn+i, place(x, y, 512)...)
		}
		m.tick(tick, e, true, messages...)
	}
	return m.end(ticks, interval)
}

// deadlockMatch returns ten seconds of Deadlock. Twelve heroes meet on four lanes, one of them dies, another one buys something, and each side has
// guardians.
func deadlockMatch() []byte {
	const ticks, interval = 640, 1.0 / 64
	heroes := []string{"inferno", "gigawatt", "hornet", "ghost", "atlas", "wraith", "forge", "chrono", "dynamo", "kelvin", "haze", "bebop"}
	var entries []demtest.Entry
	for i, name := range heroes {
		entries = append(entries, demtest.Entry{Index: i, Key: "hero_" + name})
	}
	entries = append(entries, demtest.Entry{Index: len(heroes), Key: "upgrade_headshot_booster"})
	m := newMatch("citadel", "dl_sample", interval, []demtest.Message{demtest.Table{}.Create("EntityNames", false, entries...)},
		body,
		demtest.Serializer{Name: "CEntityIdentity", Fields: []demtest.Field{{Name: "m_nameStringableIndex", Type: "int32"}}},
		demtest.Serializer{Name: "CCitadelPlayerController", Fields: []demtest.Field{{Name: "m_iszPlayerName", Type: "char[128]"}, {Name: "m_steamID", Type: "uint64", Encoder: "fixed64"},
			{Name: "m_iTeamNum", Type: "uint8"}, {Name: "m_hHeroPawn", Type: "CHandle< CCitadelPlayerPawn >"}, {Name: "m_nHeroID", Type: "HeroID_t"}, {Name: "m_bAlive", Type: "bool"},
			{Name: "m_iGoldNetWorth", Type: "int32"}, {Name: "m_iLevel", Type: "int32"}, {Name: "m_iPlayerKills", Type: "int32"}, {Name: "m_iDeaths", Type: "int32"}, {Name: "m_iPlayerAssists", Type: "int32"}}},
		demtest.Serializer{Name: "CCitadelPlayerPawn", Fields: []demtest.Field{{Name: "CBodyComponent", Type: "CBodyComponent", Serializer: "CBodyComponent"},
			{Name: "m_iHealth", Type: "int32"}, {Name: "m_iMaxHealth", Type: "int32"}, {Name: "m_hController", Type: "CHandle< CBasePlayerController >"},
			{Name: "m_pEntity", Type: "CEntityIdentity*", Serializer: "CEntityIdentity"}}},
		demtest.Serializer{Name: "CNPC_TrooperBoss", Fields: []demtest.Field{{Name: "CBodyComponent", Type: "CBodyComponent", Serializer: "CBodyComponent"},
			{Name: "m_iHealth", Type: "int32"}, {Name: "m_iMaxHealth", Type: "int32"}, {Name: "m_lifeState", Type: "uint8"}, {Name: "m_iTeamNum", Type: "uint8"}}},
		demtest.Serializer{Name: "CGameRules", Fields: []demtest.Field{{Name: "m_vMinimapMins", Type: "Vector"}, {Name: "m_vMinimapMaxs", Type: "Vector"}}},
		demtest.Serializer{Name: "CCitadelGameRulesProxy", Fields: []demtest.Field{{Name: "m_pGameRules", Type: "CGameRules*", Serializer: "CGameRules"}}},
		demtest.Serializer{Name: "CCitadelTeam", Fields: []demtest.Field{{Name: "m_iTeamNum", Type: "uint8"}, {Name: "m_iScore", Type: "int32"}}},
	)
	players := []string{"Ada", "Grace", "Linus", "Margaret", "Edsger", "Alan", "Barbara", "Donald", "Frances", "Ken", "Radia", "Tony"}
	const controller, pawn, boss, teams, rules, victim, killer = 1, 20, 40, 50, 60, 8, 2
	e := m.entities()
	path := func(i, tick int) (x, y float64) {
		side := float64(1 - 2*(i/6))
		lane := float64(i%4)*5000 - 7500
		return lane + 300*math.Cos(float64(i)+float64(tick)/90), side * (-6500 + 9*float64(tick)) * (1 - 0.1*float64(i%3))
	}
	for i, name := range players {
		m.create(e, controller+i, "CCitadelPlayerController", text(name, 0), steamOf(i, 1), whole(uint64(2+i/6), 2), whole(handle(pawn+i), 3), whole(uint64(1+i), 4), truth(true, 5),
			signed(int64(4000+350*i), 6), signed(int64(8+i%4), 7), signed(int64(i%5), 8), signed(int64(i%3), 9), signed(int64(i*2%7), 10))
	}
	for i := range players {
		x, y := path(i, 0)
		m.create(e, pawn+i, "CCitadelPlayerPawn", append(place(x, y, 512), signed(int64(900-40*i), 1), signed(900, 2), whole(handle(controller+i), 3), truth(true, 4), signed(int64(i), 4, 0))...)
	}
	for i := range 8 {
		side := float64(1 - 2*(i/4))
		m.create(e, boss+i, "CNPC_TrooperBoss", append(place(float64(i%4)*5000-7500, -side*4200, 512), signed(int64(4000-500*(i%4)), 1), signed(4000, 2), whole(0, 3), whole(uint64(2+i/4), 4))...)
	}
	for i := range 2 {
		m.create(e, teams+i, "CCitadelTeam", whole(uint64(2+i), 0), signed(int64(3+2*i), 1))
	}
	m.create(e, rules, "CCitadelGameRulesProxy", truth(true, 0), floats([]int{0, 0}, -10000, -10000, 0), floats([]int{0, 1}, 10000, 10000, 800))
	m.tick(0, e, false)
	for tick := 2; tick < ticks; tick += 2 {
		e, messages := m.entities(), []demtest.Message{}
		switch tick {
		case 120:
			messages = append(messages, demtest.Message{ID: 309, Data: demtest.Proto(nil).Varint(1, 0).Varint(2, 2010028405).Varint(3, 0)})
		case 400:
			messages = append(messages, demtest.Message{ID: 319, Data: demtest.Proto(nil).Varint(1, pawn+victim).Varint(3, pawn+killer).Varint(4, pawn+killer+1).Varint(5, pawn+killer)})
			e.Update(controller+killer, signed(5200, 6), signed(3, 8))
			e.Update(controller+victim, truth(false, 5), signed(3, 9))
		}
		for i := range players {
			if i == victim && tick >= 400 {
				continue
			}
			x, y := path(i, tick)
			e.Update(pawn+i, place(x, y, 512)...)
		}
		m.tick(tick, e, true, messages...)
	}
	return m.end(ticks, interval)
}
