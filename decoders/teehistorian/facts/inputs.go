package facts

import (
	"math"

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
type buttons struct{ fire, hook, jump, direction, aimX, aimY int32 }

// counts are the sums of a window.
type counts struct {
	inputs, fire, hook, jump, turns, aims int32
	fires, hooks                          intervals
	odd                                   int32
	tenths                                int32 // the largest rate of odd inputs, in tenths of a click a second; 0 for none
}

// intervals are the times from a press of a key to the next one.
type intervals struct {
	latest              tick // of the last press in the window
	count, sum, squares int32
}

// press counts presses of a key in an input, at least one.
func (i *intervals) press(now, presses int32) {
	if latest, ok := i.latest.get(); ok {
		took := now - latest
		i.count, i.sum, i.squares = i.count+1, i.sum+took, i.squares+took*took
	}
	i.count += presses - 1
	i.latest = at(now)
}

// mean returns the mean and the standard deviation, and whether there are any. All but the root is exact, so that they are the same on
// every machine.
func (i *intervals) mean() (mean, spread float64, ok bool) {
	if i.count <= 0 {
		return 0, 0, false
	}
	n, sum := int64(i.count), int64(i.sum)
	return float64(sum) / float64(n), math.Sqrt(float64(max(n*int64(i.squares)-sum*sum, 0))) / float64(n), true
}

func buttonsOf(in *teehistorian.Input) buttons {
	out := buttons{fire: in.Fire, jump: in.Jump & 1, direction: min(max(in.Direction, -1), 1), aimX: in.TargetX, aimY: in.TargetY}
	if in.TargetX == 0 && in.TargetY == 0 {
		out.aimY = -1 // as the game does
	}
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
	fires, hooks := (moved+1-before.fire&1)/2, after.hook&^before.hook // a press makes the counter odd
	if fires > 0 {
		c.fire += fires
		c.fires.press(now, fires)
	}
	if hooks > 0 {
		c.hook += hooks
		c.hooks.press(now, hooks)
	}
	c.jump += after.jump &^ before.jump
	if after.direction != before.direction {
		c.turns++
	}
	if int64(before.aimX)*int64(after.aimX) < -int64(before.aimY)*int64(after.aimY) { // their product is negative, without overflow
		c.aims++
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
			FirePerSecond: rate(c.fire), HookPerSecond: rate(c.hook), OddInputs: c.odd, AimJumps: c.aims,
		}
		out.FireInterval, out.FireIntervalSpread, out.HasFireInterval = c.fires.mean()
		out.HookInterval, out.HookIntervalSpread, out.HasHookInterval = c.hooks.mean()
		out.HasFireIntervalSpread, out.HasHookIntervalSpread = out.HasFireInterval, out.HasHookInterval
		if c.tenths > 0 {
			out.OddClicksPerSecond, out.HasOddClicksPerSecond = float64(c.tenths)/10, true
		}
		f.ready = append(f.ready, fact{kind: teehistorian.KindFactInputStats, stats: out})
	}
}

// rate converts a number per window to a number per second.
func rate(n int32) float64 { return float64(n) * ticksPerSecond / windowTicks }
