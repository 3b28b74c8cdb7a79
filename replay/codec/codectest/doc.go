// Package codectest has helpers for the tests of the formats' codecs. They read a replay through its codec, and prove that a
// generated appender writes the same bytes as protobuf.
//
// A format declares its appender and its message once:
//
//	var events = codectest.Events[dem.Event]{
//		Append:  format.AppendEvent,
//		Message: func() proto.Message { return new(demv1.Event) },
//	}
//
// TestKinds then tests every kind, and Fuzz is a fuzz target for arbitrary values.
//
// Event structs and messages are compared by the names of their fields. The helpers depend on the generator's rules (see
// tools/protoc-gen-events), but not on any format.
package codectest
