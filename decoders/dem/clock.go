package dem

import "math"

// clock is Dota's clock, as the entity of the game's rules tells it.
type clock struct {
	fields [clockFields]*node
	cells  int // of the class, when the fields were looked up
	known  bool
	paused bool
	start  float32 // in seconds
	legacy bool    // the time itself is told
	time   float32
	ticks  int64 // paused so far
	pause  int64 // tick of the pause
}

const (
	clockStart = iota
	clockPaused
	clockPausedTicks
	clockPauseTick
	clockTime
	clockFields
)

var clockNames = [clockFields]string{
	"m_pGameRules.m_flGameStartTime", "m_pGameRules.m_bGamePaused", "m_pGameRules.m_nTotalPausedTicks",
	"m_pGameRules.m_nPauseStartTick", "m_pGameRules.m_fGameTime",
}

// tick reads CNETMsg_Tick.
func (d *Decoder) tick(ev *Event, b []byte) bool {
	var t Tick
	for m := (wire{buf: b}); m.next(); {
		if m.num == 1 {
			t.ServerTick = m.uint32()
		}
	}
	if !d.want(KindTick, slotEvent) {
		return false
	}
	if d.clock.known {
		t.GameTime, t.HasGameTime = d.clock.at(t.ServerTick, d.interval), true
		t.Paused = d.clock.paused
	}
	ev.Kind, ev.Tick = KindTick, t
	return true
}

func (k *clock) update(d *Decoder, ent *entity) {
	c := ent.class
	if k.cells != c.cells && c.root != nil {
		k.cells = c.cells
		for i, name := range clockNames {
			if id, ok := d.tree.byName[name]; ok {
				k.fields[i] = find(c.root, id, 3)
			}
		}
	}
	get := func(i int) (uint64, bool) {
		n := k.fields[i]
		if n == nil || n.cell < 0 || int(n.cell) >= len(ent.cells) || ent.cells[n.cell].kind == valueNone {
			return 0, false
		}
		return ent.cells[n.cell].word, true
	}
	start, ok := get(clockStart)
	k.start = math.Float32frombits(uint32(start))
	time, old := get(clockTime)
	k.legacy, k.time = old, math.Float32frombits(uint32(time))
	k.known = old || ok && k.start > 0
	paused, _ := get(clockPaused)
	k.paused = paused != 0
	ticks, _ := get(clockPausedTicks)
	k.ticks = int64(int32(ticks))
	pause, _ := get(clockPauseTick)
	k.pause = int64(int32(pause))
}

// find returns the node of a name below n, at most depth levels deep.
func find(n *node, name uint32, depth int) *node {
	if n == nil || depth == 0 {
		return nil
	}
	if n.name == name {
		return n
	}
	if n.list {
		return nil
	}
	for _, k := range n.kids {
		if f := find(k, name, depth-1); f != nil {
			return f
		}
	}
	return nil
}

// at returns the game's time at a tick of the server.
func (k *clock) at(tick uint32, interval float32) float32 {
	if k.legacy {
		return k.time - k.start
	}
	now := int64(tick)
	if k.paused && k.pause > 0 {
		now = min(now, k.pause)
	}
	return float32(float64(now-k.ticks)*float64(interval) - float64(k.start))
}
