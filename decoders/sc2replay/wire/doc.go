// Package wire reads the two encodings of StarCraft II replays: values without tags, packed bit by bit, of which only a
// table knows the layout ([Packed]), and values with tags, which show the structure without one ([Versioned]).
// docs/formats/sc2replay.md, "Encodings", describes both.
//
// Readers are sticky: what is read past the end is zero, and Failed then returns true. Callers check it once a record. Nothing is
// copied: byte strings are slices of the data. A reader belongs to one goroutine.
package wire
