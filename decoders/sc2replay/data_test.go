package sc2replay_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/decodertest"
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

// TestUnproven: when the table of another build does not fit a stream, each of its events is marked, also those of before the
// place that shows it: here two events have moved whose layouts are equal, so that their kinds are exchanged. Nothing is marked
// where the table fits.
func TestUnproven(t *testing.T) {
	moved := fstest.MapFS{"protocol.txt": {Data: []byte(`tables
99999

game SetSyncLoadingTime
99999 117 {syncTime u32}

game SetSyncPlayingTime
99999 116 {syncTime u32}

game SaveGame
99999 127 {fileName blob(u11), automatic bool, overwrite bool, name blob(u8), description blob(u10)}

message Ping
99999 15 {recipient u3, point {x i32, y i32}}
`)}}
	tables, err := protocol.Parse(string(moved["protocol.txt"].Data))
	if err != nil {
		t.Fatal(err)
	}
	made := func(change func(*sc2test.Replay)) []byte {
		r := sc2test.Sample(80949)
		r.BaseBuild, r.Build = 99999, 99999
		loading := sc2test.Event{Loop: 0, User: 16, Name: "SetSyncLoadingTime", Value: sc2test.S{"syncTime": 7}}
		r.Game = append([]sc2test.Event{loading}, r.Game...)
		change(r)
		return r.Bytes()
	}
	ids := func(r *sc2test.Replay) { r.Tables = tables }
	only := func(name string) func(*sc2test.Replay) { // what has moved is only there
		return func(r *sc2test.Replay) {
			r.Tables = tables
			if name == "messages" {
				r.Game = r.Game[1:10]
			} else {
				r.Message = r.Message[:3]
			}
		}
	}
	for name, tt := range map[string]struct {
		file     []byte
		unproven string // the first letters of the streams with such events
	}{
		"equal layouts": {made(func(*sc2test.Replay) {}), ""},
		"both":          {made(ids), "GM"},
		"game events":   {made(only("game events")), "G"},
		"messages":      {made(only("messages")), "M"},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t, tt.file).Events(sc2replay.Options{})
			var ev sc2replay.Event
			counts := map[bool]map[string]int{false: {}, true: {}}
			for d.Next(&ev) == nil {
				if ev.HasUnproven != ev.Unproven {
					t.Fatalf("%s: present %v, %v", ev.Kind, ev.HasUnproven, ev.Unproven)
				}
				counts[ev.Unproven][streamOf(ev.Kind)]++
				if info := ev.Start.DecodeInfo; ev.Kind == sc2replay.KindStart && info.Unproven != (tt.unproven != "") {
					t.Errorf("the start says %v", info.Unproven)
				}
			}
			for _, stream := range []string{"G", "M", "T", ""} {
				marked := strings.Contains(tt.unproven, stream) && stream != ""
				if counts[marked][stream] == 0 || counts[!marked][stream] > 0 {
					t.Errorf("%q: %d events are marked, %d are not", stream, counts[true][stream], counts[false][stream])
				}
			}
			if tt.unproven != "" {
				wantDamage(t, d.Close(), "base build 99999 has no table of its own, and table 80949 does not fit")
			} else if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	// Events that come after the game's end are no error. What closes the replay is certain again.
	late := made(func(r *sc2test.Replay) { r.Loops, r.Message, r.Tracker = 100, nil, nil })
	// Damage is the error where there is any, and the events are unproven all the same.
	hurt := made(func(r *sc2test.Replay) { r.Tables, r.Method = tables, sc2test.Stored })
	hurt[bytes.Index(hurt, []byte("typed"))] ^= 1
	for name, tt := range map[string]struct {
		file []byte
		want error
	}{"late": {late, nil}, "hurt": {hurt, decoders.ErrCorrupt}} {
		d := open(t, tt.file).Events(sc2replay.Options{})
		var ev sc2replay.Event
		for d.Next(&ev) == nil {
			if stream := streamOf(ev.Kind); (stream == "G") != ev.Unproven && stream != "M" {
				t.Errorf("%s: %s: unproven %v", name, ev.Kind, ev.Unproven)
			}
		}
		if err := d.Close(); !errors.Is(err, tt.want) || !d.Info().Unproven {
			t.Errorf("%s: %v, want %v, %+v", name, err, tt.want, d.Info())
		}
	}
	use(t, moved)
	d := open(t, made(ids)).Events(sc2replay.Options{})
	lines, err := all(d)
	if text := strings.Join(lines, "\n"); !errors.Is(err, io.EOF) || d.Info().Unproven || !strings.Contains(text, "0 set_sync_loading_time") {
		t.Errorf("with its table %v:\n%s", err, text)
	}
}

// TestFuture decodes one replay as five new builds write it. Whatever differs from the first is told: an event is missing, and
// the error says so; or it is false, and unproven.
func TestFuture(t *testing.T) {
	read := func(name string) (lines map[string]int, unproven map[string]int, info sc2replay.DecodeInfo, err error) {
		data := decodertest.Read(t, "corpus", "sc2replay-future", name+".SC2Replay")
		lines, unproven = map[string]int{}, map[string]int{}
		d := open(t, data).Events(sc2replay.Options{})
		var ev sc2replay.Event
		for d.Next(&ev) == nil {
			switch {
			case ev.Kind == sc2replay.KindMember, ev.Kind == sc2replay.KindStart:
			case ev.Unproven:
				unproven[line(&ev)]++
			default:
				lines[line(&ev)]++
			}
		}
		return lines, unproven, d.Info(), d.Close()
	}
	first, unproven, info, err := read("v1")
	if err != nil || len(unproven) > 0 || info.Match != sc2replay.TableMatchNearest || info.Unproven {
		t.Fatalf("v1: %v, %d are unproven, %+v", err, len(unproven), info)
	}
	for name, misfit := range map[string]bool{"v2": true, "v3": false, "v4": true, "v6": false} {
		lines, unproven, info, err := read(name)
		for l := range lines {
			if first[l] == 0 && !strings.Contains(l, " other ") && !strings.Contains(l, " end ") {
				t.Errorf("%s: %q is in no other", name, l)
			}
		}
		if misfit {
			wantDamage(t, err, "base build 99999 has no table of its own, and table 80949 does not fit")
		} else if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if info.Unproven != misfit || len(unproven) > 0 != misfit {
			t.Errorf("%s: %d are unproven, %+v", name, len(unproven), info)
		}
	}
	use(t, fstest.MapFS{"protocol.txt": {Data: []byte("tables\n99999\n\ngame CmdUpdateTargetPoint\n99999 104 {target {x u20, y u20, z i32}, extra u8}\n")}})
	lines, unproven, info, err := read("v2")
	if err != nil || len(unproven) > 0 || info.Match != sc2replay.TableMatchExact || len(lines) != len(first) {
		t.Errorf("v2 with its table: %v, %d are unproven, %d of %d", err, len(unproven), len(lines), len(first))
	}
}

// streamOf returns the first letter of the stream of a kind of event in the tests above.
func streamOf(k sc2replay.Kind) string {
	switch name := k.String(); {
	case k == sc2replay.KindChat, k == sc2replay.KindPing, k == sc2replay.KindLoadingProgress:
		return "M"
	case strings.HasPrefix(name, "unit_"), strings.HasPrefix(name, "player_s"), k == sc2replay.KindUpgrade:
		return "T"
	case k >= sc2replay.KindStart && k <= sc2replay.KindEnd:
		return ""
	}
	return "G"
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
		"no file":            {"tables.txt", "", "none of protocol.txt, names.txt and times.txt"},
		"no build":           {"protocol.txt", "tables\nx", "protocol.txt: tables: line 2"},
		"a wrong layout":     {"protocol.txt", "tables\n99999\n\ngame Cmd\n99999 27 {a u99}", "protocol.txt: table 99999: game Cmd"},
		"no such list":       {"names.txt", "tables\nLotV 97564 100000 LotV/1 LotV/1", "names.txt: names: line 2"},
		"no time":            {"times.txt", "SCV 99999 0", "times.txt: line 1: SCV"},
		"two events, one id": {"protocol.txt", "tables\n99999\n\ngame New\n99999 27 {a u9}", "is Cmd already"},
	} {
		_, err := sc2replay.ReadData(fstest.MapFS{tt.file: {Data: []byte(tt.text)}})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}
