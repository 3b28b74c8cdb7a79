package dem_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"reflect"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/dem"
)

var mutations = flag.Int("mutations", 300, "how many damaged files TestMutations decodes")

// eventText writes an event so that equal events have equal texts, whatever numbers their decoders gave to names.
func eventText(d *dem.Decoder, ev *dem.Event) string {
	return string(appendEvent(make([]byte, 0, 256), d, ev))
}

func appendEvent(b []byte, d *dem.Decoder, ev *dem.Event) []byte {
	b = append(strconv.AppendInt(b, int64(ev.AtTick), 10), ' ')
	b = append(append(b, ev.Kind.String()...), ' ')
	entity := func(index, serial uint32) {
		b = append(strconv.AppendUint(b, uint64(index), 10), ' ')
		b = append(strconv.AppendUint(b, uint64(serial), 10), ' ')
	}
	fields := func(class uint32, fields []dem.FieldValue) {
		b = append(b, d.Name(class)...)
		for i := range fields {
			b = append(append(append(b, ' '), d.Name(fields[i].Field)...), '=')
			b = appendLeaf(b, &fields[i])
		}
	}
	switch e := ev; ev.Kind {
	case dem.KindEntityUpdated:
		entity(e.EntityUpdated.Index, e.EntityUpdated.Serial)
		fields(e.EntityUpdated.Class, e.EntityUpdated.Fields)
	case dem.KindEntityCreated:
		entity(e.EntityCreated.Index, e.EntityCreated.Serial)
		fields(e.EntityCreated.Class, e.EntityCreated.Fields)
	case dem.KindEntityEntered:
		entity(e.EntityEntered.Index, e.EntityEntered.Serial)
		b = append(strconv.AppendBool(b, e.EntityEntered.Full), ' ')
		fields(e.EntityEntered.Class, e.EntityEntered.Fields)
	case dem.KindEntityLeft:
		b = fmt.Appendf(b, "%d %s", e.EntityLeft.Index, d.Name(e.EntityLeft.Class))
	case dem.KindEntityDeleted:
		b = fmt.Appendf(b, "%d %s", e.EntityDeleted.Index, d.Name(e.EntityDeleted.Class))
	case dem.KindFault:
		f := e.Fault
		b = fmt.Appendf(b, "%v %s %d %s %s %d/%d", f.Kind, f.Detail, f.EntityIndex, d.Name(f.Class), d.Name(f.Field), f.BitsRead, f.BitsAnnounced)
	default:
		b = fmt.Appendf(b, "%v", reflect.ValueOf(ev).Elem().Field(1+int(ev.Kind)).Interface())
	}
	return b
}

func eventHash(d *dem.Decoder, ev *dem.Event) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(appendEvent(make([]byte, 0, 256), d, ev))
	return h.Sum64()
}

// hashes decodes data, and returns a hash of every event, the position after each, and the error at the end.
func hashes(data []byte, opts dem.Options) (events []uint64, positions []decoders.Position, err error) {
	d := dem.New(bytes.NewReader(data), opts)
	err = run(d, func(ev *dem.Event) {
		events = append(events, eventHash(d, ev))
		positions = append(positions, d.Position())
	})
	d.Leave() // what it leaves changes nothing for the next one
	return events, positions, err
}

func TestRefused(t *testing.T) {
	for _, test := range []struct {
		file string
		kind error
		says string
	}{
		{"odota-core-source1/1181392470_1v1.dem", decoders.ErrUnsupported, "Dota 2 on Source 1"},
		{"skadi-source1/test.dem", decoders.ErrUnsupported, "Dota 2 on Source 1"},
		{"odota-core-source1/invalid.dem", decoders.ErrTruncated, "no demo"},
		{"odota-core-source1/truncate.dem", decoders.ErrUnsupported, "Source 1"},
	} {
		t.Run(test.file, func(t *testing.T) {
			data := readCorpus(t, test.file)
			_, _, err := hashes(data, dem.Options{})
			var typed *decoders.Error
			if !errors.Is(err, test.kind) || !errors.As(err, &typed) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("decoding ended with %v", err)
			}
			if _, _, _, _, err := dem.ReadInfo(bytes.NewReader(data)); !errors.Is(err, test.kind) {
				t.Errorf("reading the information ended with %v", err)
			}
		})
	}
	for name, data := range map[string]string{
		"empty": "", "csgo": "HL2DEMO\x00\x04\x00\x00\x00abcdefghijk", "text": "this is not a demo at all, is it?",
		"magic only": "PBDEMS2\x00", "header only": "PBDEMS2\x00\x00\x00\x00\x00\x00\x00\x00\x00",
	} {
		t.Run(name, func(t *testing.T) {
			events, _, err := hashes([]byte(data), dem.Options{})
			var typed *decoders.Error
			if len(events) > 0 || !errors.As(err, &typed) {
				t.Errorf("%d events, then %v", len(events), err)
			}
		})
	}
}

// TestAlpha decodes recordings of 2014: records, and the news that entities are not supported.
func TestAlpha(t *testing.T) {
	for _, name := range []string{"sange/test1.dem", "sange/test2.dem"} {
		t.Run(name, func(t *testing.T) {
			data := readCorpus(t, name)
			kinds := map[dem.Kind]int{}
			var says string
			d := decode(t, data, dem.Options{}, func(_ *dem.Decoder, ev *dem.Event) {
				kinds[ev.Kind]++
				if ev.Kind == dem.KindFault {
					says = string(ev.Fault.Detail)
				}
			})
			if err := d.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
			if kinds[dem.KindFault] != 1 || !strings.Contains(says, "entities are unsupported") {
				t.Errorf("faults: %d, the last says %q", kinds[dem.KindFault], says)
			}
			if kinds[dem.KindCommand] < 1000 || kinds[dem.KindFileHeader] != 1 || kinds[dem.KindFileInfo] != 1 {
				t.Errorf("events: %v", kinds)
			}
			_, info, tick, ok, err := dem.ReadInfo(bytes.NewReader(data))
			if !ok || err != nil || info.PlaybackTicks == 0 || tick <= 0 {
				t.Errorf("information: %+v of tick %d, %v, %v", info, tick, ok, err)
			}
		})
	}
}

// TestTruncation cuts a file after every record, and somewhere in the head of the one that follows: everything before is delivered,
// and the end is told.
func TestTruncation(t *testing.T) {
	data := readCorpus(t, "demofile-net/deadlock_hltv_10423.dem")
	whole, positions, err := hashes(data, dem.Options{})
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	// The records that begin anew, and how many events came before each.
	type cut struct {
		offset int64
		events int
	}
	var cuts []cut
	for i, p := range positions {
		if len(cuts) == 0 || p.Offset != cuts[len(cuts)-1].offset {
			cuts = append(cuts, cut{p.Offset, i})
		}
	}
	for i, c := range cuts {
		for _, extra := range []int64{0, 1 + int64(i%7)} {
			at := c.offset + extra
			if at >= int64(len(data)) {
				continue
			}
			d := dem.New(bytes.NewReader(data[:at]), dem.Options{})
			n := 0
			err := run(d, func(ev *dem.Event) {
				// The last ones will do: that all are equal, other tests tell.
				if n < len(whole) && n > c.events-5 && eventHash(d, ev) != whole[n] {
					t.Fatalf("cut at %d: event %d differs", at, n)
				}
				n++
			})
			if n < c.events {
				t.Fatalf("cut at %d: %d events, want at least %d", at, n, c.events)
			}
			if err == nil || !errors.Is(err, decoders.ErrTruncated) {
				t.Fatalf("cut at %d: %v", at, err)
			}
		}
	}
	if len(cuts) < 60 {
		t.Errorf("%d records only", len(cuts))
	}
	if header, _, _, ok, err := dem.ReadInfo(bytes.NewReader(data[:100_000])); err != nil || ok || header.BuildNum != 10423 {
		t.Errorf("information of a cut file: %+v, %v, %v", header, ok, err)
	}
}

// TestMutations decodes files with random damage. Nothing panics, nothing hangs, memory stays bounded.
func TestMutations(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // the heap is measured
	files := [][]byte{readCorpus(t, "demofile-net/14160.dem"), readCorpus(t, "demofile-net/deadlock_hltv_10423.dem"), readCorpus(t, autoDem)[:400_000]}
	var worst time.Duration
	var heap uint64
	ends := map[string]int{}
	for seed := range *mutations {
		rng := rand.New(rand.NewPCG(uint64(seed), 6))
		data := bytes.Clone(files[seed%len(files)])
		for range 1 + rng.IntN(8) {
			at := rng.IntN(len(data))
			switch rng.IntN(5) {
			case 0:
				data[at] ^= 1 << rng.IntN(8)
			case 1:
				data[at] = byte(rng.Uint32())
			case 2:
				for i := at; i < min(at+rng.IntN(64), len(data)); i++ {
					data[i] = byte(rng.Uint32())
				}
			case 3:
				data = append(data[:at], data[min(at+rng.IntN(100), len(data)):]...)
			case 4:
				data = append(data[:at], append(bytes.Clone(data[max(at-50, 0):at]), data[at:]...)...)
			}
		}
		start := time.Now()
		d := dem.New(bytes.NewReader(data), dem.Options{})
		err := run(d, func(*dem.Event) {})
		worst = max(worst, time.Since(start))
		var m runtime.MemStats
		if seed%10 == 0 {
			runtime.ReadMemStats(&m)
			heap = max(heap, m.HeapAlloc)
		}
		var typed *decoders.Error
		switch {
		case errors.Is(err, io.EOF):
			ends["end"]++
		case errors.As(err, &typed):
			ends[typed.Err.Error()[:8]]++
		default:
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	t.Logf("worst %v, heap %d MB, ends %v", worst, heap>>20, ends)
	if heap > 256<<20 {
		t.Errorf("the heap grew to %d MB", heap>>20)
	}
}

// growing is a file of which a byte more is there at each read that found nothing.
type growing struct {
	data        []byte
	read, there int
	step        int
}

func (g *growing) Read(p []byte) (int, error) {
	n := copy(p, g.data[g.read:g.there])
	g.read += n
	if n == 0 {
		g.there = min(g.there+g.step, len(g.data))
		return 0, io.EOF
	}
	return n, nil
}

// TestLive feeds a file byte by byte: the events are those of the whole file.
func TestLive(t *testing.T) {
	for _, name := range []string{"demofile-net/14160.dem", "demofile-net/deadlock_hltv_10423.dem"} {
		data := readCorpus(t, name)
		want, _, _ := hashes(data, dem.Options{})
		for _, step := range []int{1, 4099} {
			d := dem.New(&growing{data: data, step: step}, dem.Options{})
			var ev dem.Event
			var got []uint64
			dry := 0
			for {
				err := d.Next(&ev)
				if errors.Is(err, decoders.ErrMore) {
					dry++
					continue
				}
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, eventHash(d, &ev))
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s in steps of %d: %d events, want %d", name, step, len(got), len(want))
			}
			if dry < len(data)/step-1 {
				t.Errorf("%s in steps of %d: %d times dry", name, step, dry)
			}
		}
	}
}
