// Package datafile encodes the events of Teeworlds and DDNet maps for the wire.
//
//	codec.go        the Codec
//	reader.go       decodes, filters and appends events to a batch, one at a time
//	property.go     the properties of each kind of event for filters
//	summary.go      describes a map without inflating its data
//	append.gen.go   the appenders, generated from events.proto
//
// The decoder is decoders/datafile, and the messages are in proto/replayd/datafile/v1. A map is read in any order, so its
// input must have At. It has no clock, so filters by tick match none of its events.
package datafile
