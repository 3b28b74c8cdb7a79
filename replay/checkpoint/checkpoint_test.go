package checkpoint_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/replay/checkpoint"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/source"
)

const spacing = checkpoint.Spacing

func at(offset int64) codec.Checkpoint {
	return codec.Checkpoint{
		Position: decoders.Position{Offset: offset}, Tick: int32(offset / 1000), State: make([]byte, 1000),
	}
}

func upTo(offset int64) func(*codec.Checkpoint) bool {
	return func(c *codec.Checkpoint) bool { return c.Position.Offset <= offset }
}

func TestLast(t *testing.T) {
	c := checkpoint.NewStore(1<<20).Of("replay", source.Version{}, 0)
	if _, ok := c.Last(upTo(1 << 40)); ok {
		t.Error("an empty store has a checkpoint")
	}
	for _, n := range []int64{3, 1, 2} { // in any order
		c.Add(at(n * spacing))
	}
	for offset, want := range map[int64]int64{
		0: 0, spacing - 1: 0, spacing: spacing, 2*spacing + 5: 2 * spacing, 9 * spacing: 3 * spacing,
	} {
		got, ok := c.Last(upTo(offset))
		if ok != (want > 0) || got.Position.Offset != want {
			t.Errorf("before %d: got %d, %v", offset, got.Position.Offset, ok)
		}
	}
}

func TestSpacing(t *testing.T) {
	c := checkpoint.NewStore(1<<20).Of("replay", source.Version{}, 0)
	if c.Wanted(spacing - 1) {
		t.Error("wants one near the beginning")
	}
	c.Add(at(2 * spacing))
	for offset, want := range map[int64]bool{
		spacing: true, spacing + 1: false, 3*spacing - 1: false, 3 * spacing: true,
	} {
		if c.Wanted(offset) != want {
			t.Errorf("at %d: wanted %v", offset, !want)
		}
	}
}

// TestBound: whatever is added, the store stays within its limit, keeps what was used last, and forgets evenly.
func TestBound(t *testing.T) {
	const limit = 50_000
	rapid.Check(t, func(t *rapid.T) {
		s := checkpoint.NewStore(limit)
		for range rapid.IntRange(1, 300).Draw(t, "adds") {
			key := rapid.IntRange(0, 3).Draw(t, "replay")
			offset := rapid.Int64Range(1, 200).Draw(t, "offset") * spacing
			s.Of(key, source.Version{}, 0).Add(at(offset))
			if s.Bytes() > limit || s.Bytes() < 0 {
				t.Fatalf("holds %d bytes", s.Bytes())
			}
			if got, ok := s.Of(key, source.Version{}, 0).Last(upTo(1 << 60)); ok && got.Position.Offset%spacing != 0 {
				t.Fatalf("made up a checkpoint at %d", got.Position.Offset)
			}
		}
	})
}

func TestLargeReplayStaysCovered(t *testing.T) {
	s := checkpoint.NewStore(20_000)
	c := s.Of("large", source.Version{}, 0)
	const n = 1000
	for i := int64(1); i <= n; i++ {
		if c.Wanted(i * spacing) {
			c.Add(at(i * spacing))
		}
	}
	// Wherever one wants to start, there is a checkpoint in the half before it.
	for _, i := range []int64{n / 2, n} {
		got, ok := c.Last(upTo(i * spacing))
		if !ok || got.Position.Offset < i*spacing/2 {
			t.Errorf("before %d: got %d, %v", i, got.Position.Offset/spacing, ok)
		}
	}
}

func TestOldReplaysGoFirst(t *testing.T) {
	s := checkpoint.NewStore(3 * 1200)
	for _, key := range []string{"a", "b", "c"} {
		s.Of(key, source.Version{}, 0).Add(at(spacing))
	}
	s.Of("a", source.Version{}, 0).Last(upTo(spacing)) // b is now the one not used for the longest time
	s.Of("d", source.Version{}, 0).Add(at(spacing))
	for key, want := range map[string]bool{"a": true, "b": false, "c": true, "d": true} {
		if _, ok := s.Of(key, source.Version{}, 0).Last(upTo(spacing)); ok != want {
			t.Errorf("%s: kept %v", key, ok)
		}
	}
}

// TestProven: a checkpoint is good without a look for as long as nothing was written to the file since it was made, or since
// somebody looked. One that was made since says nothing of those before it.
func TestProven(t *testing.T) {
	s := checkpoint.NewStore(1 << 20)
	old, now := s.Of("file", source.Version{Size: 1}, 0), s.Of("file", source.Version{Size: 2}, 0)
	first, second := at(spacing), at(2*spacing)
	proven := func(what string, v codec.Checkpoints, c codec.Checkpoint, want bool) {
		t.Helper()
		if got := v.Proven(&c); got != want {
			t.Errorf("%s: proven %v", what, got)
		}
	}
	old.Add(first)
	proven("just made", old, first, true)
	proven("in another version", now, first, false)
	now.Add(second)
	proven("another was made behind it", now, first, false)
	proven("made in this version", now, second, true)
	now.Prove(&first)
	proven("somebody looked", now, first, true)
	proven("in the version before", old, first, false)
	other := first
	other.Sum++
	proven("of other bytes", now, other, false)
	now.Drop()
	proven("dropped", now, first, false)
	if _, ok := now.Last(upTo(1 << 40)); ok || s.Bytes() != 0 {
		t.Errorf("dropped: there is one, and %d bytes", s.Bytes())
	}
}

// TestAddedGoLast: a replay that gets a checkpoint was used.
func TestAddedGoLast(t *testing.T) {
	s := checkpoint.NewStore(3 * 1200)
	s.Of("a", source.Version{}, 0).Add(at(spacing))
	s.Of("b", source.Version{}, 0).Add(at(spacing))
	s.Of("a", source.Version{}, 0).Add(at(2 * spacing))
	s.Of("c", source.Version{}, 0).Add(at(spacing))
	for key, want := range map[string]bool{"a": true, "b": false, "c": true} {
		if _, ok := s.Of(key, source.Version{}, 0).Last(upTo(2 * spacing)); ok != want {
			t.Errorf("%s: kept %v", key, ok)
		}
	}
}

// TestBytes: the store counts what it holds, also after it has left out checkpoints of a large replay.
func TestBytes(t *testing.T) {
	s := checkpoint.NewStore(20_000)
	c := s.Of("large", source.Version{}, 0)
	c.Add(at(spacing))
	one := s.Bytes()
	for i := int64(2); i <= 100; i++ {
		c.Add(at(i * spacing))
	}
	n := 0
	for offset := int64(100 * spacing); ; n++ {
		got, ok := c.Last(upTo(offset))
		if !ok {
			break
		}
		offset = got.Position.Offset - 1
	}
	if s.Bytes() != n*one {
		t.Errorf("%d checkpoints have %d bytes, and one has %d", n, s.Bytes(), one)
	}
}
