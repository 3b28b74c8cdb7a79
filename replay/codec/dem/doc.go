// Package dem encodes the events of Source 2 demos for the wire.
//
//	codec.go        the Codec
//	header.go       describes a demo without decoding it, and summarizes it after decoding
//	reader.go       decodes, filters and appends events to a batch, one at a time
//	select.go       selects a follower's events from those of a reader of all
//	strings.go      the names that a batch's events refer to
//	property.go     the properties of each kind of event for filters
//	wide.go         tables with a column for each field of entities
//	classes.go      caches the filter's result for each class and field
//	redact.go       redacts secrets
//	hot.go          a hand-written appender for the most frequent kind
//	append.gen.go   the appenders, generated from events.proto
//
// The decoder is decoders/dem, and the messages are in proto/replayd/dem/v1.
package dem
