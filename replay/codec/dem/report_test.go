package dem_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	demv1 "github.com/replayd/replayd/proto/replayd/dem/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/codectest"
	encoder "github.com/replayd/replayd/replay/codec/dem"
)

func reported(t *testing.T, data []byte, o codec.ReportOptions) *replaydv1.Report {
	t.Helper()
	r := &replaydv1.Report{Replay: &replaydv1.Replay{}}
	o.Pause = func(int64) error { return nil }
	if err := encoder.Codec.Report(context.Background(), codectest.Input(data), o, r); err != nil {
		t.Fatal(err)
	}
	return r
}

// stateOf returns the numbers of controllers and their names that a stream has as its state behind a tick, or at the end.
func stateOf(t *testing.T, data []byte, start codec.Start) map[int32]string {
	t.Helper()
	r := open(t, data, codec.Options{State: true, Start: start})
	if err := codectest.Seek(r); err != nil {
		return nil
	}
	names := map[int32]string{}
	for over := error(nil); over == nil || errors.Is(over, codec.ErrYield); {
		b := codec.Batch{MaxEvents: 1000, MaxBytes: 1 << 20}
		over = r.(codec.Presenter).Present(&b)
		var list demv1.EventList
		if err := proto.Unmarshal(append(b.Events, b.Tail...), &list); err != nil {
			t.Fatal(err)
		}
		for _, ev := range list.GetEvents() {
			for _, f := range ev.GetEntityEntered().GetFields() {
				if name := list.GetStrings()[f.GetField()]; name == "m_iszPlayerName" && f.GetText() != "" {
					names[int32(ev.GetEntityEntered().GetIndex())] = f.GetText()
				}
			}
		}
	}
	return names
}

// TestReport: the players of a report are those of the entities at the same place, with checkpoints and without. What follows a tick
// does not count, and no tick is the end.
func TestReport(t *testing.T) {
	var paths []string
	for _, pattern := range []string{"../../../testdata/dem/*.dem", "../../../../shared/corpus/dem/demofile-net/*.dem", "../../../../shared/corpus/dem/haste/*.dem"} {
		found, _ := filepath.Glob(filepath.FromSlash(pattern))
		paths = append(paths, found...)
	}
	players := 0
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, checkpoints := codectest.Checkpoints(encoder.Codec)
		whole := reported(t, data, codec.ReportOptions{})
		compareNames(t, path, whole, stateOf(t, data, codec.Start{Now: true}))
		players += len(whole.GetDem().GetPlayers())
		for tick := int32(0); tick <= whole.GetTick(); tick += whole.GetTick()/4 + 1 {
			got := reported(t, data, codec.ReportOptions{Tick: &tick})
			for range 2 { // the second time from checkpoints
				if again := reported(t, data, codec.ReportOptions{Tick: &tick, Checkpoints: checkpoints}); !proto.Equal(got, again) {
					t.Errorf("%s at %d: another report from checkpoints", path, tick)
				}
			}
			if state := stateOf(t, data, codec.Start{Tick: new(tick + 1)}); state != nil {
				if got.GetEnded() || got.GetTick() != tick {
					t.Errorf("%s at %d: it is of %d, ended %v", path, tick, got.GetTick(), got.GetEnded())
				}
				compareNames(t, path, got, state)
			}
		}
		if last := reported(t, data, codec.ReportOptions{Tick: new(whole.GetTick() + 1000)}); !proto.Equal(last, whole) {
			t.Errorf("%s: a tick behind the end is not the end:\n%v\n%v", path, last, whole)
		}
	}
	if len(paths) > 8 && players < 40 {
		t.Errorf("%d players in %d demos", players, len(paths))
	}
}

func compareNames(t *testing.T, path string, r *replaydv1.Report, want map[int32]string) {
	t.Helper()
	for _, p := range r.GetDem().GetPlayers() {
		if want[p.GetNumber()] != p.GetName() {
			t.Errorf("%s at %d: player %d is %q, not %q", path, r.GetTick(), p.GetNumber(), p.GetName(), want[p.GetNumber()])
		}
	}
	if len(r.GetDem().GetPlayers()) < min(len(want), 1) {
		t.Errorf("%s at %d: nobody of %v", path, r.GetTick(), want)
	}
}

// TestReportOfDamage: whatever a file has, its report is small, or an error of the file.
func TestReportOfDamage(t *testing.T) {
	sample, err := os.ReadFile("../../../testdata/dem/sample.dem")
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		data := slices.Clone(sample)
		for range 1 + random.IntN(8) {
			data[random.IntN(len(data))] ^= byte(1 + random.IntN(255))
		}
		codectest.CheckReport(t, encoder.Codec, data[:random.IntN(len(data)+1)])
	}
}

func FuzzReport(f *testing.F) {
	sample, err := os.ReadFile("../../../testdata/dem/sample.dem")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sample)
	f.Fuzz(func(t *testing.T, data []byte) { codectest.CheckReport(t, encoder.Codec, data) })
}
