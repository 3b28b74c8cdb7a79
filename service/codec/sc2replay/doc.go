// Package sc2replay makes events of StarCraft II replays ready for the wire.
//
//	codec.go        what the daemon asks of a format
//	reader.go       decode, filter, append: one event at a time into a batch
//	property.go     what filters can ask of each kind of event
//	header.go       what is known of a replay without its event streams
//	append.gen.go   the appenders, generated from events.proto
//
// The decoder is decoders/sc2replay; the messages are those of proto/replayd/sc2replay/v1. A replay is an archive, which
// is read in any order, so its input must have At. Positions are those of the decoder: to resume at one, the streams are
// decoded again up to it, which takes some tens of milliseconds.
package sc2replay
