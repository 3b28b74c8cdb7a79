package streamtest

import (
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/cursor"
)

// Judge returns what is wrong with a session that a request got, of a replay that is all there.
func (o *Oracle) Judge(req *replaydv1.StreamEventsRequest, s *Session) error {
	if o.Refused(req) {
		if status.Code(s.Err) != codes.InvalidArgument || len(s.Responses) > 0 {
			return fmt.Errorf("a request that can match nothing got %d responses and status %w", len(s.Responses), s.Err)
		}
		return nil
	}
	want, err := o.Expect(req)
	if err != nil {
		return err
	}
	if req.GetNow() {
		return o.judgeNow(req, s)
	}
	if (s.Err != nil) && (status.Code(s.Err) != status.Code(o.Err) || o.Err == nil) {
		return fmt.Errorf("ended by %w, where the whole stream ended by %w", s.Err, o.Err)
	}
	texts := make([]string, len(want))
	for i := range want {
		texts[i] = want[i].Text
	}
	options := Options{}
	if c := req.GetCursor(); c != nil {
		at, err := cursor.Parse(c)
		if err != nil {
			return err
		}
		options.Sequence = at.Sequence
	}
	if err := Check(History{*s}, []Replay{{Identity: o.Identity, Events: texts}}, options); err != nil {
		return err
	}
	return o.judgePlaces(req, s, want)
}

// judgePlaces looks at the positions of a session's events, and at where its cursors lead.
func (o *Oracle) judgePlaces(req *replaydv1.StreamEventsRequest, s *Session, want []Event) error {
	next := 0
	var c canon
	var before *decoders.Position // of the last event before the start
	if start, ok := req.GetStart().(*replaydv1.StreamEventsRequest_Tick); ok {
		if at, some := o.before(start.Tick); some {
			before = &at
		}
	}
	for i, raw := range s.Responses {
		r, err := parse(raw)
		if err != nil {
			return err
		}
		if r.batch != nil {
			events, err := c.events(r.batch)
			if err != nil {
				return err
			}
			b := r.batch
			if n := len(b.offsets); req.GetPositions() != (n > 0) || n > 0 && (n != len(events) || len(b.indexes) != n) {
				return fmt.Errorf("response %d: %d events, %d offsets, %d indexes", i, len(events), n, len(b.indexes))
			}
			for j := range b.offsets {
				if at := (decoders.Position{Offset: b.offsets[j], Index: b.indexes[j]}); at != want[next+j].At {
					return fmt.Errorf("response %d: event %d is at %v instead of %v", i, j, at, want[next+j].At)
				}
			}
			next += len(events)
		}
		at, err := cursor.Parse(r.cursor)
		if err != nil {
			return fmt.Errorf("response %d: %w", i, err)
		}
		if end := r.message.GetEnd(); end.GetReason() == o.End.GetReason() && end.GetLastTick() != o.End.GetLastTick() {
			return fmt.Errorf("response %d: the last tick is %d instead of %d", i, end.GetLastTick(), o.End.GetLastTick())
		}
		switch p := at.Position; {
		case before != nil && !before.Before(p):
			return fmt.Errorf("response %d: the cursor is at %v, but at %v is an event before the tick asked for", i, p, *before)
		case next > 0 && !want[next-1].At.Before(p):
			return fmt.Errorf("response %d: the cursor is at %v, not behind the last event at %v", i, p, want[next-1].At)
		case next < len(want) && want[next].At.Before(p):
			return fmt.Errorf("response %d: the cursor is at %v, behind the next event at %v", i, p, want[next].At)
		case o.Err == nil && o.end.Before(p):
			return fmt.Errorf("response %d: the cursor is at %v, the replay ends at %v", i, p, o.end)
		}
	}
	return nil
}

// judgeNow looks at a session that began at the end of a replay that is all there: events that tell the state, and none
// else.
func (o *Oracle) judgeNow(req *replaydv1.StreamEventsRequest, s *Session) error {
	if s.Err != nil && o.Err == nil {
		return fmt.Errorf("ended by %w", s.Err)
	}
	var c canon
	var sequence uint64
	for i, raw := range s.Responses {
		r, err := parse(raw)
		if err != nil {
			return err
		}
		if r.batch == nil {
			continue
		}
		events, err := c.events(r.batch)
		if err != nil {
			return err
		}
		if limit := req.GetMaxBatchEvents(); limit > 0 && len(events) > int(limit) {
			return fmt.Errorf("response %d has %d events", i, len(events))
		}
		if r.batch.first != sequence || r.batch.next != sequence+uint64(len(events)) {
			return fmt.Errorf("response %d counts %d events from %d to %d", i, len(events), r.batch.first, r.batch.next)
		}
		sequence = r.batch.next
		told := &Oracle{format: o.format, kinds: o.kinds, teams: o.teams, layers: o.layers}
		b := *r.batch
		b.offsets, b.indexes = make([]int64, len(events)), make([]int64, len(events))
		if req.GetEncoding() == replaydv1.Encoding_ENCODING_COLUMNS {
			continue // whether the filter is met is seen in rows
		}
		if err := told.add(&c, &b); err != nil {
			return err
		}
		for j := range told.events {
			e := &told.events[j]
			if e.kind != "player_state" && e.kind != "entity_entered" {
				return fmt.Errorf("response %d: an event of kind %s tells the state", i, e.kind)
			}
			if text, ok := o.deliver(&replaydv1.StreamEventsRequest{Include: req.GetInclude(), Exclude: req.GetExclude()}, e); !ok || text != e.text {
				return fmt.Errorf("response %d: the filter does not let through %s", i, short(e.text))
			}
		}
		if at, err := cursor.Parse(r.cursor); err != nil || o.Err == nil && at.Position != o.end {
			return fmt.Errorf("response %d: the cursor is at %v, the end at %v: %w", i, at.Position, o.end, errors.Join(err))
		}
	}
	return nil
}
