// Package dem makes events of Source 2 demos ready for the wire.
//
//	codec.go        what the daemon asks of a format
//	header.go       what is known of a demo without decoding it, and after it was decoded
//	reader.go       decode, filter, append: one event at a time into a batch
//	strings.go      the names that a batch's events refer to
//	property.go     what filters can ask of each kind of event
//	classes.go      the filter as events of one class see it
//	redact.go       what is withheld, and why
//	hot.go          an appender by hand for what is most of all
//	append.gen.go   the appenders, generated from events.proto
//
// The decoder is decoders/dem; the messages are those of proto/replayd/dem/v1.
package dem
