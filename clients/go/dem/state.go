package dem

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	demv1 "github.com/replayd/replayd/proto/replayd/dem/v1"
)

// Kinds are the kinds of events that an [EntityState] needs.
var Kinds = []string{"entity_created", "entity_updated", "entity_entered", "entity_left", "entity_deleted"}

// Handle identifies an entity in fields and messages.
type Handle uint32

// None is the handle that refers to no entity.
const None Handle = 1<<24 - 1

// Index returns the slot of the entity.
func (h Handle) Index() uint32 { return uint32(h) & (1<<14 - 1) }

// serial returns the low bits of the entity's serial number.
func (h Handle) serial() uint32 { return uint32(h) >> 14 & (1<<10 - 1) }

// Entity is the known state of an entity. Its EntityState owns it and changes it with each event.
type Entity struct {
	// Index is the entity's slot. Serial distinguishes the entities that use the same slot one after the other.
	Index, Serial uint32
	// Class is the name of the entity's class.
	Class string
	// InView reports whether the entity is within the recorder's view.
	InView bool
	// Fields holds the entity's values by full name. Their types are int64, uint64, float32, bool, string, [Handle], [3]float32,
	// []float32 and []byte. Fields with an unknown value are absent.
	Fields map[string]any
	// Names holds the meaning of the numbers of some fields, such as a hero, an item or an ability, by the fields' names.
	Names map[string]string
	// Unproven holds the fields whose numbers may be wrong, because the types of these fields are unknown.
	Unproven map[string]bool
}

// Name returns the entity's name, such as "npc_dota_hero_axe" or "item_blink". It is empty if the demo does not contain it.
func (e *Entity) Name() string { return e.Names["m_pEntity.m_nameStringableIndex"] }

// Int returns the value of an integer or boolean field. It returns 0 if the field is absent or has another type.
func (e *Entity) Int(name string) int64 {
	switch v := e.Fields[name].(type) {
	case int64:
		return v
	case uint64:
		return int64(v)
	case Handle:
		return int64(v)
	case bool:
		if v {
			return 1
		}
	}
	return 0
}

// Float returns the value of a number field. It returns 0 if the field is absent or has another type.
func (e *Entity) Float(name string) float64 {
	if v, ok := e.Fields[name].(float32); ok {
		return float64(v)
	}
	return float64(e.Int(name))
}

// Text returns the value of a text field. It returns "" if the field is absent or has another type.
func (e *Entity) Text(name string) string {
	s, _ := e.Fields[name].(string)
	return s
}

// Handle returns the value of a handle field. It returns None if the field is absent or has another type.
func (e *Entity) Handle(name string) Handle {
	if h, ok := e.Fields[name].(Handle); ok {
		return h
	}
	return None
}

// Vector returns the value of a field of vectors or angles. ok is false if the field is absent or has another type.
func (e *Entity) Vector(name string) (v [3]float32, ok bool) {
	v, ok = e.Fields[name].([3]float32)
	return v, ok
}

// List returns the elements of a list of values. Unknown elements are nil. List returns at most 16384 elements, whatever length
// the demo gives.
func (e *Entity) List(name string) []any {
	out := make([]any, max(0, min(e.Int(name), 1<<14)))
	for i := range out {
		out[i] = e.Fields[element(name, i)]
	}
	return out
}

func element(list string, i int) string {
	digits := strconv.Itoa(i)
	return list + "." + strings.Repeat("0", max(0, 4-len(digits))) + digits
}

// Place returns the entity's position in world units, which is the field CBodyComponent.place. ok is false if the position is
// unknown, and while the entity is attached to another one.
func (e *Entity) Place() (x, y, z float64, ok bool) {
	at, ok := e.Vector("CBodyComponent.place")
	return float64(at[0]), float64(at[1]), float64(at[2]), ok
}

// clear removes all fields.
func (e *Entity) clear() {
	clear(e.Fields)
	clear(e.Names)
	clear(e.Unproven)
}

// forget removes a field.
func (e *Entity) forget(name string) {
	delete(e.Fields, name)
	delete(e.Names, name)
	delete(e.Unproven, name)
}

// EntityState is the state of all entities of a demo after the applied events. The zero value is ready for use.
type EntityState struct {
	entities map[uint32]*Entity
	// parents holds the names of lists and objects, which are the fields that have fields below them.
	parents map[string]bool
}

// Apply updates the state by an event. Events of kinds that are not in [Kinds] change nothing. name returns the string at an
// index of the batch's strings. Pass replayd.Event.StringAt. Apply returns the entity of the event, or nil if there is none. It
// also returns an entity that the event deletes.
func (s *EntityState) Apply(event *demv1.Event, name func(uint32) string) *Entity {
	if s.entities == nil {
		s.entities, s.parents = map[uint32]*Entity{}, map[string]bool{}
	}
	switch {
	case event.GetEntityUpdated() != nil:
		m := event.GetEntityUpdated()
		e := s.at(m.GetIndex(), m.GetSerial(), m.GetClass(), name)
		s.take(e, m.GetFields(), name)
		return e
	case event.GetEntityCreated() != nil:
		m := event.GetEntityCreated()
		delete(s.entities, m.GetIndex())
		e := s.at(m.GetIndex(), m.GetSerial(), m.GetClass(), name)
		s.take(e, m.GetFields(), name)
		return e
	case event.GetEntityEntered() != nil:
		m := event.GetEntityEntered()
		e := s.at(m.GetIndex(), m.GetSerial(), m.GetClass(), name)
		e.InView = !m.GetOutOfView()
		if m.GetFull() {
			e.clear()
		}
		s.take(e, m.GetFields(), name)
		return e
	case event.GetEntityLeft() != nil:
		m := event.GetEntityLeft()
		e := s.at(m.GetIndex(), m.GetSerial(), m.GetClass(), name)
		e.InView = false
		return e
	case event.GetEntityDeleted() != nil:
		e := s.entities[event.GetEntityDeleted().GetIndex()]
		delete(s.entities, event.GetEntityDeleted().GetIndex())
		return e
	}
	return nil
}

// at returns the entity in a slot. If the slot is empty, or the serial number or the class has changed, it is a new entity.
func (s *EntityState) at(index, serial, class uint32, name func(uint32) string) *Entity {
	e := s.entities[index]
	if e == nil || e.Serial != serial || e.Class != name(class) {
		e = &Entity{Index: index, Serial: serial, Class: name(class), InView: true, Fields: map[string]any{}, Names: map[string]string{}, Unproven: map[string]bool{}}
		s.entities[index] = e
	}
	return e
}

func (s *EntityState) take(e *Entity, fields []*demv1.FieldValue, name func(uint32) string) {
	for _, f := range fields {
		full := name(f.GetField())
		for i := range len(full) {
			if full[i] == '.' {
				s.parents[full[:i]] = true
			}
		}
		v := plain(f)
		if s.parents[full] {
			e.drop(full, v)
		}
		e.forget(full)
		if v == nil {
			continue
		}
		e.Fields[full] = v
		if f.GetName() != "" {
			e.Names[full] = f.GetName()
		}
		if f.GetUnproven() {
			e.Unproven[full] = true
		}
	}
}

// drop removes fields below a list or an object that has a new value v. It removes the elements beyond a list's new length. It
// removes all fields below an object that is absent now, or whose value is unknown.
func (e *Entity) drop(parent string, v any) {
	length := 0
	switch v := v.(type) {
	case uint64:
		length = int(min(v, 1<<20))
	case bool:
		if v {
			return
		}
	}
	for key := range e.Fields {
		below, ok := strings.CutPrefix(key, parent+".")
		if !ok {
			continue
		}
		first, _, _ := strings.Cut(below, ".")
		if i, err := strconv.Atoi(first); err != nil || i >= length {
			e.forget(key)
		}
	}
}

// plain returns a field's value, or nil if the value is unknown.
func plain(f *demv1.FieldValue) any {
	switch v := f.GetValue().(type) {
	case *demv1.FieldValue_Int:
		return v.Int
	case *demv1.FieldValue_Uint:
		return v.Uint
	case *demv1.FieldValue_Float:
		return v.Float
	case *demv1.FieldValue_Bool:
		return v.Bool
	case *demv1.FieldValue_Handle:
		return Handle(v.Handle)
	case *demv1.FieldValue_Vector:
		return [3]float32{v.Vector.GetX(), v.Vector.GetY(), v.Vector.GetZ()}
	case *demv1.FieldValue_Text:
		return v.Text
	case *demv1.FieldValue_Tuple:
		return v.Tuple.GetValues()
	case *demv1.FieldValue_Blob:
		return v.Blob
	}
	return nil
}

// Get returns the entity in a slot, or nil.
func (s *EntityState) Get(index uint32) *Entity { return s.entities[index] }

// ByHandle returns the entity that a handle refers to, or nil if the entity does not exist any more or never did.
func (s *EntityState) ByHandle(h Handle) *Entity {
	if e := s.entities[h.Index()]; e != nil && h&None != None && e.Serial&(1<<10-1) == h.serial() {
		return e
	}
	return nil
}

// OfClass returns the entities whose class matches a pattern, such as "CDOTA_Unit_Hero_*", in the order of their slots.
func (s *EntityState) OfClass(pattern string) []*Entity {
	return s.where(func(e *Entity) bool {
		ok, _ := path.Match(pattern, e.Class)
		return ok
	})
}

// Named returns the entities whose text field, such as "m_iszPlayerName", equals a name, in the order of their slots.
func (s *EntityState) Named(field, name string) []*Entity {
	return s.where(func(e *Entity) bool { return e.Text(field) == name && name != "" })
}

// All returns all entities in the order of their slots.
func (s *EntityState) All() []*Entity { return s.where(func(*Entity) bool { return true }) }

func (s *EntityState) where(keep func(*Entity) bool) (out []*Entity) {
	for _, e := range s.entities {
		if keep(e) {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b *Entity) int { return cmp.Compare(a.Index, b.Index) })
	return out
}
