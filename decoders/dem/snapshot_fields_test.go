package dem

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestSnapshotFields: whoever adds a field to a decoder says here whether a snapshot has to hold it. A field is
//
//	kept       in a snapshot, or made of what is in one
//	passing    of no use between two records
//	cache      made again where it is missing
//	options    of each decoder's own
func TestSnapshotFields(t *testing.T) {
	for of, known := range map[reflect.Type]map[string]string{
		reflect.TypeFor[Decoder](): {
			"kept": "stats in out match tables world", "passing": "stage inflated packet typed chunks list ents facts", "cache": "snaps players spare", "options": "opts",
		},
		reflect.TypeFor[conclusions](): {"passing": "ready next base count texts spare", "options": "sources remembered rounds wards draft objectives", "cache": "tokens"},
		reflect.TypeFor[match]():       {"kept": "game build interval speed clock roster rounds wards draft past events commands", "cache": "messages"},
		reflect.TypeFor[clock](): {
			"kept":  "met known settled paused horn legacy time seen ticks pause phase now",
			"cache": "fields cells",
		},
		reflect.TypeFor[roster](): {"kept": "index met sides", "cache": "fields"},
		reflect.TypeFor[tables](): {"kept": "list stored", "passing": "reader unpacked dump thing"},
		reflect.TypeFor[world](): {
			"kept":    "schema classes classBits maxClasses tree store baseIndex learn lost undecoded watched",
			"passing": "update narrowed floats merged",
			"cache":   "meanings listed list",
		},
		reflect.TypeFor[meanings](): {"kept": "game names"},
		reflect.TypeFor[learner]():  {"kept": "changed left begun refuted known", "cache": "suspects"},
		reflect.TypeFor[delivery](): {
			"kept": "counted ofClass unknown", "passing": "offset tick place at faults last reached from quiet unseen hold kept arrived", "options": "kinds fields entities clock clockTicks roster players",
		},
		reflect.TypeFor[Stats](): {
			"kept": "Records Messages EntityUpdates EntitySkips EntityMismatches Fields FieldsLost EntityUnknown BaselinesMissing Faults",
		},
	} {
		var want, got []string
		for _, names := range known {
			want = append(want, strings.Fields(names)...)
		}
		for field := range of.Fields() {
			got = append(got, field.Name)
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%v has the fields %v, known are %v; is what differs in a Snapshot? (%v)", of, got, want, slices.Sorted(maps.Keys(known)))
		}
	}
}
