package decoders

import (
	"strings"
	"testing"
)

// TestFormats checks that each format has a name and magics, and that no two formats share either.
func TestFormats(t *testing.T) {
	names, magics := map[string]Format{}, map[string]Format{}
	for f, known := range formats {
		f := Format(f)
		if other, taken := names[known.name]; known.name == "" || taken || f.String() != known.name {
			t.Errorf("format %d is called %q, as is %d", f, known.name, other)
		}
		names[known.name] = f
		if (f == Unknown) != (len(known.magics) == 0) {
			t.Errorf("%v begins with %q", f, known.magics)
		}
		for _, magic := range known.magics {
			for other, of := range magics {
				if strings.HasPrefix(other, magic) || strings.HasPrefix(magic, other) {
					t.Errorf("%v and %v share a magic", f, of)
				}
			}
			magics[magic] = f
			if len(magic) > SniffLen {
				t.Errorf("%v begins with more than %d bytes", f, SniffLen)
			}
			if got := Sniff([]byte(magic + "and more")); got != f {
				t.Errorf("a file that begins like a %v is sniffed as %v", f, got)
			}
			if got := Sniff([]byte(magic[:len(magic)-1])); got != Unknown {
				t.Errorf("a file too short for a %v is sniffed as %v", f, got)
			}
		}
	}
	if got := Formats(); len(got) != len(formats)-1 || got[0] != Teehistorian || got[len(got)-1] != Format(len(got)) {
		t.Errorf("the formats are %v", got)
	}
	if Format(200).String() != "unknown" || Sniff(nil) != Unknown || Sniff([]byte("DATA\x00\x01\x00\x00")) != Unknown {
		t.Error("an unknown format was recognized")
	}
}
