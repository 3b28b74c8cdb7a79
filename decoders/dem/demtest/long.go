package demtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// PlayedMatch is what happened in a demo of LongMatch.
type PlayedMatch struct {
	Horn, Ended int32 // ticks
	Players     [MatchPlayers]PlayedPlayer
	Deeds       []Deed // in their order
	Wards       []PlayedWard
}

// MatchPlayers is the number of players of LongMatch. The first five are Radiant.
const MatchPlayers = 10

// PlayedPlayer is a player at the end of a match.
type PlayedPlayer struct {
	Name, Hero             string
	Team                   int32
	Kills, Deaths, Assists int64
	NetWorth               int64
}

// Deed is something that a fact tells.
type Deed struct {
	Tick         int32
	What         Deeds
	By, Of       int32  // players, or -1
	Unit         string // who did it, if it was no player's hero
	With         string // a weapon, an item, an objective, or a rune and what was done with it
	Helpers      []int32
	Amount, Left int64
	Marked       bool // of a death: that of a hero who comes back at once; of a purchase: before the horn; of a building or a ward: by its own side
}

// Deeds are the kinds of deeds.
type Deeds string

// The kinds of deeds.
const (
	DeedKill      Deeds = "kill"
	DeedDamage    Deeds = "damage"
	DeedPurchase  Deeds = "purchase"
	DeedBuilding  Deeds = "building"
	DeedRoshan    Deeds = "roshan"
	DeedTormentor Deeds = "tormentor"
	DeedWard      Deeds = "ward"
	DeedCourier   Deeds = "courier"
	DeedAegis     Deeds = "aegis"
	DeedBuyback   Deeds = "buyback"
	DeedRune      Deeds = "rune"
	DeedSmoke     Deeds = "smoke"
	DeedPlaced    Deeds = "placed" // a ward: Amount is its slot
	DeedGone      Deeds = "gone"   // likewise; Left is the tick in which it was placed
	DeedDraft     Deeds = "draft"
)

// PlayedWard is a ward: its slot, and the ticks in which it came and went. Gone is -1 for one that stood at the end.
type PlayedWard struct {
	Slot         int
	Placed, Gone int32
	By           int32
	Type         string // "observer" or "sentry"
}

// matchHeroes are the numbers and names of the heroes of LongMatch.
var matchHeroes = [MatchPlayers]struct {
	number int64
	name   string
}{
	{2, "axe"}, {25, "lina"}, {1, "antimage"}, {3, "bane"}, {4, "bloodseeker"}, {5, "crystal_maiden"}, {6, "drow_ranger"}, {7, "earthshaker"},
	{8, "juggernaut"}, {9, "mirana"},
}

// matchBans are the heroes that are banned.
var matchBans = []struct {
	number int64
	name   string
}{{10, "morphling"}, {11, "nevermore"}, {12, "phantom_lancer"}, {13, "puck"}, {14, "pudge"}}

// Names in the combat log of LongMatch, behind those of the heroes. Those of buildings are of Radiant and of Dire by turns.
var (
	matchCreeps = []string{"npc_dota_creep_goodguys_melee", "npc_dota_creep_badguys_melee"}
	matchBosses = []string{"npc_dota_roshan", "npc_dota_miniboss"}
	matchArms   = []string{"axe_culling_blade", "lina_laguna_blade", "item_dagon"}
	matchItems  = []string{"item_tango", "item_blink", "item_black_king_bar", "item_ward_observer"}
	matchSmall  = []string{"npc_dota_observer_wards", "npc_dota_sentry_wards", "npc_dota_courier", "modifier_smoke_of_deceit"}
	matchRunes  = []string{"DOTA_RUNE_DOUBLEDAMAGE", "DOTA_RUNE_HASTE", "DOTA_RUNE_ILLUSION"}
)

const (
	matchSpeed = 30 // ticks a second
	matchTower = 9  // buildings of a side
	matchDraft = 20 // ticks that the draft takes

	slotResource, slotSide, slotRules, slotHero, slotTower, slotWard, slotCreep, slotController = 1, 2, 4, 10, 30, 60, 100, 180
	wardSlots, creepSlots                                                                       = 20, 64
)

// Classes of LongMatch. Those of heroes come last.
const (
	longResource = iota
	longRadiant
	longDire
	longRules
	longCreep
	longTower
	longWard
	longSentry
	longController
	longHero
)

// longGame makes the demo of LongMatch.
type longGame struct {
	scene

	played PlayedMatch
	names  map[string]int64 // numbers in the combat log
	health [MatchPlayers]int64
	back   [MatchPlayers]int32 // the tick in which a dead player comes back
	wards  map[int]int         // in played, by slot
	said   []Message           // of the present tick
	bosses int                 // that fell
	fallen [2]int              // buildings of a side that fell
}

// LongMatch returns a demo of a match of Dota 2 of ten players, and what happened in it: they hit and kill one another, buy, place wards, and
// take buildings, Roshan and the Tormentor. The demo has every tick, in which all heroes and creeps move, and a key frame each minute.
func LongMatch(seed uint64, minutes int) ([]byte, *PlayedMatch) {
	return MatchOf(seed, int32(minutes)*60*matchSpeed)
}

// MatchOf is like LongMatch, for a number of ticks.
func MatchOf(seed uint64, ticks int32) ([]byte, *PlayedMatch) {
	g := &longGame{names: map[string]int64{}, wards: map[int]int{}}
	g.Rand, g.spacing = rand.New(rand.NewPCG(seed, 450)), 60*matchSpeed
	p := &g.played
	p.Horn, p.Ended = 20*matchSpeed, ticks
	g.begin()
	for g.tick = 1; g.tick < p.Ended; g.tick++ {
		g.move()
		if g.tick <= matchDraft {
			g.drafts()
		} else {
			g.fight()
			g.trade()
		}
		switch g.tick {
		case matchDraft + 1:
			g.update(slotRules, g.rules(4, p.Horn)...)
		case p.Horn:
			g.update(slotRules, append(g.rules(5, p.Horn), g.int([]int{0, 3, len(matchBans)}, 15))...) // a ban that is none
		}
		g.packet(g.said...)
		g.said = nil
	}
	g.update(slotRules, g.rules(6, p.Horn)...)
	g.packet(Message{558, g.summary()})
	return g.end(matchSpeed, g.match()), p
}

// deed adds a deed.
func (g *longGame) deed(d Deed) {
	d.Tick = g.tick
	g.played.Deeds = append(g.played.Deeds, d)
}

// tell adds an entry of the combat log.
func (g *longGame) tell(typ int64, entry Proto) {
	g.said = append(g.said, Message{554, entry.Varint(1, typ).Float(15, float32(g.tick)/matchSpeed)})
}

func (g *longGame) rules(state int64, horn int32) []Value {
	start := float32(0)
	if state > 4 {
		start = float32(horn) / matchSpeed
	}
	return []Value{g.bool([]int{0}, true), g.int([]int{0, 0}, state), g.floats([]int{0, 1}, start), g.floats([]int{0, 2}, float32(horn)/matchSpeed)}
}

// drafts lets heroes be banned and picked by turns, and then players choose.
func (g *longGame) drafts() {
	n := int(g.tick) - 1
	place := n / 2
	switch {
	case n >= len(matchHeroes):
		player := n - len(matchHeroes)
		g.update(slotResource, g.int([]int{1, player, 1}, matchHeroes[player].number))
		g.deed(Deed{What: DeedDraft, By: int32(player), Of: -1, With: "chosen " + g.played.Players[player].Hero})
	case n%2 == 0:
		g.update(slotRules, g.int([]int{0, 3, place}, matchBans[place].number))
		g.deed(Deed{What: DeedDraft, By: -1, Of: -1, With: "banned npc_dota_hero_" + matchBans[place].name, Amount: int64(place) + 1})
	default:
		g.update(slotRules, g.int([]int{0, 4, place}, matchHeroes[place].number))
		g.deed(Deed{What: DeedDraft, By: -1, Of: -1, With: "picked npc_dota_hero_" + matchHeroes[place].name, Amount: int64(place) + 1})
	}
}

// side returns the team of a player: 2 or 3.
func side(player int32) int32 { return 2 + player/(MatchPlayers/2) }

func towerName(of, i int) string {
	return fmt.Sprintf("npc_dota_%s_tower%d_%s", [...]string{"goodguys", "badguys"}[of], 1+i/3, [...]string{"top", "mid", "bot"}[i%3])
}

func (g *longGame) begin() {
	log, entities := []Entry{{Key: "dota_unknown"}}, []Entry{}
	add := func(names ...string) {
		for _, name := range names {
			g.names[name] = int64(len(log))
			log = append(log, Entry{Index: len(log), Key: name})
		}
	}
	classes := []string{
		"CDOTA_PlayerResource", "CDOTA_DataRadiant", "CDOTA_DataDire", "CDOTAGamerulesProxy", "CDOTA_BaseNPC_Creep_Lane", "CDOTA_BaseNPC_Tower", "CDOTA_NPC_Observer_Ward",
		"CDOTA_NPC_Observer_Ward_TrueSight", "CDOTAPlayerController",
	}
	unit := append([]Field{bodyField, namedField, {Name: "m_lifeState", Type: "uint8"}, {Name: "m_flMana", Type: "float32"}}, numbers("m_iHealth", "m_iMaxHealth")...)
	schema := []Serializer{
		{Name: "CBodyComponent", Fields: bodyFields},
		{Name: "CEntityIdentity", Fields: numbers("m_nameStringableIndex")},
		{Name: "Data", Fields: []Field{
			{Name: "m_bIsValid", Type: "bool"}, {Name: "m_iszPlayerName", Type: "CUtlString"}, {Name: "m_iPlayerTeam", Type: "int32"},
			{Name: "m_iPlayerSteamID", Type: "uint64", Encoder: "fixed64"},
		}},
		{Name: "TeamData", Fields: append(numbers("m_iTeamSlot", "m_nSelectedHeroID", "m_iLevel", "m_iKills", "m_iDeaths", "m_iAssists"), Field{Name: "m_hSelectedHero", Type: ref})},
		{Name: "SideData", Fields: numbers("m_iReliableGold", "m_iUnreliableGold", "m_iNetWorth", "m_iLastHitCount", "m_iDenyCount")},
		{Name: "CDOTA_PlayerResource", Fields: []Field{{Name: "m_vecPlayerData", Type: list("Data"), Serializer: "Data"}, {Name: "m_vecPlayerTeamData", Type: list("TeamData"), Serializer: "TeamData"}}},
		{Name: "CDOTA_DataRadiant", Fields: []Field{{Name: "m_vecDataTeam", Type: list("SideData"), Serializer: "SideData"}}},
		{Name: "CDOTA_DataDire", Fields: []Field{{Name: "m_vecDataTeam", Type: list("SideData"), Serializer: "SideData"}}},
		{Name: "CDOTAGamerules", Fields: rulesFields}, {Name: "CDOTAGamerulesProxy", Fields: proxyFields},
		{Name: "CDOTA_BaseNPC_Creep_Lane", Fields: unit}, {Name: "CDOTA_BaseNPC_Tower", Fields: unit}, {Name: "CDOTA_NPC_Observer_Ward", Fields: wardFields},
		{Name: "CDOTA_NPC_Observer_Ward_TrueSight", Fields: wardFields}, {Name: "CDOTAPlayerController", Fields: assignedFields},
	}
	var users []Entry
	for i := range MatchPlayers {
		hero, p := matchHeroes[i].name, &g.played.Players[i]
		*p = PlayedPlayer{Name: fmt.Sprintf("player %d", i), Hero: "npc_dota_hero_" + hero, Team: side(int32(i)), NetWorth: 600}
		add(p.Hero)
		entities = append(entities, Entry{Index: i, Key: p.Hero})
		classes, schema = append(classes, "CDOTA_Unit_Hero_"+hero), append(schema, Serializer{Name: "CDOTA_Unit_Hero_" + hero, Fields: unit})
		users = append(users, Entry{Index: i, Key: fmt.Sprint(i), HasValue: true, Value: Proto(nil).Text(1, p.Name).Fixed64(2, steam+uint64(i)).Varint(3, int64(i))})
		g.health[i] = 600
	}
	for _, names := range [][]string{matchCreeps, matchBosses, matchArms, matchItems, matchSmall} {
		add(names...)
	}
	for i := range matchTower {
		add(towerName(0, i), towerName(1, i))
	}
	var tables []Message
	for i, name := range []string{"userinfo", "EntityNames", "CombatLogNames"} {
		entries := [][]Entry{users, entities, log}[i]
		tables, g.tables = append(tables, Table{}.Create(name, false, entries...)), append(g.tables, Dump(name, entries...)...)
	}
	header := Proto(nil).Text(1, "PBDEMS2\x00").Text(3, "long").Text(5, "start").Text(14, "dota").Varint(13, 10000)
	g.start(header, 1.0/matchSpeed, classes, schema, tables...)
	players, teams, sides := []Value{g.uint([]int{0}, MatchPlayers)}, []Value{g.uint([]int{1}, MatchPlayers)}, [2][]Value{}
	for i := range MatchPlayers {
		p, of, seat := &g.played.Players[i], i/(MatchPlayers/2), i%(MatchPlayers/2)
		players = append(players, g.bool([]int{0, i, 0}, true), g.text([]int{0, i, 1}, p.Name), g.int([]int{0, i, 2}, int64(p.Team)), g.bits([]int{0, i, 3}, steam+uint64(i), 64))
		teams = append(append(teams, g.ints([]int{1, i}, 0, int64(seat), 0, 1, 0, 0, 0)...), g.uint([]int{1, i, 6}, handle(slotHero+i)))
		sides[of] = append(sides[of], g.ints([]int{0, seat}, 0, 0, 600, p.NetWorth, 0, 0)...)
		g.create(slotHero+i, longHero+i, g.unit(int64(i), g.health[i])...)
		g.create(slotController+i, longController, g.uint([]int{0}, handle(slotHero+i)))
	}
	g.create(slotResource, longResource, append(players, teams...)...)
	for of := range sides {
		g.create(slotSide+of, longRadiant+of, append([]Value{g.uint([]int{0}, MatchPlayers/2)}, sides[of]...)...)
		for i := range matchTower {
			g.create(slotTower+of*matchTower+i, longTower, g.unit(0, 1800)...)
		}
	}
	g.create(slotRules, longRules, g.rules(2, 0)...)
	g.packet()
}

// unit returns the values of a unit somewhere.
func (g *longGame) unit(name, health int64) []Value {
	place := func() float64 { return g.Float64()*12000 - 6000 }
	return all(g.body(128, place(), place(), 128), g.named([]int{1}, name), []Value{g.uint([]int{2}, 0), g.floats([]int{3}, 291)}, g.ints(nil, 4, health, health))
}

// move lets heroes and creeps move, and creeps come and go.
func (g *longGame) move() {
	for slot := slotHero; slot < slotCreep+creepSlots; slot++ {
		if slot == slotHero+MatchPlayers {
			slot = slotCreep
		}
		x, y := g.floats([]int{0, 1}, g.Float32()*128), g.floats([]int{0, 3}, g.Float32()*128)
		switch there := g.beings[slot] != nil; {
		case !there && g.IntN(600) == 0:
			g.create(slot, longCreep, g.unit(0, 550)...)
		case there && slot >= slotCreep && g.IntN(1800) == 0:
			g.remove(slot)
			g.tell(4, Proto(nil).Varint(2, g.names[matchCreeps[slot%2]]).Varint(4, g.names[g.played.Players[slot%MatchPlayers].Hero]).Varint(8, 1))
		case there && g.IntN(16) == 0:
			g.update(slot, g.uint([]int{0, 0}, 80+g.Uint64N(90)), x, g.uint([]int{0, 2}, 80+g.Uint64N(90)), y, g.floats([]int{3}, g.Float32()*291))
		case there:
			g.update(slot, x, y)
		}
	}
}

// fight lets heroes hit one another, and come back to life.
func (g *longGame) fight() {
	for i, at := range g.back {
		if at == g.tick && at > 0 {
			g.health[i] = 600
			g.update(slotHero+i, g.uint([]int{2}, 0), g.int([]int{4}, 600))
		}
	}
	if g.IntN(10) > 0 {
		return
	}
	d := Deed{What: DeedDamage, By: g.Int32N(MatchPlayers+2) - 2, Of: g.Int32N(MatchPlayers), Amount: 1 + g.Int64N(400)}
	if g.health[d.Of] == 0 || d.By >= 0 && (side(d.By) == side(d.Of) || g.health[d.By] == 0) {
		return
	}
	d.Left = max(0, g.health[d.Of]-d.Amount)
	g.health[d.Of] = d.Left
	entry := g.between(&d)
	g.tell(0, entry.Varint(13, d.Amount).Varint(14, d.Left))
	g.deed(d)
	g.update(slotHero+int(d.Of), g.int([]int{4}, d.Left))
	if d.Left == 0 {
		g.die(d, entry)
	}
}

// between returns an entry of the combat log of what somebody does to somebody else: a player to a player or, if By is negative, a creep.
func (g *longGame) between(d *Deed) Proto {
	of := g.played.Players[d.Of]
	entry := Proto(nil).Varint(2, g.names[of.Hero]).Varint(3, g.names[of.Hero]).Varint(10, 1).Varint(29, int64(of.Team))
	if d.By < 0 {
		d.By, d.Unit = -1, matchCreeps[1-d.Of/(MatchPlayers/2)]
		return entry.Varint(4, g.names[d.Unit]).Varint(5, g.names[d.Unit]).Varint(28, int64(5-of.Team))
	}
	by := g.names[g.played.Players[d.By].Hero]
	entry = entry.Varint(4, by).Varint(5, by).Varint(8, 1).Varint(28, int64(side(d.By)))
	if g.IntN(2) > 0 {
		d.With = matchArms[g.IntN(len(matchArms))]
		entry = entry.Varint(6, g.names[d.With])
	}
	return entry
}

// die lets a player die by a hit.
func (g *longGame) die(hit Deed, entry Proto) {
	d := Deed{What: DeedKill, By: hit.By, Of: hit.Of, Unit: hit.Unit, With: hit.With, Marked: g.IntN(20) == 0}
	counts := func(i int32) {
		p := &g.played.Players[i]
		g.update(slotResource, g.ints([]int{1, int(i)}, 3, p.Kills, p.Deaths, p.Assists)...)
	}
	entry = slices.Clip(entry)
	if d.By >= 0 {
		for i := range int32(MatchPlayers) {
			if side(i) == side(d.By) && i != d.By && g.IntN(3) == 0 {
				d.Helpers, entry = append(d.Helpers, i), entry.Varint(40, int64(i))
			}
		}
	}
	if d.Marked {
		entry = entry.Varint(78, 1)
	} else { // the game counts it
		g.played.Players[d.Of].Deaths++
		counts(d.Of)
		if d.By >= 0 {
			g.played.Players[d.By].Kills++
			counts(d.By)
		}
		for _, i := range d.Helpers {
			g.played.Players[i].Assists++
			counts(i)
		}
	}
	g.tell(4, entry)
	g.deed(d)
	g.back[d.Of] = g.tick + 10*matchSpeed
	g.update(slotHero+int(d.Of), g.uint([]int{2}, 2))
}

// trade lets players earn, buy, place wards, and take objectives.
func (g *longGame) trade() {
	if g.tick%matchSpeed == 0 {
		for i := range g.played.Players {
			p := &g.played.Players[i]
			p.NetWorth += g.Int64N(15)
			g.update(slotSide+i/(MatchPlayers/2), g.ints([]int{0, i % (MatchPlayers / 2)}, 1, g.Int64N(3000), p.NetWorth)...)
		}
	}
	player := g.Int32N(MatchPlayers)
	hero := g.names[g.played.Players[player].Hero]
	team := int64(side(player))
	switch g.IntN(600) {
	case 0, 1, 2, 3:
		d := Deed{What: DeedPurchase, By: player, Of: -1, With: matchItems[g.IntN(len(matchItems))], Marked: g.tick < g.played.Horn}
		g.tell(11, Proto(nil).Varint(2, hero).Varint(13, g.names[d.With]).Varint(29, team))
		g.deed(d)
	case 4, 5:
		g.ward(player, slotWard+g.IntN(wardSlots))
	case 6:
		g.fall(player, hero, team)
	case 7:
		boss := g.bosses % len(matchBosses)
		g.bosses++
		g.tell(4, Proto(nil).Varint(2, g.names[matchBosses[boss]]).Varint(4, hero).Varint(5, hero).Varint(8, 1).Varint(28, team).Varint(29, 4))
		g.deed(Deed{What: [...]Deeds{DeedRoshan, DeedTormentor}[boss], By: player, Of: -1, With: matchBosses[boss]})
	case 8:
		small := g.IntN(3)
		d := Deed{What: DeedWard, By: player, Of: -1, With: matchSmall[small], Amount: 2 + g.Int64N(2)}
		if d.Marked = d.Amount == team; small == 2 {
			d.What, d.Marked = DeedCourier, false
		}
		g.tell(4, Proto(nil).Varint(2, g.names[d.With]).Varint(4, hero).Varint(5, hero).Varint(8, 1).Varint(28, team).Varint(29, d.Amount))
		g.deed(d)
	case 9:
		g.announce(player)
	case 10:
		g.tell(12, Proto(nil).Varint(13, int64(player)))
		g.deed(Deed{What: DeedBuyback, By: player, Of: -1})
	case 11:
		d := Deed{What: DeedSmoke, By: player, Of: g.Int32N(MatchPlayers)}
		of := g.names[g.played.Players[d.Of].Hero]
		g.tell(2, Proto(nil).Varint(2, of).Varint(3, of).Varint(4, hero).Varint(5, hero).Varint(6, g.names["modifier_smoke_of_deceit"]).Varint(8, 1).Varint(10, 1).
			Varint(28, team).Varint(29, int64(side(d.Of))))
		g.deed(d)
	}
}

// ward lets a player place a ward in a slot, or that in the slot go.
func (g *longGame) ward(player int32, slot int) {
	if g.beings[slot] != nil {
		w := &g.played.Wards[g.wards[slot]]
		w.Gone = g.tick
		g.remove(slot)
		g.deed(Deed{What: DeedGone, By: w.By, Of: -1, With: w.Type, Amount: int64(slot), Left: int64(w.Placed)})
		return
	}
	w, class, owner := PlayedWard{Slot: slot, Placed: g.tick, Gone: -1, By: player, Type: "observer"}, longWard, slotHero
	if g.IntN(2) > 0 {
		w.Type, class = "sentry", longSentry
	}
	if g.IntN(2) > 0 {
		owner = slotController
	}
	g.create(slot, class, g.gameOf.ward(float64(slot), float64(g.tick%1000), uint64(side(player)), handle(owner+int(player)))...)
	g.wards[slot] = len(g.played.Wards)
	g.played.Wards = append(g.played.Wards, w)
	g.deed(Deed{What: DeedPlaced, By: player, Of: -1, With: w.Type, Amount: int64(slot), Left: -1})
}

// announce lets a player find a rune or the Aegis.
func (g *longGame) announce(player int32) {
	of := g.IntN(3)
	typ, value := [...]int64{8, 53, 51}[of], int64(0)
	d := Deed{What: DeedAegis, By: player, Of: -1, With: [...]string{"taken", "stolen", "denied"}[of]}
	if g.IntN(2) > 0 {
		value = g.Int64N(int64(len(matchRunes)))
		typ, d.What, d.With = [...]int64{22, 23, 114}[of], DeedRune, [...]string{"taken", "bottled", "denied"}[of]+" "+matchRunes[value]
	}
	g.said = append(g.said, Message{466, Proto(nil).Varint(1, typ).Varint(2, value).Sint(3, int64(player))})
	g.deed(d)
}

// fall lets a player destroy the next building of a side.
func (g *longGame) fall(player int32, hero, team int64) {
	of := g.IntN(2)
	n := g.fallen[of]
	if n == matchTower {
		return
	}
	g.fallen[of]++
	name := towerName(of, n)
	g.remove(slotTower + of*matchTower + n)
	g.tell(4, Proto(nil).Varint(2, g.names[name]).Varint(4, hero).Varint(5, hero).Varint(8, 1).Varint(28, team).Varint(29, int64(2+of)).Varint(37, 1))
	g.deed(Deed{What: DeedBuilding, By: player, Of: -1, With: name, Amount: int64(2 + of), Marked: int(team) == 2+of})
}

// summary returns CMsgDOTAMatch of the match.
func (g *longGame) summary() Proto {
	m := Proto(nil).Varint(3, int64((g.played.Ended-g.played.Horn)/matchSpeed)).Varint(6, 7000000045)
	for i, p := range g.played.Players {
		m = m.Bytes(5, Proto(nil).Varint(1, int64(1+i)).Varint(2, int64(i)).Varint(3, matchHeroes[i].number).Varint(14, p.Kills).Varint(15, p.Deaths).Varint(16, p.Assists).
			Text(29, p.Name).Varint(52, p.NetWorth))
	}
	return m
}

// match returns the game of CDemoFileInfo.
func (g *longGame) match() Proto {
	m := Proto(nil).Varint(1, 7000000045).Varint(2, 2).Varint(3, 2)
	for i, p := range g.played.Players {
		m = m.Bytes(4, Proto(nil).Text(1, p.Hero).Text(2, p.Name).Varint(4, steam+int64(i)).Varint(5, int64(p.Team)))
	}
	return Proto(nil).Bytes(4, m.Varint(11, 1700000000))
}
