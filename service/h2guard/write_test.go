package h2guard

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"net"
	"testing"

	"golang.org/x/net/http2"

	"github.com/replayd/replayd/service/streamtest"
)

// taken is a connection that takes what is written.
type taken struct {
	net.Conn

	writes [][]byte
	err    error
}

func (t *taken) Write(p []byte) (int, error) {
	t.writes = append(t.writes, bytes.Clone(p))
	return len(p), t.err
}

// TestGather: however small the writer's buffer, frames are written whole and in few writes of a bounded size, nothing is held behind the last
// frame, and what follows a frame that was not held is not either.
func TestGather(t *testing.T) {
	var b bytes.Buffer
	f, random := http2.NewFramer(&b, nil), rand.New(rand.NewPCG(1, 2))
	for i := range 4000 {
		_ = f.WriteData(1, false, bytes.Repeat([]byte{byte(i)}, random.IntN(1000)))
	}
	all := b.Bytes()
	for _, size := range []int{1, 5, 4 << 10, 8 << 10, 32 << 10} {
		to := new(taken)
		c := New(to, nil)
		for rest := all; len(rest) > 0; {
			n := min(size, len(rest))
			if wrote, err := c.Write(rest[:n]); wrote != n || err != nil {
				t.Fatalf("by %d bytes: wrote %d of %d, %v", size, wrote, n, err)
			}
			rest = rest[n:]
		}
		if c.held != nil || !bytes.Equal(bytes.Join(to.writes, nil), all) {
			t.Errorf("by %d bytes: other bytes were written, or %v is held", size, c.held != nil)
		}
		most := 0
		for _, p := range to.writes {
			most = max(most, len(p))
		}
		if many := len(all) / (mostHeld / 2); size > 5 && (len(to.writes) > many || most > mostHeld+size) {
			t.Errorf("by %d bytes: %d writes of at most %d bytes", size, len(to.writes), most)
		}
	}
	if n := testing.AllocsPerRun(10, func() {
		c := Conn{Conn: new(discarded)}
		for rest := all; len(rest) > 0; rest = rest[min(8<<10, len(rest)):] {
			_, _ = c.Write(rest[:min(8<<10, len(rest))])
		}
	}); n > 10 && !streamtest.Race { // a pool forgets some of what it gets beside the race detector
		t.Errorf("%v allocations", n)
	}
}

type discarded struct{ net.Conn }

func (*discarded) Write(p []byte) (int, error) { return len(p), nil }

// TestGatherFails: the error of a write is that of the call with which frames were written.
func TestGatherFails(t *testing.T) {
	to := &taken{err: errors.New("closed")}
	c := New(to, nil)
	if _, err := c.Write([]byte{0, 0, 1}); err != nil || len(to.writes) > 0 {
		t.Errorf("%v, %d writes, for a part of a frame", err, len(to.writes))
	}
	if _, err := c.Write([]byte{0, 0, 0, 0, 0, 1, 7}); !errors.Is(err, to.err) || len(to.writes) != 1 || c.held != nil {
		t.Errorf("%v, %d writes, for the rest", err, len(to.writes))
	}
}

// TestPlainWrite: what is not HTTP/2 is not held.
func TestPlainWrite(t *testing.T) {
	to := new(taken)
	c := New(to, nil)
	c.plain.Store(true)
	if _, err := c.Write([]byte("HTTP/1.1 200")); err != nil || len(to.writes) != 1 {
		t.Errorf("%v, %d writes", err, len(to.writes))
	}
}
