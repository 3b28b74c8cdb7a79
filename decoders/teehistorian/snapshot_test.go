package teehistorian_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/teehistorian"
)

// restore returns a decoder that continues in data where the snapshot was taken.
func restore(data []byte, at int64, h *teehistorian.Header, snapshot []byte) (*teehistorian.Decoder, error) {
	src := bytes.NewReader(data[min(at, int64(len(data))):])
	return teehistorian.Restore(decoders.NewWindow(src, at, teehistorian.MaxWindow), h, snapshot)
}

func TestSnapshot(t *testing.T) {
	for name := range references(t) {
		t.Run(name, func(t *testing.T) {
			data := corpusFile(t, name)
			want, end := all(decode(data, nil))
			d := decode(data, nil)
			h, err := d.Header()
			if err != nil {
				t.Fatal(err)
			}
			random := rand.New(rand.NewPCG(1, uint64(len(data))))
			step := 1 + len(want)*len(want)/2_000_000
			var ev teehistorian.Event
			var snapshot []byte
			for i, next := 0, 0; i <= len(want); i++ {
				if i == next {
					next += 1 + random.IntN(2*step-1)
					snapshot = d.Snapshot(snapshot[:0])
					r, err := restore(data, d.Position().Offset, h, snapshot)
					if err != nil {
						t.Fatal(err)
					}
					if r.Position() != d.Position() || r.Tick() != d.Tick() || !bytes.Equal(r.Snapshot(nil), snapshot) {
						t.Fatalf("after event %d: restored at %+v, tick %d, not %+v, %d", i, r.Position(), r.Tick(), d.Position(), d.Tick())
					}
					got, err := all(r)
					prefixOf(t, got, want[i:], "restored")
					if len(got) != len(want)-i || !errors.Is(err, end) {
						t.Fatalf("after event %d: %d events of %d, %v", i, len(got), len(want)-i, err)
					}
				}
				if i < len(want) {
					if err := d.Next(&ev); err != nil {
						t.Fatal(err)
					}
				}
			}
			if perClient := len(snapshot) / 48; perClient > 150 {
				t.Errorf("a snapshot has %d bytes", len(snapshot))
			}
		})
	}
}

func TestSnapshotErrors(t *testing.T) {
	data := file(func(w *writer) {
		w.join(0)
		w.begin(1)
		w.playerNew(0, 1000, 2000)
		w.input(-6, 0, [10]int32{1, 2, 3})
	})
	d := decode(data, nil)
	_, _ = all(d)
	h, _ := d.Header()
	good := d.Snapshot(nil)
	at := d.Position().Offset
	if _, err := restore(data, at, h, good); err != nil {
		t.Fatal(err)
	}
	for n := range good {
		if _, err := restore(data, at, h, good[:n]); !errors.Is(err, teehistorian.ErrSnapshot) {
			t.Errorf("cut to %d bytes: %v", n, err)
		}
	}
	for name, bad := range map[string][]byte{
		"longer":  append(bytes.Clone(good), 0),
		"version": append([]byte{9}, good[1:]...),
		"empty":   nil,
	} {
		if _, err := restore(data, at, h, bad); !errors.Is(err, teehistorian.ErrSnapshot) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := restore(data, at-1, h, good); !errors.Is(err, teehistorian.ErrSnapshot) {
		t.Errorf("elsewhere: %v", err)
	}
}
