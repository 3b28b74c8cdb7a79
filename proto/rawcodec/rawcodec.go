// Package rawcodec is a variant of gRPC's protobuf codec. It sends and receives messages as wire bytes, without
// marshalling, unmarshalling or copying, where the caller has or wants wire bytes. It marshals all other messages as
// usual, so one codec serves a whole connection.
package rawcodec

import (
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto" // registers the codec that this one falls back to
	"google.golang.org/grpc/mem"
)

// Marshaled is a message to send that is already marshalled.
type Marshaled interface {
	// WireBytes returns the message. gRPC frees the buffers after writing them, so a Marshaled can be sent only once.
	WireBytes() mem.BufferSlice
}

// Message receives a message as its wire bytes.
type Message struct{ Bytes []byte }

// New returns the codec. It has the name of gRPC's protobuf codec, so the peer does not see a difference.
func New() encoding.CodecV2 { return codec{encoding.GetCodecV2(proto.Name)} }

type codec struct{ encoding.CodecV2 }

// Marshal implements [encoding.CodecV2].
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if m, ok := v.(Marshaled); ok {
		return m.WireBytes(), nil
	}
	return c.CodecV2.Marshal(v)
}

// Unmarshal implements [encoding.CodecV2].
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	if m, ok := v.(*Message); ok {
		m.Bytes = data.Materialize()
		return nil
	}
	return c.CodecV2.Unmarshal(data, v)
}
