package sc2replay_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/replayd/replayd/decoders/sc2replay"
	"github.com/replayd/replayd/decoders/sc2replay/protocol"
	"github.com/replayd/replayd/decoders/sc2replay/sc2test"
)

// TestNothingLeftOut checks that every field of every embedded table has a place.
func TestNothingLeftOut(t *testing.T) {
	for _, build := range append(protocol.Default().Builds(), 23925, 24247) {
		table, err := protocol.Default().Table(build)
		if err != nil {
			t.Fatal(err)
		}
		if fields := sc2replay.LeftOut(table); len(fields) > 0 {
			t.Errorf("table %d: %q", build, fields)
		}
	}
}

// patched returns the sample with camera events of another layout, as a patch with a new base build brings.
func patched(t *testing.T) (file []byte, data fstest.MapFS) {
	t.Helper()
	data = fstest.MapFS{"protocol.txt": {Data: []byte(`# Base build 99999.

tables
99999

game CameraUpdate
99999 49 {target ?{x u16, y u16}, distance ?u16, pitch ?u16, yaw ?u16, reason ?i8, follow bool, roll [u3]u8, zoom ?u8}
`)}}
	tables, err := protocol.Parse(string(data["protocol.txt"].Data))
	if err != nil {
		t.Fatal(err)
	}
	r := sc2test.Sample(80949)
	r.BaseBuild, r.Build, r.Tables = 99999, 99999, tables
	camera := r.Game[2]
	camera.Value["roll"] = []any{1, 2, 3}
	for _, loop := range []int{301, 302, 303, 304} { // and some more, between other events
		camera.Loop = loop
		i := 8 + loop - 301
		r.Game = append(r.Game[:i:i], append([]sc2test.Event{camera}, r.Game[i:]...)...)
	}
	return r.Bytes(), data
}

// use makes a test decode with the data of a directory.
func use(t *testing.T, dir fstest.MapFS) {
	t.Helper()
	data, err := sc2replay.ReadData(dir)
	if err != nil {
		t.Fatal(err)
	}
	data.Use()
	t.Cleanup((*sc2replay.Data)(nil).Use)
}

// TestPatchDay decodes a replay of a new base build with a new layout. Without its table, the error names build and table, no
// event after the first new one is delivered, and names are guesses. With two lines everything is as before.
func TestPatchDay(t *testing.T) {
	file, data := patched(t)
	before, err := ends(t, file)
	wantDamage(t, err, "replay.game.events at byte ")
	wantDamage(t, err, "base build 99999 has no table of its own, and table 80949 does not fit")
	p := open(t, file)
	if m := p.Start.DecodeInfo.Match; m != sc2replay.TableMatchNearest {
		t.Errorf("match %v", m)
	}
	use(t, data)
	after, err := ends(t, file)
	if err != nil {
		t.Error(err)
	}
	for _, want := range []string{
		"304 camera_update Alice/1 to {40 50.5} distance 34", "12 cmd Alice/1 ability 43.1 Patrol", "save_game Alice/1", "player_info Bob/2",
	} {
		if !strings.Contains(after, want) {
			t.Errorf("no %q in\n%s", want, after)
		}
	}
	for l := range strings.Lines(strings.TrimSuffix(before, "\n700 end -")) {
		if !strings.Contains(after, strings.TrimSpace(l)) {
			t.Errorf("without the table a false event was delivered: %s", l)
		}
	}
	q := open(t, file)
	if info := q.Start.DecodeInfo; info.Match != sc2replay.TableMatchExact || info.TableBuild != 99999 || !info.Names.BuildGuessed {
		t.Errorf("%+v", info)
	}
	// The replay that was open keeps its data.
	if _, err := all(p.Events(sc2replay.Options{})); errors.Is(err, io.EOF) {
		t.Error("other data for an open replay")
	}
}

// TestNewNames brings names for a new build.
func TestNewNames(t *testing.T) {
	r := sc2test.Sample(80949)
	r.Build = 99999
	use(t, fstest.MapFS{"names.txt": {Data: []byte("source ours\ntables\nLotV 97564 100000 LotV/97364 LotV/97364\n")}})
	want := "SCV,SCV,Barracks,Patrol,,,,Larva,Barracks: 97564 ours, LotV/97364 LotV guessed false false"
	if got := named(t, r); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestReadDataErrors(t *testing.T) {
	for name, tt := range map[string]struct{ file, text, want string }{
		"no file":            {"tables.txt", "", "neither protocol.txt nor names.txt"},
		"no build":           {"protocol.txt", "tables\nx", "protocol.txt: tables: line 2"},
		"a wrong layout":     {"protocol.txt", "tables\n99999\n\ngame Cmd\n99999 27 {a u99}", "protocol.txt: table 99999: game Cmd"},
		"no such list":       {"names.txt", "tables\nLotV 97564 100000 LotV/1 LotV/1", "names.txt: names: line 2"},
		"two events, one id": {"protocol.txt", "tables\n99999\n\ngame New\n99999 27 {a u9}", "is Cmd already"},
	} {
		_, err := sc2replay.ReadData(fstest.MapFS{tt.file: {Data: []byte(tt.text)}})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}
