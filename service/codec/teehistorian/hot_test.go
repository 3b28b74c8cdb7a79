package teehistorian

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/replayd/replayd/decoders/teehistorian"
	"github.com/replayd/replayd/service/codec"
	"github.com/replayd/replayd/service/codec/protoappend"
)

// The hand-written appender must write the same bytes as the generated one.
func TestAppendMove(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ev := teehistorian.Event{
			AtTick: rapid.Int32Min(0).Draw(t, "tick"),
			Kind:   teehistorian.KindPlayerDiff,
			PlayerDiff: teehistorian.PlayerDiff{
				ClientId: rapid.Int32Min(0).Draw(t, "client"),
				Dx:       rapid.Int32().Draw(t, "dx"), Dy: rapid.Int32().Draw(t, "dy"),
				X: rapid.Int32().Draw(t, "x"), Y: rapid.Int32().Draw(t, "y"),
			},
		}
		before := []byte("before")
		want := append(bytes.Clone(before), codec.EventListField, 0)
		at := len(want)
		want = protoappend.Close(AppendEvent(want, &ev), at)
		if got := appendMove(before, &ev); !bytes.Equal(got, want) {
			t.Fatalf("got % x\nwant % x", got, want)
		}
	})
}
