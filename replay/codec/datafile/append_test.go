package datafile_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders/datafile"
	datafilev1 "github.com/replayd/replayd/proto/replayd/datafile/v1"
	"github.com/replayd/replayd/replay/codec/codectest"
	encoder "github.com/replayd/replayd/replay/codec/datafile"
)

var events = codectest.Events[datafile.Event]{
	Append:  encoder.AppendEvent,
	Message: func() proto.Message { return new(datafilev1.Event) },
}

func TestAppendEvent(t *testing.T) { events.TestKinds(t) }

func FuzzAppendEvent(f *testing.F) { events.Fuzz(f) }
