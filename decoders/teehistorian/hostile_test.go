package teehistorian_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/teehistorian"
)

// survive decodes arbitrary bytes. It checks that decoding ends at the format's end or with a typed error.
func survive(tb testing.TB, data []byte) ([]seen, error) {
	tb.Helper()
	d := decode(data, nil)
	got, err := all(d)
	if errors.Is(err, decoders.ErrMore) {
		err = d.Close()
	}
	var failure *decoders.Error
	switch {
	case errors.Is(err, io.EOF):
	case !errors.As(err, &failure):
		tb.Fatalf("ended by %v", err)
	case failure.Offset < 0 || failure.Offset > int64(len(data)):
		tb.Fatalf("%v: offset beyond the %d bytes of the file", err, len(data))
	}
	return got, err
}

func TestRandomBytes(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		data := make([]byte, random.IntN(300))
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		_, _ = survive(t, data)
		_, _ = survive(t, file(func(w *writer) { w.b = append(w.b, data...) }))
	}
}

// TestFlippedBits flips a bit of a file. The events before that bit must be the same.
func TestFlippedBits(t *testing.T) {
	for name, ref := range references(t) {
		if ref.Bytes > 20<<10 {
			continue
		}
		whole := corpusFile(t, name)
		want, _ := all(decode(whole, nil))
		random := rand.New(rand.NewPCG(5, uint64(len(whole))))
		header := bytes.IndexByte(whole[16:], 0) + 17
		for range 300 {
			data := bytes.Clone(whole)
			at := random.IntN(len(data))
			data[at] ^= 1 << random.IntN(8)
			got, _ := survive(t, data)
			for i := range min(len(got), len(want)) {
				if at < header || recordEnd(want, i) > int64(at) {
					break
				}
				if got[i] != want[i] {
					t.Fatalf("%s: event %d differs by a bit of byte %d", name, i, at)
				}
			}
		}
	}
}

// TestMemory checks that memory depends on the bytes that are present, not on declared sizes.
func TestMemory(t *testing.T) {
	many := func(n int, record string) func(*writer) {
		return func(w *writer) { w.b = append(w.b, strings.Repeat(record, n)...) }
	}
	for name, data := range map[string][]byte{
		"a header of a million keys": newWriter(`{"version":"2"` + strings.Repeat(`,"":0`, 1<<20) + "}").b,
		"a header of many UUIDs":     newWriter(`{"version":"2","uuids":["x"` + strings.Repeat(`,""`, teehistorian.MaxHeader/3-20) + "]}").b,
		"a header without an end":    newWriter(strings.Repeat("x", 16<<20)).b[:16<<20],
		"a large message":            file(func(w *writer) { w.int(-7, 0, 1<<30) }),
		"a large count":              file(func(w *writer) { w.int(-10, 0, 0); w.text(""); w.int(1 << 30) }),
		"many arguments": file(func(w *writer) {
			for range 100 {
				w.command(0, 0, "", make([]string, teehistorian.MaxArguments)...)
			}
		}),
		"all clients": file(func(w *writer) {
			for id := range int32(teehistorian.MaxClients) {
				w.ex("teehistorian-player-name@ddnet.org", func(w *writer) { w.int(id); w.text(strings.Repeat("n", 10_000)) })
			}
		}),
		"unknown extensions": file(many(100_000, "\x4a0123456789abcdef\x00")),
		"joins":              file(many(1<<20, "\x47\x3f")),
		"a reason":           file(func(w *writer) { w.int(-9, 0); w.b = append(w.b, strings.Repeat("r", 16<<20)...) }),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			d := decode(data, nil)
			var ev teehistorian.Event
			var err error
			for err == nil {
				err = d.Next(&ev)
			}
			if errors.Is(err, decoders.ErrMore) {
				err = d.Close()
			}
			runtime.ReadMemStats(&after)
			if used := after.TotalAlloc - before.TotalAlloc; used > 40<<20 {
				t.Errorf("%d bytes allocated for a file of %d", used, len(data))
			}
			if _, ok := errors.AsType[*decoders.Error](err); !ok {
				t.Errorf("ended by %v", err)
			}
			runtime.KeepAlive(d)
		})
	}
}

// TestSlowText checks that a long record that arrives byte by byte is not searched from its start for each byte. If it
// were, this test would take minutes.
func TestSlowText(t *testing.T) {
	data := file(func(w *writer) {
		w.join(0)
		w.command(0, 0, strings.Repeat("c", 16_000), make([]string, 4000)...)
		w.drop(0, strings.Repeat("r", 2000))
		w.finish()
	})
	src := pieces{bytes.NewReader(data), 1}
	d := teehistorian.New(src, teehistorian.Options{})
	got, err := all(d)
	if len(got) != 4 || !errors.Is(err, io.EOF) {
		t.Errorf("%d events, %v", len(got), err)
	}
}
