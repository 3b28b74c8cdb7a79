package dem

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/replayd/replayd/decoders/dem/demtest"
)

// inputOf is what UserInput is to be of a command. It shares no code with the decoder.
func inputOf(c demtest.Command) UserInput {
	number := func(c demtest.Command, n int) uint64 { v, _ := c[n].(uint64); return v }
	float := func(c demtest.Command, n int) float32 { v, _ := c[n].(uint32); return math.Float32frombits(v) }
	or := func(c demtest.Command, n int, absent int32) int32 {
		if v, ok := c[n].(uint64); ok {
			return int32(v)
		}
		return absent
	}
	vector := func(c demtest.Command, n int) (Vector, bool) {
		v, ok := c[n].(demtest.Command)
		return Vector{X: float(v, 1), Y: float(v, 2), Z: float(v, 3)}, ok
	}
	base, _ := c[1].(demtest.Command)
	buttons, _ := base[3].(demtest.Command)
	u := UserInput{
		Buttons: number(buttons, 1), ButtonsChanged: number(buttons, 2), ButtonsScrolled: number(buttons, 3),
		ForwardMove: float(base, 5), LeftMove: float(base, 6), UpMove: float(base, 7), Impulse: or(base, 8, 0), Weapon: or(base, 9, 0),
		RandomSeed: or(base, 10, 0), MouseDx: or(base, 11, 0), MouseDy: or(base, 12, 0), Pawn: uint32(or(base, 14, noHandle)),
		Flags: or(base, 21, 0), Attack1History: or(c, 6, -1), Attack2History: or(c, 7, -1), LeftHand: number(c, 9) != 0,
	}
	u.ViewAngles, u.HasViewAngles = vector(base, 4)
	moves, _ := base[18].([]demtest.Command)
	for _, m := range moves {
		u.SubtickMoves = append(u.SubtickMoves, SubtickMove{
			Button: number(m, 1), Pressed: number(m, 2) != 0, When: float(m, 3), ForwardDelta: float(m, 4), LeftDelta: float(m, 5),
			PitchDelta: float(m, 8), YawDelta: float(m, 9),
		})
	}
	history, _ := c[2].([]demtest.Command)
	for _, e := range history {
		h := InputHistory{
			RenderTick: or(e, 4, 0), RenderFraction: float(e, 5), PlayerTick: or(e, 6, 0), PlayerFraction: float(e, 7),
			Frame: or(e, 64, 0), Target: or(e, 65, -1),
		}
		h.ViewAngles, h.HasViewAngles = vector(e, 2)
		h.ShootPosition, h.HasShootPosition = vector(e, 66)
		u.InputHistory = append(u.InputHistory, h)
	}
	return u
}

// bitsOf makes floats comparable that are no numbers.
func bitsOf(v reflect.Value, out []uint64) []uint64 {
	switch v.Kind() {
	case reflect.Struct:
		for _, field := range v.Fields() {
			out = bitsOf(field, out)
		}
	case reflect.Slice:
		out = append(out, uint64(v.Len()))
		for i := range v.Len() {
			out = bitsOf(v.Index(i), out)
		}
	case reflect.Float32:
		out = append(out, uint64(math.Float32bits(float32(v.Float()))))
	case reflect.Bool:
		n := uint64(0)
		if v.Bool() {
			n = 1
		}
		out = append(out, n)
	case reflect.Int32:
		out = append(out, uint64(v.Int()))
	default:
		out = append(out, v.Uint())
	}
	return out
}

func sameInput(a, b *UserInput) bool {
	x, y := bitsOf(reflect.ValueOf(a).Elem(), nil), bitsOf(reflect.ValueOf(b).Elem(), nil)
	return reflect.DeepEqual(x, y)
}

// checkCommands compares the user commands of a demo with what was issued. It returns how many have each source.
func checkCommands(t *testing.T, data []byte, all []demtest.Issued) (sources [4]int) {
	t.Helper()
	sent := all[:0:0]
	for _, c := range all {
		if !c.Lost {
			sent = append(sent, c)
		}
	}
	broken := map[int]bool{}
	lost := map[int]bool{}
	for _, c := range all {
		if c.Lost {
			lost[c.Player] = true
		}
	}
	i := 0
	decodeAll(t, data, Options{Kinds: func(k Kind) bool { return k == KindUserCmd || k == KindFault }}, func(_ *Decoder, ev *Event) {
		if ev.Kind == KindFault {
			t.Fatalf("%+v", ev.Fault)
		}
		c, want := &ev.UserCmd, &sent[i]
		i++
		if int(c.PlayerSlot) != want.Player || int(c.Number) != want.Number || int(c.ServerTick) != want.Tick {
			t.Fatalf("command %d: slot %d, number %d, tick %d, not %+v", i, c.PlayerSlot, c.Number, c.ServerTick, want)
		}
		sources[c.Source]++
		if want.Whole {
			broken[want.Player] = false
		}
		switch c.Source {
		case UserCmdSourceFull, UserCmdSourceDelta:
			truth := inputOf(want.Command)
			if (c.Source == UserCmdSourceFull) != want.Whole || !c.HasInput || !sameInput(&c.Input, &truth) {
				t.Fatalf("command %d of %d is %v\n%+v, not\n%+v", c.Number, c.PlayerSlot, c.Source, c.Input, truth)
			}
			if broken[want.Player] {
				t.Fatalf("command %d of %d is built on one that is not known", c.Number, c.PlayerSlot)
			}
		case UserCmdSourceNoBaseline:
			if c.HasInput || c.DeltaData == nil || want.Whole || !lost[want.Player] {
				t.Fatalf("command %d of %d is %v: %+v", c.Number, c.PlayerSlot, c.Source, c)
			}
			broken[want.Player] = true
		}
	})
	if i != len(sent) {
		t.Fatalf("%d commands, not %d", i, len(sent))
	}
	return sources
}

// TestUserCommands: commands of which a recording has the differences are what they were.
func TestUserCommands(t *testing.T) {
	all := demtest.Commands(rand.New(rand.NewPCG(1, 2)), 10, 2500)
	if sources := checkCommands(t, demtest.CommandDemo(all), all); sources[UserCmdSourceDelta] < 24_700 || sources[UserCmdSourceFull] < 70 {
		t.Errorf("%v", sources)
	}
}

// TestLostUserCommands: whatever is missing of a recording, no command is built on another one than it was.
func TestLostUserCommands(t *testing.T) {
	g := rand.New(rand.NewPCG(5, 6))
	all := demtest.Commands(g, 10, 3000)
	for i := range all {
		all[i].Lost = g.IntN(100) == 0
	}
	if sources := checkCommands(t, demtest.CommandDemo(all), all); sources[UserCmdSourceNoBaseline] < 1000 || sources[UserCmdSourceDelta] < 3000 {
		t.Errorf("%v", sources)
	}
}

// TestUserCommandsResumed: from each snapshot on, and from each position, commands are those of the whole demo.
func TestUserCommandsResumed(t *testing.T) {
	all := demtest.Commands(rand.New(rand.NewPCG(3, 4)), 4, 200)
	data := demtest.CommandDemo(all)
	type told struct {
		source UserCmdSource
		input  []uint64
	}
	read := func(d *Decoder, from func(*Event) bool) (out []told) {
		var ev Event
		for {
			err := d.Next(&ev)
			if errors.Is(err, io.EOF) {
				return out
			}
			if err != nil {
				t.Fatal(err)
			}
			if ev.Kind == KindUserCmd && from(&ev) {
				out = append(out, told{ev.UserCmd.Source, bitsOf(reflect.ValueOf(ev.UserCmd.Input), nil)})
			}
		}
	}
	every := func(*Event) bool { return true }
	want := read(New(bytes.NewReader(data), Options{}), every)
	var snaps []*Snapshot
	var d *Decoder
	d = New(bytes.NewReader(data), Options{Record: func() bool {
		if s := d.Snapshot(); s != nil {
			snaps = append(snaps, s)
		}
		return false
	}})
	read(d, every)
	if len(snaps) < 200 {
		t.Fatalf("%d snapshots", len(snaps))
	}
	only := Options{Kinds: func(k Kind) bool { return k == KindUserCmd }}
	for _, s := range snaps {
		got := read(Resume(bytes.NewReader(data[s.Position().Offset:]), only, s), every)
		if len(got) > 0 && !reflect.DeepEqual(got, want[len(want)-len(got):]) {
			t.Fatalf("resumed at %v: other commands", s.Position())
		}
	}
	for _, tick := range []int32{0, 50, 199} {
		d := New(bytes.NewReader(data), only)
		if err := d.SeekTick(tick); err != nil {
			t.Fatal(err)
		}
		got := read(d, every)
		if !reflect.DeepEqual(got, want[len(want)-len(got):]) || len(got) != len(want)-4*int(tick) {
			t.Fatalf("from tick %d on: other commands, %d", tick, len(got))
		}
	}
}

// TestUserCommandsOfOthers: of a recording that does not begin with whole commands, and of another game, nothing is rebuilt, and nothing is
// left out.
func TestUserCommandsOfOthers(t *testing.T) {
	all := demtest.Commands(rand.New(rand.NewPCG(3, 4)), 4, 30)
	for i := range all {
		all[i].Whole = false
	}
	data := demtest.CommandDemo(all)
	for name, data := range map[string][]byte{"joined later": data, "deadlock": bytes.Replace(data, []byte("csgo"), []byte("citadel")[:4], 1)} {
		n := 0
		decodeAll(t, data, Options{}, func(_ *Decoder, ev *Event) {
			if ev.Kind != KindUserCmd {
				return
			}
			n++
			if c := &ev.UserCmd; c.Source != UserCmdSourceNoBaseline || c.HasInput || c.DeltaData == nil {
				t.Fatalf("%s: %+v", name, c)
			}
		})
		if n != len(all) {
			t.Errorf("%s: %d commands", name, n)
		}
	}
}
