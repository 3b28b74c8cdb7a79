package dem_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders/dem"
	demv1 "github.com/replayd/replayd/proto/replayd/dem/v1"
	encode "github.com/replayd/replayd/service/encode/dem"
	"github.com/replayd/replayd/service/encode/encodetest"
)

var events = encodetest.Events[dem.Event]{
	Append:  encode.AppendEvent,
	Message: func() proto.Message { return new(demv1.Event) },
}

func TestAppendEvent(t *testing.T) { events.TestKinds(t) }

func FuzzAppendEvent(f *testing.F) { events.Fuzz(f) }
