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

// whereTests are expressions, and filters that let the same events through.
var whereTests = []struct {
	sample string
	kinds  []string
	where  string
	same   *replaydv1.EventFilter
}{
	{"teehistorian", []string{"player_diff"}, "event.client_id == 0", &replaydv1.EventFilter{Players: []int32{0}}},
	{"teehistorian", []string{"player_diff", "input_diff", "join"}, "!(event.client_id > 0 || event.client_id < 0)", &replaydv1.EventFilter{Players: []int32{0}}},
	{"teehistorian", []string{"sample_player", "tick"}, "at_tick % 50 == 0 && kind != 'tick'", &replaydv1.EventFilter{Kinds: []string{"sample_player"}}},
	{"teehistorian", []string{"fact_session", "fact_finish"}, "kind == 'fact_session'", &replaydv1.EventFilter{Kinds: []string{"fact_session"}}},
	{"teehistorian", nil, "kind.startsWith('input_')", &replaydv1.EventFilter{Kinds: []string{"input_diff", "input_new"}}},
	{"dem/dota.dem", []string{"entity_updated", "entity_created"}, "event.class.startsWith('CDOTA_')", &replaydv1.EventFilter{Dem: &replaydv1.DemFilter{Classes: []string{"CDOTA_*"}}}},
	{"dem/dota.dem", []string{"combat_log"}, "event.type == 'COMBAT_LOG_TYPE_DEATH'", &replaydv1.EventFilter{Dem: &replaydv1.DemFilter{Types: []string{"COMBAT_LOG_TYPE_DEATH"}}}},
	{"dem/cs2.dem", nil, "kind == 'entity_created' && has(event.fields)", &replaydv1.EventFilter{Kinds: []string{"entity_created"}, Dem: &replaydv1.DemFilter{Classes: []string{"*"}}}},
	{"sc2replay/5.0.SC2Replay", []string{"fact_unit"}, "true", &replaydv1.EventFilter{}},
	{"sc2replay/5.0.SC2Replay", []string{"unit_born", "unit_died"}, "time < 100.0", &replaydv1.EventFilter{Ticks: &replaydv1.TickRange{Max: new(int32(1599))}}},
	{"datafile/sample.map", []string{"tile_layer", "quad_layer"}, "event.layer in [1, 2]", &replaydv1.EventFilter{Datafile: &replaydv1.DatafileFilter{Layers: []int32{1, 2}}}},
}

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

// TestWhere compares streams with an expression with those of filters for the same events: by rows, by tables, as an upload, and from the
// cursor of each batch of one event.
func TestWhere(t *testing.T) {
	dir := t.TempDir()
	d := start(t, dir)
	for _, test := range whereTests {
		path := finishedSample
		if test.sample != "teehistorian" {
			path = samples(filepath.FromSlash(test.sample))
		}
		replay := copyIn(t, dir, path)
		req := &replaydv1.StreamEventsRequest{Replay: replay, Where: test.where}
		if test.kinds != nil {
			req.Include = []*replaydv1.EventFilter{kinds(test.kinds...)}
		}
		same := proto.CloneOf(test.same)
		if same.Kinds == nil {
			same.Kinds = test.kinds
		}
		plain := &replaydv1.StreamEventsRequest{Replay: replay, Include: []*replaydv1.EventFilter{same}}
		for _, encoding := range []replaydv1.Encoding{replaydv1.Encoding_ENCODING_ROWS, replaydv1.Encoding_ENCODING_ARROW} {
			req.Encoding, plain.Encoding = encoding, encoding
			got, want := batchesOf(t, d.Session(timeout(t), req, nil)), batchesOf(t, d.Session(timeout(t), plain, nil))
			if len(want) == 0 {
				t.Fatalf("%s: no event of %s", test.where, replay)
			}
			if encoding == replaydv1.Encoding_ENCODING_ARROW { // which has empty tables of all kinds that are named
				got, want = nil, nil
				for _, r := range []*replaydv1.StreamEventsRequest{req, plain} {
					var all []string
					for kind, rows := range tablesOf(t, d, proto.CloneOf(r)) {
						for _, row := range rows {
							all = append(all, kind+" "+row)
						}
					}
					if got, want = want, all; got == nil {
						got = []string{}
					}
				}
				if !sameSet(got, want) {
					t.Errorf("%s of %s: tables of %d rows, want %d", test.where, replay, len(got), len(want))
				}
				continue
			}
			if strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("%s of %s: %d batches differ from %d\n%.500s\n%.500s", test.where, replay, len(got), len(want), got, want)
			}
		}
		req.Encoding, plain.Encoding = 0, 0
		req.MaxBatchEvents, plain.MaxBatchEvents = 1, 1 // a batch of an upload has what has arrived
		if got := batchesOf(t, uploaded(t, d, req, read(t, path))); strings.Join(got, "\n") != strings.Join(batchesOf(t, d.Session(timeout(t), plain, nil)), "\n") {
			t.Errorf("%s of %s: an upload has %d batches", test.where, replay, len(got))
		}
		whole := d.Session(timeout(t), req, nil)
		want := batchesOf(t, whole)
		for i := 1; i < min(len(want), 5); i++ {
			again := proto.CloneOf(req)
			at := cursorBehind(t, whole.Responses[i])
			again.Start = &replaydv1.Start{At: &replaydv1.Start_Cursor{Cursor: at.Append(nil)}}
			if got := batchesOf(t, d.Session(timeout(t), again, nil)); strings.Join(got, "\n") != strings.Join(want[i:], "\n") {
				t.Errorf("%s of %s: %d events behind event %d, want %d", test.where, replay, len(got), i, len(want)-i)
			}
		}
	}
}

func sameSet(a, b []string) bool {
	n := map[string]int{}
	for i := range a {
		n[a[i]]++
	}
	for i := range b {
		n[b[i]]--
	}
	for _, left := range n {
		if left != 0 {
			return false
		}
	}
	return len(a) > 0
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
