package service_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/proto"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/cursor"
	"github.com/replayd/replayd/service/streamtest"
)

// stateOf returns the events of a session's state, joined, and the cursor of its start.
func stateOf(t *testing.T, s *streamtest.Session) (events string, count int, at cursor.Cursor) {
	t.Helper()
	complete := false
	for i := range s.Responses {
		r := response(t, *s, i)
		if r.GetStart() != nil {
			var err error
			if at, err = cursor.Parse(r.GetCursor()); err != nil || !at.State {
				t.Fatalf("the start's cursor is %+v, %v", at, err)
			}
		}
		if part := r.GetState(); part != nil {
			complete = part.GetComplete()
			events += fmt.Sprint(part.GetTeehistorian().GetEvents(), part.GetDem().GetEvents(), part.GetSc2Replay().GetEvents())
			count += len(part.GetTeehistorian().GetEvents()) + len(part.GetDem().GetEvents()) + len(part.GetSc2Replay().GetEvents())
		}
	}
	if s.Err != nil || !complete {
		t.Fatalf("the state is complete: %v, and the stream ended by %v", complete, s.Err)
	}
	return events, count, at
}

// TestStateAgain: a cursor from inside the state leads to the whole state, even if the request does not ask for it. A cursor
// from behind the state does not.
func TestStateAgain(t *testing.T) {
	streamtest.SkipLong(t)
	for _, file := range []string{finishedSample, samples("sc2replay", "battle.SC2Replay")} {
		t.Run(filepath.Base(file), func(t *testing.T) { stateAgain(t, file) })
	}
}

func stateAgain(t *testing.T, file string) {
	t.Helper()
	dir := t.TempDir()
	d := start(t, dir)
	game := "game" + filepath.Ext(file)
	write(t, filepath.Join(dir, game), read(t, file))
	req := &replaydv1.StreamEventsRequest{
		Replay: name(game), MaxBatchEvents: 1,
		Start: &replaydv1.Start{At: &replaydv1.Start_Tick{Tick: 600}, WithState: true},
	}
	whole := d.Session(timeout(t), req, nil)
	want, count, _ := stateOf(t, &whole)
	if count < 2 {
		t.Fatalf("%d events are of the state", count)
	}
	for i := range whole.Responses {
		r := response(t, whole, i)
		next := proto.CloneOf(req)
		next.Start = &replaydv1.Start{At: &replaydv1.Start_Cursor{Cursor: r.GetCursor()}}
		again := d.Session(timeout(t), next, nil)
		if inside := r.GetStart() != nil || r.GetState() != nil && !r.GetState().GetComplete(); inside {
			if got, _, _ := stateOf(t, &again); got != want {
				t.Errorf("from response %d: %s, want %s", i, got, want)
			}
			continue
		}
		for j := range again.Responses {
			if response(t, again, j).GetState() != nil {
				t.Errorf("from response %d: the state once more", i)
			}
		}
		if i > count+5 || i > 60 {
			break
		}
	}
}

// TestStateBehindTheEnd: a start behind the end has the state at the end, also for those who follow a replay that is over.
func TestStateBehindTheEnd(t *testing.T) {
	for _, file := range []string{finishedSample, filepath.Join(samples("dem"), "round.dem")} {
		dir := t.TempDir()
		d := start(t, dir)
		game := copyIn(t, dir, file)
		var want string
		for _, follow := range []bool{false, true} {
			s := d.Session(timeout(t), &replaydv1.StreamEventsRequest{
				Replay: game, Follow: follow, Start: &replaydv1.Start{At: &replaydv1.Start_Tick{Tick: 1<<31 - 1}, WithState: true},
			}, nil)
			events, _, _ := stateOf(t, &s)
			if want == "" {
				want = events
			}
			if last := response(t, s, len(s.Responses)-1); events != want || last.GetEnd().GetReason() != replaydv1.EndReason_END_REASON_FINISHED {
				t.Errorf("%s, followed: %v: %v behind %s, want %s", file, follow, last, events, want)
			}
		}
	}
}
