package dem

import (
	"flag"
	"strings"
	"testing"

	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/decoders/dem/demtest"
)

var everyType = flag.Bool("every-type", false, "TestCorpusNothingWrong renames every type, not only some of those that are used seldom")

// TestNothingWrong: of a type or an encoder that nobody knows, no value is told that is not so without a mark that it may be another one.
func TestNothingWrong(t *testing.T) {
	for name, data := range map[string][]byte{
		"world": demtest.World(false), "dota": demtest.Match(), "cs2": demtest.Round(), "encoders": demtest.Encoders(false), "zeros": demtest.Zeros(),
	} {
		t.Run(name, func(t *testing.T) { testNothingWrong(t, data, usedTypes(t, data, 100)) })
	}
}

// TestAmbiguous: data that can be read in several ways proves none of them. Where these differ, behind it, too, values are marked; where
// they agree, and in updates that can be read in one way only, values are told as they are.
func TestAmbiguous(t *testing.T) {
	data, err := demtest.Rewrite(demtest.Zeros(), func(uint32, []byte) []byte { return nil })
	if err != nil {
		t.Fatal(err)
	}
	want := tell(t, data, Options{})
	for _, test := range []struct {
		typ    string
		open   []string // fields that are marked where all values are 0
		closed []string // and those that are not
		proven bool
	}{
		{"Vector", []string{"m_vecSounds.0000", "m_vecSounds.0007", "m_sSound"}, []string{"m_nFirst"}, false},
		{"CUtlSymbolLarge", []string{"m_sEmpty"}, []string{"m_bytes", "m_nLast"}, false},
		{"CUtlBinaryBlock", []string{"m_bytes"}, []string{"m_sEmpty", "m_nLast"}, false},
		{"Zero_t", []string{"m_eZero"}, []string{"m_bOff", "m_nLast"}, false},
		{"bool", []string{"m_bOff"}, []string{"m_nFirst", "m_sSound"}, false}, // or a number, and Small_t a bool
		{"CUtlString", nil, []string{"m_sSound", "m_nLast"}, true},
		{"uint16", nil, []string{"m_nLast", "m_bOff"}, true},
	} {
		t.Run(test.typ, func(t *testing.T) {
			got := tell(t, renameType(t, data, test.typ), Options{})
			compareTold(t, want, got, test.typ)
			told, open := 0, map[string]bool{}
			for _, fields := range got.events {
				created := len(fields) == len(want.last)/50
				for name, text := range fields {
					if _, is := strings.CutSuffix(text, " unproven"); is && created {
						open[name] = true
					} else if !is && !created {
						told++
					}
				}
			}
			for _, name := range test.open {
				if !open[name] {
					t.Errorf("%s is not marked", name)
				}
			}
			for _, name := range test.closed {
				if open[name] {
					t.Errorf("%s is marked", name)
				}
			}
			if 10*told < 7*(want.fields-len(want.last)) || got.lost > 0 || got.faults > 0 {
				t.Errorf("%d of %d values are told, %d lost, %d faults", told, want.fields, got.lost, got.faults)
			}
			for _, g := range got.d.Health().Types {
				if strings.HasPrefix(g.Name, "Qz") && (g.Proofs > 0) != test.proven {
					t.Errorf("%+v", g)
				}
			}
		})
	}
}

// unknownDemos returns the demos of the corpus in which types are renamed: one of each game, or with CORPUS=all several ages of them.
func unknownDemos() []string {
	names := []string{"14160.dem", "deadlock_hltv_10423.dem", "auto-20240102-2233-start-____.dem"}
	if decodertest.WholeCorpus() {
		names = append(names, "14011.dem", "14065.dem", "14090.dem", "14150_ag2.dem")
	}
	return names
}

// TestCorpusNothingWrong is TestNothingWrong of real demos, of all encoders, and of types behind the ten most used ones.
func TestCorpusNothingWrong(t *testing.T) {
	for _, name := range unknownDemos() {
		t.Run(name, func(t *testing.T) {
			data := corpusFile(t, name)
			types := usedTypes(t, data, 1000)
			if !*everyType {
				types = types[10:12]
			}
			testNothingWrong(t, data, types)
		})
	}
}

func testNothingWrong(t *testing.T, data []byte, types []string) {
	t.Helper()
	data, err := demtest.Rewrite(data, func(uint32, []byte) []byte { return nil })
	if err != nil {
		t.Fatal(err)
	}
	want := tell(t, data, Options{})
	for _, typ := range types {
		if len(typ) > 1 {
			t.Run(typ, func(t *testing.T) { compareTold(t, want, tell(t, renameType(t, data, typ), Options{}), typ) })
		}
	}
	for _, encoder := range encodersOf(t, data) {
		t.Run("encoder "+encoder, func(t *testing.T) {
			got := tell(t, renameEncoder(t, data, encoder), Options{})
			compareTold(t, want, got, encoder)
			if 10*got.fields < 9*want.fields {
				t.Errorf("%d of %d values are told", got.fields, want.fields)
			}
		})
	}
}

// compareTold reports values of got that are not those of want and are not marked. renamed is the symbol that was renamed; fields may
// have it as their name, too.
func compareTold(t *testing.T, want, got *told, renamed string) {
	t.Helper()
	wrong, marked, other := 0, 0, 0
	for at, fields := range got.events {
		for name, text := range fields {
			name = strings.ReplaceAll(name, "Qz"+renamed[2:], renamed)
			whole := strings.TrimSuffix(want.events[at][name], " unproven")
			if sure, open := strings.CutSuffix(text, " unproven"); open {
				marked++
				if sure != whole {
					other++
				}
				continue
			}
			if text != whole {
				if wrong++; wrong <= 3 {
					t.Errorf("at %v: %s is %s, not %s", at, name, text, whole)
				}
			}
		}
	}
	t.Logf("%d of %d values wrong; %d marked, of which %d are others; %d lost, %d faults", wrong, got.fields, marked, other, got.lost, got.faults)
}
