package verify_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/datafile"
	"github.com/replayd/replayd/decoders/datafile/datafiletest"
	"github.com/replayd/replayd/decoders/teehistorian/physics"
	"github.com/replayd/replayd/replay/tiles"
	"github.com/replayd/replayd/replay/verify"
)

// TestReport: each stay of a client is a player of its own, the times of runs are those of their ticks, and the whole is the sum of its
// players.
func TestReport(t *testing.T) {
	got := report(t, read(t, race+"race.teehistorian"))
	var names []string
	proven, runs, last := int64(0), 0, int32(0)
	for i := range got.Players {
		p := &got.Players[i]
		names = append(names, p.Name)
		proven, last = proven+p.Proven, max(last, p.LastTick)
		if p.Proven > int64(p.LastTick-p.FirstTick+1) || p.Corrected+p.Unknown != 0 || len(p.Causes) > 0 {
			t.Errorf("%s: %+v", p.Name, p.Part)
		}
		for j := range p.Runs {
			run := &p.Runs[j]
			if runs++; run.Seconds != float64(run.LastTick-run.FirstTick)/50 || run.FirstTick < p.FirstTick || run.LastTick > p.LastTick ||
				run.Verdict != verify.VerdictProven || run.RecordedSeconds != nil {
				t.Errorf("%s: %+v", p.Name, run)
			}
		}
	}
	if want := []string{"Ada", "Grace", "Linus", "Margaret", "Edsger", "Barbara", "Edsger"}; !slices.Equal(names, want) { // one comes again
		t.Errorf("players %q, want %q", names, want)
	}
	if got.Proven != proven || got.LastTick != last || got.FirstTick != got.Players[0].FirstTick || runs != 14 || got.MapName != "course" {
		t.Errorf("%+v, %d runs", got, runs)
	}
}

// TestFirstBroken: of several players whose ticks contradict the rules, the report names the first tick.
func TestFirstBroken(t *testing.T) {
	recording := read(t, race+"race.teehistorian")
	all := moves(t, recording)
	for _, at := range []int{len(all) / 4, len(all) * 3 / 4} {
		recording[all[at].offset+1]++
	}
	got := report(t, recording)
	if first := all[len(all)/4].tick; deviates(&got.Part) != first {
		t.Errorf("moved in tick %d: %+v", first, got.Part)
	}
}

// TestOtherRules: what layers of the map and its settings change in the game counts. On a course that has others the recording is broken.
func TestOtherRules(t *testing.T) {
	recording := read(t, race+"race.teehistorian")
	broken := func(kind datafile.LayerKind, tile []byte, settings ...string) verify.Deviation {
		t.Helper()
		r, err := verify.Open(bytes.NewReader(recording))
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Verify(t.Context(), courseWith(t, kind, tile, settings...))
		if err != nil {
			t.Fatal(err)
		}
		if got.Broken == nil {
			return verify.Deviation{}
		}
		return *got.Broken
	}
	const tune, boost = 68, 28 // indexes of tiles
	zone := broken(datafile.LayerKindTune, []byte{1, tune})
	if got := broken(datafile.LayerKindTune, []byte{1, tune}, "tune_zone 2 gravity 0", "tune_zone 1 gravity"); got != zone {
		t.Errorf("with settings of others %+v, without %+v", got, zone)
	}
	if got := broken(datafile.LayerKindTune, []byte{1, tune}, "tune_zone 1 gravity 0"); got == zone {
		t.Errorf("without gravity as with it: %+v", got)
	}
	for force, want := range map[byte]bool{0: false, 40: true} {
		if got := broken(datafile.LayerKindSpeedup, []byte{force, 0, boost, 0, 0, 0}); got.Tick > 0 != want {
			t.Errorf("speedups of force %d: %+v", force, got)
		}
	}
}

// flags are those by which the items of layers say what kind they are.
var flags = map[datafile.LayerKind]int32{datafile.LayerKindSpeedup: 4, datafile.LayerKindTune: 32}

// courseWith returns the map of the race with a layer that has one tile everywhere, and with settings.
func courseWith(t *testing.T, kind datafile.LayerKind, tile []byte, settings ...string) *physics.Map {
	t.Helper()
	data := read(t, race+"course.map")
	file, err := datafile.Open(bytes.NewReader(data), int64(len(data)), datafile.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	var w datafiletest.MapWriter
	add := func(ev *datafile.Event) {
		if err := w.Add(ev); err != nil {
			t.Fatal(err)
		}
	}
	layer := &datafile.Event{Kind: datafile.KindTileLayer}
	for ev, err := range decoders.All(file.Events(datafile.Options{})) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Kind == datafile.KindTileLayer && ev.TileLayer.Kind == datafile.LayerKindGame {
			layer.TileLayer = datafile.TileLayer{
				Kind: kind, Flags: flags[kind], Version: 3, Width: ev.TileLayer.Width, Height: ev.TileLayer.Height, Image: -1, ColorEnvelope: -1,
			}
		}
		if ev.Kind != datafile.KindSettings {
			add(ev)
		}
		if ev.Kind == datafile.KindInfo {
			commands := &datafile.Event{Kind: datafile.KindSettings}
			for _, s := range settings {
				commands.Settings.Commands = append(commands.Settings.Commands, []byte(s))
			}
			add(commands)
		}
	}
	add(layer)
	columns, rows := layer.TileLayer.Width, layer.TileLayer.Height
	add(&datafile.Event{Kind: datafile.KindTiles, Tiles: datafile.Tiles{
		Kind: kind, Columns: columns, Rows: rows, BytesPerTile: int32(len(tile)), Data: bytes.Repeat(tile, int(columns*rows)),
	}})
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	m, err := tiles.Open(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return m
}
