package streamtest_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/replayd/replayd/decoders"
	teehistorianv1 "github.com/replayd/replayd/proto/replayd/teehistorian/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/cursor"
	"github.com/replayd/replayd/service/streamtest"
)

func event(i int) *teehistorianv1.Event {
	return &teehistorianv1.Event{
		AtTick: int32(i),
		Kind:   &teehistorianv1.Event_PlayerDiff{PlayerDiff: &teehistorianv1.PlayerDiff{ClientId: 1, Dx: 1, X: &[]int32{int32(i)}[0]}},
	}
}

// replay returns a replay of n events whose ticks count from base.
func replay(t testing.TB, name string, base, n int) streamtest.Replay {
	r := streamtest.Replay{Identity: name, End: replaydv1.EndReason_END_REASON_FINISHED}
	for i := range n {
		b, err := proto.Marshal(event(base + i))
		if err != nil {
			t.Fatal(err)
		}
		r.Events = append(r.Events, string(b))
		r.At = append(r.At, at(base+i))
	}
	return r
}

// at returns the position of an event: three events are in each record.
func at(i int) decoders.Position {
	return decoders.Position{Offset: 100 + 70*int64(i/3), Index: 128 * int64(i%3)}
}

// places sets the positions of the events of a batch.
func places(b *replaydv1.EventBatch, events ...int) {
	var last decoders.Position
	b.Offsets, b.Indexes = nil, nil
	for _, i := range events {
		b.Offsets = append(b.Offsets, -1-(at(i).Offset-last.Offset))
		b.Indexes = append(b.Indexes, at(i).Index-last.Index)
		last = at(i)
	}
}

// The functions below return the responses of histories. The checker ignores the contents of the cursor.

func response(r *replaydv1.StreamEventsResponse) *replaydv1.StreamEventsResponse {
	r.Cursor = []byte("cursor")
	return r
}

func start(replay string, sequence uint64) *replaydv1.StreamEventsResponse {
	return response(&replaydv1.StreamEventsResponse{Response: &replaydv1.StreamEventsResponse_Start{
		Start: &replaydv1.StreamStart{Replay: &replaydv1.Replay{Identity: replay}, NextSequence: sequence},
	}})
}

// untold adds a cursor that says that the state is still to come.
func untold(r *replaydv1.StreamEventsResponse) *replaydv1.StreamEventsResponse {
	r.Cursor = cursor.Cursor{Format: decoders.Teehistorian, Replay: 1, State: true}.Append(nil)
	return r
}

func batch(first uint64, events ...int) *replaydv1.StreamEventsResponse {
	list := new(teehistorianv1.EventList)
	for _, i := range events {
		list.Events = append(list.Events, event(i))
	}
	b := &replaydv1.EventBatch{
		FirstSequence: first, NextSequence: first + uint64(len(events)),
		Events: &replaydv1.EventBatch_Teehistorian{Teehistorian: list},
	}
	places(b, events...)
	return response(&replaydv1.StreamEventsResponse{Response: &replaydv1.StreamEventsResponse_Batch{Batch: b}})
}

func heartbeat(read int64, tick int32) *replaydv1.StreamEventsResponse {
	return response(&replaydv1.StreamEventsResponse{Response: &replaydv1.StreamEventsResponse_Heartbeat{
		Heartbeat: &replaydv1.Heartbeat{BytesRead: read, BytesPresent: new(int64(1000)), Tick: tick},
	}})
}

func told(complete bool) *replaydv1.StreamEventsResponse {
	return response(&replaydv1.StreamEventsResponse{Response: &replaydv1.StreamEventsResponse_State{
		State: &replaydv1.StateBatch{Complete: complete},
	}})
}

func state(s replaydv1.FollowState) *replaydv1.StreamEventsResponse {
	return response(&replaydv1.StreamEventsResponse{Response: &replaydv1.StreamEventsResponse_FollowStatus{
		FollowStatus: &replaydv1.FollowStatus{State: s},
	}})
}

func successor(replay string, end replaydv1.EndReason) *replaydv1.StreamEventsResponse {
	return response(&replaydv1.StreamEventsResponse{Response: &replaydv1.StreamEventsResponse_FollowStatus{
		FollowStatus: &replaydv1.FollowStatus{
			State: replaydv1.FollowState_FOLLOW_STATE_SUCCESSOR, Successor: &replaydv1.Replay{Identity: replay}, PredecessorEnd: end,
		},
	}})
}

func gap(first, next uint64) *replaydv1.StreamEventsResponse {
	return response(&replaydv1.StreamEventsResponse{Response: &replaydv1.StreamEventsResponse_Gap{
		Gap: &replaydv1.Gap{FirstSequence: first, NextSequence: next, FromTick: 1, ToTick: 2},
	}})
}

func end(reason replaydv1.EndReason, sent uint64) *replaydv1.StreamEventsResponse {
	return response(&replaydv1.StreamEventsResponse{Response: &replaydv1.StreamEventsResponse_End{
		End: &replaydv1.StreamEnd{Reason: reason, EventsSent: sent},
	}})
}

func session(t testing.TB, responses ...*replaydv1.StreamEventsResponse) streamtest.Session {
	var s streamtest.Session
	for _, r := range responses {
		b, err := proto.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		s.Responses = append(s.Responses, b)
	}
	return s
}

const (
	finished  = replaydv1.EndReason_END_REASON_FINISHED
	truncated = replaydv1.EndReason_END_REASON_TRUNCATED
	draining  = replaydv1.EndReason_END_REASON_SERVER_DRAINING
	caughtUp  = replaydv1.FollowState_FOLLOW_STATE_CAUGHT_UP
	behind    = replaydv1.FollowState_FOLLOW_STATE_FELL_BEHIND
)

func cut(s streamtest.Session) streamtest.Session {
	s.Cut = true
	return s
}

// The subscription of these tests streams replay "a" with the events 0 to 5, and then "b" with 10 to 12.
func TestCheck(t *testing.T) {
	replays := []streamtest.Replay{replay(t, "a", 0, 6), replay(t, "b", 10, 3)}
	type responses = []*replaydv1.StreamEventsResponse
	one := func(r responses) streamtest.History { return streamtest.History{session(t, r...)} }
	nameless := start("a", 0)
	nameless.Cursor = nil
	altered := batch(0, 0, 1, 2)
	altered.GetBatch().GetTeehistorian().Events[1].GetPlayerDiff().Dx++
	miscounted := batch(0, 0, 1, 2)
	miscounted.GetBatch().NextSequence++
	moved := batch(0, 0, 1, 2)
	places(moved.GetBatch(), 0, 1, 3)
	placeless := batch(0, 0, 1, 2)
	placeless.GetBatch().Offsets, placeless.GetBatch().Indexes = nil, nil
	short := batch(0, 0, 1, 2)
	places(short.GetBatch(), 0, 1)
	indexless := batch(0, 0, 1, 2)
	indexless.GetBatch().Indexes = indexless.GetBatch().GetIndexes()[:2]
	overfull := batch(0, 0, 1, 2)
	overfull.GetBatch().Indexes = append(overfull.GetBatch().GetIndexes(), 1)
	huge := batch(0, 0)
	huge.GetBatch().GetTeehistorian().Events[0].Kind = &teehistorianv1.Event_ConsoleCommand{
		ConsoleCommand: &teehistorianv1.ConsoleCommand{Command: strings.Repeat("x", 1<<20)},
	}

	for _, test := range []struct {
		name    string
		history streamtest.History
		options streamtest.Options
		want    string // the text of the violation; empty for none
	}{
		{"all in one session", one(responses{
			start("a", 0), batch(0, 0, 1), heartbeat(10, 1), heartbeat(10, 1), batch(2, 2, 3, 4, 5), state(caughtUp),
			successor("b", finished), batch(6, 10, 11, 12), state(caughtUp), end(finished, 9),
		}), streamtest.Options{}, ""},
		{"resumed", streamtest.History{
			cut(session(t, start("a", 0), batch(0, 0, 1))),
			{Err: errors.New("killed"), Cut: true},
			cut(session(t, start("a", 2), batch(2, 2, 3, 4, 5), successor("b", finished))),
			session(t, start("b", 6), batch(6, 10, 11), end(draining, 2)),
			session(t, start("b", 8), batch(8, 12), end(finished, 1)),
		}, streamtest.Options{}, ""},
		{"gap", one(responses{
			start("a", 0), batch(0, 0), gap(1, 4), batch(4, 4, 5), successor("b", finished), gap(6, 9), end(finished, 3),
		}), streamtest.Options{Gaps: true}, ""},
		{"fell behind", one(responses{
			start("a", 0), state(caughtUp), batch(0, 0), state(behind), batch(1, 1), state(caughtUp),
		}), streamtest.Options{Incomplete: true}, "no end came"},
		{"from the middle", one(responses{
			start("a", 7), batch(7, 4, 5), successor("b", finished), batch(9, 10, 11, 12), end(finished, 5),
		}), streamtest.Options{From: 4, Sequence: 7}, ""},
		{"state", one(responses{
			start("a", 0), told(false), heartbeat(1, 1), told(true), batch(0, 0, 1, 2, 3, 4, 5), successor("b", finished), told(true),
			batch(6, 10, 11, 12), end(finished, 9),
		}), streamtest.Options{State: true}, ""},
		{"cut before the state", streamtest.History{
			cut(session(t, untold(start("a", 0)), untold(told(false)))),
			cut(session(t, untold(start("a", 0)), told(true), batch(0, 0))),
		}, streamtest.Options{State: true, Incomplete: true}, ""},
		{"cut before the state, and events", streamtest.History{
			cut(session(t, untold(start("a", 0)))), cut(session(t, untold(start("a", 0)), batch(0, 0))),
		}, streamtest.Options{State: true, Incomplete: true}, "before the state is complete"},
		{"state that nobody asked for", one(responses{start("a", 0), told(true)}), streamtest.Options{}, "nobody asked for"},
		{"state twice", one(responses{start("a", 0), told(true), told(true)}), streamtest.Options{State: true}, "or once more"},
		{"events before the state", one(responses{start("a", 0), told(false), batch(0, 0)}), streamtest.Options{State: true}, "before the state is complete"},
		{"no state behind a gap", one(responses{
			start("a", 0), told(true), gap(0, 2), batch(2, 2),
		}), streamtest.Options{State: true, Gaps: true}, "before the state is complete"},

		{"nothing", nil, streamtest.Options{}, "ends in replay 0 of 2"},
		{"no start", one(responses{batch(0, 0, 1)}), streamtest.Options{}, "a start must be the first response"},
		{"heartbeat before the start", one(responses{heartbeat(1, 1), start("a", 0)}), streamtest.Options{}, "a start must be the first"},
		{"start twice", one(responses{start("a", 0), start("a", 0)}), streamtest.Options{}, "a start must be the first"},
		{"start of another replay", one(responses{start("b", 0)}), streamtest.Options{}, `replay "b", not of "a"`},
		{"start with a wrong sequence", one(responses{start("a", 1)}), streamtest.Options{}, "announces event 1"},
		{"no cursor", one(responses{nameless}), streamtest.Options{}, "it has no cursor"},
		{"event lost", one(responses{start("a", 0), batch(0, 0, 1), batch(2, 3)}), streamtest.Options{}, "event 2 of the replay"},
		{"event lost at the end", one(responses{start("a", 0), batch(0, 0, 1, 2, 3, 4), end(finished, 5)}), streamtest.Options{}, "comes after event 5 of 6"},
		{"event lost between sessions", streamtest.History{
			cut(session(t, start("a", 0), batch(0, 0, 1))), cut(session(t, start("a", 2), batch(2, 3))),
		}, streamtest.Options{Incomplete: true}, "event 2 of the replay"},
		{"event twice", one(responses{start("a", 0), batch(0, 0, 1), batch(2, 1)}), streamtest.Options{}, "event 2 of the replay"},
		{"event twice between sessions", streamtest.History{
			cut(session(t, start("a", 0), batch(0, 0, 1))), cut(session(t, start("a", 1), batch(1, 1))),
		}, streamtest.Options{Incomplete: true}, "the start announces event 1"},
		{"events in another order", one(responses{start("a", 0), batch(0, 0, 2, 1)}), streamtest.Options{}, "event 1 of the replay"},
		{"event altered", one(responses{start("a", 0), altered}), streamtest.Options{}, "event 1 of the replay"},
		{"a position of another event", one(responses{start("a", 0), moved}), streamtest.Options{}, "event 2 is at {170 0} instead of {100 256}"},
		{"no positions", one(responses{start("a", 0), placeless}), streamtest.Options{}, "3 events have 0 offsets"},
		{"a position too few", one(responses{start("a", 0), short}), streamtest.Options{}, "3 events have 2 offsets"},
		{"an index too few", one(responses{start("a", 0), indexless}), streamtest.Options{}, "the index of event 2 is missing"},
		{"positions go back", one(responses{start("c", 0), batch(0, 10, 11, 9)}), streamtest.Options{}, "event 2 is at {310 0}, and the one before it at {310 256}"},
		{"an index too many", one(responses{start("a", 0), overfull}), streamtest.Options{}, "1 indexes of no event"},
		{"one event too many", one(responses{start("a", 0), batch(0, 0, 1, 2, 3, 4, 5, 6)}), streamtest.Options{}, "1 events come after"},
		{"sequence skips", one(responses{start("a", 0), batch(0, 0), batch(2, 1)}), streamtest.Options{}, "begins with event 2 instead of 1"},
		{"sequence repeats", one(responses{start("a", 0), batch(0, 0), batch(0, 1)}), streamtest.Options{}, "begins with event 0 instead of 1"},
		{"batch miscounts", one(responses{start("a", 0), miscounted}), streamtest.Options{}, "has 3 events, and counts"},
		{"empty batch", one(responses{start("a", 0), batch(0)}), streamtest.Options{}, "the batch is empty"},
		{"unasked gap", one(responses{start("a", 0), gap(0, 2)}), streamtest.Options{}, "nobody asked for"},
		{"gap too short", one(responses{start("a", 0), gap(0, 2), batch(2, 3)}), streamtest.Options{Gaps: true}, "event 2 of the replay"},
		{"gap too long", one(responses{start("a", 0), gap(0, 7)}), streamtest.Options{Gaps: true}, "has 7 events where"},
		{"empty gap", one(responses{start("a", 0), gap(0, 0)}), streamtest.Options{Gaps: true}, "the gap is empty"},
		{"gap elsewhere", one(responses{start("a", 0), gap(1, 2)}), streamtest.Options{Gaps: true}, "begins with event 1"},
		{"heartbeat goes back", one(responses{start("a", 0), heartbeat(10, 5), heartbeat(9, 5)}), streamtest.Options{}, "goes back"},
		{"heartbeat's tick goes back", one(responses{start("a", 0), heartbeat(10, 5), heartbeat(10, 4)}), streamtest.Options{}, "goes back"},
		{"heartbeat beyond the file", one(responses{start("a", 0), heartbeat(1001, 5)}), streamtest.Options{}, "has read 1001 bytes of 1000"},
		{"caught up twice", one(responses{start("a", 0), state(caughtUp), state(caughtUp)}), streamtest.Options{}, "never fell behind"},
		{"successor too early", one(responses{start("a", 0), batch(0, 0, 1, 2, 3, 4), successor("b", finished)}), streamtest.Options{}, "comes after event 5 of 6"},
		{"another successor", one(responses{start("a", 0), batch(0, 0, 1, 2, 3, 4, 5), successor("c", finished)}), streamtest.Options{}, `is "c" instead of "b"`},
		{"successor after another end", one(responses{start("a", 0), batch(0, 0, 1, 2, 3, 4, 5), successor("b", truncated)}), streamtest.Options{}, "ends by END_REASON_TRUNCATED"},
		{"no successor", one(responses{start("a", 0), batch(0, 0, 1, 2, 3, 4, 5), end(finished, 6)}), streamtest.Options{}, "ends in replay 0 of 2"},
		{"another end", one(responses{start("a", 0), batch(0, 0, 1, 2, 3, 4, 5), end(truncated, 6)}), streamtest.Options{Incomplete: true}, "END_REASON_TRUNCATED instead"},
		{"end miscounts", one(responses{start("a", 0), batch(0, 0, 1, 2, 3, 4, 5), end(finished, 7)}), streamtest.Options{Incomplete: true}, "counts 7 events, 6 came"},
		{"something after the end", one(responses{start("a", 0), end(draining, 0), heartbeat(1, 1)}), streamtest.Options{Incomplete: true}, "after the end"},
		{"OK without an end", one(responses{start("a", 0)}), streamtest.Options{Incomplete: true}, "no end came"},
		{"error after an end", streamtest.History{{
			Responses: session(t, start("a", 0), end(draining, 0)).Responses, Err: errors.New("broken"),
		}}, streamtest.Options{Incomplete: true}, "the status is not OK"},
		{"not protobuf", streamtest.History{cut(streamtest.Session{Responses: [][]byte{{0xff}}})}, streamtest.Options{Incomplete: true}, "cannot be read"},
		{"response too large", one(responses{start("a", 0), huge}), streamtest.Options{Incomplete: true}, "more than 1048576"},
	} {
		t.Run(test.name, func(t *testing.T) {
			of := replays
			if strings.HasPrefix(test.name, "positions") { // of which nothing is known
				of = []streamtest.Replay{{Identity: "c"}}
			}
			err := streamtest.Check(test.history, of, test.options)
			switch {
			case test.want == "" && err != nil:
				t.Errorf("a history without fault is said to break promises:\n%v", err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// TestCheckFindsAnyFault makes one random change to a random correct history.
func TestCheckFindsAnyFault(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(2, 40).Draw(rt, "events")
		events := make([]int, n)
		for i := range events {
			events[i] = i
		}
		replays := []streamtest.Replay{replay(t, "a", 0, n)}
		build := func(sent []int) streamtest.History {
			var h streamtest.History
			responses := []*replaydv1.StreamEventsResponse{start("a", 0)}
			inSession := 0
			for at := 0; at < len(sent); {
				size := rapid.IntRange(1, len(sent)-at).Draw(rt, "batch")
				responses = append(responses, batch(uint64(at), sent[at:at+size]...))
				at += size
				inSession += size
				if rapid.Bool().Draw(rt, "cut") && at < len(sent) {
					h = append(h, cut(session(t, responses...)))
					responses, inSession = []*replaydv1.StreamEventsResponse{start("a", uint64(at))}, 0
				}
			}
			return append(h, session(t, append(responses, end(finished, uint64(inSession)))...))
		}
		if err := streamtest.Check(build(events), replays, streamtest.Options{}); err != nil {
			rt.Fatalf("without fault: %v", err)
		}
		i := rapid.IntRange(0, n-1).Draw(rt, "at")
		fault := rapid.SampledFrom([]string{"lost", "twice", "swapped", "altered"}).Draw(rt, "fault")
		switch broken := slices.Clone(events); fault {
		case "lost":
			events = slices.Delete(broken, i, i+1)
		case "twice":
			events = slices.Insert(broken, i, i)
		case "swapped":
			j := (i + 1) % n
			broken[i], broken[j] = broken[j], broken[i]
			events = broken
		case "altered":
			broken[i] += 1000
			events = broken
		}
		if streamtest.Check(build(events), replays, streamtest.Options{}) == nil {
			rt.Fatalf("an event was %s, and nobody noticed", fault)
		}
	})
}

func TestHistory(t *testing.T) {
	last := batch(2, 2)
	last.Cursor = []byte("the last one")
	h := streamtest.History{
		cut(session(t, start("a", 0), batch(0, 0, 1))), cut(session(t, start("a", 2), last)), {Err: errors.New("killed")},
	}
	if got := string(h.Cursor()); got != "the last one" {
		t.Errorf("cursor %q", got)
	}
	events, err := h.Events()
	if want := replay(t, "a", 0, 3).Events; err != nil || !slices.Equal(events, want) {
		t.Errorf("events %q, %v; want %q", events, err, want)
	}
	if h.End() != nil {
		t.Error("an end where there is none")
	}
	if got := (streamtest.History{session(t, end(draining, 0))}).End().GetReason(); got != draining {
		t.Errorf("end %v", got)
	}
}
