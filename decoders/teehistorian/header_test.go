package teehistorian_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/teehistorian"
)

func TestHeader(t *testing.T) {
	start := time.Date(2026, 11, 20, 20, 29, 14, 0, time.UTC)
	for _, test := range []struct {
		name, json string
		want       teehistorian.Header
	}{
		{"new", `{"comment":"teehistorian@ddnet.tw","version":"2","version_minor":"22","game_uuid":"g","prev_game_uuid":"p",` +
			`"server_version":"0.6, 20.1","start_time":"2026-11-20T20:29:14+0000","server_name":"s","server_port":"8303",` +
			`"game_type":"DDraceNetwork","map_name":"m","map_size":"42","map_sha256":"ab","map_crc":"cd",` +
			`"prng_description":"pcg-xsh-rr:unseeded","config":{"sv_name":"s"},"tuning":{"gravity":"50"},"uuids":["a","b"]}`,
			teehistorian.Header{
				Version: 2, VersionMinor: 22, HasVersionMinor: true, GameUUID: "g", PrevGameUUID: "p",
				ServerVersion: "0.6, 20.1", StartTime: start, StartTimeText: "2026-11-20T20:29:14+0000", ServerName: "s",
				ServerPort: 8303, GameType: "DDraceNetwork", MapName: "m", MapSize: 42, MapSHA256: "ab", MapCRC: "cd",
				PRNGDescription: "pcg-xsh-rr:unseeded", Config: map[string]string{"sv_name": "s"},
				Tuning: map[string]string{"gravity": "50"}, UUIDs: []string{"a", "b"},
			}},
		{"old", `{"version":"1","start_time":"2026-11-20 20:29:14 +0000","server_port":8303,"map_size":42}`,
			teehistorian.Header{
				Version: 1, StartTime: start, StartTimeText: "2026-11-20 20:29:14 +0000", ServerPort: 8303, MapSize: 42,
			}},
		{"second spelling", `{"version":"2","minor_version":"2","prev_game_uuid":null}`,
			teehistorian.Header{Version: 2, VersionMinor: 2, HasVersionMinor: true}},
		{"unknown keys", ` { "version" : 2, "mod": {"a": [1, 2]}, "comment": "else", "map_size": "big", "config": [], "server_port":true}`,
			teehistorian.Header{Version: 2, Other: map[string]string{
				"mod": `{"a": [1, 2]}`, "comment": `"else"`, "map_size": `"big"`, "config": "[]", "server_port": "true",
			}}},
		{"cut character", "{\"version\":\"2\",\"server_name\":\"caf\xc3\",\"x\":\"\xff\",\"config\":{\"k\":[\"\xff\"]}}",
			teehistorian.Header{
				Version: 2, ServerName: "caf\uFFFD", Other: map[string]string{"x": "\"\uFFFD\""},
				Config: map[string]string{"k": "[\"\uFFFD\"]"},
			}},
		{"invalid time", `{"version":"2","start_time":"yesterday"}`,
			teehistorian.Header{Version: 2, StartTimeText: "yesterday"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := decode(newWriter(test.json).b, nil).Header()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestHeaderErrors(t *testing.T) {
	magic := string(newWriter("").b[:16])
	for _, test := range []struct {
		name, data string
		kind       error
		text       string
	}{
		{"empty", "", decoders.ErrTruncated, "the file ends after 0 bytes of it"},
		{"half a magic", magic[:7], decoders.ErrTruncated, "header at byte 0"},
		{"another format", "PBDEMS2\x00 and more of it", decoders.ErrCorrupt, "not a teehistorian file"},
		{"another format, short", "MPQ", decoders.ErrCorrupt, "not a teehistorian file"},
		{"torn", magic + `{"version":`, decoders.ErrTruncated, "header"},
		{"not JSON", magic + "hello\x00", decoders.ErrCorrupt, "after 1 bytes of JSON"},
		{"not an object", magic + "[1]\x00", decoders.ErrCorrupt, "header"},
		{"nothing", magic + "\x00", decoders.ErrCorrupt, "header"},
		{"deep", magic + strings.Repeat("[", 20_000) + "\x00", decoders.ErrCorrupt, "depth"},
		{"no version", magic + "{}\x00", decoders.ErrCorrupt, "it has no version"},
		{"null", magic + "null\x00", decoders.ErrCorrupt, "it has no version"},
		{"version", magic + `{"version":"3"}` + "\x00", decoders.ErrUnsupported, "version 3"},
		{"no NUL", magic + `{"version":"2"}` + strings.Repeat(" ", teehistorian.MaxHeader), decoders.ErrLimit, "longer than"},
		{"late NUL", magic + `{"version":"2"}` + strings.Repeat(" ", teehistorian.MaxHeader) + "\x00", decoders.ErrLimit, "longer than"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := decode([]byte(test.data), nil)
			_, err := d.Header()
			if errors.Is(err, decoders.ErrMore) {
				err = d.Close()
			}
			var failure *decoders.Error
			if !errors.As(err, &failure) || !errors.Is(err, test.kind) || failure.Offset != 0 || failure.Tick != decoders.NoTick ||
				!strings.Contains(err.Error(), test.text) {
				t.Errorf("%v", err)
			}
			var ev teehistorian.Event
			if again := d.Next(&ev); !errors.Is(again, err) {
				t.Errorf("then: %v", again)
			}
		})
	}
}

// TestSmallWindow checks that a record larger than the window exceeds a limit and is not corrupt.
func TestSmallWindow(t *testing.T) {
	data := file(func(w *writer) {
		w.ex("teehistorian-antibot@ddnet.org", func(w *writer) { w.b = append(w.b, make([]byte, 100<<10)...) })
	})
	d := teehistorian.New(strings.NewReader(string(data)), teehistorian.Options{Window: 1})
	var ev teehistorian.Event
	if err := d.Next(&ev); !errors.Is(err, decoders.ErrLimit) {
		t.Errorf("%v", err)
	}
}
