// Package protocol knows how StarCraft II lays out the data of a replay, build by build: one readable table, embedded,
// in which every layout stands once.
//
// A replay's header names its base build. [Select] turns that into a [Table] and says how good the match is: the build
// has a table of its own, is known to share another's, or has none, and then the nearest older table is the best first
// guess. [Neighbours] lists what to try next when a guess does not fit; whether it fits only the data can say.
//
// A [Type] describes one value for both encodings that replays use. Types are immutable and shared: two tables in which
// an event has the same layout hold the same *Type, so whatever is compiled from a layout is compiled once.
//
// The notation of protocol.txt and overlays.txt is described in docs/formats/sc2replay.md, "Protocol tables".
package protocol
