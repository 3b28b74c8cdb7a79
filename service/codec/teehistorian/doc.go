// Package teehistorian makes events of DDNet's server log ready for the wire.
//
//	codec.go        what the daemon asks of a format
//	reader.go       decode, filter, redact, append: one event at a time into a batch
//	property.go     what filters can ask of each kind of event
//	resolve.go      who the clients are that events name
//	survey.go       what decoding a game adds to its header
//	lineage.go      its place among the games of its server
//	header.go       the header as a message
//	append.gen.go   the appenders, generated from events.proto
//
// The decoder is decoders/teehistorian; the messages are those of proto/replayd/teehistorian/v1.
package teehistorian
