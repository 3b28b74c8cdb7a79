package service

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/cursor"
	"github.com/replayd/replayd/service/stream"
)

// configOf returns the configuration of a subscription from the fields of its request. The replay is not set.
func configOf(req *replaydv1.StreamEventsRequest) (stream.Config, error) {
	c := stream.Config{
		Strict: req.GetStrict(), Slow: req.GetSlowConsumer(), Positions: req.GetPositions(), State: req.GetStart().GetWithState(),
	}
	if _, known := replaydv1.SlowConsumer_name[int32(c.Slow)]; !known {
		return c, badRequest("slow_consumer", "is unknown")
	}
	var err error
	if c.Start, err = startOf(req); err != nil {
		return c, err
	}
	err = setBatches(&c, req)
	return c, err
}

// startOf returns where a request asks to start.
func startOf(req *replaydv1.StreamEventsRequest) (start stream.Start, err error) {
	switch s := req.GetStart().GetAt().(type) {
	case *replaydv1.Start_Cursor:
		at, err := cursor.Parse(s.Cursor)
		if err != nil {
			return start, badRequest("start.cursor", err.Error())
		}
		start.Cursor = &at
	case *replaydv1.Start_Tick:
		start.Tick = &s.Tick
	case *replaydv1.Start_LastEvents:
		if s.LastEvents == 0 || s.LastEvents > stream.MaxLastEvents {
			return start, badRequest("start.last_events", fmt.Sprintf("must be 1 to %d", stream.MaxLastEvents))
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
	if c.MaxDelay, err = duration("max_batch_delay", req.GetMaxBatchDelay()); err != nil {
		return err
	}
	if c.MaxDelay > stream.MaxBatchDelay {
		return badRequest("max_batch_delay", fmt.Sprintf("must be %v at most", stream.MaxBatchDelay))
	}
	c.Heartbeat, err = heartbeatOf(req.GetHeartbeatInterval())
	return err
}

// heartbeatOf returns the interval between heartbeats that a request asks for, within the bounds.
func heartbeatOf(asked *durationpb.Duration) (time.Duration, error) {
	interval, err := duration("heartbeat_interval", asked)
	switch {
	case err != nil:
		return 0, err
	case interval == 0:
		return stream.DefaultHeartbeat, nil
	}
	return min(max(interval, stream.MinHeartbeat), stream.MaxHeartbeat), nil
}

// duration returns the duration in a field of a request, 0 if it is not set.
func duration(field string, d *durationpb.Duration) (time.Duration, error) {
	if d == nil {
		return 0, nil
	}
	if err := d.CheckValid(); err != nil {
		return 0, badRequest(field, err.Error())
	}
	if v := d.AsDuration(); v >= 0 {
		return v, nil
	}
	return 0, badRequest(field, "must not be negative")
}
