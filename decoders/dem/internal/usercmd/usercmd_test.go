package usercmd_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/replayd/replayd/decoders/dem/demtest"
	"github.com/replayd/replayd/decoders/dem/internal/usercmd"
)

// full and delta are commands of a player, of a tick each.
func full(n int32, data []byte) *usercmd.Command {
	return &usercmd.Command{Player: 3, Number: n, ServerTick: n, Data: data}
}

func delta(n int32, data []byte) *usercmd.Command {
	return &usercmd.Command{Player: 3, Number: n, ServerTick: n, Delta: data}
}

// begin returns baselines with a command: buttons 5, pawn 7, two subtick moves, and the history index 4.
func begin(t *testing.T) *usercmd.Baselines {
	t.Helper()
	var b usercmd.Baselines
	if !b.Full(full(10, start()), nil) {
		t.Fatal("a whole command cannot be read")
	}
	return &b
}

func start() demtest.Proto {
	move := func(n int64) demtest.Proto { return demtest.Proto(nil).Varint(1, n).Varint(2, 1) }
	base := demtest.Proto(nil).Bytes(3, demtest.Proto(nil).Varint(1, 5)).Varint(14, 7).Bytes(18, move(1)).Bytes(18, move(2))
	return demtest.Proto(nil).Bytes(1, base).Varint(6, 4)
}

// TestOperations: what each operation of a difference makes of a command, by hand.
func TestOperations(t *testing.T) {
	base := func(p demtest.Proto) demtest.Proto { return demtest.Proto(nil).Bytes(1, p) }
	buttons := demtest.Proto(nil).Bytes(3, demtest.Proto(nil).Varint(1, 5))
	move := func(n, pressed int64) demtest.Proto { return demtest.Proto(nil).Varint(1, n).Varint(2, pressed) }
	for name, c := range map[string]struct{ delta, want demtest.Proto }{
		"nothing":              {nil, start()},
		"a number":             {demtest.Proto(nil).Varint(6, 9), base(buttons.Varint(14, 7).Bytes(18, move(1, 1)).Bytes(18, move(2, 1))).Varint(6, 9)},
		"reset of a number":    {demtest.Proto{6<<3 | 7}, base(buttons.Varint(14, 7).Bytes(18, move(1, 1)).Bytes(18, move(2, 1)))},
		"reset of a message":   {base(demtest.Proto{3<<3 | 7}), base(demtest.Proto(nil).Varint(14, 7).Bytes(18, move(1, 1)).Bytes(18, move(2, 1))).Varint(6, 4)},
		"a number in messages": {base(demtest.Proto(nil).Bytes(3, demtest.Proto(nil).Varint(1, 6))), base(demtest.Proto(nil).Bytes(3, demtest.Proto(nil).Varint(1, 6)).Varint(14, 7).Bytes(18, move(1, 1)).Bytes(18, move(2, 1))).Varint(6, 4)},
		"a shorter list":       {base(demtest.Proto(nil).Bytes(18, []byte{1<<3 | 7})), base(buttons.Varint(14, 7).Bytes(18, move(1, 1))).Varint(6, 4)},
		"an empty list":        {base(demtest.Proto(nil).Bytes(18, []byte{0<<3 | 7})), base(buttons.Varint(14, 7)).Varint(6, 4)},
		"a longer list":        {base(demtest.Proto(nil).Bytes(18, []byte{3<<3 | 7, 2<<3 | 2, 2, 1 << 3, 8})), base(buttons.Varint(14, 7).Bytes(18, move(1, 1)).Bytes(18, move(2, 1)).Bytes(18, demtest.Proto(nil).Varint(1, 8))).Varint(6, 4)},
		"the first element":    {base(demtest.Proto(nil).Bytes(18, []byte{0<<3 | 2, 2, 2 << 3, 0})), base(buttons.Varint(14, 7).Bytes(18, move(1, 0)).Bytes(18, move(2, 1))).Varint(6, 4)},
		"an unknown field":     {demtest.Proto(nil).Varint(40, 1), start()},
	} {
		if got := begin(t).Delta(delta(11, c.delta), nil); !bytes.Equal(got, c.want) {
			t.Errorf("%s: %x, not %x", name, got, c.want)
		}
	}
}

// TestRefused: differences that cannot be applied make no command, and none is built on the one before from then on.
func TestRefused(t *testing.T) {
	base := func(b ...byte) []byte { return demtest.Proto(nil).Bytes(1, b) }
	list := func(b ...byte) []byte { return base(demtest.Proto(nil).Bytes(18, b)...) }
	for name, d := range map[string][]byte{
		"torn tag": {0x80}, "torn number": {6 << 3, 0x80}, "torn message": {1<<3 | 2, 5, 0}, "torn float": base(5<<3|5, 0, 0),
		"field 0": {0}, "group": {6<<3 | 3}, "wire type 6": {6<<3 | 6}, "another wire type": {6<<3 | 5, 0, 0, 0, 0},
		"reset of what nobody knows": {15<<3 | 7}, "an element that is not there": list(2<<3|2, 0), "a list that is too long": list(0x8f, 0x10),
		"a list with numbers": list(0, 0), "a torn element": list(0<<3|2, 4, 0),
		"too many searches": bytes.Repeat([]byte{6 << 3, 1}, 20_000), "too much work": bytes.Repeat(list(0x87, 0x10, 0x07), 4000),
	} {
		b := begin(t)
		if got := b.Delta(delta(11, d), nil); got != nil {
			t.Errorf("%s: %x", name, got)
		}
		if b.Delta(delta(12, nil), nil) != nil || b.Delta(delta(11, nil), nil) != nil {
			t.Errorf("%s: the next command is built on something", name)
		}
		if !b.Full(full(13, start()), nil) || b.Delta(delta(14, nil), nil) == nil {
			t.Errorf("%s: no command is built on a whole one", name)
		}
	}
}

// TestNext: which command is the next one of a player.
func TestNext(t *testing.T) {
	for name, c := range map[string]struct {
		number, tick int32
		want         bool
	}{
		"next": {11, 11, true}, "numbers were skipped": {14, 11, true}, "two in a tick": {11, 10, true},
		"a tick is missing": {11, 12, false}, "the same again": {10, 11, false}, "an earlier one": {9, 11, false}, "two missing in a tick": {12, 10, false},
		"without ticks": {11, 0, true}, "without ticks, one missing": {12, 0, false},
	} {
		in := &usercmd.Command{Player: 3, Number: c.number, ServerTick: c.tick}
		if got := begin(t).Delta(in, nil) != nil; got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	b := begin(t)
	if b.Delta(&usercmd.Command{Player: 2, Number: 11, ServerTick: 11}, nil) != nil || b.Delta(delta(11, nil), nil) == nil {
		t.Error("another player's")
	}
	b.Lose()
	if b.Delta(delta(12, nil), nil) != nil {
		t.Error("lost")
	}
	for _, slot := range []int32{-1, usercmd.Players, 1 << 30} {
		c := &usercmd.Command{Player: slot, Data: start()}
		if !b.Full(c, nil) || b.Delta(&usercmd.Command{Player: slot, Number: 1}, nil) != nil {
			t.Errorf("slot %d", slot)
		}
	}
}

// TestWholeRefused: a whole command that cannot be read, or is larger than the game's can be, is refused, whoever's it is.
func TestWholeRefused(t *testing.T) {
	base := func(b []byte) []byte { return demtest.Proto(nil).Bytes(1, b) }
	moves := func(n int) []byte { return base(bytes.Repeat(demtest.Proto(nil).Bytes(18, nil), n)) }
	for name, data := range map[string][]byte{
		"torn": {1<<3 | 2, 9}, "torn in a message": base([]byte{3<<3 | 2, 9}), "torn in an element": base(demtest.Proto(nil).Bytes(18, []byte{1 << 3})),
		"another wire type": base([]byte{5 << 3, 0}), "a reset": {6<<3 | 7}, "too many moves": moves(257),
		"too large": demtest.Proto(nil).Bytes(40, make([]byte, 1<<14)),
	} {
		b := begin(t)
		if b.Full(full(11, data), nil) || b.Delta(delta(11, nil), nil) != nil || b.Full(&usercmd.Command{Player: -1, Data: data}, nil) {
			t.Errorf("%s: is read", name)
		}
	}
	if b := begin(t); !b.Full(full(11, moves(256)), nil) || b.Delta(delta(12, nil), nil) == nil {
		t.Error("the longest list is refused")
	}
}

// TestFrozen: what is frozen does not change, and others go on from it.
func TestFrozen(t *testing.T) {
	b := begin(t)
	f := b.Freeze()
	for n := int32(11); n < 20; n++ {
		b.Delta(delta(n, demtest.Proto(nil).Varint(6, int64(n))), nil)
	}
	var other usercmd.Baselines
	other.Thaw(f)
	if got := other.Delta(delta(11, nil), nil); !bytes.Equal(got, start()) || f.Size() < len(start()) {
		t.Errorf("%x, %d bytes", got, f.Size())
	}
}

// TestAllocs: nothing is allocated for a command.
func TestAllocs(t *testing.T) {
	g := rand.New(rand.NewPCG(1, 1))
	all := demtest.Commands(g, 1, 100)
	var b usercmd.Baselines
	deltas := make([][]byte, len(all))
	for i, c := range all {
		if i > 0 {
			deltas[i] = c.Command.Delta(all[i-1].Command)
		}
	}
	run := func() {
		b.Full(full(0, all[0].Command.Message()), nil)
		for i := 1; i < len(all); i++ {
			if b.Delta(delta(int32(i), deltas[i]), nil) == nil {
				t.Fatal("not built")
			}
		}
	}
	run()
	first := all[0].Command.Message()
	if n := testing.AllocsPerRun(10, func() {
		b.Full(full(0, first), nil)
		for i := 1; i < len(all); i++ {
			b.Delta(delta(int32(i), deltas[i]), nil)
		}
	}); n > 2 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzDelta: no difference makes a decoder panic, or a command that is larger than what is kept.
func FuzzDelta(f *testing.F) {
	f.Add([]byte{6<<3 | 7}, []byte{1<<3 | 2, 0})
	f.Fuzz(func(t *testing.T, data, d []byte) {
		var b usercmd.Baselines
		b.Full(full(1, data), nil)
		if got := b.Delta(delta(2, d), nil); len(got) > 1<<14 {
			t.Fatalf("%d bytes", len(got))
		}
	})
}
