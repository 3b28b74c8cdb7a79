package dem_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/decoders/dem/demtest"
)

// heads returns where the records of a demo begin, by their events.
func heads(t *testing.T, data []byte) (out []int) {
	t.Helper()
	last := int64(-1)
	for _, p := range walk(t, data, dem.Options{}, nil) {
		if p.at.Offset != last {
			last = p.at.Offset
			out = append(out, int(last))
		}
	}
	return out
}

// TestDamagedHead: behind a record whose head is damaged, decoding goes on with the next record, and says how many bytes were
// skipped; behind the next key frame all is as it should be.
func TestDamagedHead(t *testing.T) {
	data := keyFrames(-1)
	all := walk(t, data, dem.Options{}, nil)
	records := heads(t, data)
	for _, test := range []struct {
		name   string
		damage func(b []byte, at int) []byte
	}{
		{"a size beyond the file", func(b []byte, at int) []byte {
			// Number and tick have a byte each, the size up to three.
			return append(append(bytes.Clone(b[:at+2]), 0xff, 0xff, 0xff, 0x03), b[at+4:]...)
		}},
		{"a size beyond all limits", func(b []byte, at int) []byte {
			return append(append(bytes.Clone(b[:at+2]), 0xff, 0xff, 0xff, 0xff, 0x7f), b[at+4:]...)
		}},
		{"a number that is too long", func(b []byte, at int) []byte {
			return append(append(bytes.Clone(b[:at]), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff), b[at+3:]...)
		}},
		{"a hole", func(b []byte, at int) []byte { return append(bytes.Clone(b[:at]), b[at+7:]...) }},
		{"noise", func(b []byte, at int) []byte {
			noise := make([]byte, 300)
			random := rand.New(rand.NewPCG(1, 2))
			for i := range noise {
				noise[i] = byte(random.Uint32()) | 0x80
			}
			return append(append(bytes.Clone(b[:at]), noise...), b[at:]...)
		}},
		{"zeros", func(b []byte, at int) []byte {
			out := bytes.Clone(b)
			clear(out[at : at+40])
			return out
		}},
	} {
		for _, i := range []int{len(records) / 4, len(records) / 2, len(records) * 3 / 4} {
			at := records[i]
			if data[at] != demtest.CmdPacket {
				at = records[i+1]
			}
			t.Run(fmt.Sprintf("%s at %d", test.name, at), func(t *testing.T) {
				damaged := test.damage(data, at)
				shift := int64(len(damaged) - len(data))
				got := map[string]bool{}
				var fault *dem.Fault
				key := int64(-1)
				d := dem.New(bytes.NewReader(damaged), dem.Options{})
				err := run(d, func(ev *dem.Event) {
					if ev.Kind == dem.KindFault && ev.Fault.BytesSkipped > 0 && fault == nil {
						fault = new(dem.Fault)
						*fault = ev.Fault
					}
					if ev.Kind == dem.KindKeyFrame && fault != nil && key < 0 {
						key = d.EventPosition().Offset - shift
					}
					got[fmt.Sprintf("%d %s", d.EventPosition().Offset-shift, eventText(d, ev))] = true
				})
				if !errors.Is(err, io.EOF) {
					t.Errorf("decoding ended with %v", err)
				}
				if fault == nil || fault.Kind != dem.FaultKindRecord || fault.Offset <= int64(at) || fault.BytesSkipped > 2000 {
					t.Fatalf("fault %+v", fault)
				}
				if key < 0 {
					t.Fatal("no key frame follows")
				}
				// From the key frame's next record on nothing is missing.
				missing := 0
				for _, p := range all {
					if p.at.Offset > key && p.kind != dem.KindStop && p.kind != dem.KindKeyFrame && !got[fmt.Sprintf("%d %s", p.at.Offset, p.text)] {
						if missing++; missing < 4 {
							t.Errorf("lost at %v: %.100s", p.at, p.text)
						}
					}
				}
				if missing > 0 {
					t.Errorf("%d events are lost", missing)
				}
				// Positions lead to where they say, behind the damage too.
				from := walk(t, damaged, dem.Options{}, nil)
				for _, p := range []placed{from[len(from)/2], from[len(from)-20]} {
					rest := only(from, func(o *placed) bool { return !o.at.Before(p.at) })
					same(t, "from behind", walk(t, damaged, dem.Options{}, func(d *dem.Decoder) error { return d.Seek(p.at) }), rest)
				}
			})
		}
	}
}

// TestNoRecordFollows: where no record follows, the demo is corrupt, or, while it may grow, more is waited for.
func TestNoRecordFollows(t *testing.T) {
	data := demtest.Sample()
	d := dem.New(bytes.NewReader(append(bytes.Clone(data[:len(data)/2]), bytes.Repeat([]byte{0xff}, 1000)...)), dem.Options{})
	if err := run(d, func(*dem.Event) {}); !errors.Is(err, decoders.ErrCorrupt) && !errors.Is(err, decoders.ErrTruncated) {
		t.Errorf("decoding ended with %v", err)
	}
}

// TestNewRecords: records of kinds that nobody knows yet are no damage.
func TestNewRecords(t *testing.T) {
	d := demtest.New()
	d.Record(demtest.CmdFileHeader, -1, demtest.Proto(nil).Text(1, "PBDEMS2").Text(14, "csgo"))
	d.Record(demtest.CmdSyncTick, -1, nil)
	for tick := range int32(5) {
		d.Packet(tick)
		d.Record(33, tick, []byte("something new"))
	}
	d.Record(34, 5, []byte("and more"))
	commands := 0
	err := run(dem.New(bytes.NewReader(d.Bytes()), dem.Options{}), func(ev *dem.Event) {
		switch ev.Kind {
		case dem.KindCommand:
			commands++
		case dem.KindFault:
			t.Errorf("fault: %s", ev.Fault.Detail)
		}
	})
	if commands != 6 || !errors.Is(err, decoders.ErrTruncated) {
		t.Errorf("%d commands, then %v", commands, err)
	}
}
