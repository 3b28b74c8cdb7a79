package replayd_test

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	replayd "github.com/replayd/replayd/clients/go"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// TestRetryHooks checks that OnBreak is called before each attempt and OnResume when the daemon resumes the stream, and that a
// negative GiveUpAfter means no limit.
func TestRetryHooks(t *testing.T) {
	want := lines(t, serve(t, samples).connect().Events(soon(t), stream(finished)))
	whole := read(t, filepath.Join(samples, filepath.FromSlash(finished)))
	dir := t.TempDir()
	path := filepath.Join(dir, "live.teehistorian")
	if err := os.WriteFile(path, whole[:len(whole)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	d := serve(t, dir)
	var calls []string
	client := d.connect(replayd.WithRetry(replayd.Retry{
		Initial: time.Millisecond, Max: time.Millisecond, GiveUpAfter: -1,
		OnBreak: func(s *replayd.Stream, err *replayd.Error) bool {
			if s.Start() == nil || err.Code != codes.Unavailable || len(s.Cursor()) == 0 {
				t.Errorf("%v after a start at %v, cursor %x", err, s.Start(), s.Cursor())
			}
			if calls = append(calls, "break"); len(calls) == 3 {
				write(t, path, whole)
				d.start()
			}
			return true
		},
		OnResume: func(*replayd.Stream) { calls = append(calls, "resume") },
	}))
	req := stream("live.teehistorian")
	req.Follow, req.MaxBatchEvents = true, 10
	s := client.Stream(soon(t), req)
	var got []string
	for e, err := range s.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, e.String()); len(got) == 15 {
			d.kill()
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d events, want %d; or they differ", len(got), len(want))
	}
	// A restarted daemon may accept the connection and still fail the first calls.
	if n := len(calls); n < 4 || calls[n-1] != "resume" || slices.Contains(calls[:n-1], "resume") || s.Reconnects() != 1 {
		t.Errorf("calls %q, %d reconnects", calls, s.Reconnects())
	}
}

// TestOnBreakEnds checks that a stream ends with the error if OnBreak returns false, even if it follows and has not begun.
func TestOnBreakEnds(t *testing.T) {
	d := serve(t, samples)
	d.kill()
	calls := 0
	client := d.connect(replayd.WithRetry(replayd.Retry{
		OnBreak:  func(s *replayd.Stream, _ *replayd.Error) bool { calls++; return s.Start() != nil },
		OnResume: func(*replayd.Stream) { t.Error("resumed") },
	}))
	req := stream(finished)
	req.Follow = true
	var last error
	for _, err := range client.Events(soon(t), req) {
		last = err
	}
	if status.Code(last) != codes.Unavailable || calls != 1 {
		t.Errorf("%v after %d calls", last, calls)
	}
}

// TestParseResponse checks that parsing a stored response gives what the stream yielded.
func TestParseResponse(t *testing.T) {
	d := serve(t, samples)
	for _, encoding := range []replaydv1.Encoding{replaydv1.Encoding_ENCODING_ROWS} {
		req := stream(finished)
		req.Encoding = encoding
		req.Start = &replaydv1.Start{At: &replaydv1.Start_Tick{Tick: 150}, WithState: true}
		batches, others := 0, 0
		for r, err := range d.connect().Stream(soon(t), req).Responses() {
			if err != nil {
				t.Fatal(err)
			}
			stored, err := replayd.ParseResponse(slices.Clone(r.Wire))
			if err != nil || !slices.Equal(stored.Cursor, r.Cursor) || (stored.Batch == nil) != (r.Batch == nil) {
				t.Fatalf("%v, %v where the stream yielded %v", stored, err, r)
			}
			if r.Batch == nil {
				others++
				if stored.Message.String() != r.Message.String() {
					t.Errorf("%v, want %v", stored.Message, r.Message)
				}
				continue
			}
			batches++
			if got, want := lines(t, stored.Batch.Events()), lines(t, r.Batch.Events()); !slices.Equal(got, want) || len(got) == 0 {
				t.Errorf("%d events, want %d; or they differ", len(got), len(want))
			}
		}
		if batches < 2 || others < 2 {
			t.Errorf("%d batches, %d other responses", batches, others)
		}
	}
	if _, err := replayd.ParseResponse([]byte{0x22, 5, 1}); err == nil {
		t.Error("no error for a truncated response")
	}
	if _, err := replayd.ParseResponse([]byte{0x12, 5, 1}); err == nil {
		t.Error("no error for a truncated start")
	}
}

// TestPositions: positions put the events of streams with different filters in the order of the stream of both, wherever batches end.
func TestPositions(t *testing.T) {
	client := serve(t, samples).connect()
	type key struct {
		offset, index int64
		kind          string
	}
	read := func(most uint32, include, exclude []*replaydv1.EventFilter) (all []key) {
		req := stream(finished)
		req.Include, req.Exclude, req.MaxBatchEvents = include, exclude, most
		for e, err := range client.Events(soon(t), req) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, key{e.Offset, e.Index, e.Kind})
		}
		return all
	}
	moves := []*replaydv1.EventFilter{{Kinds: []string{"player_diff"}}}
	whole, joined := read(0, nil, nil), append(read(1, moves, nil), read(7, nil, moves)...)
	slices.SortFunc(joined, func(a, b key) int { return cmp.Or(cmp.Compare(a.offset, b.offset), cmp.Compare(a.index, b.index)) })
	if !slices.Equal(whole, joined) || len(whole) == 0 || whole[0].offset == 0 {
		t.Errorf("%d events, and %d of two filters; or they differ", len(whole), len(joined))
	}
	req := stream(finished)
	req.Start = &replaydv1.Start{At: &replaydv1.Start_Tick{Tick: 300}, WithState: true}
	for e, err := range client.Events(soon(t), req) {
		if err != nil || e.State && (e.Offset != 0 || e.Index != 0) || !e.State && e.Offset == 0 {
			t.Fatalf("%v, %v", e, err)
		}
	}
}

// TestStateWithoutEvents checks that a state without events has no message and is not an error.
func TestStateWithoutEvents(t *testing.T) {
	req := stream(finished)
	req.Start = &replaydv1.Start{WithState: true}
	states := 0
	for b, err := range serve(t, samples).connect().Batches(soon(t), req) {
		if err != nil {
			t.Fatal(err)
		}
		if !b.State {
			break
		}
		states++
		if m, err := b.Message(); m != nil || err != nil {
			t.Errorf("%v, %v", m, err)
		}
	}
	if states == 0 {
		t.Error("the stream has no state")
	}
}

// TestReasonOf checks the reasons of errors from this package, from gRPC and of others.
func TestReasonOf(t *testing.T) {
	client := serve(t, samples).connect()
	_, err := client.Service().GetReplay(soon(t), &replaydv1.GetReplayRequest{Replay: "nothing"})
	if got := replayd.ReasonOf(err); got != replaydv1.ErrorReason_ERROR_REASON_REPLAY_NOT_FOUND {
		t.Errorf("an error from gRPC: %v", got)
	}
	for _, err := range []error{nil, errors.New("other")} {
		if got := replayd.ReasonOf(err); got != replaydv1.ErrorReason_ERROR_REASON_UNSPECIFIED {
			t.Errorf("%v: %v", err, got)
		}
	}
}
