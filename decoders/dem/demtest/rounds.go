package demtest

import "math/rand/v2"

// PlayedRound is what happened in a round of a demo of Rounds.
type PlayedRound struct {
	Number                           int32
	Began, FreezeEnd, Planted, Ended int32 // ticks; Planted is -1 if the bomb was not
	Winner, Reason                   int32
	Names                            [RoundPlayers]string
	Sides                            [RoundPlayers]int32
	Equipment, Spent                 [RoundPlayers]int32
	Hits                             []PlayedHit
	Grenades                         []PlayedGrenade
}

// PlayedGrenade is a game event about a grenade. By is the player who threw the grenade, and Blinded is the player whom it blinded; -1 means
// that the event names none.
type PlayedGrenade struct {
	Tick        int32
	By, Blinded int32
	Event       string // its name
	Weapon      string // that was thrown
	Index       int32  // -1 for none
	Seconds     float32
}

// PlayedHit is a hit of a round. Attacker and Assister are -1 for nobody.
type PlayedHit struct {
	Tick                       int32
	Attacker, Victim, Assister int32
	Dealt, Left                int32 // of the victim's health
	Weapon                     string
	Headshot, Flash            bool
}

// RoundPlayers is the number of players of Rounds.
const RoundPlayers = 10

// Telling is how a game tells its rounds: by counts, by game events, as in old demos, or by both.
type Telling int

// The ways to tell rounds.
const (
	ByCounts Telling = 1 << iota
	ByEvents
)

// Rounds returns a demo of Counter-Strike 2 of some rounds, in which ten players hit one another at random, and what happened in it. The
// sides change after half of the rounds, and somebody else takes the place of the last player. The demo has only the ticks in which something happens.
func Rounds(seed uint64, rounds int, by Telling) ([]byte, []PlayedRound) {
	g := newRoundGame(seed, by)
	var played []PlayedRound
	for i := range rounds {
		played = append(played, g.round(int32(i), i >= rounds/2))
	}
	g.wait(64)
	g.packet()
	g.d.Record(CmdStop, g.tick, nil)
	return g.d.Bytes(), played
}

// LongRounds is like Rounds, for a number of minutes. The demo has every tick, in which all move, shoot and throw things, and a key frame
// each minute.
func LongRounds(seed uint64, minutes int) ([]byte, []PlayedRound) {
	const perSecond, halftime = 64, 12
	g := newRoundGame(seed, ByCounts)
	g.busy, g.spacing = true, 60*perSecond
	var played []PlayedRound
	for i := int32(0); g.tick < int32(minutes)*60*perSecond; i++ {
		played = append(played, g.round(i, i/halftime%2 > 0))
	}
	g.wait(perSecond)
	g.packet()
	return g.end(perSecond, nil), played
}

// roundGame makes the demo of Rounds.
type roundGame struct {
	scene

	by    Telling
	busy  bool // something happens in each tick
	names [RoundPlayers]string
}

const roundRules, firstController, firstPawn, firstThrown = 60, 1, 20, 100

// Classes of Rounds.
const (
	roundController = iota
	roundPawn
	roundGameRules
	roundThrown
)

var (
	roundHurt  = gameEvent{1, "player_hurt", []string{"userid", "attacker", "health", "armor", "weapon", "dmg_health", "dmg_armor", "hitgroup"}}
	roundDeath = gameEvent{2, "player_death", []string{"userid", "attacker", "assister", "assistedflash", "weapon", "headshot"}}
	roundStart = gameEvent{3, "round_start", nil}
	roundEnd   = gameEvent{4, "round_end", []string{"winner", "reason"}}
	freezeEnd  = gameEvent{5, "round_freeze_end", nil}
	planted    = gameEvent{6, "bomb_planted", []string{"userid", "site"}}
	spawned    = gameEvent{7, "player_spawn", []string{"userid"}}
)

// wait lets ticks pass, up to the next one in which something is told.
func (g *roundGame) wait(ticks int32) {
	if !g.busy {
		g.tick += ticks
		return
	}
	for range ticks - 1 {
		g.tick++
		g.move()
		g.packet()
	}
	g.tick++
	g.move()
}

// move lets everybody move, and things fly.
func (g *roundGame) move() {
	for p := range RoundPlayers {
		x, y := g.Float32()*512, g.Float32()*512
		g.update(firstPawn+p, g.floats([]int{0, 1}, x), g.floats([]int{0, 3}, y), g.angles())
		if g.IntN(16) == 0 {
			g.update(firstPawn+p, g.uint([]int{0, 0}, 30+g.Uint64N(4)), g.int([]int{3}, g.Int64N(30)))
		}
	}
	const things = 8
	for i := firstThrown; i < firstThrown+things; i++ {
		switch there := g.beings[i] != nil; {
		case !there && g.IntN(256) == 0:
			g.create(i, roundThrown, g.body(512, g.Float64()*4000, g.Float64()*4000, 64)...)
		case there && g.IntN(128) == 0:
			g.remove(i)
		case there:
			g.update(i, g.floats([]int{0, 1}, g.Float32()*512), g.floats([]int{0, 5}, g.Float32()*512))
		}
	}
}

// counts returns the values of the game's rules.
func (g *roundGame) counts(v ...int64) []Value {
	values := []Value{g.bool([]int{0}, true)}
	for i, n := range v {
		if g.by&ByCounts != 0 || i >= 2 {
			values = append(values, g.int([]int{0, i}, n))
		}
	}
	return values
}

func newRoundGame(seed uint64, by Telling) *roundGame {
	g := &roundGame{by: by}
	g.Rand = rand.New(rand.NewPCG(seed, 45))
	fields := numbers("m_nRoundStartCount", "m_nRoundEndCount", "m_totalRoundsPlayed", "m_iRoundEndWinnerTeam", "m_eRoundEndReason", "m_nOvertimePlaying")
	g.start(Proto(nil).Text(1, "PBDEMS2\x00").Text(14, "csgo").Varint(13, 10000), 1.0/64,
		[]string{"CCSPlayerController", "CCSPlayerPawn", "CCSGameRulesProxy", "CHEGrenadeProjectile"}, []Serializer{
			{Name: "CBodyComponent", Fields: bodyFields},
			{Name: "Money", Fields: numbers("m_iAccount", "m_iCashSpentThisRound")},
			{Name: "Rules", Fields: fields},
			{Name: "CCSGameRulesProxy", Fields: []Field{{Name: "m_pGameRules", Type: "Rules*", Serializer: "Rules"}}},
			{Name: "CCSPlayerController", Fields: append(whoFields[:5:5], Field{Name: "m_pInGameMoneyServices", Type: "Money*", Serializer: "Money"})},
			{Name: "CCSPlayerPawn", Fields: append([]Field{bodyField}, numbers("m_unFreezetimeEndEquipmentValue")[0], eyeField, numbers("m_iShotsFired")[0], controllerField)},
			{Name: "CHEGrenadeProjectile", Fields: []Field{bodyField}},
		})
	for i := range RoundPlayers {
		side := uint64(2 + i/(RoundPlayers/2))
		g.names[i] = string(rune('A' + i))
		g.create(firstController+i, roundController, all(g.who(g.names[i], steam+uint64(i), side, handle(firstPawn+i)), []Value{g.bool([]int{5}, true)},
			g.ints([]int{5}, 0, 800, 0))...)
		g.create(firstPawn+i, roundPawn, all(g.body(512, float64(100*i), 64, 8), g.ints(nil, 1, 0), []Value{g.uint([]int{4}, handle(firstController+i))})...)
	}
	g.create(roundRules, roundGameRules, g.counts(7, 3, 0, 0, 0, 0)...)
	list := Proto(nil)
	for _, kind := range append([]gameEvent{roundHurt, roundDeath, roundStart, roundEnd, freezeEnd, planted, spawned}, grenadeEvents...) {
		list = list.Bytes(1, kind.described())
	}
	g.packet(Message{205, list})
	return g
}

// told returns a game event that tells a round, where game events do.
func (g *roundGame) told(m Message) []Message {
	if g.by&ByEvents != 0 {
		return []Message{m}
	}
	return nil
}

// round plays a round.
func (g *roundGame) round(i int32, changed bool) PlayedRound {
	r := PlayedRound{Number: i + 1, Planted: -1}
	g.wait(1 + g.Int32N(64))
	if last := RoundPlayers - 1; changed && g.names[last] != "K" {
		g.names[last] = "K"
		g.update(firstController+last, g.text([]int{0}, "K"), g.bits([]int{1}, steam+RoundPlayers, 64))
	}
	r.Began, r.Names = g.tick, g.names
	for p := range r.Sides {
		r.Sides[p] = int32(2 + p/(RoundPlayers/2))
		if changed {
			r.Sides[p] = 5 - r.Sides[p]
		}
		r.Spent[p] = 50 * g.Int32N(100)
		g.update(firstController+p, g.uint([]int{2}, uint64(r.Sides[p])), g.int([]int{5, 1}, int64(r.Spent[p])))
	}
	g.update(roundRules, g.counts(int64(8+i), int64(3+i), int64(i))...)
	messages := g.told(roundStart.happened())
	for p := range RoundPlayers {
		messages = append(messages, spawned.happened(playerKey(int64(p))))
	}
	g.packet(messages...)

	g.wait(1 + g.Int32N(640))
	r.FreezeEnd = g.tick
	for p := range r.Sides {
		r.Equipment[p] = 50 * g.Int32N(120)
		g.update(firstPawn+p, g.int([]int{1}, int64(r.Equipment[p])))
	}
	g.packet(freezeEnd.happened())
	health := [RoundPlayers]int32{}
	for p := range health {
		health[p] = 100
	}
	for range g.IntN(40) {
		g.wait(1 + g.Int32N(200))
		g.packet(append(g.hit(&r, &health), g.throw(&r)...)...)
	}
	g.wait(1 + g.Int32N(200))
	r.Ended, r.Winner, r.Reason = g.tick, 2+g.Int32N(2), 7+g.Int32N(3)
	g.update(roundRules, g.counts(int64(8+i), int64(4+i), int64(i), int64(r.Winner), int64(r.Reason))...)
	g.packet(g.told(roundEnd.happened(intKey(int64(r.Winner)), intKey(int64(r.Reason))))...)
	return r
}

// throw lets somebody throw a grenade, which goes off at once, now and then.
func (g *roundGame) throw(r *PlayedRound) (messages []Message) {
	if g.IntN(4) > 0 {
		return nil
	}
	by, index := g.Int32N(RoundPlayers), 100+g.Int32N(100)
	weapons := [...]string{"hegrenade", "flashbang", "smokegrenade", "molotov", "decoy"}
	ends := [...]gameEvent{{}, {}, smokeOver, fireOver, decoyOver}
	tell := func(e gameEvent, p PlayedGrenade) {
		p.Tick, p.Event = g.tick, e.name
		var values []Proto
		for _, key := range e.keys {
			switch key {
			case "userid":
				of := p.By
				if p.Blinded >= 0 {
					of = p.Blinded
				}
				values = append(values, playerKey(int64(uint16(of))))
			case "attacker":
				values = append(values, playerKey(int64(p.By)))
			case "userid_pawn":
				values = append(values, handleKey(handle(firstPawn+int(p.By))))
			case "entityid":
				values = append(values, intKey(int64(p.Index)))
			case "weapon":
				values = append(values, textKey(p.Weapon))
			case "blind_duration":
				values = append(values, floatKey(p.Seconds))
			default: // a place
				values = append(values, floatKey(float32(p.Index)))
			}
		}
		messages = append(messages, e.happened(values...))
		r.Grenades = append(r.Grenades, p)
	}
	weapon := g.IntN(len(weapons))
	tell(grenadeThrown, PlayedGrenade{By: by, Blinded: -1, Weapon: weapons[weapon], Index: -1})
	switch weapons[weapon] {
	case "molotov":
		tell(fireDetonated, PlayedGrenade{By: by, Blinded: -1, Index: -1})
		tell(fireBurns, PlayedGrenade{By: -1, Blinded: -1, Index: index})
	case "decoy":
		tell(decoyStarted, PlayedGrenade{By: by, Blinded: -1, Index: index})
	default:
		tell([...]gameEvent{heDetonated, flashDetonated, smokeBegan}[weapon], PlayedGrenade{By: by, Blinded: -1, Index: index})
	}
	for range g.IntN(3) {
		if weapons[weapon] == "flashbang" {
			tell(blinded, PlayedGrenade{By: by, Blinded: g.Int32N(RoundPlayers), Index: index, Seconds: g.Float32() * 5})
		}
	}
	if end := ends[weapon]; end.name != "" {
		p := PlayedGrenade{By: by, Blinded: -1, Index: index}
		if end.name == fireOver.name {
			if p.By = -1; g.IntN(2) > 0 {
				end = fireQuenched
			}
		}
		tell(end, p)
	}
	return messages
}

// hit lets somebody be hit, or the bomb be planted.
func (g *roundGame) hit(r *PlayedRound, health *[RoundPlayers]int32) []Message {
	if r.Planted < 0 && g.IntN(10) == 0 {
		r.Planted = g.tick
		return []Message{planted.happened(playerKey(0), intKey(301))}
	}
	h := PlayedHit{
		Tick: g.tick, Attacker: g.Int32N(RoundPlayers+1) - 1, Victim: g.Int32N(RoundPlayers), Assister: -1, Dealt: 1 + g.Int32N(120),
		Weapon: []string{"ak47", "hegrenade"}[g.IntN(2)], Headshot: g.IntN(3) == 0,
	}
	if health[h.Victim] == 0 || h.Attacker >= 0 && health[h.Attacker] == 0 {
		return nil
	}
	h.Left = max(0, health[h.Victim]-h.Dealt)
	health[h.Victim] = h.Left
	slot := func(p int32) Proto { return playerKey(int64(uint16(p))) }
	messages := []Message{roundHurt.happened(slot(h.Victim), slot(h.Attacker), intKey(int64(h.Left)), intKey(0), textKey(h.Weapon), intKey(int64(h.Dealt)))}
	if h.Left == 0 {
		if g.IntN(3) == 0 {
			h.Assister, h.Flash = g.Int32N(RoundPlayers), g.IntN(2) == 0
		}
		messages = append(messages, roundDeath.happened(slot(h.Victim), slot(h.Attacker), slot(h.Assister), boolKey(h.Flash), textKey(h.Weapon), boolKey(h.Headshot)))
	}
	r.Hits = append(r.Hits, h)
	return messages
}
