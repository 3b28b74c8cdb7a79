package dem

import "github.com/replayd/replayd/decoders/dem/internal/facts"

// rounds is what is known of the present round of Counter-Strike 2. Snapshots copy it.
type rounds struct {
	slot   int   // of the entity of the game's rules
	met    bool  // the counts are known
	starts int32 // the game's count of rounds that began
	ends   int32 // the game's count of rounds that ended
	lined  bool  // the players are known
	number int32
	opened bool // a player of the other side was killed

	began, freezeEnd, planted int32 // ticks, -1 where they are not known

	players [MaxPlayers]roundPlayer
}

// roundPlayer is what a player did in the present round.
type roundPlayer struct {
	side   int32
	health int32
	died   bool
	tick   int32 // of the death
	killer int32 // of the other side, or -1

	kills, headshots, assists, flashes, trades int32
	damage, utility                            int32
	opening, opened, traded                    bool
	clutch                                     int32
	grenades, blinded                          int32
	blindedSeconds                             float32
}

// tradeSeconds is the longest time from a kill to its trade.
const tradeSeconds = 5

const fullHealth = 100

func newRounds() rounds { return rounds{began: -1, freezeEnd: -1, planted: -1} }

// rule returns a number that the game's rules have.
func (d *Decoder) rule(fact playerFact) (int32, bool) {
	ent := d.world.store.Slots[d.match.rounds.slot]
	if ent == nil || !ent.Class.Rounds || !ent.Decoded {
		return 0, false
	}
	d.players.of[holderRules] = ent
	return d.number(fact)
}

// concludeRounds concludes what a whole message of entities tells of rounds.
func (d *Decoder) concludeRounds() {
	r := &d.match.rounds
	ends, ok := d.rule(roundEnds)
	if !ok {
		return
	}
	starts, _ := d.rule(roundStarts)
	before := *r
	r.met, r.starts, r.ends = true, starts, ends
	if !before.met {
		return
	}
	if ends != before.ends {
		winner, _ := d.rule(roundWinner)
		reason, _ := d.rule(roundReason)
		d.endRound(winner, reason)
	}
	if starts != before.starts {
		d.startRound()
	}
}

// startRound begins a round.
func (d *Decoder) startRound() {
	r := &d.match.rounds
	*r = rounds{slot: r.slot, met: r.met, starts: r.starts, ends: r.ends, began: d.out.tick, freezeEnd: -1, planted: -1}
	d.lineUp()
}

// lineUp notes the sides of the players, and the number of the round.
func (d *Decoder) lineUp() {
	r := &d.match.rounds
	r.lined = true
	played, _ := d.rule(roundsPlayed)
	r.number = played + 1
	for i := range r.players {
		p := &r.players[i]
		was := p.side
		if p.side = 0; d.meet(i) {
			p.side, _ = d.number(playerTeam)
		}
		if p.side != was {
			p.health, p.killer = fullHealth, -1
		}
	}
}

// sided reports whether a team is a side.
func sided(team int32) bool { return team == firstSide || team == secondSide }

// player returns what a player did in the present round, or nil.
func (r *rounds) player(slot int32) *roundPlayer {
	if uint32(slot) >= MaxPlayers || !sided(r.players[slot].side) {
		return nil
	}
	return &r.players[slot]
}

// alive returns how many players of a side live, and one of them.
func (r *rounds) alive(side int32) (n int32, one *roundPlayer) {
	for i := range r.players {
		if p := &r.players[i]; p.side == side && !p.died {
			n, one = n+1, p
		}
	}
	return n, one
}

// followRound follows the round by a game event, and concludes the facts of its end where only game events tell it.
func (d *Decoder) followRound(e *GameEvent) {
	r := &d.match.rounds
	if !r.lined {
		d.lineUp()
	}
	switch string(e.Name) {
	case "round_start":
		if !r.met {
			d.startRound()
		}
	case "round_end":
		if !r.met {
			d.endRound(int32(keyOf(e.Keys, "winner").Int), int32(keyOf(e.Keys, "reason").Int))
		}
	case "round_freeze_end":
		r.freezeEnd = d.out.tick
		d.lineUp()
	case "bomb_planted":
		r.planted = d.out.tick
	case "player_spawn":
		if p := r.player(slotKey(e.Keys, "userid")); p != nil {
			p.health, p.died = fullHealth, false
		}
	case "player_hurt":
		r.hurt(e.Keys)
	case "player_death":
		r.killed(e.Keys, d.out.tick, int32(tradeSeconds/d.match.interval))
	case "player_blind":
		r.blind(e.Keys)
	default:
		if grenades[string(e.Name)].state == GrenadeStateDetonated {
			if p := r.player(d.thrower(e.Keys)); p != nil {
				p.grenades++
			}
		}
	}
}

// thrower returns the player who threw the grenade of a game event, or -1.
func (d *Decoder) thrower(keys []GameEventKey) int32 {
	if slot := slotKey(keys, "userid"); slot >= 0 {
		return slot
	}
	pawn := noActor
	if k := keyOf(keys, "userid_pawn"); k.ValueCase == GameEventKeyValueHandle && k.Handle != noHandle { // decoy_started has only that
		d.entityActor(&pawn, int32(k.Handle&(MaxEntities-1)))
	}
	return pawn.PlayerId
}

// blind notes that a player was blinded.
func (r *rounds) blind(keys []GameEventKey) {
	victim, attacker := r.player(slotKey(keys, "userid")), r.player(slotKey(keys, "attacker"))
	if victim != nil && attacker != nil && victim.side != attacker.side {
		attacker.blinded++
		attacker.blindedSeconds += keyOf(keys, "blind_duration").Float
	}
}

// keyOf returns a key of a game event. It is empty if there is none.
func keyOf(keys []GameEventKey, name string) GameEventKey {
	for i := range keys {
		if string(keys[i].Name) == name {
			return keys[i]
		}
	}
	return GameEventKey{}
}

// slotKey returns the slot of the player in a key, or -1.
func slotKey(keys []GameEventKey, name string) int32 {
	if k := keyOf(keys, name); k.ValueCase == GameEventKeyValuePlayer {
		return k.Player
	}
	return -1
}

// hurt notes a hit.
func (r *rounds) hurt(keys []GameEventKey) {
	victim, attacker := r.player(slotKey(keys, "userid")), r.player(slotKey(keys, "attacker"))
	if victim == nil {
		return
	}
	taken := min(int32(keyOf(keys, "dmg_health").Int), victim.health)
	victim.health = int32(keyOf(keys, "health").Int)
	if attacker == nil || attacker.side == victim.side {
		return
	}
	attacker.damage += taken
	switch string(keyOf(keys, "weapon").Text) {
	case "hegrenade", "inferno", "molotov", "incgrenade", "flashbang", "smokegrenade", "decoy":
		attacker.utility += taken
	}
}

// killed notes a death at a tick. A kill within trade ticks after another one trades it.
func (r *rounds) killed(keys []GameEventKey, tick, trade int32) {
	slot, by := slotKey(keys, "userid"), slotKey(keys, "attacker")
	victim, killer := r.player(slot), r.player(by)
	if victim == nil {
		return
	}
	victim.died, victim.tick, victim.killer = true, tick, -1
	if a := r.player(slotKey(keys, "assister")); a != nil && a.side != victim.side {
		if keyOf(keys, "assistedflash").Bool {
			a.flashes++
		} else {
			a.assists++
		}
	}
	if killer != nil && killer.side != victim.side {
		r.kill(victim, killer, slot, trade)
		victim.killer = by
		if killer.kills++; keyOf(keys, "headshot").Bool {
			killer.headshots++
		}
	}
	other := firstSide + secondSide - victim.side
	if n, last := r.alive(victim.side); n == 1 && last.clutch == 0 {
		last.clutch, _ = r.alive(other)
	}
}

// kill notes an opening, and whom a kill of the player in a slot trades.
func (r *rounds) kill(victim, killer *roundPlayer, slot, trade int32) {
	if !r.opened {
		r.opened, killer.opening, victim.opened = true, true, true
	}
	trades := false
	for i := range r.players {
		p := &r.players[i]
		if p.side == killer.side && p.died && p.killer == slot && victim.tick-p.tick <= trade {
			p.traded, trades = true, true
		}
	}
	if trades {
		killer.trades++
	}
}

// buys are the names of what a side bought, by what it carried.
var buys = [...]struct {
	below int32
	name  []byte
}{{5000, []byte("eco")}, {10000, []byte("semi_eco")}, {20000, []byte("semi_buy")}, {1 << 30, []byte("full_buy")}}

// endRound concludes the facts of a round that ended.
func (d *Decoder) endRound(winner, reason int32) {
	r := &d.match.rounds
	warmup, _ := d.rule(roundWarmup)
	number := r.number
	if warmup != 0 {
		number = 0
	}
	if fact := d.prepare(KindFactRound); fact != nil {
		f := &fact.round
		*f = FactRound{
			Number: number, Warmup: warmup != 0, BeganTick: r.began, FreezeEndTick: r.freezeEnd, PlantedTick: r.planted, Reason: reason,
			ReasonName: facts.RoundEndReasons.Name(int64(reason)), Sides: f.Sides[:0],
		}
		f.Overtime, _ = d.rule(roundOvertime)
		if sided(winner) {
			f.Winner, f.WinnerName = winner, facts.CSTeams.Name(int64(winner))
		}
		for _, side := range [...]int32{firstSide, secondSide} {
			f.Sides = append(f.Sides, d.roundSide(side))
		}
		d.rememberRound(f)
	}
	for i := range r.players {
		p := &r.players[i]
		if !sided(p.side) {
			continue
		}
		fact := d.prepare(KindFactPlayerRound)
		if fact == nil {
			continue
		}
		f := &fact.player
		*f = FactPlayerRound{
			HasPlayer: true, Number: number, Won: winner == p.side, Kills: p.kills, Headshots: p.headshots, Assists: p.assists, FlashAssists: p.flashes,
			Died: p.died, Damage: p.damage, UtilityDamage: p.utility, OpeningKill: p.opening, OpeningDeath: p.opened, Trades: p.trades, Traded: p.traded,
			Kast: p.kills > 0 || p.assists+p.flashes > 0 || !p.died || p.traded, Clutch: p.clutch,
			Grenades: p.grenades, Blinded: p.blinded, BlindedSeconds: p.blindedSeconds,
		}
		d.actor(&f.Player, i)
		f.EquipmentValue, f.HasEquipmentValue = d.number(playerEquipment)
		f.MoneySpent, f.HasMoneySpent = d.number(playerSpent)
		if warmup == 0 {
			d.rememberPlayer(f)
		}
	}
	r.lined = false
}

// roundSide returns what a side of the present round has.
func (d *Decoder) roundSide(side int32) RoundSide {
	s := RoundSide{Team: side, TeamName: facts.CSTeams.Name(int64(side))}
	for i := range d.match.rounds.players {
		p := &d.match.rounds.players[i]
		if p.side != side || !d.meet(i) {
			continue
		}
		d.seat(side)
		s.Players++
		if !p.died {
			s.Alive++
		}
		equipment, _ := d.number(playerEquipment)
		spent, _ := d.number(playerSpent)
		money, _ := d.number(playerMoney)
		s.EquipmentValue, s.MoneySpent, s.Money = s.EquipmentValue+equipment, s.MoneySpent+spent, s.Money+money
	}
	for _, b := range buys {
		if s.EquipmentValue < b.below {
			s.Buy = b.name
			break
		}
	}
	return s
}
