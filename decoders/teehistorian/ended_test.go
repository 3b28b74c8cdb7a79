package teehistorian_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/decoders/teehistorian"
)

// counted counts the bytes that are read.
type counted struct {
	io.ReaderAt

	read int
}

func (c *counted) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, off)
	c.read += n
	return n, err
}

// TestEnded: a recording is over with its last byte, not before it, and not with more behind it. One whose last byte is no end costs no
// more than that byte.
func TestEnded(t *testing.T) {
	data := decodertest.Sample(t, "teehistorian", "finished", "4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian")
	ended := func(b []byte) bool { return teehistorian.Ended(bytes.NewReader(b), int64(len(b))) }
	if !ended(data) {
		t.Error("a recording with its end is not over")
	}
	decoded := 0
	for n := range data {
		c := &counted{ReaderAt: bytes.NewReader(data)}
		if teehistorian.Ended(c, int64(n)) {
			t.Errorf("it is over at byte %d of %d", n, len(data))
		}
		if c.read > 1 {
			decoded++
		}
	}
	if decoded == 0 || decoded > len(data)/10 {
		t.Errorf("%d of %d beginnings were decoded", decoded, len(data))
	}
	for _, more := range []string{"\x00", "\x40"} {
		if ended(append(bytes.Clone(data), more...)) {
			t.Errorf("it is over before its last byte, %q", more)
		}
	}
}
