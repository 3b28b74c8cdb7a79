package facts

import (
	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/teehistorian"
)

// windowTicks is the length of a window of input statistics.
const windowTicks = 500

// The fire key's counter, as the game and libtw2's teehistorian_odd count it.
const (
	counterMask = 0x3f // after this it wraps around
	oddChange   = 10   // a larger change in one input is odd
)

// inputs counts what clients do with their keys.
type inputs struct {
	window  int32 // the number of the present window
	clients []keys
	untold  int // the first client whose fact of the last window is not made yet
}

// keys holds the known facts of a client's keys.
type keys struct {
	known  bool
	first  int32 // the tick since which they are known
	latest int32 // the tick of the last input
	input  buttons
	now    counts // of the present window
	last   counts // of the last window, if the keys were known throughout
	from   int32  // the first tick of the last window
}

// buttons are the parts of an input that count.
type buttons struct{ fire, hook, jump, direction int32 }

// counts are the sums of a window.
type counts struct {
	inputs, fire, hook, jump, turns int32
	odd                             int32
	tenths                          int32 // the largest rate of odd inputs, in tenths of a click a second; 0 for none
}

func buttonsOf(in *teehistorian.Input) buttons {
	out := buttons{fire: in.Fire, jump: in.Jump & 1, direction: min(max(in.Direction, -1), 1)}
	if in.Hook != 0 {
		out.hook = 1
	}
	return out
}

// at returns the keys of a client.
func (s *inputs) at(id int32) *keys { return slot(&s.clients, id) }

// forget notes that the slot has another client, or none.
func (s *inputs) forget(id int32) {
	s.at(id).known = false
}

// begin notes a client's first input.
func (s *inputs) begin(now int32, ev *teehistorian.InputNew) {
	s.forget(ev.ClientId)
	k := s.at(ev.ClientId)
	k.known, k.first, k.latest, k.input = true, now, now, buttonsOf(&ev.Input)
}

// change counts a change of a client's input.
func (s *inputs) change(now int32, ev *teehistorian.InputDiff) {
	k := s.at(ev.ClientId)
	if !k.known || !ev.HasInput {
		return
	}
	before, after, c := k.input, buttonsOf(&ev.Input), &k.now
	c.inputs++
	moved := (after.fire - before.fire) & counterMask
	c.fire += (moved + 1 - before.fire&1) / 2 // a press makes the counter odd
	c.hook += after.hook &^ before.hook
	c.jump += after.jump &^ before.jump
	if after.direction != before.direction {
		c.turns++
	}
	if moved > oddChange {
		c.odd++
		if took := now - k.latest; took > 0 {
			c.tenths = max(c.tenths, moved/2*ticksPerSecond*10/took)
		}
	}
	k.latest, k.input = now, after
}

// tick begins a tick, which may end a window.
func (s *inputs) tick(now int32) {
	if now/windowTicks == s.window {
		return
	}
	from := s.window * windowTicks
	for i := range s.clients {
		k := &s.clients[i]
		if k.from, k.last = from, (counts{}); k.known && k.first <= from {
			k.last = k.now
		}
		k.now = counts{}
	}
	s.window, s.untold = now/windowTicks, 0
}

// tell makes the remaining facts of the last window, as far as there is room after the event.
func (f *Fold) tell() {
	for s := f.inputs; s.untold < len(s.clients) && len(f.ready) < decoders.Room-1; s.untold++ {
		k := &s.clients[s.untold]
		c := k.last
		if c.inputs == 0 {
			continue
		}
		out := teehistorian.FactInputStats{
			ClientId: int32(s.untold), Name: f.client(int32(s.untold)).name, FromTick: k.from, Inputs: c.inputs,
			FirePresses: c.fire, HookPresses: c.hook, JumpPresses: c.jump, DirectionChanges: c.turns,
			FirePerSecond: rate(c.fire), HookPerSecond: rate(c.hook), OddInputs: c.odd,
		}
		if c.tenths > 0 {
			out.OddClicksPerSecond, out.HasOddClicksPerSecond = float64(c.tenths)/10, true
		}
		f.ready = append(f.ready, fact{kind: teehistorian.KindFactInputStats, stats: out})
	}
}

// rate converts a number per window to a number per second.
func rate(n int32) float64 { return float64(n) * ticksPerSecond / windowTicks }
