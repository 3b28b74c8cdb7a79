package filter

// Class is a filter for the events of one class of entities.
type Class struct {
	f                *Filter
	include, exclude uint64 // the clauses whose condition on classes holds
}

// Class returns the filter for a class. The filter must not be nil.
func (f *Filter) Class(name string) Class {
	c := Class{f: f}
	for i := range f.include {
		if p := &f.include[i].classes; p.any || p.match(name) {
			c.include |= 1 << i
		}
	}
	for i := range f.exclude {
		if p := &f.exclude[i].classes; p.any || p.match(name) {
			c.exclude |= 1 << i
		}
	}
	return c
}

// Kind reports whether any event of the class of that kind can be delivered.
func (c *Class) Kind(kind uint8) bool {
	if c.f.includes[kind]&c.include == 0 {
		return false
	}
	for i, ex := range c.f.exclude {
		if c.f.excludes[kind]&c.exclude&(1<<i) != 0 && ex.asksOnly(Classes) {
			return false
		}
	}
	return true
}

// asksOnly reports whether a clause has no conditions but on kinds and on these properties. A condition that is added to the API
// later also counts.
func (c *clause) asksOnly(properties ...Property) bool {
	asked := c.asked
	for _, p := range properties {
		asked &^= 1 << p
	}
	return asked == 0 && c.min == minTick && c.max == maxTick && c.every == 1 && c.sampled == 1
}

// Wants reports whether any event of the class, of any of the kinds, may be delivered with that field.
func (c *Class) Wants(field Field, kinds ...uint8) bool {
	included := c.include & (field.include | ^c.f.narrowIn)
	if included == 0 { // as nearly always
		return false
	}
	for _, k := range kinds {
		if c.f.includes[k]&included == 0 {
			continue
		}
		removed := false
		for i := range c.f.exclude {
			ex := &c.f.exclude[i]
			removed = removed || c.f.excludes[k]&c.exclude&field.exclude&(1<<i) != 0 && ex.asksOnly(Classes, Fields)
		}
		if !removed {
			return true
		}
	}
	return false
}

// Match returns which fields of an event of the class are delivered.
func (c *Class) Match(e *Event) Narrowing {
	n := Narrowing{
		include: matching(c.f.include, c.f.includes[e.Kind]&c.include, e),
		exclude: matching(c.f.exclude, c.f.excludes[e.Kind]&c.exclude, e),
	}
	n.open = n.include&^c.f.narrowIn != 0
	if n.exclude&^c.f.narrowEx != 0 { // excluded as a whole
		n.include = 0
	}
	return n
}

// Field holds the clauses whose condition on fields holds for one field.
type Field struct{ include, exclude uint64 }

// Field returns the clauses for the field of a name. The filter must not be nil.
func (f *Filter) Field(name string) Field {
	return Field{matchingFields(f.include, f.narrowIn, name), matchingFields(f.exclude, f.narrowEx, name)}
}

func matchingFields(clauses []clause, narrow uint64, name string) (matched uint64) {
	for i := range clauses {
		if narrow&(1<<i) != 0 && clauses[i].fields.match(name) {
			matched |= 1 << i
		}
	}
	return matched
}

// Narrows reports whether the filter has conditions on fields.
func (f *Filter) Narrows() bool { return f != nil && f.narrowIn|f.narrowEx != 0 }

// Narrowing says which fields of one event are delivered.
type Narrowing struct {
	include, exclude uint64 // the clauses that match the event
	open             bool   // an include clause without a condition on fields matches
}

// None reports that the event is not delivered.
func (n Narrowing) None() bool { return n.include == 0 }

// All reports that all fields are delivered.
func (n Narrowing) All() bool { return n.open && n.exclude == 0 }

// Keeps reports whether a field is delivered.
func (n Narrowing) Keeps(f Field) bool {
	return (n.open || f.include&n.include != 0) && f.exclude&n.exclude == 0
}

// Empty reports whether the event is delivered when it has no field. removed says that it had fields, all of which were removed.
func (n Narrowing) Empty(removed bool) bool { return n.open && !removed }
