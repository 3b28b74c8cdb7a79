package service_test

import (
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/streamtest"
)

var edits = flag.Int("edits", 80, "how many edits of files of each format TestEdits makes")

// TestEdits edits files that the daemon serves. A cursor from before the edit is refused, or leads to exactly the events that
// the edited file has from that place on.
func TestEdits(t *testing.T) {
	streamtest.SkipLong(t)
	random := rand.New(rand.NewPCG(*seed, 12))
	for format, files := range replayFiles(t) {
		t.Run(format, func(t *testing.T) {
			files = slices.DeleteFunc(files, func(path string) bool { return filepath.Ext(path) == ".gz" || len(read(t, path)) > 300_000 })
			dir := t.TempDir()
			d := start(t, dir)
			refused, served := 0, 0
			for range *edits {
				path := files[random.IntN(len(files))]
				data := read(t, path)
				file := filepath.Base(path)
				write(t, filepath.Join(dir, file), data)
				all := &replaydv1.StreamEventsRequest{Replay: name(file), MaxBatchEvents: 1 + random.Uint32N(40)}
				before := d.Session(timeout(t), all, nil)
				if len(before.Responses) == 0 {
					continue
				}
				write(t, filepath.Join(dir, file), edited(random, data))
				cut := streamtest.Session{Responses: before.Responses[:1+random.IntN(len(before.Responses))], Cut: true}
				req := streamtest.Resumed(all, streamtest.History{cut})
				got := d.Session(timeout(t), req, nil)
				if len(got.Responses) == 0 {
					refused++
					switch code := status.Code(got.Err); code {
					case codes.FailedPrecondition, codes.OutOfRange:
					default: // the file cannot be read at all
						if now := d.Session(timeout(t), all, nil); len(now.Responses) > 0 {
							t.Errorf("%s: refused by %v, but it can be read", path, got.Err)
						}
					}
					continue
				}
				served++
				now := d.Session(timeout(t), all, nil)
				oracle, err := streamtest.NewOracle(&now)
				if err != nil {
					t.Fatal(err)
				}
				if err := oracle.Judge(req, &got); err != nil {
					t.Errorf("%s: %v\n%s", path, err, protojson.Format(req))
				}
			}
			t.Logf("%d cursors were refused, %d served", refused, served)
			if refused == 0 || served == 0 && format != "datafile" && format != "sc2replay" { // whose identity covers all
				t.Error("nothing was tried")
			}
		})
	}
}

// edited changes, removes or inserts some bytes.
func edited(random *rand.Rand, data []byte) []byte {
	data = slices.Clone(data)
	at := random.IntN(len(data))
	switch random.IntN(4) {
	case 0, 1:
		data[at] ^= byte(1 + random.IntN(255))
	case 2:
		return slices.Delete(data, at, min(at+1+random.IntN(50), len(data)))
	case 3:
		return slices.Insert(data, at, make([]byte, 1+random.IntN(50))...)
	}
	return data
}

// TestEditedBeforeCheckpoint: checkpoints from before an edit are not used for the edited file, even if the edit changed
// neither its size nor its time.
func TestEditedBeforeCheckpoint(t *testing.T) {
	streamtest.SkipLong(t)
	dir := t.TempDir()
	d := start(t, dir)
	data := longRecording(t, finishedSample, 5<<18)
	path := filepath.Join(dir, "long.teehistorian")
	write(t, path, data)
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	all := &replaydv1.StreamEventsRequest{Replay: name("long.teehistorian"), MaxBatchEvents: 16384}
	before := d.Session(timeout(t), all, nil) // leaves checkpoints
	// A move of the first character: from then on it is elsewhere.
	at := slices.IndexFunc(data[2000:], func(b byte) bool { return b == 0x05 }) + 2000
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte{0x06}, int64(at)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	now := start(t, dir).Session(timeout(t), all, nil)
	oracle, err := streamtest.NewOracle(&now)
	if err != nil {
		t.Fatal(err)
	}
	for _, req := range []*replaydv1.StreamEventsRequest{
		{Replay: all.GetReplay(), Start: &replaydv1.Start{At: &replaydv1.Start_Tick{Tick: oracle.End.GetLastTick() - 100}}},
		{Replay: all.GetReplay(), Start: &replaydv1.Start{At: &replaydv1.Start_LastEvents{LastEvents: 100}}},
	} {
		got := d.Session(timeout(t), req, nil)
		if err := oracle.Judge(req, &got); err != nil {
			t.Errorf("%v: %v", req.GetStart(), err)
		}
	}
	cut := streamtest.Session{Responses: before.Responses[:len(before.Responses)-2], Cut: true}
	req := streamtest.Resumed(all, streamtest.History{cut})
	if got := d.Session(timeout(t), req, nil); status.Code(got.Err) != codes.FailedPrecondition {
		t.Errorf("a cursor of before: %v", got.Err)
	}
}
