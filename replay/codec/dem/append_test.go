package dem_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders/dem"
	demv1 "github.com/replayd/replayd/proto/replayd/dem/v1"
	"github.com/replayd/replayd/replay/codec/codectest"
	format "github.com/replayd/replayd/replay/codec/dem"
)

var events = codectest.Events[dem.Event]{
	Append:  format.AppendEvent,
	Message: func() proto.Message { return new(demv1.Event) },
}

func TestAppendEvent(t *testing.T) { events.TestKinds(t) }

func FuzzAppendEvent(f *testing.F) { events.Fuzz(f) }
