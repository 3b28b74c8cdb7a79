package service_test

import (
	"crypto/sha256"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders/decodertest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// TestMapReplay: the description of a game names its map, wherever in the roots the map is, and never another map.
func TestMapReplay(t *testing.T) {
	sample := decodertest.Sample(t, "datafile", "sample.map")
	sum, crc := sha256.Sum256(sample), crc32.ChecksumIEEE(sample)
	for _, test := range []struct {
		name, header string
		want         string
	}{
		{"by SHA-256", fmt.Sprintf(`"map_size":"%d","map_sha256":"%x","map_crc":"00000000"`, len(sample), sum), "maps/deep/a.map"},
		{"by size and CRC, of an old server", fmt.Sprintf(`"map_size":"%d","map_crc":"%08x"`, len(sample), crc), "maps/deep/a.map"},
		{"another SHA-256", fmt.Sprintf(`"map_size":"%d","map_sha256":"%064d","map_crc":"%08x"`, len(sample), 0, crc), ""},
		{"another CRC", fmt.Sprintf(`"map_size":"%d","map_crc":"%08x"`, len(sample), crc+1), ""},
		{"another size", fmt.Sprintf(`"map_size":"%d","map_sha256":"%x"`, len(sample)+1, sum), ""},
		{"no size", fmt.Sprintf(`"map_sha256":"%x"`, sum), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			maps := filepath.Join(dir, "maps", "deep")
			if err := os.MkdirAll(maps, 0o755); err != nil {
				t.Fatal(err)
			}
			other := append([]byte(nil), sample...)
			other[len(other)-1] ^= 1 // of the same size
			game := "\x69\x9d\xb1\x7b\x8e\xfb\x34\xff\xb1\xd8\xda\x6f\x60\xc1\x5d\xd1" +
				`{"version":"2","game_uuid":"1ef1b84f-e194-4af4-944e-9573abe74f92","map_name":"a",` + test.header + "}\x00\x40"
			for path, data := range map[string][]byte{
				filepath.Join(maps, "a.map"):            sample,
				filepath.Join(maps, "0.map"):            other,
				filepath.Join(dir, "game.teehistorian"): []byte(game),
			} {
				if err := os.WriteFile(path, data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			d := start(t, dir)
			want := ""
			if test.want != "" {
				want = name(test.want)
			}
			got := mapOf(t, d, name("game.teehistorian"), want)
			if got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			start := d.Session(timeout(t), &replaydv1.StreamEventsRequest{Replay: name("game.teehistorian")}, nil)
			var first replaydv1.StreamEventsResponse
			if err := proto.Unmarshal(start.Responses[0], &first); err != nil {
				t.Fatal(err)
			}
			if started := first.GetStart().GetReplay().GetMapReplay(); started != got {
				t.Errorf("the start of a stream says %q, GetReplay %q", started, got)
			}
		})
	}
}

// mapOf returns what a description says is the map of a game, once it is what is wanted, or once the daemon knows all maps.
func mapOf(t *testing.T, d *daemon, replay, want string) string {
	t.Helper()
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		resp, err := d.client.GetReplay(timeout(t), &replaydv1.GetReplayRequest{Replay: replay})
		if err != nil {
			t.Fatal(err)
		}
		if got := resp.GetReplay().GetMapReplay(); want != "" && got == want || want == "" && time.Since(began) > 100*time.Millisecond || time.Since(began) > time.Minute {
			return got
		}
	}
}
