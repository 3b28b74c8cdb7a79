package service_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders/decodertest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/streamtest"
)

// TestStartDescribes: the start of a stream describes the replay as GetReplay does, of files that are plain, compressed, silent, growing
// and cut. Only the types that the entities of a demo begin with are in the start alone.
func TestStartDescribes(t *testing.T) {
	streamtest.SkipLong(t)
	dir := t.TempDir()
	for i, from := range describedFiles(t) {
		data := read(t, from)
		write(t, filepath.Join(dir, filepath.Base(from)), data)
		if i%3 == 0 || filepath.Base(from) == "dota.dem" {
			write(t, filepath.Join(dir, filepath.Base(from)+".gz"), decodertest.Gzip(t, data))
			write(t, filepath.Join(dir, "cut-"+filepath.Base(from)), data[:len(data)-len(data)/3])
		}
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-time.Hour)
	for i, f := range list {
		if i%2 == 0 {
			if err := os.Chtimes(filepath.Join(dir, f.Name()), long, long); err != nil {
				t.Fatal(err)
			}
		}
	}
	d := start(t, dir)
	compared, states := 0, map[replaydv1.ReplayState]int{}
	for _, f := range list {
		var got, want *replaydv1.Replay
		same := func() bool { // the index may learn of the file between both calls
			described, err := d.client.GetReplay(timeout(t), &replaydv1.GetReplayRequest{Replay: name(f.Name())})
			if want = described.GetReplay(); err != nil { // it is cut or damaged
				return true
			}
			if got = startOf(t, d, name(f.Name())).GetReplay(); got.GetDem() != nil {
				got.GetDem().UnknownTypes = nil
			}
			whole := strings.HasSuffix(f.Name(), "dota.dem.gz")
			return proto.Equal(got, want) && (!whole || got.LastTick != nil && got.TicksPerSecond != nil && got.GetDuration() != nil)
		}
		for deadline := time.Now().Add(time.Minute); !same(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("the start of a stream of %s has\n%s\nand GetReplay has\n%s", f.Name(), protojson.Format(got), protojson.Format(want))
			}
		}
		if want != nil {
			compared++
			states[want.GetState()]++
		}
	}
	if compared < len(list)/2 || len(states) < 3 {
		t.Errorf("%d of %d files were compared, in these states: %v", compared, len(list), states)
	}
}

// TestStartDescribesTemporary: the start of a stream of a temporary replay says when it expires.
func TestStartDescribesTemporary(t *testing.T) {
	d := start(t, t.TempDir())
	created, err := createReplay(timeout(t), d.client, nil, read(t, samples("dem", "dota.dem")))
	if err != nil {
		t.Fatal(err)
	}
	got := startOf(t, d, created.GetName()).GetReplay()
	got.GetDem().UnknownTypes = nil
	if created.GetExpireTime() == nil || !proto.Equal(got, created) {
		t.Errorf("got\n%s\nwant\n%s", protojson.Format(got), protojson.Format(created))
	}
}

// describedFiles returns the samples, and the smaller files of the corpus; all of it with CORPUS=all.
func describedFiles(t *testing.T) (files []string) {
	t.Helper()
	for _, root := range []string{samples(), filepath.Join("..", "..", "shared", "corpus")} {
		left := int64(800 << 10)
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return fs.SkipDir // there is no corpus
			}
			info, err := e.Info()
			if err != nil || e.IsDir() {
				return err
			}
			switch filepath.Ext(path) {
			case ".teehistorian", ".map", ".dem", ".SC2Replay":
				if wholeCorpus() || info.Size() < left/4 {
					left -= info.Size()
					files = append(files, path)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// startOf returns the start of a stream of a replay.
func startOf(t *testing.T, d *daemon, replay string) *replaydv1.StreamStart {
	t.Helper()
	stream, err := d.client.StreamEvents(timeout(t), &replaydv1.StreamEventsRequest{
		Replay: replay, Include: []*replaydv1.EventFilter{{Ticks: &replaydv1.TickRange{Max: new(int32(0))}}}, MaxBatchEvents: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	first, err := stream.Recv()
	if err != nil {
		t.Fatalf("%s: %v", replay, err)
	}
	return first.GetStart()
}
