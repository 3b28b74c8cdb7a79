package dem_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/decoders/dem/demtest"
)

// placed is an event with its position, and the position that the decoder was at behind it.
type placed struct {
	at, next decoders.Position
	kind     dem.Kind
	class    string
	text     string
}

// walk decodes data from where seek goes, nil for the beginning, and returns the events.
func walk(t *testing.T, data []byte, opts dem.Options, seek func(*dem.Decoder) error) (out []placed) {
	t.Helper()
	d := dem.New(bytes.NewReader(data), opts)
	if seek != nil {
		if err := seek(d); err != nil {
			t.Fatalf("seeking ended with %v", err)
		}
	}
	_ = run(d, func(ev *dem.Event) {
		p := placed{at: d.EventPosition(), next: d.Position(), kind: ev.Kind, text: eventText(d, ev)}
		if isEntity(ev.Kind) {
			p.class = d.Name(classOf(ev))
		}
		if !p.at.Before(p.next) {
			t.Fatalf("the position behind the event at %v is %v", p.at, p.next)
		}
		out = append(out, p)
	})
	return out
}

// only returns the events that keep wants.
func only(all []placed, keep func(*placed) bool) []placed {
	return slices.DeleteFunc(slices.Clone(all), func(p placed) bool { return !keep(&p) })
}

// same compares events and their positions, but not where decoders were behind them: any place will do that has no event
// before it which is still to come.
func same(t *testing.T, what string, got, want []placed) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		if g, w := &got[i], &want[i]; g.at != w.at || g.text != w.text {
			t.Errorf("%s: event %d is at %v, want %v\n%.200s\n%.200s", what, i, g.at, w.at, g.text, w.text)
			return
		}
		if i+1 < len(want) && want[i+1].at.Before(got[i].next) {
			t.Errorf("%s: behind event %d the position is %v, the next one is at %v", what, i, got[i].next, want[i+1].at)
			return
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d events, want %d", what, len(got), len(want))
	}
}

// positionSamples are demos of our own making, whole and damaged, so that there are faults in all of their parts.
func positionSamples() map[string][]byte {
	files := map[string][]byte{"sample": demtest.Sample(), "keyframes": keyFrames(-1), "faults": faultsBetween()}
	for _, game := range playedGames {
		files[game] = demtest.Players(game)
	}
	files["rounds"], _ = demtest.Rounds(3, 3, demtest.ByCounts)
	files["beginning"], _ = demtest.MatchOf(3, 25)
	files["rounds by events"], _ = demtest.Rounds(4, 2, demtest.ByEvents)
	random := rand.New(rand.NewPCG(12, 0))
	for name, data := range map[string][]byte{"sample": demtest.Sample(), "keyframes": keyFrames(-1)} {
		for i := range 8 {
			damaged := bytes.Clone(data)
			for range 1 + random.IntN(4) {
				damaged[200+random.IntN(len(data)-200)] ^= 1 << random.IntN(8)
			}
			files[fmt.Sprintf("%s, damaged %d", name, i)] = damaged
		}
	}
	return files
}

// faultsBetween is a demo whose packets have an update that cannot be read right between two of entities of another class.
func faultsBetween() []byte {
	d := demtest.New()
	d.Record(demtest.CmdFileHeader, -1, demtest.Proto(nil).Text(1, "PBDEMS2").Text(14, "csgo"))
	d.Record(demtest.CmdSignonPacket, -1, demtest.PackMessages(demtest.Message{ID: 40, Data: demtest.Proto(nil).Varint(11, 2)}))
	d.Record(demtest.CmdSendTables, -1, demtest.SendTables(
		demtest.Serializer{Name: "Good", Fields: []demtest.Field{{Name: "m_n", Type: "uint32"}}},
		demtest.Serializer{Name: "Bad", Fields: []demtest.Field{{Name: "m_n", Type: "SomeFloat_t"}}},
	))
	d.Record(demtest.CmdClassInfo, -1, demtest.Classes("Good", "Bad"))
	d.Record(demtest.CmdSyncTick, -1, nil)
	bad := func(i int) demtest.Value {
		return demtest.Value{Path: []int{0}, Write: func(w *demtest.Bits) { w.Float32(float32(i) + 0.3) }}
	}
	for tick := range 6 {
		e := &demtest.Entities{ClassBits: 2}
		for i := range 6 {
			class, value := i%2, number(uint64(tick))
			if class == 1 {
				value = bad(i + tick)
			}
			if tick == 0 {
				e.Create(i, class, 1, value)
			} else {
				e.Update(i, value)
			}
		}
		d.Packet(int32(tick), e.Message(tick > 0))
	}
	d.Record(demtest.CmdStop, 6, nil)
	return d.Bytes()
}

// TestPositions: every event has one position, whatever is wanted and wherever decoding begins, and from each the rest is
// reached.
func TestPositions(t *testing.T) {
	for name, data := range positionSamples() {
		starts, single := 10, 16
		if strings.Contains(name, "damaged") { // there are many
			starts, single = 3, 4
		}
		t.Run(name, func(t *testing.T) { testPositions(t, data, starts, single) })
	}
}

// TestCorpusPositions is TestPositions of real files, from fewer places.
func TestCorpusPositions(t *testing.T) {
	for name, data := range someSource2(t) {
		t.Run(name, func(t *testing.T) { testPositions(t, data, 1, 2) })
	}
}

func testPositions(t *testing.T, data []byte, starts, single int) {
	all := walk(t, data, dem.Options{Kinds: everything}, nil)
	if len(all) == 0 {
		return // damaged before the first event
	}
	for i := 1; i < len(all); i++ {
		if !all[i-1].at.Before(all[i].at) {
			t.Fatalf("event %d is at %v, and the one before it at %v\n%s\n%s", i, all[i].at, all[i-1].at, all[i-1].text, all[i].text)
		}
	}
	random := rand.New(rand.NewPCG(uint64(len(data)), 1))
	classes := map[string]bool{}
	for _, p := range all {
		classes[p.class] = random.IntN(2) > 0
	}
	kinds := func(k dem.Kind) bool { return uint(k)%3 == uint(len(data))%3 }
	views := map[string]struct {
		opts dem.Options
		keep func(*placed) bool
	}{
		"all":     {dem.Options{Kinds: everything}, func(*placed) bool { return true }},
		"own":     {dem.Options{}, func(p *placed) bool { return !isFact(p.kind) }},
		"kinds":   {dem.Options{Kinds: kinds}, func(p *placed) bool { return kinds(p.kind) }},
		"classes": {dem.Options{Kinds: everything, Classes: func(c string) bool { return classes[c] }}, func(p *placed) bool { return p.class == "" || classes[p.class] }},
	}
	// Without faults, classes that nobody wants are skipped: what is wrong with their entities is not even met.
	for _, class := range slices.Sorted(maps.Keys(classes))[:min(2, len(classes)-1)+1] {
		if class == "" {
			continue
		}
		views["entities of class "+class] = struct {
			opts dem.Options
			keep func(*placed) bool
		}{
			dem.Options{Kinds: isEntity, Classes: func(c string) bool { return c == class }},
			func(p *placed) bool { return p.class == class && isEntity(p.kind) },
		}
	}
	for _, i := range random.Perm(dem.KindCount)[:single] {
		k := dem.Kind(i)
		views[k.String()] = struct {
			opts dem.Options
			keep func(*placed) bool
		}{dem.Options{Kinds: func(o dem.Kind) bool { return o == k }}, func(p *placed) bool { return p.kind == k }}
	}
	for name, view := range views {
		want := only(all, view.keep)
		got := walk(t, data, view.opts, nil)
		same(t, name, got, want)
		for range starts {
			from := random.IntN(len(all))
			for _, at := range []decoders.Position{all[from].at, all[from].next} {
				rest := only(want, func(p *placed) bool { return !p.at.Before(at) })
				got := walk(t, data, view.opts, func(d *dem.Decoder) error {
					err := d.Seek(at)
					if err == nil && d.Position() != at {
						err = fmt.Errorf("the position is %v", d.Position())
					}
					return err
				})
				same(t, fmt.Sprintf("%s from %v", name, at), got, rest)
			}
		}
	}
}

// TestSeekBeyond: there is nothing behind the end, and no record where none starts.
func TestSeekBeyond(t *testing.T) {
	data := demtest.Sample()
	end := int64(len(data))
	for _, test := range []struct {
		to   decoders.Position
		want error
		at   decoders.Position
	}{
		{decoders.Position{}, nil, decoders.Position{}},
		{decoders.Position{Offset: end}, nil, decoders.Position{Offset: end}},
		{decoders.Position{Offset: end + 1}, io.EOF, decoders.Position{Offset: end}},
		{decoders.Position{Offset: 17}, nil, decoders.Position{Offset: walk(t, data, dem.Options{}, nil)[1].at.Offset}},
	} {
		d := dem.New(bytes.NewReader(data), dem.Options{})
		if err := d.Seek(test.to); !errors.Is(err, test.want) || d.Position() != test.at {
			t.Errorf("to %v: %v at %v, want %v at %v", test.to, err, d.Position(), test.want, test.at)
		}
	}
}

// TestSum: the sum is that of the bytes before the position's offset.
func TestSum(t *testing.T) {
	for name, data := range map[string][]byte{"sample": demtest.Sample(), "keyframes": keyFrames(-1)} {
		for _, step := range []int{len(data), 997, 61} {
			for _, rarely := range []int{1, 7} {
				sums(t, fmt.Sprintf("%s in steps of %d bytes, asked at each %d.", name, step, rarely), data, step, rarely)
			}
		}
	}
}

func sums(t *testing.T, name string, data []byte, step, rarely int) {
	d, ev := dem.New(&growing{data: data, step: step}, dem.Options{}), dem.Event{}
	n := 0
	for err := error(nil); err == nil || errors.Is(err, decoders.ErrMore); n++ {
		err = d.Next(&ev)
		if n%rarely != 0 {
			continue
		}
		want := decoders.Sum(0)
		if at := d.Position().Offset; at > 0 { // without the offsets in the header, which the end of a recording changes
			want = want.Add(data[:8]).Add(data[16:at])
		}
		if d.Sum() != want {
			t.Fatalf("%s: at %v the sum is %x, want %x", name, d.Position(), d.Sum(), want)
		}
	}
}
