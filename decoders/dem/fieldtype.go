package dem

import (
	"github.com/replayd/replayd/decoders/dem/internal/entity"
	"github.com/replayd/replayd/decoders/dem/internal/schema"
	"github.com/replayd/replayd/decoders/dem/internal/value"
)

// FieldType is what the schema of a demo says of the values of a field of entities.
type FieldType struct {
	// Name is the field's full name, as [Decoder.Name] returns it for FieldValue.Field.
	Name string
	// Case is how a FieldValue holds the values.
	Case FieldValueValueCase
	// Type is the type as the schema spells it.
	Type string
	// List is true for a list: its value is the length, and its elements have names of their own.
	List bool
	// Unknown is true for a type or an encoder that the decoder does not know: it guesses then, and values may be of another case.
	Unknown bool
}

// Schema tells which classes of entities a demo has, and which fields they have. It belongs to one goroutine.
type Schema struct {
	classes []string
	roots   map[string]*schema.Serializer
	places  bool
	search  schema.Search
}

// maxSearched is how many fields a Schema looks at: 50 times all fields of the largest game.
const maxSearched = 1 << 22

// Schema returns the classes of the demo so far, and their fields.
func (d *Decoder) Schema() *Schema {
	s := &Schema{roots: map[string]*schema.Serializer{}, places: d.match.game.cellWidth() != 0, search: schema.Search{Left: maxSearched}}
	d.makeListed()
	for _, c := range d.world.classes {
		if c != nil && c.Root != nil {
			s.classes = append(s.classes, d.Name(c.Name))
			s.roots[d.Name(c.Name)] = c.Root.Object
		}
	}
	return s
}

// Classes returns the names of the classes that have fields.
func (s *Schema) Classes() []string { return s.classes }

// Fields calls each for the fields of a class, but the elements of lists. A name may come several times, if an object on the way to it may
// be of several types.
func (s *Schema) Fields(class string, each func(FieldType)) {
	if s.placed(class) {
		each(placeType)
	}
	s.search.All(s.roots[class], func(f schema.Found) { each(typeOf(&f)) })
}

// Field calls each for the field with a name, which may be one of an element of a list, as Fields does.
func (s *Schema) Field(class, name string, each func(FieldType)) {
	if name == placeType.Name && s.placed(class) {
		each(placeType)
	}
	s.search.Find(s.roots[class], name, func(f schema.Found) { each(typeOf(&f)) })
}

// Exhausted reports whether calls have not told all, because all calls together have looked at too many fields.
func (s *Schema) Exhausted() bool { return s.search.Left < 0 }

// placeType is the type of the places of entities.
var placeType = FieldType{Name: entity.PlaceField, Case: FieldValueValueVector, Type: "Vector"}

// placed reports whether entities of a class have places.
func (s *Schema) placed(class string) (has bool) {
	s.search.Find(s.roots[class], entity.PlacePart, func(schema.Found) { has = s.places })
	return has
}

func typeOf(f *schema.Found) FieldType {
	return FieldType{Name: f.Name, Case: caseOf(f.Codec()), Type: f.Field.Type, List: f.List(), Unknown: f.Unknown() != nil}
}

// caseOf returns the case of the values that a codec reads; see [value.Codec.Read] and fill.
func caseOf(c *value.Codec) FieldValueValueCase {
	switch c.Op {
	case value.OpBool, value.OpPointer:
		return FieldValueValueBool
	case value.OpInt32, value.OpInt64, value.OpFixedInt8, value.OpMinusOne:
		return FieldValueValueInt
	case value.OpUint32, value.OpUint64, value.OpFixed64, value.OpFixedUint8, value.OpLength:
		return FieldValueValueUint
	case value.OpHandle:
		return FieldValueValueHandle
	case value.OpFloat:
		return FieldValueValueFloat
	case value.OpVector, value.OpNormal3, value.OpPitchYaw, value.OpPreciseAngles, value.OpCoordAngles, value.OpRawAngles, value.OpBitAngles:
		return FieldValueValueVector
	case value.OpTuple:
		return FieldValueValueTuple
	case value.OpText:
		return FieldValueValueText
	case value.OpBlob:
		return FieldValueValueBlob
	}
	return FieldValueValueNone
}
