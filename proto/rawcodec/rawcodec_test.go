package rawcodec_test

import (
	"bytes"
	"testing"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/proto/rawcodec"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// ready is a message in two buffers.
type ready []byte

// WireBytes implements [rawcodec.Marshaled].
func (r ready) WireBytes() mem.BufferSlice {
	return mem.BufferSlice{mem.SliceBuffer(r[:1]), mem.SliceBuffer(r[1:])}
}

// TestCodec checks that a marshalled message is sent unchanged, that a Message receives bytes, and that ordinary
// messages use protobuf.
func TestCodec(t *testing.T) {
	c := rawcodec.New()
	if c.Name() != "proto" {
		t.Errorf("the codec is called %q: a peer would look for another one", c.Name())
	}
	message := &replaydv1.StreamEventsResponse{Cursor: []byte("c"), Response: &replaydv1.StreamEventsResponse_Heartbeat{
		Heartbeat: &replaydv1.Heartbeat{BytesRead: 5},
	}}
	wire, err := proto.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]any{"marshaled": ready(wire), "message": message} {
		data, err := c.Marshal(v)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var raw rawcodec.Message
		if err := c.Unmarshal(data, &raw); err != nil || !bytes.Equal(raw.Bytes, wire) {
			t.Errorf("%s: received % x, %v; want % x", name, raw.Bytes, err, wire)
		}
		var back replaydv1.StreamEventsResponse
		if err := c.Unmarshal(data, &back); err != nil || !proto.Equal(&back, message) {
			t.Errorf("%s: received %v, %v", name, &back, err)
		}
		data.Free()
	}
}
