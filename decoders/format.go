package decoders

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

// formats is the list of formats, by number: what they are called, and how their files begin. [Format.String], [Formats] and
// [Sniff] go by it.
var formats = [...]struct {
	name   string
	magics []string
}{
	Unknown: {name: "unknown"},
	Teehistorian: {name: "teehistorian", magics: []string{
		"\x69\x9d\xb1\x7b\x8e\xfb\x34\xff\xb1\xd8\xda\x6f\x60\xc1\x5d\xd1",
	}},
	// Two ASCII words begin many files; a datafile's version follows, and only 3 and 4 ever existed. Others are let through
	// where the word is small enough to be a version, for a better error than "unrecognized format".
	Datafile: {name: "datafile", magics: []string{"DATA?\x00\x00\x00", "ATAD?\x00\x00\x00"}},
	// Those of 2014, and of Source 1, are refused by the decoder.
	Dem:       {name: "dem", magics: []string{"PBDEMS2\x00", "PBUFDEM\x00", "HL2DEMO\x00"}},
	SC2Replay: {name: "sc2replay", magics: []string{"MPQ\x1b", "MPQ\x1a"}},
}

// Formats returns all known formats, in the order of their numbers.
func Formats() []Format {
	all := make([]Format, 0, len(formats)-1)
	for f := range formats[1:] {
		all = append(all, Format(1+f))
	}
	return all
}

// String returns the format's name as the API spells it, such as "teehistorian".
func (f Format) String() string {
	if int(f) < len(formats) {
		return formats[f].name
	}
	return formats[Unknown].name
}

// SniffLen is how many leading bytes of a file Sniff wants to see. Fewer are fine when the file has no more.
const SniffLen = 16

// Sniff recognizes a format by a file's first bytes, never by its name. The formats' own decoders refuse what they
// cannot read of their family (a Source 1 demo is a Dem), so that a user hears what is wrong with the file.
func Sniff(head []byte) Format {
	for f := range formats {
		for _, magic := range formats[f].magics {
			if begins(head, magic) {
				return Format(f)
			}
		}
	}
	return Unknown
}

// begins reports whether a file begins with a magic, in which ? stands for any byte.
func begins(head []byte, magic string) bool {
	if len(head) < len(magic) {
		return false
	}
	for i := range len(magic) {
		if magic[i] != '?' && magic[i] != head[i] {
			return false
		}
	}
	return true
}
