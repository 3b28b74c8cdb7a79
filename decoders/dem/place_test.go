package dem_test

import (
	"math"
	"slices"
	"testing"

	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/decoders/dem/demtest"
	"github.com/replayd/replayd/decoders/dem/internal/pb"
)

// TestCorpusPlaces: buildings of Dota 2 stand where its map has them, and who shoots in Counter-Strike 2 has his eyes above the
// place that his body has, by the message that tells of the shot.
func TestCorpusPlaces(t *testing.T) {
	t.Run("dota", func(t *testing.T) {
		at := map[string][]dem.Vector{}
		decode(t, readCorpus(t, autoDem), dem.Options{Kinds: func(k dem.Kind) bool { return k == dem.KindEntityCreated }}, func(d *dem.Decoder, ev *dem.Event) {
			for i := range ev.EntityCreated.Fields {
				if f := &ev.EntityCreated.Fields[i]; d.Name(f.Field) == "CBodyComponent.place" {
					class := d.Name(ev.EntityCreated.Class)
					at[class] = append(at[class], f.Vector)
				}
			}
		})
		for class, places := range map[string][]dem.Vector{
			"CDOTA_BaseNPC_Fort":  {{X: 5528, Y: 5000}, {X: -5920, Y: -5352}},
			"CDOTA_Unit_Fountain": {{X: 7408, Y: 6848}, {X: -7456, Y: -6938}},
		} {
			for _, want := range places {
				near := false
				for _, got := range at[class] {
					near = near || distance(got, want) < 0.1
				}
				if !near {
					t.Errorf("%s are at %v, not one at %v", class, at[class], want)
				}
			}
		}
	})
	for name, least := range map[string]int{"14011.dem": 15, "14090.dem": 42, "14150_ag2.dem": 22} {
		t.Run(name, func(t *testing.T) {
			bodies := map[uint32]dem.Vector{}
			shots := 0
			decode(t, readCorpus(t, name), dem.Options{}, func(d *dem.Decoder, ev *dem.Event) {
				index, fields := uint32(0), []dem.FieldValue(nil)
				switch ev.Kind {
				case dem.KindMessage:
					if ev.Message.Id != 452 { // CMsgTEFireBullets
						return
					}
					shots++
					eye, near := shotFrom(ev.Message.Data), false
					for _, body := range bodies {
						// Messages come before the entities of their tick, in which who runs takes some units.
						above := eye.Z - body.Z
						near = near || distance(eye, body) < 4 && above > 40 && above < 68
					}
					if !near {
						t.Errorf("tick %d: nobody is below %v", ev.AtTick, eye)
					}
					return
				case dem.KindEntityCreated:
					if d.Name(ev.EntityCreated.Class) == "CCSPlayerPawn" {
						index, fields = ev.EntityCreated.Index, ev.EntityCreated.Fields
					}
				case dem.KindEntityUpdated:
					if d.Name(ev.EntityUpdated.Class) == "CCSPlayerPawn" {
						index, fields = ev.EntityUpdated.Index, ev.EntityUpdated.Fields
					}
				}
				for i := range fields {
					if f := &fields[i]; d.Name(f.Field) == "CBodyComponent.place" {
						bodies[index] = f.Vector
					}
				}
			})
			if shots < least {
				t.Errorf("%d shots", shots)
			}
		})
	}
}

// distance is that of two places on the map, whatever their heights are.
func distance(a, b dem.Vector) float64 { return math.Hypot(float64(a.X-b.X), float64(a.Y-b.Y)) }

// shotFrom returns the first field of CMsgTEFireBullets.
func shotFrom(data []byte) (v dem.Vector) {
	for m := pb.NewReader(data); m.Next(); {
		if m.Num != 1 {
			continue
		}
		for q := pb.NewReader(m.Raw); q.Next(); {
			switch q.Num {
			case 1:
				v.X = q.Float32()
			case 2:
				v.Y = q.Float32()
			case 3:
				v.Z = q.Float32()
			}
		}
	}
	return v
}

// TestPlaceLeftOut: of updates and creations that lack only the place, with which others are asked for, it is said that something
// was left out.
func TestPlaceLeftOut(t *testing.T) {
	const place = "CBodyComponent.place"
	fieldsOf := func(ev *dem.Event) []dem.FieldValue {
		switch ev.Kind {
		case dem.KindEntityCreated:
			return ev.EntityCreated.Fields
		case dem.KindEntityUpdated:
			return ev.EntityUpdated.Fields
		}
		return nil
	}
	entities := func(k dem.Kind) bool { return k == dem.KindEntityCreated || k == dem.KindEntityUpdated }
	var want []bool // of all events with other fields: whether they have the place
	decode(t, demtest.Match(), dem.Options{Kinds: entities}, func(d *dem.Decoder, ev *dem.Event) {
		fields := fieldsOf(ev)
		has := slices.ContainsFunc(fields, func(f dem.FieldValue) bool { return d.Name(f.Field) == place })
		if len(fields) > 1 || !has {
			want = append(want, has)
		}
	})
	var got []bool
	opts := dem.Options{Kinds: entities, Fields: func(_, field string) bool { return field != place }}
	decode(t, demtest.Match(), opts, func(d *dem.Decoder, ev *dem.Event) {
		if len(fieldsOf(ev)) > 0 || !d.Narrowed() {
			got = append(got, d.Narrowed())
		}
	})
	if !slices.Equal(got, want) || !slices.Contains(want, true) || !slices.Contains(want, false) {
		t.Errorf("left out: %v, want %v", got, want)
	}
}
