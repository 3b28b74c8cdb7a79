package teehistorian_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders/teehistorian"
	teehistorianv1 "github.com/replayd/replayd/proto/replayd/teehistorian/v1"
	"github.com/replayd/replayd/replay/codec/codectest"
	format "github.com/replayd/replayd/replay/codec/teehistorian"
)

var events = codectest.Events[teehistorian.Event]{
	Append:  format.AppendEvent,
	Message: func() proto.Message { return new(teehistorianv1.Event) },
}

func TestAppendEvent(t *testing.T) { events.TestKinds(t) }

func FuzzAppendEvent(f *testing.F) { events.Fuzz(f) }
