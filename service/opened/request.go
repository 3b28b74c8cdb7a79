package opened

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/cursor"
	"github.com/replayd/replayd/service/describe"
	"github.com/replayd/replayd/service/fault"
	"github.com/replayd/replayd/service/stream"
	"github.com/replayd/replayd/service/succession"
)

// request is a request with the values of its fields for all replays that it leads to.
type request struct {
	stream.Config

	req      *replaydv1.StreamEventsRequest
	rule     succession.Rule // for finding successors
	compress bool            // tables
}

// requestOf returns the values of a request's fields. The replay is not set.
func requestOf(ctx context.Context, req *replaydv1.StreamEventsRequest) (*request, error) {
	q := &request{req: req, rule: succession.Proven, compress: Compresses(ctx, req), Config: stream.Config{
		Strict: req.GetStrict(), Slow: req.GetSlowConsumer(), State: req.GetStart().GetWithState(),
	}}
	if _, known := replaydv1.SlowConsumer_name[int32(q.Slow)]; !known {
		return nil, fault.BadRequest("slow_consumer", "is unknown")
	}
	if asked := req.GetSuccessorRule(); asked != replaydv1.SuccessorRule_SUCCESSOR_RULE_UNSPECIFIED {
		rule, known := describe.Rules.From[asked]
		if !known {
			return nil, fault.BadRequest("successor_rule", "is unknown")
		}
		q.rule = rule
	}
	var err error
	if q.Start, err = startOf(req); err != nil {
		return nil, err
	}
	return q, setBatches(&q.Config, req)
}

// startOf returns the start that a request asks for.
func startOf(req *replaydv1.StreamEventsRequest) (start stream.Start, err error) {
	switch s := req.GetStart().GetAt().(type) {
	case *replaydv1.Start_Cursor:
		at, err := cursor.Parse(s.Cursor)
		if err != nil {
			return start, fault.BadRequest("start.cursor", err.Error())
		}
		start.Cursor = &at
	case *replaydv1.Start_Tick:
		start.Tick = &s.Tick
	case *replaydv1.Start_LastEvents:
		if s.LastEvents == 0 || s.LastEvents > stream.MaxLastEvents {
			return start, fault.BadRequest("start.last_events", fmt.Sprintf("must be 1 to %d", stream.MaxLastEvents))
		}
		start.Last = int(s.LastEvents)
	case *replaydv1.Start_Now:
		start.Now = true
	}
	return start, nil
}

// setBatches sets the size of batches, and the delays of batches and heartbeats.
func setBatches(c *stream.Config, req *replaydv1.StreamEventsRequest) error {
	most, standard := stream.MaxBatchEvents, stream.DefaultBatchEvents
	if req.GetEncoding() == replaydv1.Encoding_ENCODING_ARROW {
		most, standard = stream.MaxTableRows, stream.MaxTableRows
	}
	if c.MaxEvents = int(min(req.GetMaxBatchEvents(), uint32(most))); c.MaxEvents == 0 {
		c.MaxEvents = standard
	}
	var err error
	if c.MaxDelay, err = Duration("max_batch_delay", req.GetMaxBatchDelay()); err != nil {
		return err
	}
	if c.MaxDelay > stream.MaxBatchDelay {
		return fault.BadRequest("max_batch_delay", fmt.Sprintf("must be %v at most", stream.MaxBatchDelay))
	}
	c.Heartbeat, err = Heartbeat(req.GetHeartbeatInterval())
	return err
}

// Heartbeat returns the interval between heartbeats that a request asks for, within the bounds.
func Heartbeat(asked *durationpb.Duration) (time.Duration, error) {
	interval, err := Duration("heartbeat_interval", asked)
	switch {
	case err != nil:
		return 0, err
	case interval == 0:
		return stream.DefaultHeartbeat, nil
	}
	return min(max(interval, stream.MinHeartbeat), stream.MaxHeartbeat), nil
}

// Duration returns the duration in a field of a request, 0 if it is not set.
func Duration(field string, d *durationpb.Duration) (time.Duration, error) {
	if d == nil {
		return 0, nil
	}
	if err := d.CheckValid(); err != nil {
		return 0, fault.BadRequest(field, err.Error())
	}
	if v := d.AsDuration(); v >= 0 {
		return v, nil
	}
	return 0, fault.BadRequest(field, "must not be negative")
}
