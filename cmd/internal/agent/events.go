package agent

import (
	"context"
	"fmt"
	"strings"

	client "github.com/replayd/replayd/clients/go"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/cursor"
)

// maxEvents is how many events an answer has at most.
const maxEvents = 1000

// conditions are those of a filter.
type conditions struct {
	Kinds   []string `json:"kinds,omitempty" jsonschema:"kinds of events, as list_kinds names them; without them all but facts"`
	Players []int32  `json:"players,omitempty" jsonschema:"numbers of players, as events have them"`
	Classes []string `json:"classes,omitempty" jsonschema:"dem alone: classes of entities, with * for any part"`
	Fields  []string `json:"fields,omitempty" jsonschema:"dem alone: fields of entities, with * for any part"`
	Types   []string `json:"types,omitempty" jsonschema:"dem alone: types of game events, messages and the like, with * for any part"`
}

// filter returns the filter, and its part for demos only if it has conditions.
func (c conditions) filter() *replaydv1.EventFilter {
	f := &replaydv1.EventFilter{Kinds: c.Kinds, Players: c.Players}
	if len(c.Classes)+len(c.Fields)+len(c.Types) > 0 {
		f.Dem = &replaydv1.DemFilter{Classes: c.Classes, Fields: c.Fields, Types: c.Types}
	}
	return f
}

type eventsArguments struct {
	Replay string `json:"replay" jsonschema:"the name of a replay, as list_replays gives it"`
	conditions
	FromTick *int32 `json:"from_tick,omitempty" jsonschema:"the first tick"`
	ToTick   *int32 `json:"to_tick,omitempty" jsonschema:"the last tick"`
	Every    *int32 `json:"every,omitempty" jsonschema:"only ticks that are multiples of this number; samples come once a second without it"`
	Where    string `json:"where,omitempty" jsonschema:"only events for which this expression in CEL is true; event is the message of the kind: event.damage > 100 && has(event.weapon)"`
	Limit    int    `json:"limit,omitempty" jsonschema:"how many events to give, 1 to 1000; 100 without it"`
	Cursor   string `json:"cursor,omitempty" jsonschema:"goes on where an earlier answer ended, with the same other arguments"`
}

// batchEvents is how many events a response of the daemon has at most. An answer has whole responses, since cursors are between them.
const batchEvents = 20

func (t tools) getEvents(ctx context.Context, a eventsArguments) (string, error) {
	limit, err := within(a.Limit, 100, maxEvents)
	if err != nil {
		return "", err
	}
	filter := a.filter()
	if a.FromTick != nil || a.ToTick != nil || a.Every != nil {
		filter.Ticks = &replaydv1.TickRange{Min: a.FromTick, Max: a.ToTick, Every: a.Every}
	}
	req := &replaydv1.StreamEventsRequest{
		Replay: a.Replay, Include: []*replaydv1.EventFilter{filter}, Where: a.Where, MaxBatchEvents: uint32(min(limit, batchEvents)),
	}
	if a.Cursor != "" {
		at, err := cursor.ParseText(a.Cursor)
		if err != nil {
			return "", fmt.Errorf("cursor: %w", err)
		}
		req.Start = &replaydv1.Start{At: &replaydv1.Start_Cursor{Cursor: at}}
	}
	var text answer
	next := ""
	stream := t.daemon.Stream(ctx, req)
	for response, err := range stream.Responses() {
		if err != nil {
			return "", err
		}
		batch := response.Batch
		if batch == nil {
			next = cursor.Text(response.Cursor)
			continue
		}
		if text.lines+batch.Len() > limit || text.Len() >= maxAnswer {
			_, _ = fmt.Fprintf(&text, "There are more: cursor %s\n", next)
			return text.String(), nil
		}
		for event, err := range batch.Events() {
			if err := text.add(event, err); err != nil {
				return "", err
			}
		}
		next = cursor.Text(batch.Cursor)
	}
	if text.lines == 0 {
		text.WriteString("There is none.\n")
	}
	if stream.End().GetReason() == replaydv1.EndReason_END_REASON_TRUNCATED && mayGrow(stream.Replay()) {
		_, _ = fmt.Fprintf(&text, "The game may go on: later events come with cursor %s\n", next)
	}
	return text.String(), nil
}

// mayGrow reports whether a replay that has no end may get more events.
func mayGrow(r *replaydv1.Replay) bool {
	return r.GetCompression() <= replaydv1.Compression_COMPRESSION_NONE &&
		r.GetState() != replaydv1.ReplayState_REPLAY_STATE_FINISHED && r.GetState() != replaydv1.ReplayState_REPLAY_STATE_ABANDONED
}

type stateArguments struct {
	Replay string `json:"replay" jsonschema:"the name of a replay, as list_replays gives it"`
	Tick   int32  `json:"tick" jsonschema:"the tick after which the state is given"`
	conditions
	Limit int `json:"limit,omitempty" jsonschema:"how many events to give, 1 to 1000; 100 without it"`
}

func (t tools) getState(ctx context.Context, a stateArguments) (string, error) {
	limit, err := within(a.Limit, 100, maxEvents)
	if err != nil {
		return "", err
	}
	req := &replaydv1.StreamEventsRequest{
		Replay: a.Replay, Include: []*replaydv1.EventFilter{a.filter()},
		Start: &replaydv1.Start{At: &replaydv1.Start_Tick{Tick: a.Tick}, WithState: true},
	}
	var text answer
	for batch, err := range t.daemon.Batches(ctx, req) {
		if err != nil {
			return "", err
		}
		if !batch.State {
			break
		}
		for event, err := range batch.Events() {
			if text.lines == limit || text.Len() >= maxAnswer {
				text.WriteString("The state has more: ask for fewer kinds, players, classes or fields.\n")
				return text.String(), nil
			}
			if err := text.add(event, err); err != nil {
				return "", err
			}
		}
		if batch.Complete {
			break
		}
	}
	if text.lines == 0 {
		text.WriteString("Nothing describes the state there.\n")
	}
	return text.String(), nil
}

// answer has events as lines.
type answer struct {
	strings.Builder

	lines int
	line  []byte
}

// add adds an event, or returns the error in its place.
func (a *answer) add(event client.Event, err error) error {
	if err == nil {
		a.line, err = event.AppendJSON(a.line[:0])
	}
	if err != nil {
		return err
	}
	a.lines++
	a.Write(a.line)
	a.WriteByte('\n')
	return nil
}
