package h2guard

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"pgregory.net/rapid"
)

// message returns a message of gRPC that says it has length bytes, and has some of them.
func message(length int) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(length)), "some"...)
}

// TestFirstMessage: the length of the first message of each call is limited, in frames and reads of any size, with padding and
// without. All other bytes arrive unchanged.
func TestFirstMessage(t *testing.T) {
	for _, frame := range []int{1, 2, 3, 4, 9} {
		for _, padding := range []int{-1, 0, 5} {
			for _, piece := range []int{1, 7, 1 << 20} {
				var b bytes.Buffer
				b.WriteString(http2.ClientPreface)
				f := http2.NewFramer(&b, nil)
				write := func(stream uint32, data []byte) {
					for len(data) > 0 {
						n := min(frame, len(data))
						if padding < 0 {
							_ = f.WriteData(stream, false, data[:n])
						} else {
							_ = f.WriteDataPadded(stream, false, data[:n], make([]byte, padding))
						}
						data = data[n:]
					}
				}
				lengths := []int{0, 5, MaxRequest, MaxRequest + 1, 1 << 20, 1 << 24, 1<<32 - 1}
				for i, length := range lengths {
					stream := uint32(2*i + 1)
					_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, EndHeaders: true, PadLength: uint8(i)})
					write(stream, message(length))
					write(stream, message(1<<20)) // not the first one
				}
				c := New(&fed{data: bytes.Clone(b.Bytes()), piece: piece}, func(a Abuse) { t.Fatalf("abused by %s", a) })
				c.starts = newStarts()
				got, err := io.ReadAll(c)
				if err != nil || len(got) != b.Len() {
					t.Fatalf("%d bytes of %d, %v", len(got), b.Len(), err)
				}
				data := map[uint32][]byte{}
				f = http2.NewFramer(io.Discard, bytes.NewReader(got[len(http2.ClientPreface):]))
				for {
					frame, err := f.ReadFrame()
					if err != nil {
						break
					}
					if d, ok := frame.(*http2.DataFrame); ok {
						data[d.StreamID] = append(data[d.StreamID], d.Data()...)
					}
				}
				for i, length := range lengths {
					d := data[uint32(2*i+1)]
					want := append(message(length), message(1<<20)...)
					if length > MaxRequest {
						if want[longAt] >= longByte { // otherwise the byte before it says enough
							want[longAt] = beyond
						}
						if got := binary.BigEndian.Uint32(d[1:]); got < 15<<20 {
							t.Errorf("%d bytes pass as %d", length, got)
						}
					}
					if !bytes.Equal(d, want) {
						t.Fatalf("frames of %d, padding %d, reads of %d: %d bytes: %x, want %x", frame, padding, piece, length, d, want)
					}
				}
				if n := len(c.starts.seen); n != 0 {
					t.Errorf("%d calls are still looked at", n)
				}
			}
		}
	}
}

// TestFirstMessagesAmongOthers: the first message of each of many calls is limited, whatever frames come between its parts, in
// reads of any size.
func TestFirstMessagesAmongOthers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b bytes.Buffer
		b.WriteString(http2.ClientPreface)
		f := http2.NewFramer(&b, nil)
		var left [][]byte // of each call
		for range rapid.IntRange(1, 60).Draw(t, "frames") {
			i := rapid.IntRange(0, len(left)).Draw(t, "call")
			stream := uint32(2*i + 1)
			switch {
			case i == len(left):
				block := make([]byte, rapid.IntRange(0, 80).Draw(t, "headers"))
				_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, EndHeaders: true, BlockFragment: block})
				left = append(left, message(1<<20-64))
			case len(left[i]) > 0:
				n := rapid.IntRange(0, len(left[i])).Draw(t, "bytes")
				_ = f.WriteData(stream, false, left[i][:n])
				left[i] = left[i][n:]
			default:
				_ = f.WriteData(stream, false, make([]byte, 300))
			}
		}
		c := New(&fed{data: b.Bytes(), piece: rapid.IntRange(1, 500).Draw(t, "piece")}, func(a Abuse) { t.Fatalf("abused by %s", a) })
		c.starts = newStarts()
		var got []byte
		for p := make([]byte, rapid.IntRange(1, 500).Draw(t, "read")); ; {
			n, err := c.Read(p)
			if got = append(got, p[:n]...); err != nil {
				break
			}
		}
		data := map[uint32][]byte{}
		f = http2.NewFramer(io.Discard, bytes.NewReader(got[len(http2.ClientPreface):]))
		for frame, err := f.ReadFrame(); err == nil; frame, err = f.ReadFrame() {
			if d, ok := frame.(*http2.DataFrame); ok {
				data[d.StreamID] = append(data[d.StreamID], d.Data()...)
			}
		}
		for i, rest := range left {
			want := message(1<<20 - 64)
			want[longAt] = beyond
			want = want[:len(want)-len(rest)]
			if d := data[uint32(2*i+1)]; !bytes.HasPrefix(d, want) {
				t.Fatalf("call %d: %x, want %x", i, d, want)
			}
		}
	})
}

// TestForgetsCalls: calls that end, by either side, before a message has come are no longer looked at.
func TestForgetsCalls(t *testing.T) {
	var b, out bytes.Buffer
	b.WriteString(http2.ClientPreface)
	f, server := http2.NewFramer(&b, nil), http2.NewFramer(&out, nil)
	for i := range uint32(6) {
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 2*i + 1, EndHeaders: true, EndStream: i == 0})
	}
	_ = f.WriteRSTStream(3, http2.ErrCodeCancel)
	_ = f.WriteData(5, true, nil)
	_ = server.WriteHeaders(http2.HeadersFrameParam{StreamID: 7, EndHeaders: true})
	_ = server.WriteData(7, true, []byte("x"))
	_ = server.WriteRSTStream(9, http2.ErrCodeCancel)
	c := New(&fed{data: b.Bytes(), piece: 1 << 20}, func(Abuse) {})
	c.starts = newStarts()
	if _, err := io.ReadAll(c); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write(out.Bytes()); err != nil {
		t.Fatal(err)
	}
	if _, ok := c.starts.seen[11]; len(c.starts.seen) != 1 || !ok {
		t.Errorf("looked at: %v, want 11 alone", c.starts.seen)
	}
}

// TestAnswersAreFree: PING and WINDOW_UPDATE frames are free that answer what the server sends, and so are the small DATA frames of
// calls that the server answers, however many there are. Without that the same frames are too many.
func TestAnswersAreFree(t *testing.T) {
	for _, answers := range []bool{true, false} {
		for sort, write := range map[Abuse]func(f *http2.Framer) error{
			Pings:   func(f *http2.Framer) error { return f.WritePing(false, [8]byte{}) },
			Updates: func(f *http2.Framer) error { return f.WriteWindowUpdate(1, 1) },
			// Some clients send the end of a request in a frame of its own.
			TinyData: func(f *http2.Framer) error { return f.WriteData(1, false, []byte("request")) },
		} {
			inner := &fed{data: []byte(http2.ClientPreface), piece: 1 << 20}
			var met Abuse
			c := New(inner, func(a Abuse) { met = a })
			p := make([]byte, 1<<10)
			var in, out bytes.Buffer
			client, server := http2.NewFramer(&in, nil), http2.NewFramer(&out, nil)
			for range 30_000 {
				out.Reset()
				_ = server.WriteData(1, false, []byte("batch"))
				if answers {
					_, _ = c.Write(out.Bytes()[:7]) // a frame in two writes
					_, _ = c.Write(out.Bytes()[7:])
				}
				in.Reset()
				_ = write(client)
				inner.data = append(inner.data, in.Bytes()...)
				if _, err := c.Read(p); err != nil {
					break
				}
			}
			if (met == sort) == answers || answers && met != "" {
				t.Errorf("%s as answers %v: met %q", sort, answers, met)
			}
		}
	}
	b := buckets{}
	for i := range rates[Pings].saved + int64(rates[Pings].burst) + 1 { // not all that was written is kept
		if ok := b.admit(Pings, 1, 1e6, time.Time{}); ok != (i < rates[Pings].saved+int64(rates[Pings].burst)) {
			t.Fatalf("the %d. ping: %v", i, ok)
		}
	}
}
