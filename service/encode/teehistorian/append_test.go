package teehistorian_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders/teehistorian"
	teehistorianv1 "github.com/replayd/replayd/proto/replayd/teehistorian/v1"
	"github.com/replayd/replayd/service/encode/encodetest"
	encode "github.com/replayd/replayd/service/encode/teehistorian"
)

var events = encodetest.Events[teehistorian.Event]{
	Append:  encode.AppendEvent,
	Message: func() proto.Message { return new(teehistorianv1.Event) },
}

func TestAppendEvent(t *testing.T) { events.TestKinds(t) }

func FuzzAppendEvent(f *testing.F) { events.Fuzz(f) }
