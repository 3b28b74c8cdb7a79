package streamtest

import (
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/proto/protoscan"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/cursor"
)

// Judge returns an error if a session is not the right answer to a request. The replay must be complete.
func (o *Oracle) Judge(req *replaydv1.StreamEventsRequest, s *Session) error {
	if o.Refused(req) {
		if status.Code(s.Err) != codes.InvalidArgument || len(s.Responses) > 0 {
			return fmt.Errorf("a request that can match nothing got %d responses and status %w", len(s.Responses), s.Err)
		}
		return nil
	}
	if status.Code(s.Err) == codes.InvalidArgument && len(s.Responses) == 0 && o.refusable(req) {
		return nil
	}
	want, err := o.Expect(req)
	if err != nil {
		return err
	}
	if (s.Err != nil) && (status.Code(s.Err) != status.Code(o.Err) || o.Err == nil) {
		return fmt.Errorf("ended by %w, where the whole stream ended by %w", s.Err, o.Err)
	}
	texts := make([]string, len(want))
	for i := range want {
		texts[i] = want[i].Text
	}
	options := Options{State: req.GetStart().GetWithState()}
	if c := req.GetStart().GetCursor(); c != nil {
		at, err := cursor.Parse(c)
		if err != nil {
			return err
		}
		options.Sequence, options.State = at.Sequence, options.State || at.State
	}
	if err := Check(History{*s}, []Replay{{Identity: o.Identity, Events: texts}}, options); err != nil {
		return err
	}
	if err := o.judgeState(req, s); err != nil {
		return err
	}
	return o.judgePlaces(req, s, want)
}

// judgeState checks that the events of a session's state match the filters. If the whole state is known, it also checks that
// the session's state is complete.
func (o *Oracle) judgeState(req *replaydv1.StreamEventsRequest, s *Session) error {
	told, err := o.told(s)
	if err != nil {
		return err
	}
	for i := range told {
		e := &told[i]
		if e.kind != "player_state" && e.kind != "entity_entered" && e.kind != "unit_state" {
			return fmt.Errorf("an event of kind %s is in the state", e.kind)
		}
		if text, ok := o.deliver(stateRequest(req), e); !ok || text != e.text {
			return fmt.Errorf("of the state the filter does not let through %s", short(e.text))
		}
	}
	if o.State == nil || len(s.Responses) == 0 {
		return nil
	}
	r, err := parse(s.Responses[0])
	if err != nil {
		return err
	}
	at, err := cursor.Parse(r.cursor)
	if err != nil || !at.State {
		return err
	}
	whole := o.State(at.Position)
	if whole == nil {
		return nil
	}
	all, err := o.told(whole)
	if err != nil {
		return err
	}
	var want []string
	for i := range all {
		if text, ok := o.deliver(stateRequest(req), &all[i]); ok {
			want = append(want, text)
		}
	}
	if len(want) != len(told) {
		return fmt.Errorf("the state at %v has %d events instead of %d", at.Position, len(told), len(want))
	}
	for i := range want {
		if told[i].text != want[i] {
			return fmt.Errorf("event %d of the state at %v: got %s, want %s", i, at.Position, short(told[i].text), short(want[i]))
		}
	}
	return nil
}

// stateRequest returns a request with the filters that apply to events of a state.
func stateRequest(req *replaydv1.StreamEventsRequest) *replaydv1.StreamEventsRequest {
	things := &replaydv1.StreamEventsRequest{}
	for _, f := range req.GetInclude() {
		f = proto.CloneOf(f)
		f.Kinds, f.Ticks = nil, nil
		if f.GetDem() != nil {
			f.Dem.Types = nil
		}
		things.Include = append(things.Include, f)
	}
	for _, f := range req.GetExclude() {
		if len(f.GetKinds()) == 0 && len(f.GetDem().GetTypes()) == 0 && f.GetTicks() == nil {
			things.Exclude = append(things.Exclude, f)
		}
	}
	return things
}

// told returns the events of a session's state.
func (o *Oracle) told(s *Session) ([]event, error) {
	state := &Oracle{format: o.format, kinds: o.kinds, teams: o.teams}
	var read tables
	for _, raw := range s.Responses {
		r, err := parse(raw)
		if err != nil {
			return nil, err
		}
		part := r.message.GetState()
		if err := state.addTables(&read, part.GetTables()); err != nil {
			return nil, err
		}
		if part == nil || part.GetEvents() == nil {
			continue
		}
		list, err := proto.Marshal(part)
		if err != nil {
			return nil, err
		}
		b := &batch{field: (*replaydv1.EventBatch)(nil).ProtoReflect().Descriptor().Fields().ByName(protoreflect.Name(o.format)).Number()}
		if err := fields(list, func(f protoscan.Field) {
			if f.Bytes != nil {
				b.list = f.Bytes
			}
		}); err != nil {
			return nil, err
		}
		var c canon
		texts, err := c.events(b)
		if err != nil {
			return nil, err
		}
		b.offsets, b.indexes = make([]int64, len(texts)), make([]int64, len(texts))
		if err := state.add(&c, b); err != nil {
			return nil, err
		}
	}
	for i := range state.events {
		state.events[i].about(o)
	}
	return state.events, nil
}

// addTables adds the events of tables.
func (o *Oracle) addTables(read *tables, all []*replaydv1.Table) error {
	rows, field, err := read.read(all)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if r.placed {
			return errors.New("an event of a state has a position")
		}
		b := &batch{field: field, offsets: []int64{0}, indexes: []int64{0}}
		b.list = protowire.AppendBytes(protowire.AppendTag(nil, protoscan.ListEvents, protowire.BytesType), r.event)
		for _, s := range r.strings {
			b.list = protowire.AppendBytes(protowire.AppendTag(b.list, 2, protowire.BytesType), s)
		}
		var c canon
		if err := o.add(&c, b); err != nil {
			return err
		}
	}
	return nil
}

// judgePlaces checks the positions of a session's events, and the positions of its cursors.
func (o *Oracle) judgePlaces(req *replaydv1.StreamEventsRequest, s *Session, want []Event) error {
	next := 0
	var c canon
	var before *decoders.Position // of the last event before the start
	if start, ok := req.GetStart().GetAt().(*replaydv1.Start_Tick); ok {
		if at, some := o.before(start.Tick); some {
			before = &at
		}
	}
	for i, raw := range s.Responses {
		r, err := parse(raw)
		if err != nil {
			return err
		}
		if r.batch == nil {
			c.tables.learn(r.message)
		} else {
			events, err := c.events(r.batch)
			if err != nil {
				return err
			}
			b := r.batch
			if len(b.offsets) != len(events) || len(b.indexes) != len(events) {
				return fmt.Errorf("response %d: %d events, %d offsets, %d indexes", i, len(events), len(b.offsets), len(b.indexes))
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
		case req.GetStart().GetNow() != nil && o.Err == nil && behindSamples(p) != o.end:
			return fmt.Errorf("response %d: the cursor is at %v, now is at %v", i, p, o.end)
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
