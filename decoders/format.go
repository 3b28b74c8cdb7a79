package decoders

import (
	"bytes"
	"encoding/binary"
)

// Format is a replay format. The zero value is Unknown.
type Format uint8

// The formats that replayd decodes. Their numbers are part of cursors, so they stay.
const (
	Unknown      Format = 0
	Teehistorian Format = 1 // DDNet's server-side log of one game
	Datafile     Format = 2 // a Teeworlds or DDNet map
	Dem          Format = 3 // a Source 2 demo
	SC2Replay    Format = 4 // a StarCraft II replay
)

var formatNames = [...]string{"unknown", "teehistorian", "datafile", "dem", "sc2replay"}

// Formats returns all known formats.
func Formats() []Format { return []Format{Teehistorian, Datafile, Dem, SC2Replay} }

// String returns the format's name as the API spells it, such as "teehistorian".
func (f Format) String() string {
	if int(f) < len(formatNames) {
		return formatNames[f]
	}
	return formatNames[Unknown]
}

// SniffLen is how many leading bytes of a file Sniff wants to see. Fewer are fine when the file has no more.
const SniffLen = 16

var (
	teehistorianMagic = []byte("\x69\x9d\xb1\x7b\x8e\xfb\x34\xff\xb1\xd8\xda\x6f\x60\xc1\x5d\xd1")
	demMagic          = []byte("PBDEMS2\x00")
	dem2014Magic      = []byte("PBUFDEM\x00")
	source1Magic      = []byte("HL2DEMO\x00")
)

// Sniff recognises a format by a file's first bytes, never by its name. The formats' own decoders refuse what they
// cannot read of their family (a Source 1 demo is a Dem), so that a user hears what is wrong with the file.
func Sniff(head []byte) Format {
	switch {
	case bytes.HasPrefix(head, teehistorianMagic):
		return Teehistorian
	case bytes.HasPrefix(head, demMagic), bytes.HasPrefix(head, dem2014Magic), bytes.HasPrefix(head, source1Magic):
		return Dem
	case bytes.HasPrefix(head, []byte("MPQ\x1b")), bytes.HasPrefix(head, []byte("MPQ\x1a")):
		return SC2Replay
	case len(head) >= 8 && (bytes.HasPrefix(head, []byte("DATA")) || bytes.HasPrefix(head, []byte("ATAD"))):
		// Two ASCII words begin many files; a datafile's version follows, and only 3 and 4 ever existed. Others are
		// let through where the word is small enough to be a version, for a better error than "unknown format".
		if v := binary.LittleEndian.Uint32(head[4:]); v < 256 {
			return Datafile
		}
	}
	return Unknown
}
