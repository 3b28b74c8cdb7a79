package describe

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/decodertest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/registry"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/watch"
)

// samples are replays of each format.
var samples = map[string][]string{
	"game":    {"teehistorian/finished/4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian"},
	"map":     {"datafile/sample.map"},
	"demo":    {"dem/cs2.dem"},
	"match":   {"sc2replay/5.0.SC2Replay"},
	"damaged": {"sc2replay/damaged.SC2Replay"},
}

// opened opens a sample, or a packed copy of it.
func opened(t *testing.T, name string, cut int, pack bool) *source.File {
	t.Helper()
	data := decodertest.Sample(t, samples[name]...)
	data = data[:len(data)-cut]
	if pack {
		data = decodertest.Gzip(t, data)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := source.OpenLocal(path, source.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return file
}

// TestPacked: a packed replay is described as it is without, except for what its file is.
func TestPacked(t *testing.T) {
	for name := range samples {
		if name == "demo" { // the summary behind its end is read where that takes no unpacking
			continue
		}
		for what, of := range map[string]func(*source.File) (proto.Message, *replaydv1.Replay, error){
			"replay": func(f *source.File) (proto.Message, *replaydv1.Replay, error) {
				r, err := Replay(t.Context(), f)
				return r, r, err
			},
			"participants": func(f *source.File) (proto.Message, *replaydv1.Replay, error) {
				r, err := Participants(t.Context(), f, codec.Secrets{})
				if r.GetHeader() != nil {
					t.Errorf("%s: participants with a header", name)
				}
				return r, r, err
			},
			"report": func(f *source.File) (proto.Message, *replaydv1.Replay, error) {
				r, err := Report(t.Context(), f, codec.ReportOptions{Pause: func(int64) error { return nil }})
				of := r.GetReplay()
				return r, of, err
			},
		} {
			plain, r, err := of(opened(t, name, 0, false))
			packed, p, packedErr := of(opened(t, name, 0, true))
			if err != nil || packedErr != nil {
				if (err == nil) != (packedErr == nil) {
					t.Errorf("%s of %s: %v; packed %v", what, name, err, packedErr)
				}
				continue
			}
			if r.GetIdentity() == "" || p.GetCompression() != replaydv1.Compression_COMPRESSION_GZIP {
				t.Errorf("%s of %s: identity %q, packed %v", what, name, r.GetIdentity(), p.GetCompression())
			}
			p.Name, p.SizeBytes, p.Compression, p.ModifyTime, p.State = r.GetName(), r.GetSizeBytes(), r.GetCompression(), r.GetModifyTime(), r.GetState()
			if !proto.Equal(plain, packed) {
				t.Errorf("%s of %s is %v, packed %v", what, name, plain, packed)
			}
		}
	}
}

// TestParticipants: who took part, up to where the replay ends; a replay that may grow is neither finished nor abandoned.
func TestParticipants(t *testing.T) {
	for _, test := range []struct {
		name string
		cut  int
		pack bool
		want replaydv1.ReplayState
	}{
		{"game", 0, false, replaydv1.ReplayState_REPLAY_STATE_FINISHED},
		{"game", 0, true, replaydv1.ReplayState_REPLAY_STATE_FINISHED},
		{"game", 5, false, replaydv1.ReplayState_REPLAY_STATE_UNSPECIFIED},
		{"game", 5, true, replaydv1.ReplayState_REPLAY_STATE_ABANDONED},
	} {
		r, err := Participants(t.Context(), opened(t, test.name, test.cut, test.pack), codec.Secrets{})
		if err != nil || r.GetState() != test.want || len(r.GetParticipants()) == 0 || r.PlayersTick == nil {
			t.Errorf("%+v: %v, %d participants until %v, %v", test, r.GetState(), len(r.GetParticipants()), r.PlayersTick, err)
		}
	}
	r, err := Participants(t.Context(), opened(t, "map", 0, false), codec.Secrets{})
	if err != nil || len(r.GetPlayers()) > 0 || r.GetState() != replaydv1.ReplayState_REPLAY_STATE_UNSPECIFIED {
		t.Errorf("of a map: %v, %v", r, err)
	}
}

// TestNotAReplay: what is of no format, or of one that is not decoded, has no description.
func TestNotAReplay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(path, []byte("a text"), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := source.OpenLocal(path, source.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = text.Close() }()
	demo := opened(t, "demo", 0, false)
	defer SetCodecs(Named("teehistorian"))()
	for _, file := range []*source.File{text, demo} {
		_, replayErr := Replay(t.Context(), file)
		_, partErr := Participants(t.Context(), file, codec.Secrets{})
		_, reportErr := Report(t.Context(), file, codec.ReportOptions{Pause: func(int64) error { return nil }})
		for _, err := range []error{replayErr, partErr, reportErr} {
			if !errors.Is(err, decoders.ErrUnsupported) {
				t.Errorf("%s: %v", file.Info().Name, err)
			}
		}
	}
}

// TestEntry: an index adds what it knows, and keeps what a description has.
func TestEntry(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "demo"), decodertest.Sample(t, samples["demo"]...), 0o600); err != nil {
		t.Fatal(err)
	}
	files, err := catalog.New([]catalog.Root{{Alias: "r", Dir: dir}}, catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	watcher, err := watch.New(watch.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = watcher.Close() }()
	x, err := index.Open(index.Config{Files: files, Watcher: watcher, Codec: registry.Of, Describe: Replay})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = x.Close() }()
	e, err := x.Get(t.Context(), "r/demo", index.Everything())
	if err != nil {
		t.Fatal(err)
	}
	r := Entry(x, e)
	if r.GetName() != "r/demo" || r.GetIdentity() != e.Identity || r.GetMapName() != e.MapName || r.GetState() != replaydv1.ReplayState_REPLAY_STATE_GROWING ||
		(r.TicksPerSecond != nil) != (e.TicksPerSecond > 0) || (r.LastTick != nil) != (e.LastTick >= 0) {
		t.Errorf("%v of %+v", r, e)
	}
	known := *e
	known.TicksPerSecond, known.LastTick = 64, -1
	known.Length = 90 * time.Second
	known.Survey = &index.Survey{Offset: 10, LastTick: 7}
	r = &replaydv1.Replay{}
	AddKnown(x, &known, r)
	if r.GetTicksPerSecond() != 64 || r.GetLastTick() != 7 || r.GetDuration().AsDuration() != known.Duration() || known.Duration() <= 0 {
		t.Errorf("it knows %v", r)
	}
	had := &replaydv1.Replay{TicksPerSecond: new(30.0), LastTick: new(int32(3)), Lineup: "ab", Duration: durationpb.New(time.Minute)}
	want := proto.CloneOf(had)
	AddKnown(x, &known, had)
	if want.State = had.GetState(); !proto.Equal(had, want) {
		t.Errorf("it had %v, and has %v", want, had)
	}
	known.TicksPerSecond, known.Survey, known.Length = 0, &index.Survey{}, 0
	r = &replaydv1.Replay{}
	if AddKnown(x, &known, r); r.TicksPerSecond != nil || r.LastTick != nil || r.Duration != nil {
		t.Errorf("it knows what it cannot: %v", r)
	}
}
