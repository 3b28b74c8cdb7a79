package publish

import (
	"errors"
	"testing"

	client "github.com/replayd/replayd/clients/go"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// TestOver: which last message of a subject says that nothing more is to be published.
func TestOver(t *testing.T) {
	const size = 1000
	growing, gone := replaydv1.ReplayState_REPLAY_STATE_GROWING, replaydv1.ReplayState_REPLAY_STATE_ABANDONED
	for _, test := range []struct {
		last  place
		state replaydv1.ReplayState
		size  int64
		want  bool
	}{
		{place{}, gone, size, false},
		{place{kind: TypeEnd, reason: "FINISHED"}, growing, size + 1, true},
		{place{kind: TypeEnd, reason: "RANGE_DONE"}, growing, size + 1, true},
		{place{kind: TypeEnd, reason: "TRUNCATED", size: size}, gone, size, true},
		{place{kind: TypeEnd, reason: "TRUNCATED", size: size}, gone, size + 1, false},
		{place{kind: TypeEnd, reason: "TRUNCATED", size: size}, growing, size, false},
		{place{kind: TypeEnd, reason: "TRUNCATED", size: size}, replaydv1.ReplayState_REPLAY_STATE_SILENT, size, false},
		{place{kind: TypeEnd, reason: "REMOVED", size: size}, gone, size, false},
		{place{kind: TypeError, reason: "DATA_LOSS", size: size}, gone, size, true},
		{place{kind: TypeError, reason: "DATA_LOSS", size: size}, growing, size, false},
		{place{kind: TypeError, reason: "LIMIT_EXCEEDED", size: size}, gone, size, false},
		{place{kind: TypeError, reason: "TOO_LARGE", size: size}, gone, size, false},
	} {
		r := &replay{at: test.last}
		if got := r.over(&replaydv1.Replay{State: test.state, SizeBytes: test.size}); got != test.want {
			t.Errorf("after %q %s of %d bytes, a %v file of %d bytes: over %v", test.last.kind, test.last.reason, test.last.size, test.state, test.size, got)
		}
	}
}

// TestStartOfAnother: a stream that begins with another replay than the one whose place was looked up is not published under its subject.
func TestStartOfAnother(t *testing.T) {
	for identity, want := range map[string]error{"a": nil, "b": errAgain} {
		s := &session{replay: &replay{identity: "a", at: place{cursor: []byte{1}}}} // the start is there already
		start := &replaydv1.StreamStart{Replay: &replaydv1.Replay{Identity: identity}}
		r := client.Response{Message: &replaydv1.StreamEventsResponse{Response: &replaydv1.StreamEventsResponse_Start{Start: start}}}
		if err := s.response(t.Context(), r); !errors.Is(err, want) {
			t.Errorf("a stream of %s: %v, want %v", identity, err, want)
		}
	}
}
