package dem

import (
	"bytes"
	"slices"
	"strings"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/dem/internal/facts"
)

// FactsVersion is the version of the facts: it changes whenever a demo has other facts than before.
const FactsVersion = 3

// factSources holds the kinds of events from which facts of a kind are concluded, in any game.
var factSources = map[Kind]kindSet{
	KindFactKill:        setOf(KindGameEvent, KindCombatLog, KindKill),
	KindFactDamage:      setOf(KindGameEvent, KindCombatLog, KindDamage),
	KindFactRound:       setOf(KindGameEvent),
	KindFactPlayerRound: setOf(KindGameEvent),
	KindFactObjective:   setOf(KindGameEvent, KindCombatLog, KindChatEvent),
	KindFactPurchase:    setOf(KindCombatLog, KindAbilityChange),
	KindFactGrenade:     setOf(KindGameEvent),
	KindFactBlind:       setOf(KindGameEvent),
	KindFactBuyback:     setOf(KindCombatLog),
	KindFactRune:        setOf(KindChatEvent),
	KindFactSmoke:       setOf(KindCombatLog),
	KindFactWard:        {}, // from entities, as rounds
	KindFactDraft:       {},
}

// pastKinds are those of the facts that a Past is of.
var pastKinds = setOf(KindFactKill, KindFactRound, KindFactPlayerRound, KindFactObjective, KindFactWard)

// factKinds are the kinds of facts.
var factKinds = func() (s kindSet) {
	for k := range factSources {
		s.add(k)
	}
	return s
}()

// conclusions concludes facts from events, whether these are delivered or not. The position of a fact is behind that of its event.
type conclusions struct {
	sources kindSet // the kinds of events from which the wanted and the remembered facts are concluded
	rounds  bool    // rounds of Counter-Strike 2 are followed
	wards   bool    // wards of Dota 2 are
	draft   bool    // the draft of Dota 2 is
	// Messages without events of their own are read for objectives.
	objectives bool
	// The kinds of facts that Past is of, as far as they are remembered.
	remembered kindSet
	spare      conclusion // one that is only remembered
	ready      []conclusion
	next       int    // the index in ready of the next fact
	base       int64  // the index of the event within the record
	count      int64  // the facts of the event, wanted or not
	texts      []byte // names of classes in ready
	tokens     tokens
}

// conclusion is a fact that has not been delivered yet. kind says which of its values is valid.
type conclusion struct {
	kind      Kind
	index     int64 // of the event within the record
	kill      FactKill
	damage    FactDamage
	round     FactRound
	player    FactPlayerRound
	objective FactObjective
	purchase  FactPurchase
	grenade   FactGrenade
	blind     FactBlind
	buyback   FactBuyback
	rune      FactRune
	smoke     FactSmoke
	ward      FactWard
	draft     FactDraft
}

func newConclusions(wanted *kindSet) (c conclusions) {
	// Who knows everything makes snapshots, from which others conclude facts of rounds, and remember the past.
	all := wanted.covers(&ownKinds)
	for k, from := range factSources {
		if pastKinds.has(k) && (all || wanted.has(k)) {
			c.remembered.add(k)
		}
		if wanted.has(k) || c.remembered.has(k) {
			c.sources.join(&from)
		}
	}
	c.rounds = c.remembered.has(KindFactRound) || c.remembered.has(KindFactPlayerRound)
	c.wards, c.draft, c.objectives = c.remembered.has(KindFactWard), all || wanted.has(KindFactDraft), c.remembered.has(KindFactObjective)
	return c
}

// begin begins the facts of an event.
func (c *conclusions) begin(event int64) {
	c.ready, c.next, c.texts = c.ready[:0], 0, c.texts[:0]
	c.move(event)
}

// move lets further facts stand behind another event.
func (c *conclusions) move(event int64) { c.count, c.base = 0, event }

// pending reports whether there is a fact that was not delivered yet.
func (c *conclusions) pending() bool { return c.next < len(c.ready) }

// add adds the next fact of the event in the present element. It returns nil if the fact is not wanted.
func (d *Decoder) add(kind Kind) *conclusion {
	c := &d.facts
	c.count++
	index := c.base + c.count
	if !d.out.has(kind) || c.count >= decoders.Room || d.out.quiet && d.out.before(index) {
		return nil
	}
	c.ready = slices.Grow(c.ready, 1)[:len(c.ready)+1]
	fact := &c.ready[len(c.ready)-1]
	fact.kind, fact.index = kind, index
	return fact
}

// prepare returns the next fact of the event in the present element, to be filled. It is nil if the fact is neither wanted nor remembered.
func (d *Decoder) prepare(kind Kind) *conclusion {
	fact := d.add(kind)
	if fact == nil && d.facts.remembers(kind) {
		fact = &d.facts.spare
	}
	return fact
}

// nextFact delivers the next fact.
func (d *Decoder) nextFact(ev *Event) {
	from := &d.facts.ready[d.facts.next]
	d.facts.next++
	ev.Kind, d.out.at = from.kind, from.index
	switch from.kind {
	case KindFactKill:
		ev.FactKill = from.kill
	case KindFactDamage:
		ev.FactDamage = from.damage
	case KindFactRound:
		ev.FactRound = from.round
	case KindFactPlayerRound:
		ev.FactPlayerRound = from.player
	case KindFactObjective:
		ev.FactObjective = from.objective
	case KindFactPurchase:
		ev.FactPurchase = from.purchase
	case KindFactGrenade:
		ev.FactGrenade = from.grenade
	case KindFactBlind:
		ev.FactBlind = from.blind
	case KindFactBuyback:
		ev.FactBuyback = from.buyback
	case KindFactRune:
		ev.FactRune = from.rune
	case KindFactSmoke:
		ev.FactSmoke = from.smoke
	case KindFactWard:
		ev.FactWard = from.ward
	case KindFactDraft:
		ev.FactDraft = from.draft
	default: // no fact
	}
}

// conclude concludes the facts that an event completes.
func (d *Decoder) conclude(ev *Event, kind Kind) {
	c := &d.facts
	if !c.sources.has(kind) {
		return
	}
	c.begin(d.out.place.index(slotEvent))
	d.players.setGame(d.match.game)
	switch {
	case kind == KindCombatLog:
		d.concludeCombat(&ev.CombatLog)
	case kind == KindGameEvent && d.match.game == gameCS2:
		d.concludeGameEvent(&ev.GameEvent)
		if d.facts.rounds {
			d.followRound(&ev.GameEvent)
		}
	case kind == KindChatEvent && d.match.game == gameDota:
		d.concludeAnnouncement(&ev.ChatEvent)
	case kind == KindKill && d.match.game == gameDeadlock:
		d.concludeKill(&ev.Kill)
	case kind == KindAbilityChange && d.match.game == gameDeadlock:
		d.concludePurchase(&ev.AbilityChange)
	case kind == KindDamage && d.match.game == gameDeadlock:
		d.concludeDamage(&ev.Damage)
	}
}

// concludeEntities concludes what a whole message of entities completes. Facts of each sort stand behind a place of their own, so that these
// do not depend on which of them are wanted.
func (d *Decoder) concludeEntities() {
	c := &d.facts
	rounds, dota := c.rounds && d.match.game == gameCS2, d.match.game == gameDota
	if told := rounds || dota && (c.wards || c.draft); !told && !c.remembers(KindFactKill) {
		return
	}
	d.players.setGame(d.match.game)
	behind := func() int64 {
		d.out.place.nextElement()
		return d.out.place.index(slotEvent)
	}
	c.begin(behind())
	if rounds {
		d.concludeRounds()
		return
	}
	if dota && c.wards {
		d.concludeWards()
	}
	if c.move(behind()); dota && c.draft {
		d.concludeDraft()
	}
	d.rememberEconomy()
}

// noHitGroup is no part of the body.
const noHitGroup = -1

// noActor is nobody.
var noActor = Actor{PlayerId: -1, Index: -1}

// actor fills a with a player, and the player's hero or body. It reports whether there is such a player.
func (d *Decoder) actor(a *Actor, player int) bool {
	*a = noActor
	if a.PlayerId = int32(player); uint(player) >= MaxPlayers || !d.meet(player) {
		return false
	}
	a.Team, _ = d.number(playerTeam)
	a.Index = d.seat(a.Team)
	a.Name, a.SteamId, a.HeroName = d.name(), d.steamID(), d.heroName()
	a.Place, a.HasPlace = d.bodyPlace()
	return true
}

// entityActor fills a with an entity. It reports whether there is one in the slot.
func (d *Decoder) entityActor(a *Actor, slot int32) bool {
	*a = noActor
	if slot <= 0 || slot >= MaxEntities {
		return false
	}
	ent := d.world.store.Slots[slot]
	if ent == nil {
		a.Index = slot
		return true
	}
	p := &d.players
	p.of[holderBody] = ent
	if _, controller := d.referred(bodyController, 0); controller > 0 && d.actor(a, controller-1) && a.Index == slot {
		return true
	}
	*a = noActor
	a.Index = slot
	start := len(d.facts.texts)
	d.facts.texts = append(d.facts.texts, d.Name(ent.Class.Name)...)
	a.UnitName = d.facts.texts[start:len(d.facts.texts):len(d.facts.texts)]
	return true
}

// concludeGameEvent concludes the facts of a game event of Counter-Strike 2.
func (d *Decoder) concludeGameEvent(e *GameEvent) {
	switch string(e.Name) {
	case "player_death":
		if fact := d.prepare(KindFactKill); fact != nil {
			d.fillKill(&fact.kill, e.Keys)
			d.rememberKill(&fact.kill)
		}
	case "player_hurt":
		if fact := d.add(KindFactDamage); fact != nil {
			d.fillDamage(&fact.damage, e.Keys)
		}
	case "bomb_planted":
		d.bombed(ObjectiveTypeBombPlanted, e.Keys)
	case "bomb_defused":
		d.bombed(ObjectiveTypeBombDefused, e.Keys)
	case "bomb_exploded":
		d.bombed(ObjectiveTypeBombExploded, e.Keys)
	case "player_blind":
		d.concludeBlind(e)
	default:
		d.concludeGrenade(e)
	}
}

// bombed concludes what happened to the bomb.
func (d *Decoder) bombed(typ ObjectiveType, keys []GameEventKey) {
	fact := d.add(KindFactObjective) // rounds are remembered, and they tell it
	if fact == nil {
		return
	}
	f := &fact.objective
	*f = FactObjective{Type: typ}
	for i := range keys {
		switch k := &keys[i]; string(k.Name) {
		case "userid":
			f.HasActor = d.keyActor(&f.Actor, k)
		case "site":
			f.Site, f.HasSite = int32(k.Int), true
		}
	}
}

// keyActor fills a with the player in a key of a game event. It reports whether the key names one.
func (d *Decoder) keyActor(a *Actor, k *GameEventKey) bool {
	if k.ValueCase != GameEventKeyValuePlayer || k.Player < 0 {
		return false
	}
	d.actor(a, int(k.Player))
	return true
}

func (d *Decoder) fillKill(f *FactKill, keys []GameEventKey) {
	*f = FactKill{Assists: f.Assists[:0], HitGroup: noHitGroup}
	for i := range keys {
		k := &keys[i]
		number := int32(k.Int)
		switch string(k.Name) {
		case "attacker":
			f.HasKiller = d.keyActor(&f.Killer, k)
		case "userid":
			f.HasVictim = d.keyActor(&f.Victim, k)
		case "assister":
			var a Actor
			if d.keyActor(&a, k) {
				f.Assists = append(f.Assists, a)
			}
		case "weapon":
			f.Weapon = k.Text
		case "hitgroup":
			f.HitGroup, f.HitGroupName = number, facts.HitGroups.Name(k.Int)
		case "dmg_health":
			f.Damage, f.HasDamage = number, true
		case "dmg_armor":
			f.ArmorDamage, f.HasArmorDamage = number, true
		case "distance":
			f.Distance, f.HasDistance = k.Float, true
		case "penetrated":
			f.Penetrations = number
		case "headshot":
			f.Headshot = k.Bool
		case "noscope":
			f.NoScope = k.Bool
		case "thrusmoke":
			f.ThroughSmoke = k.Bool
		case "attackerblind":
			f.Blind = k.Bool
		case "attackerinair":
			f.InAir = k.Bool
		case "assistedflash":
			f.FlashAssist = k.Bool
		}
	}
}

func (d *Decoder) fillDamage(f *FactDamage, keys []GameEventKey) {
	*f = FactDamage{HitGroup: noHitGroup}
	for i := range keys {
		k := &keys[i]
		number := int32(k.Int)
		switch string(k.Name) {
		case "attacker":
			f.HasAttacker = d.keyActor(&f.Attacker, k)
		case "userid":
			f.HasVictim = d.keyActor(&f.Victim, k)
		case "weapon":
			f.Weapon = k.Text
		case "dmg_health":
			f.Damage = number
		case "health":
			f.Health, f.HasHealth = number, true
		case "dmg_armor":
			f.ArmorDamage, f.HasArmorDamage = number, true
		case "armor":
			f.Armor, f.HasArmor = number, true
		case "hitgroup":
			f.HitGroup, f.HitGroupName = number, facts.HitGroups.Name(k.Int)
		}
	}
}

// heroPrefix begins the names of Dota's heroes.
const heroPrefix = "npc_dota_hero_"

// logged is somebody in the combat log.
type logged struct {
	name, owner    []byte
	hero, illusion bool
	team           uint32
}

// loggedActor fills a with somebody in the combat log. It reports whether there is somebody.
func (d *Decoder) loggedActor(a *Actor, l logged) bool {
	*a = noActor
	if len(l.name) == 0 || string(l.name) == "dota_unknown" {
		return false
	}
	player := -1
	own := l.hero && !l.illusion
	switch {
	case own:
		player = d.playerOf(l.name)
	case strings.HasPrefix(string(l.owner), heroPrefix):
		player = d.playerOf(l.owner)
	}
	if player >= 0 {
		d.actor(a, player)
	}
	if !own {
		a.HeroName, a.Index, a.Place, a.HasPlace = nil, -1, Vector{}, false
		a.UnitName, a.Illusion = l.name, l.illusion
	} else {
		a.HeroName = l.name
	}
	if l.team != 0 {
		a.Team = int32(l.team)
	}
	return true
}

// playerOf returns the number of the player with a hero of Dota 2, or -1.
func (d *Decoder) playerOf(hero []byte) int {
	for i := range MaxPlayers {
		if d.meet(i) && bytes.Equal(d.named(playerHero), hero) {
			return i
		}
	}
	return -1
}

// concludeCombat concludes the facts of an entry of the combat log.
func (d *Decoder) concludeCombat(e *CombatLog) {
	victim := logged{e.TargetName, e.TargetSourceName, e.IsTargetHero, e.IsTargetIllusion, e.TargetTeam}
	attacker := logged{e.AttackerName, e.DamageSourceName, e.IsAttackerHero, e.IsAttackerIllusion, e.AttackerTeam}
	switch e.Type {
	case CombatLogTypeDeath:
		if typ := objectiveOf(e); typ != ObjectiveTypeUnspecified {
			d.taken(typ, e, attacker)
		}
		if !e.IsTargetHero || e.IsTargetIllusion {
			return
		}
		if fact := d.prepare(KindFactKill); fact != nil {
			k := &fact.kill
			*k = FactKill{Assists: k.Assists[:0], Weapon: weaponOf(e.InflictorName), Reincarnates: e.WillReincarnate, HitGroup: noHitGroup}
			k.HasKiller = d.loggedActor(&k.Killer, attacker)
			k.HasVictim = d.loggedActor(&k.Victim, victim)
			for _, player := range e.AssistPlayers {
				var a Actor
				if player >= 0 {
					d.actor(&a, int(player))
					k.Assists = append(k.Assists, a)
				}
			}
			d.rememberKill(k)
		}
	case CombatLogTypeDamage:
		if fact := d.add(KindFactDamage); fact != nil {
			f := &fact.damage
			*f = FactDamage{
				Weapon: weaponOf(e.InflictorName), Damage: int32(min(e.Value, 1<<31-1)), Health: e.Health, HasHealth: true, Type: int32(e.DamageType), HitGroup: noHitGroup,
			}
			f.HasAttacker = d.loggedActor(&f.Attacker, attacker)
			f.HasVictim = d.loggedActor(&f.Victim, victim)
		}
	case CombatLogTypePurchase:
		if fact := d.add(KindFactPurchase); fact != nil {
			f := &fact.purchase
			*f = FactPurchase{Item: e.ValueName}
			phase := d.match.clock.phase
			f.Starting = phase != GamePhaseUnspecified && (phase < GamePhaseInProgress || phase > GamePhaseDisconnect)
			f.HasBuyer = d.loggedActor(&f.Buyer, logged{name: e.TargetName, hero: true, team: e.TargetTeam})
		}
	case CombatLogTypeBuyback:
		d.concludeBuyback(e.Value)
	case CombatLogTypeModifierAdd:
		if string(e.InflictorName) == smoke {
			d.concludeSmoke(attacker, victim)
		}
	default: // no fact
	}
}

// objectiveOf returns the objective that has died by an entry of the combat log.
func objectiveOf(e *CombatLog) ObjectiveType {
	switch {
	case e.IsTargetBuilding:
		return ObjectiveTypeBuilding
	case string(e.TargetName) == "npc_dota_roshan":
		return ObjectiveTypeRoshan
	case string(e.TargetName) == "npc_dota_miniboss":
		return ObjectiveTypeTormentor
	case string(e.TargetName) == "npc_dota_observer_wards", string(e.TargetName) == "npc_dota_sentry_wards":
		return ObjectiveTypeWard
	case strings.HasPrefix(string(e.TargetName), "npc_dota_courier"):
		return ObjectiveTypeCourier
	}
	return ObjectiveTypeUnspecified
}

// taken concludes what happened to an objective of Dota 2.
func (d *Decoder) taken(typ ObjectiveType, e *CombatLog, by logged) {
	fact := d.prepare(KindFactObjective)
	if fact == nil {
		return
	}
	f := &fact.objective
	*f = FactObjective{Type: typ, Name: e.TargetName}
	f.HasActor = d.loggedActor(&f.Actor, by)
	if typ == ObjectiveTypeBuilding || typ == ObjectiveTypeWard || typ == ObjectiveTypeCourier { // others are of no side
		f.Team = int32(e.TargetTeam)
		f.Denied = typ != ObjectiveTypeCourier && e.TargetTeam != 0 && e.TargetTeam == e.AttackerTeam
	}
	d.rememberObjective(f)
}

// weaponOf returns the name of an inflictor, or nil if it is none.
func weaponOf(inflictor []byte) []byte {
	if string(inflictor) == "dota_unknown" {
		return nil
	}
	return inflictor
}
