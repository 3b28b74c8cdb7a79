package teehistorian_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders"
	decoder "github.com/replayd/replayd/decoders/teehistorian"
	teehistorianv1 "github.com/replayd/replayd/proto/replayd/teehistorian/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/codectest"
	encoder "github.com/replayd/replayd/replay/codec/teehistorian"
	"github.com/replayd/replayd/replay/source"
)

func isSample(p placed) bool { return strings.HasPrefix(p.kind, "sample_") }

// every returns the include filter of samples at the multiples of a number of ticks; 0 stands for none given.
func every(ticks int32) *replaydv1.EventFilter {
	f := named("sample_player")
	if ticks > 0 {
		f.Ticks = &replaydv1.TickRange{Every: &ticks}
	}
	return f
}

// standing is a client as a fold over the events of a recording knows it.
type standing struct {
	here, alive, ready, hasInput bool
	team, x, y                   int32
	input                        decoder.Input
}

// fold returns what the samples at the multiples of a number of ticks must be, from all other events.
func fold(t *testing.T, data []byte, ticks int32) (want []string) {
	t.Helper()
	clients, practice, tick := map[int32]*standing{}, map[int32]bool{}, int32(0)
	at := func(id int32) *standing {
		if clients[id] == nil {
			clients[id] = &standing{}
		}
		return clients[id]
	}
	complete := func(ends int32) {
		for ; tick < ends; tick++ {
			for id := range int32(decoder.MaxClients) {
				if c := clients[id]; tick%ticks == 0 && c != nil && (c.here || c.alive) {
					want = append(want, fmt.Sprint(tick, id, c.team, c.alive, c.x*one(c.alive), c.y*one(c.alive), c.hasInput, c.input, c.ready, practice[c.team]))
				}
			}
		}
	}
	for ev, err := range decoders.All(decoder.New(bytes.NewReader(data), decoder.Options{})) {
		if err != nil {
			break
		}
		switch ev.Kind {
		case decoder.KindTick:
			complete(ev.AtTick)
		case decoder.KindFinish:
			complete(ev.AtTick + 1)
		case decoder.KindJoin:
			c := at(ev.Join.ClientId)
			c.here, c.ready, c.team = true, false, 0
		case decoder.KindDrop:
			c := at(ev.Drop.ClientId)
			c.here, c.ready = false, false
		case decoder.KindPlayerReady:
			at(ev.PlayerReady.ClientId).ready = true
		case decoder.KindPlayerNew:
			c := at(ev.PlayerNew.ClientId)
			c.alive, c.x, c.y = true, ev.PlayerNew.X, ev.PlayerNew.Y
		case decoder.KindPlayerDiff:
			c := at(ev.PlayerDiff.ClientId)
			c.x, c.y = c.x+ev.PlayerDiff.Dx, c.y+ev.PlayerDiff.Dy
		case decoder.KindPlayerOld:
			at(ev.PlayerOld.ClientId).alive = false
		case decoder.KindInputNew:
			c := at(ev.InputNew.ClientId)
			c.hasInput, c.input = true, ev.InputNew.Input
		case decoder.KindInputDiff:
			at(ev.InputDiff.ClientId).input = ev.InputDiff.Input
		case decoder.KindPlayerTeam:
			at(ev.PlayerTeam.ClientId).team = ev.PlayerTeam.Team
		case decoder.KindTeamPractice:
			practice[ev.TeamPractice.Team] = ev.TeamPractice.Practice
		}
	}
	return want
}

func one(b bool) int32 {
	if b {
		return 1
	}
	return 0
}

// texts returns the samples of a delivery as fold does.
func texts(t *testing.T, all []placed) (got []string) {
	t.Helper()
	for _, p := range all {
		if !isSample(p) {
			continue
		}
		var list teehistorianv1.EventList
		if err := proto.Unmarshal([]byte(p.text), &list); err != nil || len(list.GetEvents()) != 1 {
			t.Fatal(err)
		}
		ev := list.GetEvents()[0]
		s, in := ev.GetSamplePlayer(), ev.GetSamplePlayer().GetInput()
		if alive := s.GetAlive(); alive != (s.X != nil) || alive != (s.Y != nil) {
			t.Fatalf("alive and a place differ: %v", ev)
		}
		got = append(got, fmt.Sprint(ev.GetAtTick(), s.GetClientId(), s.GetTeam(), s.GetAlive(), s.GetX(), s.GetY(), s.GetInput() != nil, decoder.Input{
			Direction: in.GetDirection(), TargetX: in.GetTargetX(), TargetY: in.GetTargetY(), Jump: in.GetJump(), Fire: in.GetFire(),
			Hook: in.GetHook(), PlayerFlags: in.GetPlayerFlags(), WantedWeapon: in.GetWantedWeapon(), NextWeapon: in.GetNextWeapon(),
			PrevWeapon: in.GetPrevWeapon(),
		}, s.GetReady(), s.GetPractice()))
	}
	return got
}

// TestSamplesFold: samples are what a plain fold over all other events has at the end of each tick.
func TestSamplesFold(t *testing.T) {
	data := factGames(t, 30_000)["whole"]
	for _, ticks := range []int32{1, 7, 50} {
		got := texts(t, from(t, data, codec.Options{Filter: selecting(t, every(ticks))}))
		if want := fold(t, data, ticks); len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("every %d ticks: %d samples, want %d", ticks, len(got), len(want))
			for i := range min(len(got), len(want)) {
				if got[i] != want[i] {
					t.Fatalf("sample %d is %s, want %s", i, got[i], want[i])
				}
			}
		}
	}
}

// TestSamples: samples come only to those who name them, change nothing else, and are the same at the same positions whatever else is
// delivered and however many of them are. A stream that begins at any place goes on as the whole does, with and without samples.
func TestSamples(t *testing.T) {
	for name, data := range factGames(t, 30_000) {
		t.Run(name, func(t *testing.T) {
			raw := from(t, data, codec.Options{})
			if got := from(t, data, codec.Options{Filter: selecting(t, &replaydv1.EventFilter{})}); !slices.Equal(got, raw) {
				t.Fatal("an empty filter selects samples")
			}
			whole := from(t, data, codec.Options{Filter: selecting(t, &replaydv1.EventFilter{}, named(factKinds...), every(10))})
			if got := slices.DeleteFunc(slices.Clone(whole), func(p placed) bool { return isSample(p) || isFact(p) }); !slices.Equal(got, raw) {
				t.Fatal("samples change the events of the replay")
			}
			samples := slices.DeleteFunc(slices.Clone(whole), func(p placed) bool { return !isSample(p) })
			for i := 1; i < len(whole); i++ {
				if !whole[i-1].at.Before(whole[i].at) {
					t.Fatalf("%+v stands before %+v", whole[i-1], whole[i])
				}
			}
			if got := from(t, data, codec.Options{Filter: selecting(t, every(10))}); !slices.Equal(got, samples) {
				t.Fatal("samples depend on what else is delivered")
			}
			for _, ticks := range []int32{0, 30, 50, 1000} {
				got := from(t, data, codec.Options{Filter: selecting(t, every(ticks))})
				i := 0
				for _, p := range got {
					for i < len(samples) && samples[i] != p {
						i++
					}
				}
				if len(got) == 0 || i == len(samples) {
					t.Errorf("every %d ticks: %d samples, which are none of those of every 10", ticks, len(got))
				}
			}
			random := rand.New(rand.NewPCG(1, 2))
			for range 25 {
				i := random.IntN(len(whole))
				if random.IntN(2) == 0 {
					i, _ = slices.BinarySearchFunc(whole, samples[random.IntN(len(samples))].at, func(p placed, at decoders.Position) int {
						if p.at.Before(at) {
							return -1
						}
						return one32(at.Before(p.at))
					})
				}
				at := whole[i].at
				o := codec.Options{Start: codec.Start{Position: at}}
				for _, include := range [][]*replaydv1.EventFilter{{{}, named(factKinds...), every(10)}, {every(50)}, nil, {named("player_new")}} {
					o.Filter = selecting(t, include...)
					r := open(t, data, o)
					if err := codectest.Seek(r); err != nil || r.Position() != at {
						t.Fatalf("a stream that begins at %+v stands at %+v: %v", at, r.Position(), err)
					}
					all := from(t, data, codec.Options{Filter: o.Filter})
					all = slices.DeleteFunc(all, func(p placed) bool { return p.at.Before(at) })
					if got := deliver(t, r); !slices.Equal(got, all) {
						t.Fatalf("a stream of %v that begins at %+v is not the rest of the whole", include, at)
					}
				}
				tick := int32(random.IntN(2000))
				o.Start = codec.Start{Tick: &tick}
				o.Filter = selecting(t, every(10))
				got := texts(t, from(t, data, o))
				later := &replaydv1.TickRange{Min: &tick, Every: new(int32(10))}
				if want := texts(t, from(t, data, codec.Options{Filter: selecting(t, &replaydv1.EventFilter{Kinds: []string{"sample_player"}, Ticks: later})})); !slices.Equal(got, want) {
					t.Fatalf("from tick %d on there are %d samples, want %d", tick, len(got), len(want))
				}
			}
		})
	}
}

func one32(b bool) int { return int(one(b)) }

// TestSamplesCheckpoint: a stream that begins at a checkpoint has the samples of the whole.
func TestSamplesCheckpoint(t *testing.T) {
	data := factGames(t, 700_000)["whole"]
	near := encoder.Codec
	near.Spacing = 100_000
	store, checkpoints := codectest.Checkpoints(near)
	from(t, data, codec.Options{Filter: selecting(t, every(5000)), Checkpoints: checkpoints})
	if store.Bytes() == 0 {
		t.Fatal("no checkpoints")
	}
	o := codec.Options{Filter: selecting(t, every(200)), Checkpoints: checkpoints}
	whole := from(t, data, o)
	for _, i := range []int{len(whole) / 2, len(whole)*2/3 + 1, len(whole) - 1} {
		o.Start.Position = whole[i].at
		r, read := codectest.OpenCounted(t, encoder.Codec, data, o)
		if err := codectest.Seek(r); err != nil || r.Position() != whole[i].at {
			t.Fatal(err, r.Position())
		}
		if *read > int64(len(data))*4/5 {
			t.Errorf("%d bytes were read", *read)
		}
		if got := deliver(t, r); !slices.Equal(got, whole[i:]) {
			t.Errorf("from %+v on there are %d samples, want %d", whole[i].at, len(got), len(whole)-i)
		}
	}
}

// TestSamplesPrefix: the samples of the beginning of a recording are a beginning of those of the whole, and a reader that follows a
// recording from its end has the rest.
func TestSamplesPrefix(t *testing.T) {
	data := factGames(t, 30_000)["whole"]
	o := codec.Options{Filter: selecting(t, every(10), named("join"))}
	whole := from(t, data, o)
	for end := 3000; end < len(data); end += 1000 {
		got := from(t, data[:end], o)
		if len(got) > len(whole) || !slices.Equal(got, whole[:len(got)]) {
			t.Fatalf("with %d bytes, the samples are others", end)
		}
		live := o
		live.Start.Now = true
		g := &growing{data[:end]}
		r, err := encoder.Codec.Open(source.Input{At: g, Size: int64(end)}, live)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Header(new(replaydv1.Replay)); err != nil {
			t.Fatal(err)
		}
		if err := codectest.Seek(r); err != nil {
			t.Fatal(err)
		}
		begin := r.Position()
		g.data = data
		if rest := deliver(t, r); !slices.Equal(rest, whole[len(got):]) {
			t.Fatalf("a stream from byte %d on has %d events, want %d", end, len(rest), len(whole)-len(got))
		}
		resumed := o
		resumed.Start.Position = begin
		if rest := from(t, data, resumed); !slices.Equal(rest, whole[len(got):]) {
			t.Fatalf("a stream that resumes where one began at byte %d has %d events, want %d", end, len(rest), len(whole)-len(got))
		}
	}
}

// TestSamplesGap: where ticks are skipped, their samples are those of the tick before, and no more than there are of a minute.
func TestSamplesGap(t *testing.T) {
	header := factGames(t, 3000)["whole"]
	header = header[:bytes.IndexByte(header, 0)+1]
	appears := []byte{0x42, 0, 0x20, 0x20} // client 0 has a character
	skip := []byte{0x41, 0x90, 0x9c, 0x01} // 10,000 ticks
	data := slices.Concat(header, appears, skip, []byte{0x40})
	var got []string
	for _, sample := range texts(t, from(t, data, codec.Options{Filter: selecting(t, every(1000))})) {
		got = append(got, strings.Join(strings.Fields(sample)[:3], " "))
	}
	if want := []string{"1000 0 0", "2000 0 0", "3000 0 0"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestSamplesDoNotAllocate: once their memory is there, samples take no more of it.
func TestSamplesDoNotAllocate(t *testing.T) {
	r := open(t, factGames(t, 300_000)["whole"], codec.Options{Filter: selecting(t, every(1))})
	b := codec.Batch{MaxEvents: 64, MaxBytes: 128 << 10}
	samples := 0
	fill := func() {
		if err := r.Fill(&b); err != nil && !errors.Is(err, codec.ErrYield) {
			t.Fatal(err)
		}
		samples += b.Count
		b.Reset()
	}
	for range 100 {
		fill()
	}
	if n := testing.AllocsPerRun(100, fill); n > 0 || samples < 6400 {
		t.Errorf("%v allocations in a batch, %d samples in all", n, samples)
	}
}
