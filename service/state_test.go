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

// TestStateAnywhere: the state at a place equals the state at the end of a file that is cut there, for each kind of start at
// that place and for any filter of events.
func TestStateAnywhere(t *testing.T) {
	chats := []*replaydv1.EventFilter{{Kinds: []string{"message", "console_command"}, Ticks: ticks(1<<20, 1<<21).GetTicks()}}
	for file, test := range map[string]struct {
		ticks  []int32
		others []*replaydv1.EventFilter // that let through no event of a state
	}{
		samples("teehistorian", "finished", "4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian"): {[]int32{0, 150, 600, 1431, 1600}, chats},
		samples("dem", "sample.dem"): {[]int32{0, 2, 4, 6, 9}, []*replaydv1.EventFilter{{Kinds: []string{"chat", "tick"}}}},
		// Without a state, these kinds need only the entities of Dota's clock and players.
		samples("dem", "dota.dem"): {[]int32{0, 20, 60, 120}, []*replaydv1.EventFilter{{Kinds: []string{"combat_log", "chat"}}}},
	} {
		t.Run(filepath.Base(file), func(t *testing.T) {
			dir := t.TempDir()
			d := start(t, dir)
			data, ext := read(t, file), filepath.Ext(file)
			write(t, filepath.Join(dir, "whole"+ext), data)
			ask := func(name string, start *replaydv1.Start, include []*replaydv1.EventFilter) *streamtest.Session {
				start = proto.CloneOf(start)
				start.WithState = true
				s := d.Session(timeout(t), &replaydv1.StreamEventsRequest{Replay: name, Start: start, Include: include, MaxBatchEvents: 3}, nil)
				return &s
			}
			some := 0
			for _, tick := range test.ticks {
				whole, count, at := stateOf(t, ask(name("whole"+ext), &replaydv1.Start{At: &replaydv1.Start_Tick{Tick: tick}}, nil))
				some += count
				cut := fmt.Sprintf("cut-%d%s", tick, ext)
				write(t, filepath.Join(dir, cut), data[:at.Position.Offset])
				now := &replaydv1.Start{At: &replaydv1.Start_Now{Now: &replaydv1.Now{}}}
				if at.Position.Offset == 0 {
					now = &replaydv1.Start{} // there is nothing to cut
					write(t, filepath.Join(dir, cut), data)
				}
				if got, _, _ := stateOf(t, ask(name(cut), now, nil)); got != whole {
					t.Errorf("at tick %d: %s\nand where the file is cut there: %s", tick, whole, got)
				}
				if got, _, _ := stateOf(t, ask(name("whole"+ext), &replaydv1.Start{At: &replaydv1.Start_Tick{Tick: tick}}, test.others)); got != whole {
					t.Errorf("at tick %d: %s\nand for whom other things happen: %s", tick, whole, got)
				}
				at.State = false
				from := &replaydv1.Start{At: &replaydv1.Start_Cursor{Cursor: at.Append(nil)}}
				if got, _, _ := stateOf(t, ask(name("whole"+ext), from, test.others)); got != whole {
					t.Errorf("at the cursor of tick %d: %s\nand at the tick: %s", tick, got, whole)
				}
			}
			if some == 0 {
				t.Error("no state was sent")
			}
		})
	}
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
