package service_test

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/cursor"
	"github.com/replayd/replayd/service/describe"
	"github.com/replayd/replayd/service/streamtest"
)

// TestFactsVersion: a stream says of which version the facts of its format are. A cursor of a stream with facts of another version leads
// no stream with facts on, and none that would begin between facts. Streams without facts go on from it as from any other, and
// their cursors have no version, so that a stream with facts goes on from those.
func TestFactsVersion(t *testing.T) {
	dir := t.TempDir()
	for sample, wants := range map[string]*replaydv1.EventFilter{
		finishedSample:                     kinds("drop", "fact_session"),
		samples("sc2replay/5.0.SC2Replay"): kinds("unit_died", "fact_unit"),
		samples("datafile/sample.map"):     nil,
	} {
		replay := copyIn(t, dir, sample)
		d := start(t, dir)
		req := &replaydv1.StreamEventsRequest{Replay: replay, MaxBatchEvents: 1}
		whole := d.Session(timeout(t), req, nil)
		var first replaydv1.StreamEventsResponse
		if err := proto.Unmarshal(whole.Responses[0], &first); err != nil {
			t.Fatal(err)
		}
		c, err := describe.CodecOf(describe.Formats.From[first.GetStart().GetReplay().GetFormat()])
		if err != nil {
			t.Fatal(err)
		}
		if got := first.GetStart().GetFactsVersion(); got != c.FactsVersion || (got == 0) != (wants == nil) {
			t.Errorf("%s: the start has version %d", replay, got)
		}
		if wants == nil {
			continue
		}
		req.Include = []*replaydv1.EventFilter{wants}
		own, within := 0, 0
		sent := d.Session(timeout(t), req, nil).Responses
		for _, sent := range sent[:min(len(sent), 40)] {
			at := cursorBehind(t, sent)
			if at.Facts != c.FactsVersion {
				t.Fatalf("%s: a cursor of facts of version %d", replay, at.Facts)
			}
			between := at.Position != at.Position.Own()
			at.Facts++
			with := streamFrom(t, d, req, at)
			refused := explainFailure(t, with.Err)
			if refused.code != codes.FailedPrecondition || refused.reason != "FACTS_VERSION" || len(with.Responses) > 0 ||
				!strings.Contains(with.Err.Error(), "start the stream anew") {
				t.Fatalf("%s: %v", replay, with.Err)
			}
			without := streamFrom(t, d, &replaydv1.StreamEventsRequest{Replay: replay}, at)
			if between {
				if within++; explainFailure(t, without.Err).reason != "FACTS_VERSION" {
					t.Fatalf("%s: between facts: %v", replay, without.Err)
				}
				continue
			}
			own++
			here := at
			here.Facts = 0 // of a stream without facts
			if want := streamFrom(t, d, &replaydv1.StreamEventsRequest{Replay: replay}, here); without.Err != nil || !sameResponses(t, without.Responses, want.Responses) {
				t.Fatalf("%s: without facts: %v", replay, without.Err)
			}
			if got := cursorBehind(t, without.Responses[len(without.Responses)-1]); got.Facts != 0 {
				t.Fatalf("%s: a stream without facts has a cursor of version %d", replay, got.Facts)
			}
			if again := streamFrom(t, d, req, here); again.Err != nil {
				t.Fatalf("%s: %v", replay, again.Err)
			}
		}
		if own == 0 || within == 0 {
			t.Errorf("%s: %d cursors at events, %d between facts", replay, own, within)
		}
	}
}

func cursorBehind(t *testing.T, response []byte) cursor.Cursor {
	t.Helper()
	var sent replaydv1.StreamEventsResponse
	if err := proto.Unmarshal(response, &sent); err != nil {
		t.Fatal(err)
	}
	at, err := cursor.Parse(sent.GetCursor())
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func streamFrom(t *testing.T, d *daemon, req *replaydv1.StreamEventsRequest, at cursor.Cursor) streamtest.Session {
	t.Helper()
	req = proto.CloneOf(req)
	req.Start = &replaydv1.Start{At: &replaydv1.Start_Cursor{Cursor: at.Append(nil)}}
	return d.Session(timeout(t), req, nil)
}
