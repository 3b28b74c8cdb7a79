package dem_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/decoders/dem"
)

// TestFieldTypes: the schema tells of each value of an entity how it is held, unless its type is unknown.
func TestFieldTypes(t *testing.T) {
	files := map[string][]byte{"sample": decodertest.Sample(t, "dem", "sample.dem"), "cs2": decodertest.Sample(t, "dem", "cs2.dem"), "dota": decodertest.Sample(t, "dem", "dota.dem")}
	t.Run("samples", func(t *testing.T) { checkFieldTypes(t, files) })
	t.Run("corpus", func(t *testing.T) { checkFieldTypes(t, someSource2(t)) })
}

func checkFieldTypes(t *testing.T, files map[string][]byte) {
	for file, data := range files {
		type key struct{ class, field uint32 }
		seen := map[key]map[dem.FieldValueValueCase]bool{}
		known, unknown, elements := 0, 0, 0
		d := decode(t, data, dem.Options{Kinds: isEntity}, func(_ *dem.Decoder, ev *dem.Event) {
			var class uint32
			switch ev.Kind {
			case dem.KindEntityCreated:
				class = ev.EntityCreated.Class
			case dem.KindEntityUpdated:
				class = ev.EntityUpdated.Class
			default:
				return
			}
			for _, v := range fieldsOf(ev) {
				k := key{class, v.Field}
				if seen[k] == nil {
					seen[k] = map[dem.FieldValueValueCase]bool{}
				}
				seen[k][v.ValueCase] = true
			}
		})
		all, told := map[string]map[string]bool{}, d.Schema()
		for k, cases := range seen {
			class, name := d.Name(k.class), d.Name(k.field)
			var of []dem.FieldType
			told.Field(class, name, func(f dem.FieldType) { of = append(of, f) })
			if len(of) == 0 {
				t.Fatalf("%s: %s has a field %s, of which the schema says nothing", file, class, name)
			}
			delete(cases, dem.FieldValueValueNone)
			for _, f := range of {
				delete(cases, f.Case)
			}
			switch {
			case slices.ContainsFunc(of, func(f dem.FieldType) bool { return f.Unknown }):
				unknown++
			case len(cases) > 0:
				t.Errorf("%s: %s.%s has values of the cases %v, the schema says %+v", file, class, name, slices.Collect(maps.Keys(cases)), of)
			default:
				known++
			}
			if all[class] == nil {
				all[class] = map[string]bool{}
				told.Fields(class, func(f dem.FieldType) { all[class][f.Name] = true })
			}
			if element := strings.Contains(name, ".0"); element {
				elements++
			} else if !all[class][name] {
				t.Errorf("%s: %s.%s is none of all fields", file, class, name)
			}
		}
		if t.Logf("%s: %d fields of known types, %d of unknown, %d elements", file, known, unknown, elements); known < 10 {
			t.Errorf("%s: %d fields only", file, known)
		}
	}
}
