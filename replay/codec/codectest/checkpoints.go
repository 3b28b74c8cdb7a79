package codectest

import (
	"bytes"
	"io"
	"testing"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/checkpoint"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/source"
)

// Checkpoints returns an empty store of checkpoints with the codec's spacing, and the function for codec.Options that takes the
// checkpoints of one unchanging replay from it.
func Checkpoints(c codec.Codec) (*checkpoint.Store, func(identity string) codec.Checkpoints) {
	store := checkpoint.NewStore(64 << 20)
	return store, func(identity string) codec.Checkpoints { return store.Of(identity, source.Version{}, c.Spacing) }
}

// countedAt counts the bytes that were read.
type countedAt struct {
	io.ReaderAt
	n int64
}

func (c *countedAt) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, off)
	c.n += int64(n)
	return n, err
}

// OpenCounted is like Open. It also returns a counter of the bytes of the replay that were read so far. Only the goroutine that
// reads may look at it.
func OpenCounted(tb testing.TB, c codec.Codec, data []byte, o codec.Options) (r codec.Reader, read *int64) {
	tb.Helper()
	at := &countedAt{ReaderAt: bytes.NewReader(data)}
	r, err := c.Open(source.Input{At: at, Size: int64(len(data))}, o)
	if err != nil {
		tb.Fatal(err)
	}
	if err := r.Header(new(replaydv1.Replay)); err != nil {
		tb.Fatal(err)
	}
	return r, &at.n
}
