package h2guard

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// fed is a connection that returns its data in pieces.
type fed struct {
	net.Conn

	data   []byte
	piece  int
	closed bool
}

func (f *fed) Read(p []byte) (int, error) {
	if f.closed || len(f.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), f.piece)], f.data)
	f.data = f.data[n:]
	return n, nil
}

func (f *fed) Close() error { f.closed = true; return nil }

func (*fed) Write(p []byte) (int, error) { return len(p), nil }

// TestCounts: the allowed burst of frames passes, and more frames close the connection, in pieces of any size. The frames of
// well-behaved clients are not counted.
func TestCounts(t *testing.T) {
	for sort, write := range map[Abuse]func(f *http2.Framer) error{
		Resets:        func(f *http2.Framer) error { return f.WriteRSTStream(1, 8) },
		EmptyData:     func(f *http2.Framer) error { return f.WriteData(1, false, nil) },
		TinyData:      func(f *http2.Framer) error { return f.WriteData(1, false, []byte{0}) },
		Settings:      (*http2.Framer).WriteSettingsAck,
		Pings:         func(f *http2.Framer) error { return f.WritePing(false, [8]byte{}) },
		Updates:       func(f *http2.Framer) error { return f.WriteWindowUpdate(1, 1) },
		Others:        func(f *http2.Framer) error { return f.WriteRawFrame(0xfa, 0, 0, nil) },
		Priorities:    func(f *http2.Framer) error { return f.WritePriority(1, http2.PriorityParam{}) },
		Continuations: func(f *http2.Framer) error { return f.WriteContinuation(1, false, nil) },
		"": func(f *http2.Framer) error {
			_ = f.WriteData(1, true, nil)
			return f.WriteData(1, false, make([]byte, tiny))
		},
	} {
		fine := int(rates[sort].burst)
		for _, more := range []int{0, 1} {
			var b bytes.Buffer
			b.WriteString(http2.ClientPreface)
			f := http2.NewFramer(&b, nil)
			for range fine + 2000*more {
				if err := write(f); err != nil {
					t.Fatal(err)
				}
			}
			data := b.Bytes()
			inner := &fed{data: data, piece: 1 + rand.IntN(50)}
			var met Abuse
			got, err := io.ReadAll(New(inner, func(a Abuse) { met = a }))
			switch abused := more > 0 && sort != ""; {
			case abused && (met != sort || !inner.closed || err == nil):
				t.Errorf("too many %s: met %q, closed %v, %v", sort, met, inner.closed, err)
			case !abused && (met != "" || err != nil || !bytes.Equal(got, data)):
				t.Errorf("%d %s: met %q, %d of %d bytes, %v", fine, sort, met, len(got), len(data), err)
			}
		}
	}
	b := buckets{}
	now := time.Now()
	for i := range 100_000 { // at the allowed rate for a long time
		if !b.admit(EmptyData, 1, 0, now.Add(time.Duration(i)*time.Second/20)) {
			t.Fatalf("the %d. empty frame at 20/s is too many", i)
		}
	}
}

// FuzzScan: a connection that is not closed for abuse returns exactly the bytes that it reads.
func FuzzScan(f *testing.F) {
	f.Add([]byte(http2.ClientPreface+"\x00\x00\x00\x04\x00\x00\x00\x00\x00"), 3)
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"), 1)
	f.Fuzz(func(t *testing.T, data []byte, piece int) {
		met := false
		c := New(&fed{data: data, piece: max(1, piece%100)}, func(Abuse) { met = true })
		_, _ = c.Write(data)
		got, _ := io.ReadAll(c)
		if !met && !bytes.Equal(got, data) {
			t.Errorf("%q became %q", data, got)
		}
	})
}

// TestFewCallsAtOnce: when many calls start in one piece of data, one Read returns only maxCalls of their frames. All bytes
// arrive unchanged, whatever the size of the reads.
func TestFewCallsAtOnce(t *testing.T) {
	var b bytes.Buffer
	b.WriteString(http2.ClientPreface)
	f := http2.NewFramer(&b, nil)
	for i := range uint32(100) {
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 2*i + 1, BlockFragment: make([]byte, i), EndHeaders: true})
		_ = f.WriteData(2*i+1, i%2 == 0, make([]byte, 3*i))
		_ = f.WriteRSTStream(2*i+1, http2.ErrCodeCancel)
	}
	for _, size := range []int{7, 100, 4096, 1 << 20} {
		c := New(&fed{data: b.Bytes(), piece: 1 << 20}, func(a Abuse) { t.Errorf("abused by %s", a) })
		var got []byte
		for {
			p := make([]byte, size)
			n, err := c.Read(p)
			got = append(got, p[:n]...)
			if c.calls > maxCalls {
				t.Fatalf("%d calls at once", c.calls)
			}
			if err != nil {
				break
			}
		}
		if !bytes.Equal(got, b.Bytes()) {
			t.Errorf("by %d bytes: %d bytes of %d, or others", size, len(got), b.Len())
		}
	}
}

// TestClockSetBack: when the clock jumps back or forward, good connections stay open and strikes still expire.
func TestClockSetBack(t *testing.T) {
	b, now := buckets{}, time.Now()
	for i := range int(rates[Resets].burst) {
		if !b.admit(Resets, 1, 0, now.Add(-time.Duration(i)*time.Hour)) {
			t.Fatalf("the %d. reset, each an hour earlier, is too many", i)
		}
	}
	s := strikes{}
	s.add("a", now)
	if n := s.count("a", now.Add(-24*time.Hour)); n != 1 {
		t.Errorf("%d strikes after the clock was set back", n)
	}
	if n := s.count("a", now.Add(24*time.Hour)); n != 0 {
		t.Errorf("%d strikes after it was set forward", n)
	}
}
