package facts

import (
	"unsafe"

	"github.com/replayd/replayd/decoders/sc2replay"
)

// Version is the version of the facts. It changes with any change of the conclusions or of their places.
const Version = 2

// Fold concludes facts from the events of one replay. Make it with New. Only one goroutine at a time may use it.
type Fold struct {
	of      *sc2replay.Replay
	match   match
	units   units
	players players
	fights  fights

	// The selections of users, by number, and whether they are needed; and what is in use while a fact is made of one.
	users     [sc2replay.MaxPlayers]*selections
	selecting bool
	list      *list // the control group of the last event
	added     []member
	merged    []member
	groups    []sc2replay.UnitGroup
	tags      []uint32
	kinds     []uint8

	want  sc2replay.Kinds
	event *sc2replay.Event // the last applied event
	ready []fact           // the facts that it has completed
	next  int              // the index in ready of the fact that Next fills in

	// The facts of which an event completes one at most.
	chat    sc2replay.FactChat
	upgrade sc2replay.FactUpgrade
	economy sc2replay.FactEconomy
}

// fact is a complete fact. kind says which of its values is valid.
type fact struct {
	kind   sc2replay.Kind
	unit   sc2replay.FactUnit
	step   sc2replay.FactBuildStep
	block  sc2replay.FactSupplyBlock
	fight  sc2replay.FactEngagement
	player *player
}

// New returns a Fold in the state before the first event of a replay. If the replay is nil, no build times are known.
func New(of *sc2replay.Replay) *Fold {
	return &Fold{of: of, units: units{lives: map[uint32]*life{}}, want: sc2replay.AllKinds(), selecting: true}
}

// Want says which facts the caller needs. The others are still made, at the same positions, but they may lack their contents. Call it
// before Apply.
func (f *Fold) Want(kinds *sc2replay.Kinds) {
	f.want = *kinds
	f.selecting = kinds[sc2replay.KindFactOrder] || kinds[sc2replay.KindFactControlGroup]
}

// Apply takes the next event. Call it with every event that Next of a Decoder returns, in order. Then call Next of the Fold for
// the facts that the event has completed, and keep ev unchanged until the next call of Apply.
func (f *Fold) Apply(ev *sc2replay.Event) {
	f.event, f.ready, f.next = ev, f.ready[:0], 0
	f.fights.sides = f.fights.sides[:0]
	if len(f.fights.open) > 0 && ev.AtTick >= f.fights.over {
		f.fightsUntil(ev.AtTick)
	}
	switch ev.Kind {
	case sc2replay.KindUnitBorn:
		f.born(ev)
	case sc2replay.KindUnitInit:
		f.units.begin(ev)
	case sc2replay.KindUnitDone:
		f.done(ev)
	case sc2replay.KindUnitTypeChange:
		f.morphed(ev)
	case sc2replay.KindUnitDied:
		f.died(ev)
	case sc2replay.KindUpgrade:
		f.upgraded(ev)
	case sc2replay.KindUnitOwnerChange:
		f.units.give(ev)
	case sc2replay.KindChat:
		f.said(ev)
	case sc2replay.KindGameUserLeave, sc2replay.KindPlayerLeave:
		f.match.leave(ev)
		f.players.apply(ev)
	case sc2replay.KindPlayerStats:
		f.reported(ev)
	case sc2replay.KindCmd:
		f.players.apply(ev)
		f.ready = append(f.ready, fact{kind: sc2replay.KindFactOrder})
	case sc2replay.KindSelectionDelta:
		f.players.apply(ev)
		if f.selecting {
			f.selects(ev)
		}
	case sc2replay.KindControlGroupUpdate:
		f.players.apply(ev)
		if f.selecting {
			f.list = f.group(ev)
		}
		f.ready = append(f.ready, fact{kind: sc2replay.KindFactControlGroup})
	case sc2replay.KindEnd:
		f.ended(ev)
	default:
		f.match.describe(ev)
		f.players.apply(ev)
	}
}

// Next sets ev to the next fact that the last event has completed. It returns false when there is none. The memory that ev refers
// to belongs to the Decoder and the Fold, and is valid until the next call of Apply.
func (f *Fold) Next(ev *sc2replay.Event) bool {
	if !f.Pending() {
		return false
	}
	from := &f.ready[f.next]
	f.next++
	ev.AtTick, ev.Kind = f.event.AtTick, from.kind
	ev.Unproven, ev.HasUnproven = f.event.Unproven, f.event.HasUnproven
	ev.Player, ev.HasPlayer = f.event.Player, f.event.HasPlayer
	if from.player != nil { // not always that of the event
		ev.Player, ev.HasPlayer = from.player.ref, true
	}
	if !f.want[from.kind] {
		return true
	}
	switch from.kind {
	case sc2replay.KindFactUnit:
		ev.FactUnit = from.unit
	case sc2replay.KindFactBuildStep:
		ev.FactBuildStep = from.step
	case sc2replay.KindFactPlayer:
		ev.FactPlayer = from.player.summary(f.match.length(f.event.AtTick), f.match.perSecond)
	case sc2replay.KindFactMatch:
		ev.FactMatch = f.match.fact
	case sc2replay.KindFactChat:
		ev.FactChat = f.chat
	case sc2replay.KindFactUpgrade:
		ev.FactUpgrade = f.upgrade
	case sc2replay.KindFactEconomy:
		ev.FactEconomy = f.economy
	case sc2replay.KindFactSupplyBlock:
		ev.FactSupplyBlock = from.block
	case sc2replay.KindFactEngagement:
		ev.FactEngagement, ev.HasPlayer = from.fight, false
	case sc2replay.KindFactControlGroup:
		ev.FactControlGroup = f.controlGroup()
	case sc2replay.KindFactOrder:
		ev.FactOrder = f.order()
	}
	return true
}

// Pending reports whether the last event has completed a fact that Next has not filled in yet.
func (f *Fold) Pending() bool { return f.next < len(f.ready) }

// Estimates of the memory of an entry, with the spare room of maps.
const (
	lifeHeld   = 192
	sampleHeld = 12
)

// Held returns the memory that the Fold holds and that grows with the replay, in bytes.
func (f *Fold) Held() int64 {
	n := lifeHeld*len(f.units.lives) + cap(f.fights.open)*int(unsafe.Sizeof(fight{})) +
		cap(f.fights.sides)*int(unsafe.Sizeof(sc2replay.EngagementSide{}))
	for i := range f.players {
		if p := f.players[i]; p != nil {
			n += sampleHeld * cap(p.supplies)
		}
	}
	for _, s := range f.users {
		if s != nil {
			for i := range s.lists {
				n += cap(s.lists[i].units) * int(unsafe.Sizeof(member{}))
			}
		}
	}
	return int64(n)
}
