// Package protocol has the layout of a replay's data for every build of StarCraft II. It is one readable table,
// embedded in the package, that contains every layout once.
//
// A replay's header contains its base build. [Set.Select] returns the [Table] for it, and the quality of the match. The
// build has its own table, or is known to share another build's. Otherwise the nearest older table is the best first
// guess. [Set.Neighbours] returns the tables to try next when a guess does not fit. Only the data can show whether a
// table fits.
//
// A [Type] describes one value, for both encodings that replays use. Types are immutable and shared. If an event has
// the same layout in two tables, both contain the same *Type, so anything compiled from a layout is compiled once.
//
// The notation of protocol.txt and overlays.txt is described in docs/formats/sc2replay.md, "Protocol tables".
package protocol
