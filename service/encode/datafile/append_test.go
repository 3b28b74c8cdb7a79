package datafile_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders/datafile"
	datafilev1 "github.com/replayd/replayd/proto/replayd/datafile/v1"
	encoder "github.com/replayd/replayd/service/encode/datafile"
	"github.com/replayd/replayd/service/encode/encodetest"
)

var events = encodetest.Events[datafile.Event]{
	Append:  encoder.AppendEvent,
	Message: func() proto.Message { return new(datafilev1.Event) },
}

func TestAppendEvent(t *testing.T) { events.TestKinds(t) }

func FuzzAppendEvent(f *testing.F) { events.Fuzz(f) }
