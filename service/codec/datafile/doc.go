// Package datafile makes events of Teeworlds and DDNet maps ready for the wire.
//
//	codec.go        what the daemon asks of a format
//	reader.go       decode, filter, append: one event at a time into a batch
//	property.go     what filters can ask of each kind of event
//	summary.go      what is known of a map without its data
//	append.gen.go   the appenders, generated from events.proto
//
// The decoder is decoders/datafile; the messages are those of proto/replayd/datafile/v1. A map is read in any order, so
// its input must have At; and it has no clock, so filters by tick match none of its events.
package datafile
