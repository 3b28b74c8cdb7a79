package dem

import (
	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/service/filter"
)

// entityKinds are the kinds of events that have a class.
var entityKinds = [...]dem.Kind{
	dem.KindEntityUpdated, dem.KindEntityCreated, dem.KindEntityEntered, dem.KindEntityLeft, dem.KindEntityDeleted,
}

// classFilter is the filter as events of one class see it.
type classFilter struct {
	filter  *filter.Filter
	without *filter.Filter // for events of which a wanted field is left
	wanted  bool           // whether any event of the class may be delivered
	// fields tell which fields are wanted, by the kind of the event; nil means all.
	fields [dem.KindEntityDeleted + 1]*fieldFilter
}

// fieldFilter remembers which fields are wanted.
type fieldFilter struct {
	wants func(field string) bool
	known []int8 // by the decoder's number of the name: 0 not asked yet, 1 wanted, -1 not wanted
}

func (f *fieldFilter) ask(d *dem.Decoder, field uint32) bool {
	for int(field) >= len(f.known) {
		f.known = append(f.known, 0)
	}
	if f.known[field] == 0 {
		f.known[field] = -1
		if f.wants(d.Name(field)) {
			f.known[field] = 1
		}
	}
	return f.known[field] > 0
}

// class returns the filter for a class.
func (r *reader) class(name string) *classFilter {
	if c, ok := r.classes[name]; ok {
		return c
	}
	c := &classFilter{filter: r.Filter.Class(name)}
	c.without = c.filter.WithoutFields()
	for _, k := range entityKinds {
		c.wanted = c.wanted || c.filter.Kind(uint8(k)) && !c.filter.Nothing()
		if wants := c.filter.Fields(uint8(k)); wants != nil {
			c.fields[k] = &fieldFilter{wants: wants}
		}
	}
	r.classes[name] = c
	return c
}

// classByID is class for a class that the decoder has a number for.
func (r *reader) classByID(id uint32) *classFilter {
	for int(id) >= len(r.byID) {
		r.byID = append(r.byID, nil)
	}
	if r.byID[id] == nil {
		r.byID[id] = r.class(r.d.Name(id))
	}
	return r.byID[id]
}

// wants tells whether a field is wanted in any kind of event.
func (c *classFilter) wants(field string) bool {
	for _, k := range entityKinds {
		if !c.filter.Kind(uint8(k)) {
			continue
		}
		if f := c.fields[k]; f == nil || f.wants(field) {
			return true
		}
	}
	return false
}

// narrows tells whether the filter may have conditions on fields.
func (r *reader) narrows() bool {
	for _, k := range entityKinds {
		if r.Filter.Fields(uint8(k)) != nil {
			return true
		}
	}
	return false
}
