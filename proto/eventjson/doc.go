// Package eventjson prints events as JSON, one object per line, directly from their wire bytes. It follows protobuf's
// JSON mapping with the names of the .proto files: enums by name, 64-bit integers as strings, bytes as base64. It
// prints scalars even if they are zero. Fields that are indices into a batch's strings are printed as the string.
//
// Unmarshalling into messages and protojson would take about forty times as long. A test compares this package's output
// with protojson's.
//
//	eventjson.go   lists of events, and an event as a line
//	message.go     message types, compiled from their descriptors
//	scan.go        the fields in the bytes of a message
//	append.go      messages, lists and values
//	scalar.go      strings and floats in the form of protojson
package eventjson
