package protocol_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/replayd/replayd/decoders/sc2replay/protocol"
)

func TestEveryTableCompiles(t *testing.T) {
	s := protocol.Default()
	for _, b := range append(s.Builds(), 23925, 24247) {
		table, err := s.Table(b)
		if err != nil {
			t.Fatal(err)
		}
		if table.IDBits[protocol.Game] != 7 || table.IDBits[protocol.Message] != 4 {
			t.Errorf("table %d: widths of event numbers %v", b, table.IDBits)
		}
		if n := len(table.Events(protocol.Game)); n < 96 {
			t.Errorf("table %d has game events up to %d only", b, n)
		}
	}
	if _, err := s.Table(12345); err == nil {
		t.Error("a build without a table got one")
	}
}

func TestSelect(t *testing.T) {
	for _, tt := range []struct {
		name  string
		base  int
		build int
		match protocol.Match
	}{
		{"first published", 15405, 15405, protocol.Exact},
		{"newest table", 80949, 80949, protocol.Exact},
		{"alias", 92440, 80949, protocol.Alias},
		{"alias of our own", 97425, 80949, protocol.Alias},
		{"beta of 3.0", 37164, 36442, protocol.Alias},
		{"beta of 2.0, first", 23925, 23925, protocol.Overlay},
		{"beta of 2.0, second", 24247, 24247, protocol.Overlay},
		{"newer than all", 200000, 80949, protocol.Nearest},
		{"between two", 35000, 34784, protocol.Nearest},
		{"beta of 1.0", 13891, 15405, protocol.Nearest},
	} {
		t.Run(tt.name, func(t *testing.T) {
			build, match := protocol.Default().Select(tt.base)
			if build != tt.build || match != tt.match {
				t.Errorf("got %d %v, want %d %v", build, match, tt.build, tt.match)
			}
		})
	}
}

func TestNeighbours(t *testing.T) {
	s := protocol.Default()
	if got, want := s.Neighbours(35000, 4), []int{36442, 32283, 38215, 27950}; !slices.Equal(got, want) {
		t.Errorf("between two: got %v, want %v", got, want)
	}
	if got, want := s.Neighbours(13891, 2), []int{16561, 17266}; !slices.Equal(got, want) {
		t.Errorf("before all: got %v, want %v", got, want)
	}
	if got, want := s.Neighbours(200000, 2), []int{80669, 77379}; !slices.Equal(got, want) {
		t.Errorf("after all: got %v, want %v", got, want)
	}
	if got := len(s.Neighbours(35000, 1000)); got != len(s.Builds())-1 {
		t.Errorf("all neighbours are %d", got)
	}
}

func TestLayoutsAreShared(t *testing.T) {
	s := protocol.Default()
	a, _ := s.Table(77379)
	b, _ := s.Table(80949)
	if a.Event(protocol.Game, 49).Type != b.Event(protocol.Game, 49).Type {
		t.Error("the same layout is two types in two tables")
	}
	if a.Event(protocol.Game, 27).Type == b.Event(protocol.Game, 27).Type {
		t.Error("Cmd has 26 flags in one table and 27 in the other, but one type")
	}
}

func TestOverlayReplacesOnlyItsOwn(t *testing.T) {
	s := protocol.Default()
	base, _ := s.Table(23260)
	over, _ := s.Table(23925)
	for _, e := range base.Events(protocol.Game) {
		if e == nil {
			continue
		}
		o := over.Event(protocol.Game, e.ID)
		changed := slices.Contains([]string{"UserOptions", "SelectionDelta", "CameraUpdate", "TriggerDialogControl"}, e.Name)
		if o == nil || o.Name != e.Name || (o.Type.String() != e.Type.String()) != changed {
			t.Errorf("%s: %v over %v", e.Name, o, e)
		}
	}
}

func TestParseTypeRoundTrip(t *testing.T) {
	for _, s := range []string{
		"u0", "u64", "i8", "u4+1", "u32-5", "bool", "null", "fourcc", "?u8", "blob(u0+40)", "bits(u9)", "[u3]?[u0+16]u8",
		"{}", "{a u8, b#3 {c bool}}", "choice(u2){0:None null, 3:Some {x i16}}",
	} {
		typ, err := protocol.ParseType(s, nil)
		if err != nil {
			t.Errorf("%s: %v", s, err)
			continue
		}
		if got := typ.String(); got != s {
			t.Errorf("%s became %s", s, got)
		}
	}
	for _, s := range []string{
		"", "u", "u65", "i0", "x", "?", "[u8", "[u40]u8", "{a}", "{a u8,b u8}", "{a u8", "choice(u2){None null}", "u8 ",
		strings.Repeat("?", 100) + "u8", "{a#300 u8}", "blob(i8)",
	} {
		if typ, err := protocol.ParseType(s, nil); err == nil {
			t.Errorf("%.40q was read as %v", s, typ)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("tables\n1 2 3\n\nroot header\n1 {a u8}\n2 -\n", "overlays\n5 1\n\ngame X\n5 3 {a ?u8}\n")
	f.Add("tables\n7\n\nroot header\n1 {}\n\nroot details\n1 {}\n\nroot user\n1 {u u5}\n\nroot initData\n1 {a s}\n\nstruct s\n1 {b s}\n", "")
	f.Add("tables\n99999\n\ngame CameraUpdate\n99999 49 {x u16}\n", "aliases\n99999 100001\n")
	f.Fuzz(func(t *testing.T, first, second string) {
		s, err := protocol.Parse(first, second)
		if err != nil {
			return
		}
		for _, b := range s.Builds() {
			if table, err := s.Table(b); err == nil {
				if again, err := protocol.ParseType(table.Header.String(), nil); err != nil || again.String() != table.Header.String() {
					t.Errorf("%v does not read back: %v", table.Header, err)
				}
			}
			s.Select(b + 1)
			s.Neighbours(b, 3)
		}
	})
}
