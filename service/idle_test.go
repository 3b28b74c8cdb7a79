package service_test

import (
	"runtime/pprof"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/service"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/describe"
)

// until waits until something is true.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for ctx := timeout(t); !is(); time.Sleep(5 * time.Millisecond) {
		if ctx.Err() != nil {
			t.Fatal(what)
		}
	}
}

// TestIdleFollowers: followers of a game have no goroutines of handlers while it is quiet, also after it went on, and keep what they have
// taken until they end.
func TestIdleFollowers(t *testing.T) {
	const n = 5
	control := admission.New(admission.Limits{})
	d := start(t, t.TempDir(), func(c *service.Config) { c.Admission = control })
	data := read(t, killedSample)
	w := create(t, d.dir, "live.teehistorian")
	w.write(data[:5000])
	var all []*following
	for range n {
		f := follow(t, d, &replaydv1.StreamEventsRequest{Replay: name("live.teehistorian"), Follow: true})
		f.caughtUp(t)
		all = append(all, f)
	}
	idle := func() bool {
		var text strings.Builder
		_ = pprof.Lookup("goroutine").WriteTo(&text, 2)
		return strings.Count(text.String(), "stream.(*Idle).Wait(") == n && !strings.Contains(text.String(), "service.(*Server).handle(")
	}
	until(t, "they are not idle", idle)
	w.write(data[5000:])
	until(t, "they are not idle again", idle)
	if streams, memory := control.Taken(admission.Streams), control.Taken(admission.Memory); streams != n || memory < n<<16 {
		t.Errorf("%d streams and %d bytes are taken", streams, memory)
	}
	for _, f := range all {
		f.cancel()
	}
	until(t, "they do not give back what they have taken", func() bool {
		return control.Taken(admission.Streams) == 0 && control.Taken(admission.Memory) == 0
	})
}

// idleFollower returns a follower of a game that has caught up. more writes so many more bytes of the game, and all for -1.
func idleFollower(t *testing.T, control *admission.Control) (d *daemon, f *following, more func(n int)) {
	t.Helper()
	d = start(t, t.TempDir(), func(c *service.Config) { c.SurveyBudget, c.Admission = 0, control })
	const begin = 5000
	data := read(t, killedSample)
	w := create(t, d.dir, "live.teehistorian")
	w.write(data[:begin])
	f = follow(t, d, &replaydv1.StreamEventsRequest{Replay: name("live.teehistorian"), Follow: true})
	f.caughtUp(t)
	return d, f, func(n int) {
		if n < 0 {
			n = len(data) - begin
		}
		w.write(data[begin : begin+n])
	}
}

// TestOutlived: a stream that becomes idle when its call has ended without it, because a read took long, ends. Until then it keeps what
// it has taken.
func TestOutlived(t *testing.T) {
	var slow atomic.Bool
	entered, release := make(chan struct{}, 8), make(chan struct{})
	t.Cleanup(describe.SetCodecs(codecWith(func(r codec.Reader, b *codec.Batch) error {
		if slow.Load() {
			entered <- struct{}{}
			<-release
		}
		return r.Fill(b)
	})))
	control := admission.New(admission.Limits{})
	d, f, more := idleFollower(t, control)
	slow.Store(true)
	more(1) // which ends no record
	<-entered
	f.cancel()
	until(t, "the call does not end", func() bool { return strings.Contains(d.log.String(), "StreamEvents") })
	if n := control.Taken(admission.Streams); n != 1 {
		t.Errorf("%d streams are taken while the handler runs", n)
	}
	close(release)
	until(t, "the stream does not end", func() bool { return control.Taken(admission.Streams) == 0 })
}

// TestPanicWhenResumed: a panic of a follower that was idle ends only its stream, as one before does.
func TestPanicWhenResumed(t *testing.T) {
	var defect atomic.Bool
	t.Cleanup(describe.SetCodecs(codecWith(func(r codec.Reader, b *codec.Batch) error {
		if defect.Load() {
			panic("a defect of the decoder")
		}
		return r.Fill(b)
	})))
	_, f, more := idleFollower(t, nil)
	defect.Store(true)
	more(-1)
	if got := explainFailure(t, f.history()[0].Err); got.code != codes.Internal || !slices.Contains(got.meta, "incident") {
		t.Errorf("got %+v", got)
	}
}
