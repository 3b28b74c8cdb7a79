// Package wire reads the two encodings of StarCraft II replays. [Packed] reads values without tags, packed bit by bit,
// whose layout only a table contains. [Versioned] reads values with tags, whose structure can be read without a table.
// docs/formats/sc2replay.md, "Encodings", describes both.
//
// Errors are sticky: a read beyond the end returns zero, and Failed then reports true. Callers check Failed once per
// record. Nothing is copied: byte strings are slices of the data. A reader is not safe for concurrent use.
package wire
