// Package teehistorian encodes the events of DDNet's server log for the wire.
//
//	codec.go        the Codec
//	reader.go       decodes, filters, redacts and appends events to a batch, one at a time
//	property.go     the properties of each kind of event for filters
//	facts.go        concludes facts behind the events that complete them
//	play.go         plays the game, for what follows from that
//	resolve.go      adds the players to events that have client ids
//	survey.go       finds the facts of a game that its header does not have
//	lineage.go      a game's place among the games of its server
//	header.go       the header as a message
//	append.gen.go   the appenders, generated from events.proto
//
// The decoder is decoders/teehistorian, and the messages are in proto/replayd/teehistorian/v1.
package teehistorian
