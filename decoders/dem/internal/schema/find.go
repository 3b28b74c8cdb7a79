package schema

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/replayd/replayd/decoders/dem/internal/value"
)

// Found is a field that a name leads to from a serializer.
type Found struct {
	Name  string
	Field *Field
	Elem  bool // an element of the field's list
}

// Codec returns how the values are read.
func (f *Found) Codec() *value.Codec {
	if f.Elem {
		return &f.Field.Elem
	}
	return &f.Field.Own
}

// List reports whether the field is a list: its elements have the values.
func (f *Found) List() bool {
	return !f.Elem && f.Field.Shape != ShapeValue && f.Field.Shape != ShapePointer
}

// Unknown returns what is unknown about reading the values, or nil.
func (f *Found) Unknown() *Unknown {
	if f.Elem {
		return f.Field.UnknownElem
	}
	return f.Field.Unknown
}

// maxDepth is the number of parts of the longest path to a field.
const maxDepth = 7

// Search finds fields of serializers. It looks at most at Left fields, because objects may have objects of their own type, and many
// types. Once Left is below 0, what is found is not all.
type Search struct{ Left int }

// Find calls each for the fields that a name leads to: several if an object on the way may be of several types.
func (q *Search) Find(s *Serializer, name string, each func(Found)) {
	q.find(s, name, func(f Found) { f.Name = name; each(f) })
}

func (q *Search) find(s *Serializer, name string, each func(Found)) {
	if s == nil {
		return
	}
	for _, f := range s.Fields {
		if q.Left--; q.Left < 0 {
			return
		}
		if f.Name == name {
			each(Found{Field: f})
		} else if rest, below := strings.CutPrefix(name, f.Name); below && rest[0] == '.' {
			q.below(f, rest[1:], each)
		}
	}
}

// below goes on below a field.
func (q *Search) below(f *Field, name string, each func(Found)) {
	if f.Shape == ShapePointer {
		for _, s := range f.Types {
			q.find(s, name, each)
		}
		return
	}
	number, rest, deeper := strings.Cut(name, ".")
	i, err := strconv.Atoi(number)
	if err != nil || i < 0 || i >= MaxElements || fmt.Sprintf("%04d", i) != number || f.Shape == ShapeArray && i >= f.Count {
		return
	}
	switch {
	case f.Shape == ShapeTable && deeper:
		q.find(f.Types[0], rest, each)
	case f.Shape != ShapeTable && f.Elem.Op != value.OpNone && !deeper:
		each(Found{Field: f, Elem: true})
	}
}

// All calls each for all fields but the elements of lists.
func (q *Search) All(s *Serializer, each func(Found)) { q.all(s, "", 0, each) }

func (q *Search) all(s *Serializer, above string, depth int, each func(Found)) {
	if s == nil || depth == maxDepth {
		return
	}
	for _, f := range s.Fields {
		if q.Left--; q.Left < 0 {
			return
		}
		each(Found{Name: above + f.Name, Field: f})
		if f.Shape == ShapePointer {
			for _, t := range f.Types {
				q.all(t, above+f.Name+".", depth+1, each)
			}
		}
	}
}
