package dem_test

import (
	"iter"
	"maps"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/replayd/replayd/decoders/dem"
)

// clientState is what a client keeps of an entity: values by the names of fields.
type clientState map[string]string

// take applies fields as a client does who knows no more than what the API promises of them: elements beyond the length
// of their list are gone, and so is what is below an object that is not there.
func (s clientState) take(d *dem.Decoder, fields []dem.FieldValue, parents map[string]bool) {
	for i := range fields {
		f := &fields[i]
		name := d.Name(f.Field)
		for parent := range ancestors(name) {
			parents[parent] = true
		}
		if parents[name] {
			gone := func(string) bool { return f.ValueCase == dem.FieldValueValueBool && !f.Bool }
			if f.ValueCase == dem.FieldValueValueUint {
				gone = func(below string) bool {
					element, _, _ := strings.Cut(below, ".")
					n, err := strconv.ParseUint(element, 10, 64)
					return err == nil && n >= f.Uint
				}
			}
			maps.DeleteFunc(s, func(key, _ string) bool {
				below, ok := strings.CutPrefix(key, name+".")
				return ok && gone(below)
			})
		}
		if f.ValueCase == dem.FieldValueValueNone {
			// It changed to what could not be read, and what is below it is not known either.
			maps.DeleteFunc(s, func(key, _ string) bool { return key == name || strings.HasPrefix(key, name+".") })
			continue
		}
		s[name] = leafText(f)
	}
}

// ancestors yields the names of what a field lies in.
func ancestors(name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range len(name) {
			if name[i] == '.' && !yield(name[:i]) {
				return
			}
		}
	}
}

// TestClientState: events are enough to keep the state of all entities.
func TestClientState(t *testing.T) {
	for file, data := range source2(t) {
		t.Run(file, func(t *testing.T) {
			states := map[int]clientState{}
			parents := map[string]bool{}
			d := decode(t, data, dem.Options{Kinds: isEntity}, func(d *dem.Decoder, ev *dem.Event) {
				switch ev.Kind {
				case dem.KindEntityCreated:
					states[int(ev.EntityCreated.Index)] = clientState{}
					states[int(ev.EntityCreated.Index)].take(d, ev.EntityCreated.Fields, parents)
				case dem.KindEntityUpdated:
					states[int(ev.EntityUpdated.Index)].take(d, ev.EntityUpdated.Fields, parents)
				case dem.KindEntityEntered:
					s := states[int(ev.EntityEntered.Index)]
					if ev.EntityEntered.Full {
						clear(s)
					}
					s.take(d, ev.EntityEntered.Fields, parents)
				case dem.KindEntityDeleted:
					delete(states, int(ev.EntityDeleted.Index))
				}
			})
			for i := range dem.MaxEntities {
				e, ok := d.Entity(i)
				if _, have := states[i]; have != ok {
					t.Fatalf("entity %d is there: %t, for the client: %t", i, ok, have)
				}
				want := clientState{}
				for j := range e.Fields {
					name := d.Name(e.Fields[j].Field)
					if _, twice := want[name]; twice {
						t.Errorf("entity %d has two fields %s", i, name)
					}
					want[name] = leafText(&e.Fields[j])
				}
				if diff := cmp.Diff(want, states[i]); ok && diff != "" {
					t.Fatalf("entity %d, class %s (-decoder +client):\n%s", i, e.Class, diff)
				}
			}
		})
	}
}
