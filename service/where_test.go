package service_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/streamtest"
)

// batchesOf returns the responses with events, and fails for a stream that did not end well.
func batchesOf(t *testing.T, s streamtest.Session) (batches []string) {
	t.Helper()
	if s.Err != nil {
		t.Fatal(s.Err)
	}
	for _, raw := range s.Responses {
		var r replaydv1.StreamEventsResponse
		if err := proto.Unmarshal(raw, &r); err != nil {
			t.Fatal(err)
		}
		if r.GetBatch() != nil {
			r.Cursor = nil // the filter of ticks ends the stream of a map or game earlier
			batches = append(batches, r.String())
		}
	}
	return batches
}

// TestWhereFollows: an expression is applied to the events of a live replay, where a feed decodes once for all, and to the last events.
func TestWhereFollows(t *testing.T) {
	dir := t.TempDir()
	d := start(t, dir)
	data := read(t, finishedSample)
	w := create(t, dir, "live.teehistorian")
	w.write(data[:len(data)/2])
	req := &replaydv1.StreamEventsRequest{Replay: name("live.teehistorian"), Follow: true, Where: "has(event.client_id) && event.client_id == 0 || kind == 'join'"}
	all := follow(t, d, &replaydv1.StreamEventsRequest{Replay: req.GetReplay(), Follow: true})
	some := follow(t, d, req)
	all.caughtUp(t)
	some.caughtUp(t)
	w.write(data[len(data)/2:])
	events := func(f *following) (out []proto.Message, kept int) {
		for _, raw := range f.history()[0].Responses {
			var r replaydv1.StreamEventsResponse
			if err := proto.Unmarshal(raw, &r); err != nil {
				t.Fatal(err)
			}
			for _, e := range r.GetBatch().GetTeehistorian().GetEvents() {
				m := e.ProtoReflect()
				of := m.Get(m.WhichOneof(m.Descriptor().Oneofs().ByName("kind"))).Message()
				client := of.Descriptor().Fields().ByName("client_id")
				if out = append(out, e); e.GetJoin() != nil || client != nil && of.Get(client).Int() == 0 && of.Has(client) {
					kept++
				}
			}
		}
		return out, kept
	}
	everything, want := events(all)
	got, kept := events(some)
	if len(got) != want || kept != want || want == 0 || len(everything) == want {
		t.Errorf("%d events, of which the expression is true for %d; want %d of %d", len(got), kept, want, len(everything))
	}
	last := &replaydv1.StreamEventsRequest{Replay: req.GetReplay(), Where: req.GetWhere(), Start: &replaydv1.Start{At: &replaydv1.Start_LastEvents{LastEvents: 3}}}
	if got := batchesOf(t, d.Session(timeout(t), last, nil)); strings.Count(strings.Join(got, ""), "at_tick") < 1 || len(got) != 1 {
		t.Errorf("the last events are %s", got)
	}
}

// TestWhereOfAll: a subscription has the events for which its expression is true, of replays of the formats that can have some.
func TestWhereOfAll(t *testing.T) {
	dir := t.TempDir()
	d := start(t, dir)
	want := map[string]streamtest.Replay{}
	for number, server := range []string{"a", "b", "c"} {
		data := gameOf{number: number + 1, server: server, start: time.Now()}.data(t)
		write(t, filepath.Join(dir, server+".teehistorian"), data)
		r := offlineBytes(t, data, &replaydv1.StreamEventsRequest{Include: []*replaydv1.EventFilter{{Players: []int32{0}}}})
		want[r.Identity] = r
	}
	copyIn(t, dir, samples("datafile", "sample.map"))
	c := newSubscriber(t, &replaydv1.SubscribeEventsRequest{Options: &replaydv1.StreamEventsRequest{Where: "event.client_id == 0"}})
	always := func() bool { return true }
	if err := c.run(timeout(t), d.client, always, func() bool { return len(c.ended) == len(want) }); err != nil {
		t.Fatal(err)
	}
	if len(c.replays) != len(want) || len(c.failed) > 0 {
		t.Errorf("%d replays, %v have failed", len(c.replays), c.failed)
	}
	for of, r := range want {
		check(t, c.replays[of], []streamtest.Replay{r}, streamtest.Options{})
	}
	c = newSubscriber(t, &replaydv1.SubscribeEventsRequest{Options: &replaydv1.StreamEventsRequest{Where: "event.nothing == 0"}})
	if err := c.run(timeout(t), d.client, always, always); explainFailure(t, err).field != "options.where" {
		t.Errorf("a field that no event has: %v", err)
	}
}

// TestWhereRefused: what is refused by each door says why.
func TestWhereRefused(t *testing.T) {
	dir := t.TempDir()
	d := start(t, dir)
	replay := copyIn(t, dir, finishedSample)
	err := d.Session(timeout(t), &replaydv1.StreamEventsRequest{Replay: replay, Where: "event.dx > 'a'"}, nil).Err
	if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "where: column 10: ") {
		t.Errorf("%v", err)
	}
}
