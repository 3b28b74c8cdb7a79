package opened_test

import (
	"math"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/stream"
)

// TestStart: where a stream may begin.
func TestStart(t *testing.T) {
	h := build(t, admission.Amounts{})
	for _, test := range []struct {
		start *replaydv1.Start
		field string
	}{
		{&replaydv1.Start{At: &replaydv1.Start_LastEvents{LastEvents: 1}}, ""},
		{&replaydv1.Start{At: &replaydv1.Start_LastEvents{LastEvents: stream.MaxLastEvents}}, ""},
		{&replaydv1.Start{At: &replaydv1.Start_LastEvents{LastEvents: stream.MaxLastEvents + 1}}, "start.last_events"},
		{&replaydv1.Start{At: &replaydv1.Start_LastEvents{}}, "start.last_events"},
		{&replaydv1.Start{At: &replaydv1.Start_Tick{Tick: -5}}, ""},
		{&replaydv1.Start{At: &replaydv1.Start_Cursor{}}, "start.cursor"},
	} {
		c, err := h.Open(t.Context(), &replaydv1.StreamEventsRequest{Replay: "r/game", Start: test.start})
		check(t, err, test.field, nil)
		if err == nil {
			c.Replay.Close()
		}
	}
}

// TestBatches: batches and heartbeats are as a request asks, within the bounds; delays that cannot be kept are refused.
func TestBatches(t *testing.T) {
	h := build(t, admission.Amounts{})
	for _, test := range []struct {
		req       *replaydv1.StreamEventsRequest
		field     string
		events    int
		delay     time.Duration
		heartbeat time.Duration
	}{
		{&replaydv1.StreamEventsRequest{}, "", stream.DefaultBatchEvents, 0, stream.DefaultHeartbeat},
		{&replaydv1.StreamEventsRequest{MaxBatchEvents: 3, MaxBatchDelay: durationpb.New(0), HeartbeatInterval: durationpb.New(7 * time.Second)}, "", 3, 0, 7 * time.Second},
		{
			&replaydv1.StreamEventsRequest{MaxBatchEvents: math.MaxUint32, MaxBatchDelay: durationpb.New(stream.MaxBatchDelay), HeartbeatInterval: durationpb.New(1)},
			"", stream.MaxBatchEvents, stream.MaxBatchDelay, stream.MinHeartbeat,
		},
		{
			&replaydv1.StreamEventsRequest{Encoding: replaydv1.Encoding_ENCODING_ARROW, HeartbeatInterval: durationpb.New(1000 * time.Hour)},
			"", stream.MaxTableRows, 0, stream.MaxHeartbeat,
		},
		{&replaydv1.StreamEventsRequest{MaxBatchDelay: durationpb.New(-1)}, "max_batch_delay", 0, 0, 0},
		{&replaydv1.StreamEventsRequest{MaxBatchDelay: durationpb.New(stream.MaxBatchDelay + 1)}, "max_batch_delay", 0, 0, 0},
		{&replaydv1.StreamEventsRequest{MaxBatchDelay: &durationpb.Duration{Seconds: math.MaxInt64}}, "max_batch_delay", 0, 0, 0},
		{&replaydv1.StreamEventsRequest{HeartbeatInterval: durationpb.New(-1)}, "heartbeat_interval", 0, 0, 0},
	} {
		test.req.Replay = "r/game"
		c, err := h.Open(t.Context(), test.req)
		check(t, err, test.field, nil)
		if err != nil {
			continue
		}
		if c.MaxEvents != test.events || c.MaxDelay != test.delay || c.Heartbeat != test.heartbeat {
			t.Errorf("%v: batches of %d, delays of %v, heartbeats each %v", test.req, c.MaxEvents, c.MaxDelay, c.Heartbeat)
		}
		c.Replay.Close()
	}
}
