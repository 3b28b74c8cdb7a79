package frame

import (
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	pb "google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/proto/protoscan"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec/protoappend"
)

// Subscribed makes a response of a stream a response of a subscription: of the replay with a number, with the token after it.
func (f *Frame) Subscribed(replay uint32, token []byte) {
	b := make([]byte, 0, len(token)+4*(1+5))
	b = protoappend.Varint(protowire.AppendTag(b, protoscan.SubscribedReplay, protowire.VarintType), uint64(replay))
	b = protoappend.Bytes(protowire.AppendTag(b, protoscan.SubscribedToken, protowire.BytesType), token)
	b = protoappend.Varint(protowire.AppendTag(b, protoscan.SubscribedStreamed, protowire.BytesType), uint64(f.Len()))
	f.bytes = append(mem.BufferSlice{mem.SliceBuffer(b)}, f.bytes...)
}

// OfSubscription returns the frame of a response of a subscription that is of no stream.
func OfSubscription(r *replaydv1.SubscribeEventsResponse) (*Frame, error) {
	b, err := pb.Marshal(r)
	if err != nil {
		return nil, err
	}
	return Of(b), nil
}

// Of returns the frame of an encoded response, of which it takes ownership.
func Of(b []byte) *Frame {
	f := new(Frame)
	f.bytes = append(f.parts[:0], mem.SliceBuffer(b))
	return f
}
