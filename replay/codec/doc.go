// Package codec is the daemon's interface to a format. A Codec decodes a replay and returns its events as protobuf wire
// bytes, batch by batch. Each format's package below this folder is the only place that uses both the decoder's event
// structs and the messages of our .proto.
//
//	replay/codec/teehistorian   the Codec of that format; the others are beside it
//	replay/codec/registry       the list of all codecs
//	replay/codec/protoappend    the primitives of the generated appenders
//	replay/codec/codectest      helpers for the formats' tests
//
// A Codec opens a Reader over an Input. Sequential is most of one, for formats whose decoder delivers one event after the
// other. A Reader decodes into one reused event struct, matches it against the filter, and appends matching events to a Batch.
// This path does not allocate per event, and does not use protobuf's generated structs. A test of each format proves that the
// bytes are those that protobuf would have written.
//
// Ownership: a Reader belongs to one goroutine. It appends to a Batch that the caller owns and never keeps it. An Input
// belongs to the caller and must outlive the Reader.
package codec
