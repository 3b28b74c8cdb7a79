package teehistorian_test

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/teehistorian"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden decodes the bundled samples. A golden file has the header and every event in full except moves, inputs and
// ticks. It ends with a hash of all events and the final state.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("../../testdata/teehistorian/*/*.teehistorian")
	if err != nil || len(files) == 0 {
		t.Skip("there are no samples", err)
	}
	for _, path := range files {
		name := filepath.Base(filepath.Dir(path)) + "-" + strings.TrimSuffix(filepath.Base(path), ".teehistorian")
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got := transcript(t, decode(data, nil), len(data))
			golden := filepath.Join("testdata", "golden", name+".txt")
			if *update {
				if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatalf("%v; write it with -update", err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// transcript decodes a file of some bytes.
func transcript(t *testing.T, d *teehistorian.Decoder, bytes int) string {
	t.Helper()
	h, err := d.Header()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "game %s on %s, version %d.%d, started %s, %d settings, %d UUIDs, records from byte %d\n", h.GameUUID,
		h.MapName, h.Version, h.VersionMinor, h.StartTimeText, len(h.Config), len(h.UUIDs), d.Position().Offset)
	counts := [teehistorian.KindCount]int{}
	sum := sha256.New()
	var ev teehistorian.Event
	for {
		err = d.Next(&ev)
		if errors.Is(err, decoders.ErrMore) {
			err = d.Close()
		}
		if err != nil {
			break
		}
		counts[ev.Kind]++
		line := describe(&ev)
		fmt.Fprintln(sum, line)
		switch ev.Kind {
		case teehistorian.KindTick, teehistorian.KindPlayerDiff, teehistorian.KindInputDiff:
		default:
			fmt.Fprintln(&b, line)
		}
	}
	fmt.Fprintf(&b, "ended by %v at byte %d of %d, tick %d\n", err, d.Position().Offset, bytes, d.Tick())
	for kind, n := range counts {
		if n > 0 {
			fmt.Fprintln(&b, n, teehistorian.Kind(kind))
		}
	}
	for id, c := range d.State().Clients() {
		fmt.Fprintf(&b, "client %d %q joined %v, alive %v at %d, %d, protocol %d, team %d, input %v\n",
			id, c.Name, c.Joined, c.Alive, c.X, c.Y, c.Protocol, c.Team, c.Input)
	}
	fmt.Fprintf(&b, "all events %x\n", sum.Sum(nil))
	return b.String()
}
