package dem

import (
	"math"

	"github.com/replayd/replayd/decoders/dem/internal/entity"
	"github.com/replayd/replayd/decoders/dem/internal/value"
)

// clock is Dota's clock. Its fields are fields of the entity of the game's rules.
type clock struct {
	fields [clockFields]*entity.Node
	met    bool // the entity was created
	cells  int  // of the class, at the last look-up of the fields
	known  bool // the time of the horn is known
	// settled reports whether the horn has sounded. Its time no longer changes.
	settled bool
	paused  bool
	horn    float32 // the time of the horn, in seconds of the server's time without pauses
	legacy  bool    // the entity contains the time itself
	time    float32 // at the server's tick seen
	seen    uint32
	ticks   int64 // paused ticks so far
	pause   int64 // the tick at which a pause began
	phase   GamePhase
	now     uint32 // the server's tick
}

const (
	clockStart = iota
	clockPaused
	clockPausedTicks
	clockPauseTick
	clockTime
	clockState
	clockTransition
	clockFields
)

var clockNames = [clockFields]string{
	"m_pGameRules.m_flGameStartTime", "m_pGameRules.m_bGamePaused", "m_pGameRules.m_nTotalPausedTicks",
	"m_pGameRules.m_nPauseStartTick", "m_pGameRules.m_fGameTime", "m_pGameRules.m_nGameState",
	"m_pGameRules.m_flStateTransitionTime",
}

// clockKinds are the kinds of events that have the time on the clock. clockTicks are the kinds that need the clock to run for it:
// entries of the combat log have their own time.
var (
	clockTicks = setOf(KindTick, KindChat, KindChatEvent)
	clockKinds = setOf(KindTick, KindChat, KindChatEvent, KindCombatLog)
)

// tick reads CNETMsg_Tick.
func (d *Decoder) tick(ev *Event, b []byte) bool {
	var t Tick
	for m := d.message(netTick, b); m.To(1); {
		if t.ServerTick = m.Uint32(); !d.out.reads(KindTick, KindTick) {
			break // each packet has a tick, followed by many fields
		}
	}
	d.match.clock.now = t.ServerTick
	if !d.out.want(KindTick, slotEvent) {
		return false
	}
	t.GameTime, t.HasGameTime = d.match.clock.at(t.ServerTick, d.match.interval)
	t.Paused, t.Phase = d.match.clock.paused, d.match.clock.phase
	ev.Kind, ev.Tick = KindTick, t
	return true
}

func (k *clock) update(d *Decoder, ent *entity.Entity) {
	c := ent.Class
	if k.cells != c.Cells && c.Root != nil {
		k.cells = c.Cells
		for i, name := range clockNames {
			if id, ok := d.world.tree.Lookup(name); ok {
				k.fields[i] = find(c.Root, id, 3)
			}
		}
	}
	get := func(i int) (uint64, bool) {
		if n := k.fields[i]; n != nil {
			if v := ent.At(n.Cell); v.Kind != value.None && !d.world.unproven(n.Guess, v) {
				return v.Word, true
			}
		}
		return 0, false
	}
	state, ok := get(clockState)
	if k.phase = GamePhaseUnspecified; ok {
		k.phase = GamePhase(state + 1)
	}
	start, _ := get(clockStart)
	transition, _ := get(clockTransition)
	k.setHorn(math.Float32frombits(uint32(start)), math.Float32frombits(uint32(transition)))
	time, old := get(clockTime)
	k.legacy, k.time, k.seen = old, math.Float32frombits(uint32(time)), k.now
	paused, _ := get(clockPaused)
	k.paused = paused != 0
	ticks, _ := get(clockPausedTicks)
	k.ticks = int64(int32(ticks))
	pause, _ := get(clockPauseTick)
	k.pause = int64(int32(pause))
}

// find returns the node with a name below n, at most depth levels deep.
func find(n *entity.Node, name uint32, depth int) *entity.Node {
	if n == nil || depth == 0 {
		return nil
	}
	if n.Name == name {
		return n
	}
	if n.List {
		return nil
	}
	for _, k := range n.Kids {
		if f := find(k, name, depth-1); f != nil {
			return f
		}
	}
	return nil
}

// setHorn sets the time of the horn: the start of the game or, before that, the end of the phase before the horn.
func (k *clock) setHorn(start, transition float32) {
	switch {
	case start > 0:
		k.horn, k.known = start, true
	case k.phase == GamePhasePreGame && transition > 0:
		k.horn, k.known = transition, true
	default:
		k.known = false
	}
	k.settled = start > 0 && k.phase >= GamePhaseInProgress && k.phase <= GamePhaseDisconnect
}

// at returns the time at a tick of the server, in seconds from the horn. ok is false while the time of the horn is unknown.
func (k *clock) at(tick uint32, interval float32) (t float32, ok bool) {
	switch {
	case !k.known:
		return 0, false
	case k.legacy && k.paused:
		return k.time - k.horn, true
	case k.legacy:
		return float32(float64(k.time) + float64(int64(tick)-int64(k.seen))*float64(interval) - float64(k.horn)), true
	}
	now := int64(tick)
	if k.paused && k.pause > 0 {
		now = min(now, k.pause)
	}
	return float32(float64(now-k.ticks)*float64(interval) - float64(k.horn)), true
}

// dateCombatLog adds the time on the clock to an entry of the combat log. The entry's own time is the server's without pauses.
func (k *clock) dateCombatLog(c *CombatLog) {
	if c.HasGameTime = k.known; k.known {
		c.GameTime = c.Timestamp - k.horn
	}
}
