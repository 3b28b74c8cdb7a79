// Package sc2replay encodes the events of StarCraft II replays for the wire.
//
//	codec.go        the Codec
//	reader.go       decodes, filters and appends events to a batch, one at a time
//	property.go     the properties of each kind of event for filters
//	header.go       describes a replay without its event streams
//	append.gen.go   the appenders, generated from events.proto
//
// The decoder is decoders/sc2replay, and the messages are in proto/replayd/sc2replay/v1. A replay is an archive, which is
// read in any order, so its input must have At. Positions are the decoder's. To resume at one, the streams are decoded again
// up to it, which takes some tens of milliseconds.
package sc2replay
