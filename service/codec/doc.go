// Package codec is what the daemon asks of a format: to decode a replay and hand over its events as protobuf wire
// bytes, batch by batch. Each format's package below this folder is the only place that knows both the decoder's event
// structs and the messages of our .proto.
//
//	service/codec/teehistorian   the Codec of that format; the others are beside it
//	service/codec/registry       the list of all codecs
//	service/codec/protoappend    the primitives of the generated appenders
//	service/codec/codectest      what the formats' tests share
//
// A Codec opens a Reader over an Input. A Reader decodes into one reused event struct, asks the filter, and appends what
// is kept to a Batch. Nothing on that way allocates per event, and protobuf's generated structs are not used: a test of
// each format proves that the bytes are what protobuf would have written.
//
// Ownership: a Reader belongs to one goroutine. It appends to a Batch that the caller owns and never keeps it. An Input
// belongs to the caller and must outlive the Reader.
package codec
