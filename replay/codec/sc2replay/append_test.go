package sc2replay_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders/sc2replay"
	sc2replayv1 "github.com/replayd/replayd/proto/replayd/sc2replay/v1"
	"github.com/replayd/replayd/replay/codec/codectest"
	encoder "github.com/replayd/replayd/replay/codec/sc2replay"
)

var events = codectest.Events[sc2replay.Event]{
	Append:  encoder.AppendEvent,
	Message: func() proto.Message { return new(sc2replayv1.Event) },
}

func TestAppendEvent(t *testing.T) { events.TestKinds(t) }

func FuzzAppendEvent(f *testing.F) { events.Fuzz(f) }
