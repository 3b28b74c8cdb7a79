package sc2replay

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/decoders/sc2replay"
	"github.com/replayd/replayd/decoders/sc2replay/mpq"
	"github.com/replayd/replayd/decoders/sc2replay/sc2test"
)

var mutations = flag.Int("mutations", 100, "how many times to damage replays, in members and elsewhere each")

// outcome is the result of decoding a replay: hashes of its events' bytes, and whether it ends without an error.
type outcome struct {
	events uint64 // hash of all events, with the last one, which has the result of reading each part
	inner  uint64 // hash of all events except start and end, which repeat the header
	n      int
	ok     bool
}

var seed = maphash.MakeSeed()

func decoded(file []byte) (o outcome) {
	p, err := sc2replay.Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return outcome{}
	}
	d := p.Events(sc2replay.Options{})
	var h, inner maphash.Hash
	h.SetSeed(seed)
	inner.SetSeed(seed)
	var ev sc2replay.Event
	var buf []byte
	for {
		if err := d.Next(&ev); err != nil {
			return outcome{h.Sum64(), inner.Sum64(), o.n, errors.Is(err, io.EOF)}
		}
		o.n++
		buf = AppendEvent(buf[:0], &ev)
		_, _ = h.Write(buf) // never fails
		if ev.Kind != sc2replay.KindStart && ev.Kind != sc2replay.KindEnd {
			_, _ = inner.Write(buf)
		}
	}
}

// soundReplays returns replays that decode without an error: samples, and those of the corpus that are small enough to be
// decoded many times.
func soundReplays(t *testing.T) (files map[string][]byte) {
	files = map[string][]byte{}
	add := func(name string, data []byte) {
		if decoded(data).ok {
			files[name] = data
		}
	}
	for _, build := range []int{15405, 24764, 34784, 80949} {
		for _, version := range []int{1, 3} {
			r := sc2test.Sample(build)
			r.Archive.Version = version
			add(fmt.Sprintf("sample %d version %d", build, version), r.Bytes())
		}
	}
	t.Run("corpus", func(t *testing.T) {
		root := decodertest.Shared(t, "corpus", "sc2replay")
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			if err == nil && len(data) < 150<<10 {
				add(path, data)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	return files
}

// place is a range of bytes in a file.
type place struct {
	name     string
	from, to int64
}

// covered returns the delivered members for which the archive has checksums.
func covered(t *testing.T, file []byte) (places []place) {
	t.Helper()
	a, err := mpq.Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	names := slices.Clone(a.Names())
	for _, name := range names {
		m, ok := a.Find(name)
		if ok && m.PackedSize > 0 && name != mpq.AttributesFile && name != "replay.server.battlelobby" {
			places = append(places, place{name, m.Offset, m.Offset + m.PackedSize})
		}
	}
	return places
}

// damage changes one to four bits or bytes in a place.
func damage(rnd *rand.Rand, file []byte, p place) []byte {
	out := bytes.Clone(file)
	for range 1 + rnd.IntN(4) {
		at := p.from + rnd.Int64N(p.to-p.from)
		if rnd.IntN(2) == 0 {
			out[at] ^= 1 << rnd.IntN(8)
		} else {
			out[at] = byte(rnd.Uint32())
		}
	}
	return out
}

// TestCoveredDamage damages bytes with checksums. Every replay that then ends without an error must have all its events.
func TestCoveredDamage(t *testing.T) {
	files := soundReplays(t)
	names := slices.Sorted(maps.Keys(files))
	rnd := rand.New(rand.NewPCG(31, 32))
	silent, told := 0, 0
	for i := range *mutations {
		name := names[rnd.IntN(len(names))]
		places := covered(t, files[name])
		// Choose each member equally often, whatever its size: small ones matter as much.
		p := places[rnd.IntN(len(places))]
		want, got := decoded(files[name]), decoded(damage(rnd, files[name], p))
		switch {
		case !got.ok:
			told++
		case got != want:
			t.Errorf("mutation %d of %s in %s: %d events in place of %d, and no error", i, name, p.name, got.n, want.n)
		default:
			silent++
		}
	}
	t.Logf("of %d mutations, %d end with an error, %d change nothing", *mutations, told, silent)
}

// TestOtherDamage damages headers and tables, which have no checksum. It counts the replays that end without an error but with
// other events. docs/formats/sc2replay.md, "Damage", describes these.
func TestOtherDamage(t *testing.T) {
	files := soundReplays(t)
	names := slices.Sorted(maps.Keys(files))
	rnd := rand.New(rand.NewPCG(33, 34))
	counts := map[string]map[string]int{}
	for range *mutations {
		name := names[rnd.IntN(len(names))]
		file := files[name]
		p := uncovered(t, rnd, file)
		want, got := decoded(file), decoded(damage(rnd, file, p))
		what := "error"
		switch {
		case got == want:
			what = "the same"
		case got.ok && got.inner == want.inner:
			what = "another start, no error"
		case got.ok:
			what = "other events, no error"
		}
		if counts[p.name] == nil {
			counts[p.name] = map[string]int{}
		}
		counts[p.name][what]++
		if got.ok && got != want && p.name != "header" {
			t.Errorf("%s: %s in %s", name, what, p.name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%s: %v", name, counts[name])
	}
}

// uncovered chooses a place that has no checksum.
func uncovered(t *testing.T, rnd *rand.Rand, file []byte) place {
	t.Helper()
	a, err := mpq.Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	end := int64(0) // of the members; the tables follow them
	for _, name := range append(slices.Clone(a.Names()), mpq.ListFile, mpq.AttributesFile) {
		if m, ok := a.Find(name); ok {
			end = max(end, m.Offset+m.PackedSize)
		}
	}
	sums, _ := a.Find(mpq.AttributesFile)
	list, _ := a.Find(mpq.ListFile)
	version := "of old archives"
	size := int64(44)
	if a.Version >= 3 {
		version, size = "of new archives", 208
	}
	places := []place{
		{"header", 0, 120}, {"archive header " + version, 1024, 1024 + size}, {"tables " + version, end, int64(len(file))},
		{"list of names", list.Offset, list.Offset + list.PackedSize}, {"checksums", sums.Offset, sums.Offset + sums.PackedSize},
	}
	return places[rnd.IntN(len(places))]
}
