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

// TestFilterBomb: filters beyond the limits are refused, and the worst filters within them end: a pattern is not compared with a name
// in every way there is, which would take longer than the test may. When a client leaves, its stream ends, too.
func TestFilterBomb(t *testing.T) {
	dir := t.TempDir()
	control := admission.New(admission.Limits{})
	d := start(t, dir, func(c *service.Config) { c.SurveyBudget, c.Admission = 0, control })
	for _, path := range demos(t) {
		replay := copyIn(t, dir, path)
		bomb := worst(replay, 60, 10, 0, 8)
		if got := explainFailure(t, d.Session(timeout(t), bomb, nil).Err); got.code != codes.InvalidArgument {
			t.Errorf("the bomb is let in: %+v", got)
		}
		before := spent(t)
		if s := d.Session(timeout(t), worst(replay, 64, 4, 70, 120), nil); s.Err != nil {
			t.Errorf("%s: %v", path, s.Err)
		}
		t.Logf("%s: %v of a processor", filepath.Base(path), spent(t)-before)

		patience := timeout(t)
		ctx, cancel := context.WithCancel(patience)
		s, err := d.client.StreamEvents(ctx, worst(replay, 64, 4, 70, 120))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Recv(); err != nil { // the start: the stream runs
			t.Fatal(err)
		}
		cancel()
		for control.Taken(admission.Streams) > 0 {
			if patience.Err() != nil {
				t.Fatalf("%s: it goes on after the client has left", path)
			}
			time.Sleep(time.Millisecond)
		}
	}
}
