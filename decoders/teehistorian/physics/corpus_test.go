package physics_test

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// served is the directory of the maps that Debian's server has.
const served = "/usr/share/games/ddnet/data/maps"

// TestCorpus plays the recordings of the corpus whose maps are there. None has a deviation that nothing can explain, and of each at
// least the given thousandths of the ticks are proven.
func TestCorpus(t *testing.T) {
	if _, err := os.Stat(corpus); err != nil {
		t.Skip("the corpus is absent")
	}
	maps := mapsBySHA256(t, corpus, served)
	dir := corpus + "teehistorian/"
	for _, test := range []struct {
		path   string
		proven int
		what   string
	}{
		{"ddnet-16.4/e27dd82b-999b-470a-9d92-bf3c01c53eb5.teehistorian", 1000, "solo, inputs that are not all recorded"},
		{"ddnet-16.4/d74accae-db25-4b0f-b309-6acabe05244f.teehistorian", 1000, "60 who collide and hit one another"},
		{"ddnet-20.1/79ec8e26-f2ce-459c-83ed-d5c413e79fbf.teehistorian", 1000, "solo"},
		{"ddnet-20.1/5feb0556-b4df-4418-ac48-327697c1aced.teehistorian", 1000, "hearts, pauses"},
		{"ddnet-20.1.1/9e70065a-6fc3-44b2-9f73-c17f38b7a197.teehistorian", 1000, "solo"},
		{"ddnet-20.1.1/07d2408b-31b2-4878-be3a-8d437eaf6df8.teehistorian", 1000, "hearts, hammers"},
		{"ddnet-20.1.1-2/solo/d35586a2-1ba7-45f1-bab0-204c78132970.teehistorian.gz", 1000, "one alone"},
		{"ddnet-20.1.1-2/chaos/f3dd216c-bf83-4b1f-90d9-9ab8e19d0eef.teehistorian.gz", 1000, "chaos"},
		{"ddnet-20.1.1-2/chaos/71ef7bd9-40cd-4b07-a4f4-626c8877d796.teehistorian.gz", 1000, "chaos after a change of the map"},
		{"ddnet-20.1.1-2/chaos/e0e36b64-a261-4c32-9399-615ed6ea8b7e.teehistorian.gz", 999, "chaos with teams and spectators"},
		{"ddnet-20.1.1-2/chaos/5763dfa6-7c62-48be-b6fb-2f17fc5d25b5.teehistorian.gz", 1000, "chaos that was killed"},
		{"ddnet-20.1.1-2/two-servers-one-directory/7c162d21-695b-47cd-8fd2-a1ae4df57cb7.teehistorian.gz", 1000, "saves, swaps, pauses"},
		{"ddnet-20.1.1-2/two-servers-one-directory/fc1821b9-1b48-4c05-9680-d598035bbda2.teehistorian.gz", 1000, "kills"},
		{"twclient/Tutorial.teehistorian", 1000, "grenades"},
	} {
		t.Run(test.what, func(t *testing.T) {
			g := open(t, dir+test.path, "")
			path := maps[g.header.MapSHA256]
			if path == "" {
				t.Skipf("the map %s is absent", g.header.MapName)
			}
			g.tiles = openMap(t, path)
			marks, broken := count(g.play())
			total := marks[0] + marks[1] + marks[2]
			t.Logf("%s: %d ticks, %d proven, %d corrected, %d unknown", g.header.MapName, total, marks[0], marks[1], marks[2])
			if broken != 0 {
				t.Errorf("%d deviations without a cause", broken)
			}
			if total == 0 || marks[0]*1000 < test.proven*total {
				t.Errorf("%d of %d ticks are proven", marks[0], total)
			}
		})
	}
}

func mapsBySHA256(t testing.TB, dirs ...string) map[string]string {
	t.Helper()
	maps := map[string]string{}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".map") {
				return nil //nolint:nilerr // What is absent is skipped.
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			sum := sha256.Sum256(data)
			maps[hex.EncodeToString(sum[:])] = path
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return maps
}
