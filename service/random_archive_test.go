package service_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/replayd/replayd/decoders/decodertest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/streamtest"
)

// TestFollowIntoArchive follows a server whose games are compressed when they have ended, while the daemon is restarted and the client
// comes and goes, all in random order: no event is lost, none comes twice, and the successors follow.
func TestFollowIntoArchive(t *testing.T) {
	t.Parallel()
	paths, replays := chainOf(t)
	rounds := max(2, *requests/50)
	for round := range rounds {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			t.Parallel()
			a := &archiving{t: t, random: rand.New(rand.NewPCG(*seed, uint64(round))), dir: t.TempDir()}
			a.d = start(t, a.dir)
			a.req = &replaydv1.StreamEventsRequest{
				Replay: name(filepath.Base(paths[0])), Follow: true, FollowSuccessors: true, MaxBatchEvents: uint32(20 + a.random.IntN(200)),
			}
			var ended []string
			for i, path := range paths {
				to, data := filepath.Join(a.dir, filepath.Base(path)), read(t, path)
				cut := len(data)/4 + a.random.IntN(len(data)/2)
				write(t, to, data[:cut])
				a.follow(nil)
				write(t, to, data)
				for ended = append(ended, to); len(ended) > 0 && (a.random.IntN(2) == 0 || i == 0 && round == 0); ended = ended[1:] {
					if a.random.IntN(2) == 0 {
						a.follow(func() { a.compress(ended[0]) })
					} else {
						a.follow(nil)
						a.compress(ended[0])
					}
				}
				a.follow(nil)
			}
			for deadline := time.Now().Add(time.Minute); a.sent < total(replays) && time.Now().Before(deadline); {
				a.follow(nil)
			}
			check(t, a.history, replays, streamtest.Options{})
		})
	}
}

// archiving is a client of a daemon on a directory whose games are compressed.
type archiving struct {
	t       *testing.T
	random  *rand.Rand
	dir     string
	d       *daemon
	req     *replaydv1.StreamEventsRequest
	history streamtest.History
	sent    uint64
}

// follow goes on with the stream for some responses, or for a while when there are none. Meanwhile something may happen. Then the
// daemon may be started again.
func (a *archiving) follow(meanwhile func()) {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(timeout(a.t), 300*time.Millisecond)
	defer cancel()
	left := 2 + a.random.IntN(20)
	s := a.d.Session(ctx, streamtest.Resumed(a.req, a.history), func(r *replaydv1.StreamEventsResponse) bool {
		if left--; meanwhile != nil {
			meanwhile()
			meanwhile = nil
		}
		a.sent = max(a.sent, r.GetBatch().GetNextSequence())
		return left > 0
	})
	if s.Cut = true; meanwhile != nil {
		meanwhile()
	}
	if a.history = append(a.history, s); a.random.IntN(3) == 0 {
		a.d.stop()
		a.d = start(a.t, a.dir)
	}
}

// compress replaces a file by its compressed form, as programs for archives do.
func (a *archiving) compress(path string) {
	a.t.Helper()
	data := read(a.t, path)
	write(a.t, path+".part", decodertest.Gzip(a.t, data))
	if err := os.Rename(path+".part", path+".gz"); err != nil {
		a.t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		a.t.Fatal(err)
	}
}
