//go:build e2e

package e2e

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	teehistorianv1 "github.com/replayd/replayd/proto/replayd/teehistorian/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"

	"github.com/replayd/replayd/e2e/ddnet"
)

// history holds the responses that a client has received for one replay. To
// resume, the client needs only the last cursor.
type history struct {
	cursor       []byte
	nextSequence uint64
	events       []*teehistorianv1.Event
	end          *replaydv1.StreamEnd
}

// TestResumeAfterDaemonKill plays on a real server, and reads its recordings
// from a daemon that is killed with SIGKILL after every few batches. In total,
// each event of an uninterrupted stream must arrive exactly once.
func TestResumeAfterDaemonKill(t *testing.T) {
	t.Parallel()
	const kills = 20
	ctx, srv, bots := start(t, ddnet.Config{})
	if err := bots.Run(ctx, `
		alice join
		bob join
		* wander on
		sleep 4s
	`); err != nil {
		t.Fatal(err)
	}
	if err := srv.ChangeMap(ctx, "dm1"); err != nil {
		t.Fatal(err)
	}
	if err := bots.Run(ctx, "sleep 4s"); err != nil {
		t.Fatal(err)
	}
	if err := srv.Stop(); err != nil {
		t.Fatal(err)
	}

	d := startDaemon(t, srv.TeehistorianDir())
	for _, game := range srv.Games() {
		replay := d.replay(game.Recording)
		var want history
		if err := want.read(ctx, d, replay, -1); err != nil {
			t.Fatal(err)
		}
		var got history
		for killed := 0; ; killed++ {
			responses := 1 + killed%5
			if killed == kills {
				responses = -1
			}
			if err := got.read(ctx, d, replay, responses); err != nil {
				t.Fatal(err)
			}
			if got.end != nil {
				t.Logf("%s: %d events over %d kills", replay, len(got.events), killed)
				break
			}
			d.restart(t)
		}
		if diff := cmp.Diff(want.events, got.events, protocmp.Transform()); diff != "" {
			t.Errorf("%s: undisturbed (-) and interrupted (+) streams differ:\n%s", replay, diff)
		}
	}
}

// read resumes a replay at the end of the history. It reads until the stream
// ends, or until it has received a number of responses. -1 means all responses.
func (h *history) read(ctx context.Context, d *daemon, replay string, responses int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req := &replaydv1.StreamEventsRequest{Replay: replay, MaxBatchEvents: 10}
	if h.cursor != nil {
		req.Start = &replaydv1.Start{At: &replaydv1.Start_Cursor{Cursor: h.cursor}}
	}
	stream, err := d.client().StreamEvents(ctx, req, grpc.WaitForReady(true))
	if err != nil {
		return err
	}
	for ; responses != 0; responses-- {
		res, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case status.Code(err) == codes.Unavailable:
			return nil // the daemon was killed; the next call resumes
		case err != nil:
			return err
		}
		if err := h.add(res); err != nil {
			return err
		}
	}
	return nil
}

// add checks that a response continues the history and appends it.
func (h *history) add(res *replaydv1.StreamEventsResponse) error {
	switch r := res.GetResponse().(type) {
	case *replaydv1.StreamEventsResponse_Start:
		if got := r.Start.GetNextSequence(); got != h.nextSequence {
			return errors.New("stream does not start where the cursor says")
		}
	case *replaydv1.StreamEventsResponse_Batch:
		if got := r.Batch.GetFirstSequence(); got != h.nextSequence {
			return errors.New("batch does not follow the one before it")
		}
		events := r.Batch.GetTeehistorian().GetEvents()
		if got := r.Batch.GetNextSequence(); got != h.nextSequence+uint64(len(events)) {
			return errors.New("batch does not hold the events that it counts")
		}
		h.nextSequence = r.Batch.GetNextSequence()
		h.events = append(h.events, events...)
	case *replaydv1.StreamEventsResponse_End:
		h.end = r.End
	}
	h.cursor = res.GetCursor()
	return nil
}
