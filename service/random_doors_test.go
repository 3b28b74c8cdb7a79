package service_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders/decodertest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/cursor"
)

// doors are doors of a daemon that give events without the responses that an oracle could judge. Each gives the lines of the events for a
// request, in JSON, and those that it must give, by gRPC. ok is false for a request that cannot be made there.
var doors = map[string]func(t *testing.T, w *ways, req *replaydv1.StreamEventsRequest) (got, want []string, ok bool){
	"lines of JSON": func(t *testing.T, w *ways, req *replaydv1.StreamEventsRequest) (got, want []string, ok bool) {
		t.Helper()
		query, ok := queryOf(req)
		if !ok || w.grpc(timeout(t), req).Err != nil {
			return nil, nil, false
		}
		code, body := w.plain().get(t, eventsPath(req.GetReplay(), query.Encode()), nil)
		if code != http.StatusOK {
			t.Fatalf("%s: %d %s", query.Encode(), code, body)
		}
		return eventLines(linesOf(t, body)), w.plain().printed(t, req), true
	},
	"server-sent events": func(t *testing.T, w *ways, req *replaydv1.StreamEventsRequest) (got, want []string, ok bool) {
		t.Helper()
		query, ok := queryOf(req)
		if !ok || w.grpc(timeout(t), req).Err != nil {
			return nil, nil, false
		}
		code, body := w.plain().get(t, eventsPath(req.GetReplay(), query.Encode()), map[string]string{"Accept": "text/event-stream"})
		if code != http.StatusOK {
			t.Fatalf("%s: %d %s", query.Encode(), code, body)
		}
		for _, m := range messages(body) {
			var data struct {
				Events []json.RawMessage `json:"events"`
			}
			if err := json.Unmarshal([]byte(m.data), &data); err != nil {
				t.Fatalf("%q: %v", m.data, err)
			}
			for _, event := range data.Events {
				got = append(got, string(event)+"\n")
			}
		}
		return got, w.plain().printed(t, req), true
	},
	"a temporary replay": func(t *testing.T, w *ways, req *replaydv1.StreamEventsRequest) (got, want []string, ok bool) {
		t.Helper()
		replay, err := createReplay(timeout(t), w.d.client, nil, w.data)
		if status.Code(err) == codes.DataLoss {
			return nil, nil, false // it cannot be described, which a stream of nothing need not
		}
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if _, err := w.d.client.DeleteReplay(timeout(t), &replaydv1.DeleteReplayRequest{Replay: replay.GetName()}); err != nil {
				t.Error(err)
			}
		}()
		return w.plain().printed(t, renamed(req, replay.GetName())), w.plain().printed(t, req), true
	},
	"a compressed copy": func(t *testing.T, w *ways, req *replaydv1.StreamEventsRequest) (got, want []string, ok bool) {
		t.Helper()
		if strings.HasSuffix(w.path, ".gz") {
			return nil, nil, false
		}
		file := "copy-" + filepath.Base(w.path) + ".gz"
		if !exists(filepath.Join(w.dir, file)) {
			write(t, filepath.Join(w.dir, file), decodertest.Gzip(t, w.data))
		}
		return w.plain().printed(t, renamed(req, name(file))), w.plain().printed(t, req), true
	},
	"a flight": func(t *testing.T, w *ways, req *replaydv1.StreamEventsRequest) (got, want []string, ok bool) {
		t.Helper()
		if len(req.GetInclude()) == 0 || len(req.GetInclude()[0].GetKinds()) == 0 || req.GetStart().GetWithState() {
			return nil, nil, false
		}
		req.Include = req.GetInclude()[:1]
		req.Include[0].Kinds = req.GetInclude()[0].GetKinds()[:1]
		if w.grpc(timeout(t), req).Err != nil {
			return nil, nil, false
		}
		ticket, err := protojson.Marshal(req)
		if err != nil {
			t.Fatal(err)
		}
		got, _, err = fly(timeout(t), flight.NewFlightServiceClient(w.d.conn), &flight.Ticket{Ticket: ticket}, 0)
		if err != nil {
			t.Fatalf("%v\n%s", err, ticket)
		}
		return got, tablesOf(t, w.d, proto.CloneOf(req))[req.GetInclude()[0].GetKinds()[0]], true
	},
}

// renamed returns a request for the replay with another name.
func renamed(req *replaydv1.StreamEventsRequest, replay string) *replaydv1.StreamEventsRequest {
	req = proto.CloneOf(req)
	req.Replay = replay
	return req
}

// plain returns the daemon for plain HTTP.
func (w *ways) plain() plainDaemon { return plainDaemon{w.d, w.address} }

// compare makes a request at one of the doors, and compares what it gives with what gRPC does.
func (w *ways) compare(t *testing.T, req *replaydv1.StreamEventsRequest) {
	t.Helper()
	if len(w.data) > 256<<10 && (!*corpus || len(w.data) > 1<<20) {
		return // to print such replays takes minutes, and the doors print what small ones have
	}
	req = proto.CloneOf(req)
	req.Encoding, req.ArrowCompression, req.Columns, req.NarrowColumns = 0, 0, nil, false
	if s := w.grpc(timeout(t), req); s.Err != nil {
		return // the same error is compared by the tests of errors
	}
	names := allDoors()
	door := names[w.random.IntN(len(names))]
	by := doors[door]
	if by == nil {
		by = programDoors[door]
	}
	got, want, ok := by(t, w, req)
	if !ok {
		return
	}
	w.compared[door]++
	if !slices.Equal(got, want) {
		t.Errorf("%s by %s: %s\n%s", w.path, door, difference(got, want), protojson.Format(req))
	}
}

// difference describes the first difference between two lists.
func difference(got, want []string) string {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Sprintf("line %d is %s, want %s", i, got[i], want[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(got), len(want))
}

// queryOf returns the query of plain HTTP that means the same as a request, after what no query says was taken from the request: all include
// filters but one, and what is excluded beside kinds. ok is false when there is none.
func queryOf(req *replaydv1.StreamEventsRequest) (q url.Values, ok bool) {
	q = url.Values{}
	for name, on := range map[string]bool{
		"follow": req.GetFollow(), "strict": req.GetStrict(), "resolve-players": req.GetResolvePlayers(), "with-state": req.GetStart().GetWithState(),
	} {
		if on {
			q.Set(name, "")
		}
	}
	if n := req.GetMaxBatchEvents(); n > 0 {
		q.Set("max-batch-events", strconv.Itoa(int(n)))
	}
	if where := req.GetWhere(); where != "" {
		q.Set("where", where)
	}
	switch at := req.GetStart().GetAt().(type) {
	case *replaydv1.Start_Cursor:
		q.Set("cursor", cursor.Text(at.Cursor))
	case *replaydv1.Start_Tick:
		q.Set("tick", strconv.Itoa(int(at.Tick)))
	case *replaydv1.Start_LastEvents:
		q.Set("last", strconv.Itoa(int(at.LastEvents)))
	case *replaydv1.Start_Now:
		q.Set("now", "")
	}
	req.Include = req.GetInclude()[:min(len(req.GetInclude()), 1)]
	if len(req.GetExclude()) > 0 {
		req.Exclude = []*replaydv1.EventFilter{{Kinds: req.GetExclude()[0].GetKinds()}}
		if len(req.GetExclude()[0].GetKinds()) == 0 {
			req.Exclude = nil
		}
	}
	for _, f := range req.GetInclude() {
		if !include(q, f) {
			return nil, false
		}
	}
	for _, f := range req.GetExclude() {
		if !texts(q, "exclude-kind", f.GetKinds()) {
			return nil, false
		}
	}
	return q, true
}

// include sets the parameters of a filter.
func include(q url.Values, f *replaydv1.EventFilter) bool {
	numbers := func(name string, values []int32) {
		for _, v := range values {
			q.Add(name, strconv.Itoa(int(v)))
		}
	}
	numbers("player", f.GetPlayers())
	numbers("team", f.GetTeams())
	numbers("group", f.GetDatafile().GetGroups())
	numbers("layer", f.GetDatafile().GetLayers())
	if ticks := f.GetTicks(); ticks != nil {
		if ticks.Min != nil {
			q.Set("from-tick", strconv.Itoa(int(ticks.GetMin())))
		}
		if ticks.Max != nil {
			q.Set("to-tick", strconv.Itoa(int(ticks.GetMax())))
		}
		if ticks.Every != nil {
			q.Set("every", strconv.Itoa(int(ticks.GetEvery())))
		}
	}
	if !texts(q, "kind", f.GetKinds()) || !texts(q, "class", f.GetDem().GetClasses()) || !texts(q, "field", f.GetDem().GetFields()) ||
		!texts(q, "type", f.GetDem().GetTypes()) {
		return false
	}
	// A filter with other conditions has no query.
	known := proto.CloneOf(f)
	known.Kinds, known.Players, known.Teams, known.Ticks, known.Datafile = nil, nil, nil, nil, nil
	if known.GetDem() != nil {
		known.Dem.Classes, known.Dem.Fields, known.Dem.Types = nil, nil, nil
		if proto.Size(known.GetDem()) == 0 {
			known.Dem = nil
		}
	}
	return proto.Size(known) == 0
}

// texts adds texts to a query. It reports whether they can be there: values are separated by commas.
func texts(q url.Values, name string, values []string) bool {
	for _, v := range values {
		if v == "" || strings.Contains(v, ",") {
			return false
		}
		q.Add(name, v)
	}
	return true
}
