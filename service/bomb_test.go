package service_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/streamtest"
)

// spent returns the CPU time that the process has used.
func spent(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// worst returns a request with the most expensive filters that are accepted. They have the maximum number of patterns, of the
// kind that takes longest to compare, in the maximum number of clauses, and names too, as many as a request has room for.
func worst(replay string, clauses, globs, names, stars int) *replaydv1.StreamEventsRequest {
	req := &replaydv1.StreamEventsRequest{Replay: replay}
	for i := range clauses {
		in, out := &replaydv1.DemFilter{}, &replaydv1.DemFilter{}
		for j := range globs {
			in.Fields = append(in.Fields, strings.Repeat("*e", stars)+fmt.Sprint(i, "_", j)+"?")
		}
		for j := range names {
			out.Fields = append(out.Fields, fmt.Sprint("m_", i, "_", j))
		}
		req.Include = append(req.Include, &replaydv1.EventFilter{Dem: in})
		req.Exclude = append(req.Exclude, &replaydv1.EventFilter{Dem: out})
	}
	return req
}

// demos returns files whose events have fields: samples, and files of the corpus if it exists.
func demos(t *testing.T) []string {
	files := find(t, samples("dem"), ".dem")
	if corpus := filepath.Join("..", "..", "shared", "corpus", "dem", "haste"); exists(corpus) && !testing.Short() {
		files = append(files, find(t, corpus, ".dem")...)
	}
	return files
}

// TestFilterBomb: filters beyond the limits cost nothing. The worst filters within them cost less than a second of CPU time.
// When a client leaves, its stream ends at once.
func TestFilterBomb(t *testing.T) {
	dir := t.TempDir()
	control := admission.New(admission.Limits{})
	d := start(t, dir, func(c *service.Config) { c.SurveyBudget, c.Admission = 0, control })
	for _, path := range demos(t) {
		replay := copyIn(t, dir, path)
		before := spent(t)
		bomb := worst(replay, 60, 10, 0, 8)
		if got := explainFailure(t, d.Session(timeout(t), bomb, nil).Err); got.code != codes.InvalidArgument {
			t.Errorf("the bomb is let in: %+v", got)
		}
		if took := spent(t) - before; took > time.Second {
			t.Errorf("%s: refusing it takes %v", path, took)
		}
		before = spent(t)
		if s := d.Session(timeout(t), worst(replay, 64, 4, 70, 120), nil); s.Err != nil {
			t.Errorf("%s: %v", path, s.Err)
		}
		took := spent(t) - before
		t.Logf("%s: %v", filepath.Base(path), took)
		if limit := time.Second; took > limit && !streamtest.Race {
			t.Errorf("%s: the worst filters take %v", path, took)
		}

		ctx, cancel := context.WithCancel(timeout(t))
		if _, err := d.client.StreamEvents(ctx, worst(replay, 64, 4, 70, 120)); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(time.Second); control.Taken(admission.Streams) == 0 && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond) // until the stream runs, if it takes that long
		}
		before = spent(t)
		cancel()
		for control.Taken(admission.Streams) > 0 {
			time.Sleep(time.Millisecond)
		}
		if took := spent(t) - before; took > 100*time.Millisecond && !streamtest.Race {
			t.Errorf("%s: it goes on for %v after the client has left", path, took)
		}
	}
}
