package dem

import (
	"slices"

	"github.com/replayd/replayd/replay/filter"
)

// entityFilter applies a filter to entities. It caches the result for each class and field by the decoder's number of its
// name, because classes and fields are few.
type entityFilter struct {
	*filter.Filter

	classes []*filter.Class
	fields  []*filter.Field
	asked   string        // the class of which fields were asked for last
	of      *filter.Class // its result; nil before the first
}

// class returns the filter's result for the class of an event.
func (f *entityFilter) class(id uint32, name func(uint32) string) *filter.Class {
	return remember(&f.classes, id, name, f.Class)
}

// field returns the filter's result for a field.
func (f *entityFilter) field(id uint32, name func(uint32) string) *filter.Field {
	return remember(&f.fields, id, name, f.Field)
}

func remember[T any](known *[]*T, id uint32, name func(uint32) string, ask func(string) T) *T {
	if int(id) >= len(*known) {
		*known = append(*known, make([]*T, int(id)+1-len(*known))...)
	}
	if (*known)[id] == nil {
		(*known)[id] = new(ask(name(id)))
	}
	return (*known)[id]
}

// wantsClass reports whether any event of a class may be delivered.
func (f *entityFilter) wantsClass(name string) bool {
	c := f.Class(name)
	return slices.ContainsFunc(entityKinds, c.Kind)
}

// wantsField reports whether a field of a class may be delivered in any event.
func (f *entityFilter) wantsField(class, field string) bool {
	if f.of == nil || f.asked != class { // the fields of a class are asked for together
		f.asked, f.of = class, new(f.Class(class))
	}
	return f.of.Wants(f.Field(field), fieldKinds...)
}
