// Package eventjson prints events as JSON, one object a line, straight from their wire bytes. It follows protobuf's JSON
// mapping with the names of the .proto: enums by name, 64-bit integers as strings, bytes as base64, scalars also when
// they are zero. Fields that index a batch's strings are printed as the string.
//
// The generic way, unmarshalling into messages and protojson, takes some forty times as long; a test holds this package
// to that one's output.
//
//	eventjson.go   lists of events, and an event as a line
//	message.go     message types, compiled from their descriptors
//	scan.go        which fields the bytes of a message have
//	append.go      messages, lists and values
//	scalar.go      strings and floats as protojson prints them
package eventjson
