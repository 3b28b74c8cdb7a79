package opened_test

import (
	"testing"

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
