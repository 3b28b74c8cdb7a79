package teehistorian_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders"
	decoder "github.com/replayd/replayd/decoders/teehistorian"
	"github.com/replayd/replayd/decoders/teehistorian/physics"
	teehistorianv1 "github.com/replayd/replayd/proto/replayd/teehistorian/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/codectest"
	encoder "github.com/replayd/replayd/replay/codec/teehistorian"
	"github.com/replayd/replayd/replay/filter"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/replay/tiles"
)

const (
	raceDir  = "../../../cmd/internal/demo/race/"
	roomsDir = "../../../decoders/teehistorian/physics/testdata/rooms/"
)

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func unpacked(t *testing.T, path string) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(read(t, path)))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// mapOf returns the option for a map.
func mapOf(data []byte) func(*replaydv1.Replay, func(io.ReaderAt, int64) error) error {
	return func(_ *replaydv1.Replay, use func(io.ReaderAt, int64) error) error {
		return use(bytes.NewReader(data), int64(len(data)))
	}
}

// played is the filter of what needs a map.
func played(ticks int32) *replaydv1.EventFilter {
	return &replaydv1.EventFilter{Kinds: []string{"sample_character", "sample_shot"}, Ticks: &replaydv1.TickRange{Every: &ticks}}
}

func eventOf(t *testing.T, p placed) *teehistorianv1.Event {
	t.Helper()
	var list teehistorianv1.EventList
	if err := proto.Unmarshal([]byte(p.text), &list); err != nil || len(list.GetEvents()) != 1 {
		t.Fatal(err)
	}
	return list.GetEvents()[0]
}

// TestPlayedResults: in each tick, there is a character where the game's results have one, with the same verdict, at the recorded place.
func TestPlayedResults(t *testing.T) {
	data, course := read(t, raceDir+"race.teehistorian"), read(t, raceDir+"course.map")
	m, err := tiles.Open(bytes.NewReader(course), int64(len(course)))
	if err != nil {
		t.Fatal(err)
	}
	d := decoder.New(bytes.NewReader(data), decoder.Options{})
	header, err := d.Header()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	world := physics.New(header, m, func(r *physics.Result) {
		for tick := r.Tick - r.Ticks + 1; tick <= r.Tick && !r.New; tick++ {
			want[fmt.Sprint(tick, r.ClientID, r.X, r.Y, r.DX, r.DY)] = r.Mark == physics.Proven
		}
	})
	for ev, err := range decoders.All(d) {
		if err != nil {
			t.Fatal(err)
		}
		world.Apply(ev)
	}
	world.Close()
	found, unclear := 0, 0
	for _, p := range from(t, data, codec.Options{Filter: selecting(t, played(1)), Map: mapOf(course)}) {
		ev := eventOf(t, p)
		c := ev.GetSampleCharacter()
		if c.GetProof() == teehistorianv1.Proof_PROOF_APPEARED {
			continue
		}
		proven, ok := want[fmt.Sprint(ev.GetAtTick(), c.GetClientId(), c.GetX(), c.GetY(), c.GetDeviationX(), c.GetDeviationY())]
		if unsure := c.GetCause() == teehistorianv1.ProofCause_PROOF_CAUSE_INPUT; unsure {
			unclear++
		} else if !ok || proven != (c.GetProof() == teehistorianv1.Proof_PROOF_PROVEN) {
			t.Fatalf("%v, but the result is %v, %v", ev, ok, proven)
		}
		found++
	}
	if found < len(want)*99/100 || found > len(want) || unclear == 0 || unclear > found/5 {
		t.Errorf("%d characters of %d results, %d of them unclear", found, len(want), unclear)
	}
}

// TestPlayed: what is played is the same whatever else is delivered and wherever a stream begins, also in a recording that grows.
func TestPlayed(t *testing.T) {
	for _, name := range []string{"race", "arms"} {
		t.Run(name, func(t *testing.T) {
			data, course := read(t, raceDir+"race.teehistorian"), read(t, raceDir+"course.map")
			if name == "arms" {
				data, course = unpacked(t, roomsDir+"arms.teehistorian.gz"), read(t, roomsDir+"arms.map")
			}
			o := codec.Options{Map: mapOf(course)}
			o.Filter = selecting(t, &replaydv1.EventFilter{}, named(factKinds...), named(playedFacts...), every(10), played(10))
			whole := from(t, data, o)
			if got := slices.DeleteFunc(slices.Clone(whole), func(p placed) bool { return isSample(p) || isFact(p) }); !slices.Equal(got, from(t, data, codec.Options{})) {
				t.Fatal("samples change the events of the replay")
			}
			for i := 1; i < len(whole); i++ {
				if !whole[i-1].at.Before(whole[i].at) {
					t.Fatalf("%+v stands before %+v", whole[i-1], whole[i])
				}
				if !isSample(whole[i]) && eventOf(t, whole[i]).GetAtTick() < eventOf(t, whole[i-1]).GetAtTick() {
					t.Fatalf("%+v stands behind %+v", whole[i], whole[i-1])
				}
			}
			kinds := map[string]int{}
			for _, p := range whole {
				kinds[p.kind]++
			}
			if name == "arms" && (kinds["sample_shot"] == 0 || kinds["fact_hit"] == 0) || name == "race" && kinds["fact_hook"] == 0 {
				t.Errorf("there are %v", kinds)
			}
			for _, include := range []*replaydv1.EventFilter{played(10), named(playedFacts...)} {
				only := slices.DeleteFunc(slices.Clone(whole), func(p placed) bool { return !slices.Contains(include.GetKinds(), p.kind) })
				o.Filter = selecting(t, include)
				if got := from(t, data, o); len(got) == 0 || !slices.Equal(got, only) {
					t.Fatalf("what is played depends on what else is delivered: %d events, want %d", len(got), len(only))
				}
				begun(t, data, o, only)
			}
		})
	}
}

// playedFacts are the facts that need a map.
var playedFacts = []string{"fact_freeze", "fact_thaw", "fact_hit", "fact_hook", "fact_block", "fact_character_end", "fact_run"}

// begun checks that streams that begin in the middle of a recording have the rest of what there is, also in one that grows.
func begun(t *testing.T, data []byte, o codec.Options, all []placed) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	for range 3 {
		i := random.IntN(len(all))
		resumed := o
		resumed.Start.Position = all[i].at
		if got := from(t, data, resumed); !slices.Equal(got, all[i:]) {
			t.Fatalf("a stream that begins at %+v is not the rest of the whole", all[i].at)
		}
		tick := eventOf(t, all[i]).GetAtTick()
		resumed.Start = codec.Start{Tick: &tick}
		first := slices.IndexFunc(all, func(p placed) bool { return eventOf(t, p).GetAtTick() == tick })
		if got := from(t, data, resumed); !slices.Equal(got, all[first:]) {
			t.Fatalf("a stream that begins at tick %d is not the rest of the whole", tick)
		}
		end := max(len(data)/4, bytes.IndexByte(data, 0)+1)
		end += random.IntN(len(data) - end)
		before := from(t, data[:end], o)
		if len(before) > len(all) || !slices.Equal(before, all[:len(before)]) {
			t.Fatalf("with %d bytes what is played is something else", end)
		}
		g := &growing{data[:end]}
		live := o
		live.Start.Now = true
		r, err := encoder.Codec.Open(source.Input{At: g, Size: int64(end)}, live)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(r.Header(new(replaydv1.Replay)), codectest.Seek(r)); err != nil {
			t.Fatal(err)
		}
		var none codec.Batch
		none.MaxEvents, none.MaxBytes = 1<<10, 1<<20
		if r.(codec.Standing).Stand(&none); none.Count > 0 { // and nothing is judged too early
			t.Fatalf("%d samples of a tick that may not be over", none.Count)
		}
		g.data = data
		if got := deliver(t, r); !slices.Equal(got, all[len(before):]) {
			t.Fatalf("behind byte %d there are %d events, want %d", end, len(got), len(all)-len(before))
		}
	}
}

// TestPlayedValues: hooks and jumps are as the keys say.
func TestPlayedValues(t *testing.T) {
	data, course := read(t, raceDir+"race.teehistorian"), read(t, raceDir+"course.map")
	o := codec.Options{Map: mapOf(course), Filter: selecting(t, played(1), every(1))}
	pressed := map[int32]bool{} // the hook key, by client, at the end of the tick before
	next := map[int32]bool{}
	tick := int32(-1)
	hooks := map[teehistorianv1.HookState]int{}
	jumps := map[int32]int{}
	for _, p := range from(t, data, o) {
		ev := eventOf(t, p)
		if ev.GetAtTick() != tick {
			tick, pressed, next = ev.GetAtTick(), next, map[int32]bool{}
		}
		if s := ev.GetSamplePlayer(); s != nil {
			next[s.GetClientId()] = s.GetInput().GetHook() != 0
			continue
		}
		c := ev.GetSampleCharacter()
		idle := c.GetHook() == teehistorianv1.HookState_HOOK_STATE_IDLE
		if idle != (c.HookX == nil) || idle != (c.HookY == nil) || c.HookedClientId != nil && c.GetHook() != teehistorianv1.HookState_HOOK_STATE_HOLDING {
			t.Fatalf("an odd hook: %v", ev)
		}
		if c.GetProof() != teehistorianv1.Proof_PROOF_PROVEN {
			continue
		}
		if held := pressed[c.GetClientId()]; !held && !idle {
			t.Fatalf("a hook whose key is not held: %v", ev)
		}
		hooks[c.GetHook()]++
		jumps[c.GetAirJumpsLeft()]++
	}
	if len(hooks) != 4 || len(jumps) != 2 || jumps[0] == 0 || jumps[1] == 0 {
		t.Errorf("hooks are %v, jumps left %v", hooks, jumps)
	}
}

// TestPlayedGap: where nothing is recorded for long, nothing is calculated, wherever one looks.
func TestPlayedGap(t *testing.T) {
	race, course := read(t, raceDir+"race.teehistorian"), read(t, raceDir+"course.map")
	appears := []byte{0x42, 0, 0x20, 0x20} // client 0 has a character
	skip := []byte{0x41, 0x90, 0x9c, 0x01} // 10,000 ticks
	pause := []byte{0x41, 0x80, 0x05}      // 320 ticks
	data := slices.Concat(race[:bytes.IndexByte(race, 0)+1], appears, pause, pause, skip, []byte{0x40})
	rest := map[int32]bool{}
	often := from(t, data, codec.Options{Map: mapOf(course), Filter: selecting(t, played(100))})
	for _, p := range from(t, data, codec.Options{Map: mapOf(course), Filter: selecting(t, played(3000))}) {
		if !slices.Contains(often, p) {
			t.Errorf("%v is another one", eventOf(t, p))
		}
	}
	for _, p := range often {
		ev := eventOf(t, p)
		rest[ev.GetAtTick()] = ev.GetSampleCharacter().GetCause() == teehistorianv1.ProofCause_PROOF_CAUSE_REST
	}
	if rest[400] || rest[600] || rest[1100] || !rest[1200] || !rest[3000] || len(rest) < 30 {
		t.Errorf("ticks that were not calculated are %v", rest)
	}
}

// TestPlayedMany: of more facts than fit behind an event, the rest comes behind the next one.
func TestPlayedMany(t *testing.T) {
	race, course := read(t, raceDir+"race.teehistorian"), read(t, raceDir+"course.map")
	const clients = 300
	data := race[:bytes.IndexByte(race, 0)+1]
	number := func(id int) []byte {
		if id < 64 {
			return []byte{byte(id)}
		}
		return []byte{byte(id&63 | 0x80), byte(id >> 6)}
	}
	for id := range clients {
		data = slices.Concat(data, []byte{0x42}, number(id), []byte{0x20, 0x20})
	}
	data = append(data, 0x41, 0)
	for id := range clients {
		data = slices.Concat(data, []byte{0x43}, number(id))
	}
	data = append(data, 0x41, 0, 0x41, 0, 0x41, 0, 0x41, 0, 0x40)
	o := codec.Options{Map: mapOf(course), Filter: selecting(t, named(playedFacts...))}
	all := from(t, data, o)
	at := map[int64]int{}
	for _, p := range all {
		at[p.at.Offset]++
	}
	if len(all) != clients || len(at) != 3 || at[all[0].at.Offset] != decoders.Room-1 {
		t.Errorf("%d facts at %v", len(all), at)
	}
	begun(t, data, o, all)
	o.Filter = selecting(t, named(playedFacts...), named("fact_input_stats"), played(1))
	if got := slices.DeleteFunc(from(t, data, o), func(p placed) bool { return !isFact(p) }); !slices.Equal(got, all) {
		t.Error("with samples and other facts they are elsewhere")
	}
}

// TestPlayedCheckpoint: a stream that begins at a checkpoint has what the whole has, and reads less.
func TestPlayedCheckpoint(t *testing.T) {
	data, course := read(t, raceDir+"race.teehistorian"), read(t, raceDir+"course.map")
	near := encoder.Codec
	near.Spacing = 10_000
	store, checkpoints := codectest.Checkpoints(near)
	for _, facts := range [][]string{nil, factKinds, playedFacts} {
		o := codec.Options{Map: mapOf(course), Checkpoints: checkpoints, Filter: selecting(t, played(200), named(append(slices.Clip(facts), "player_new")...))}
		whole := from(t, data, o)
		for _, i := range []int{len(whole) * 3 / 4, len(whole) - 1} {
			o.Start.Position = whole[i].at
			r, read := codectest.OpenCounted(t, encoder.Codec, data, o)
			if err := codectest.Seek(r); err != nil || r.Position() != whole[i].at {
				t.Fatal(err, r.Position())
			}
			if got := deliver(t, r); !slices.Equal(got, whole[i:]) {
				t.Errorf("from %+v on there are %d events, want %d", whole[i].at, len(got), len(whole)-i)
			}
			if *read == int64(len(data)) {
				t.Errorf("%d of %d bytes were read", *read, len(data))
			}
		}
	}
	if store.Bytes() == 0 {
		t.Error("no checkpoints")
	}
}

// TestPlayedRefused: without its map, a request is refused with a sentence; no other request needs one.
func TestPlayedRefused(t *testing.T) {
	race := read(t, raceDir+"race.teehistorian")
	never := func(*replaydv1.Replay, func(io.ReaderAt, int64) error) error {
		t.Error("the map is asked for")
		return codec.ErrNoMap
	}
	from(t, race, codec.Options{Map: never})
	from(t, race, codec.Options{Map: never, Filter: selecting(t, every(500), named(factKinds...))})
	absent := func(*replaydv1.Replay, func(io.ReaderAt, int64) error) error {
		return fmt.Errorf("here %w", codec.ErrNoMap)
	}
	other := bytes.Replace(race, []byte("DDraceNetwork"), []byte("DDraceNitwork"), 1)
	for _, test := range []struct {
		name string
		data []byte
		file func(*replaydv1.Replay, func(io.ReaderAt, int64) error) error
		want string
	}{
		{"no maps", race, nil, "sample_character needs the map of the game, course, SHA-256 "},
		{"no such map", race, absent, "no file that can be read is it"},
		{"broken map", race, mapOf([]byte("DATA")), "opening the map"},
		{"other rules", other, mapOf(nil), "the rules of a game of type"},
	} {
		r, err := encoder.Codec.Open(codectest.Input(test.data), codec.Options{Map: test.file, Filter: selecting(t, named("sample_character"))})
		if err != nil {
			t.Fatal(err)
		}
		refused, ok := errors.AsType[*filter.FieldError](r.Header(new(replaydv1.Replay)))
		if !ok || !strings.Contains(refused.Error(), test.want) {
			t.Errorf("%s: %v", test.name, refused)
		}
	}
}
