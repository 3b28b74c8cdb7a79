package decoders

// Format is a replay format. The zero value is Unknown.
type Format uint8

// The formats that replayd decodes. Cursors contain these numbers, so they must not change.
const (
	Unknown      Format = 0
	Teehistorian Format = 1 // DDNet's server-side log of one game
	Datafile     Format = 2 // a Teeworlds or DDNet map
	Dem          Format = 3 // a Source 2 demo
	SC2Replay    Format = 4 // a StarCraft II replay
)

// formats lists the formats by number, each with its name, the first bytes of its files, and the range of bytes that a writer changes when a
// recording ends. [Format.String], [Formats], [Format.Blank] and [Sniff] use it.
var formats = [...]struct {
	name   string
	magics []string
	late   [2]int
}{
	Unknown: {name: "unknown"},
	Teehistorian: {name: "teehistorian", magics: []string{
		"\x69\x9d\xb1\x7b\x8e\xfb\x34\xff\xb1\xd8\xda\x6f\x60\xc1\x5d\xd1",
	}},
	// "DATA" and "ATAD" alone begin many files, so the version that follows is checked too. Only versions 3 and 4
	// ever existed. Any version below 256 passes, because the decoder's error is better than "unrecognized format".
	Datafile: {name: "datafile", magics: []string{"DATA?\x00\x00\x00", "ATAD?\x00\x00\x00"}},
	// The decoder refuses demos of 2014 and of Source 1.
	Dem:       {name: "dem", magics: []string{"PBDEMS2\x00", "PBUFDEM\x00", "HL2DEMO\x00"}, late: [2]int{8, 16}},
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

// String returns the format's name in the API, such as "teehistorian".
func (f Format) String() string {
	if int(f) < len(formats) {
		return formats[f].name
	}
	return formats[Unknown].name
}

// Blank clears what a writer changes in the first bytes of a file when the recording ends: in a demo, two offsets.
func (f Format) Blank(head []byte) {
	late := formats[f].late
	clear(head[min(late[0], len(head)):min(late[1], len(head))])
}

// SniffLen is the number of leading bytes that Sniff needs. Pass fewer only for a shorter file.
const SniffLen = 16

// Sniff returns the format of a file that begins with head, or Unknown. The file's name plays no part. Sniff also
// recognizes variants that the decoder refuses: a Source 1 demo is a Dem. The user then gets an error that describes
// the problem.
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

// begins reports whether head begins with magic. A ? in magic matches any byte.
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
