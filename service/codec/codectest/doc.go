// Package codectest is what the tests of the formats' encoders share: reading a replay through its codec, and the proof
// that what a generated appender writes is what protobuf would have written.
//
// A format declares its appender and its message once:
//
//	var events = codectest.Events[dem.Event]{
//		Append:  format.AppendEvent,
//		Message: func() proto.Message { return new(demv1.Event) },
//	}
//
// and then has a table test of every kind by TestKinds, and a fuzz target of arbitrary values by Fuzz.
//
// Event structs and messages are compared by name, so that the helper knows of the generator's rules (see
// tools/protoc-gen-events) and of no format.
package codectest
