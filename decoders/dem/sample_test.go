package dem_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/decoders/dem/demtest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// sampleFile is the repository's small demo, which has every kind of record, message and operation.
var sampleFile = filepath.Join("..", "..", "testdata", "dem", "sample.dem")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", name, diff)
	}
}

// TestSample decodes the sample, every event of which is in a golden file with its position: cursors that clients have kept
// are made of those.
func TestSample(t *testing.T) {
	data := demtest.Sample()
	golden(t, sampleFile, data)
	var out strings.Builder
	kinds := map[dem.Kind]bool{}
	d := decode(t, data, dem.Options{}, func(d *dem.Decoder, ev *dem.Event) {
		at := d.EventPosition()
		fmt.Fprintf(&out, "%d/%d %s\n", at.Offset, at.Index, readable(d, ev))
		kinds[ev.Kind] = true
	})
	golden(t, filepath.Join("testdata", "sample.golden"), []byte(out.String()))
	dota := dem.FileHeader{Game: []byte("dota")}
	for k := dem.KindNone + 1; k < dem.KindCount; k++ {
		if dota.Has(k) && !kinds[k] && k != dem.KindSampleEntity && k != dem.KindSamplePlayer && !isFact(k) { // which are made for those who ask
			t.Errorf("no event %v", k)
		}
	}
	if err := d.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}
