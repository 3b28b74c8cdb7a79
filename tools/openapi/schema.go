package main

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/replayd/replayd/tools/protodoc"
)

// object is an object of JSON.
type object = map[string]any

// schemas holds the schemas of the document by name. Only schemas that others refer to are added.
type schemas map[string]any

// refer returns a reference to a schema, which build makes when the name is new.
func (s schemas) refer(name string, build func() (any, error)) (object, error) {
	if _, ok := s[name]; !ok {
		s[name] = nil // for messages that contain themselves
		schema, err := build()
		if err != nil {
			return nil, err
		}
		s[name] = schema
	}
	return object{"$ref": "#/components/schemas/" + name}, nil
}

// nameOf returns the name of a schema.
func nameOf(d protoreflect.Descriptor) string {
	return strings.TrimPrefix(string(d.FullName()), "replayd.")
}

// described adds a description to a schema. It wraps a reference, because a reference has no place for a description.
func described(schema object, text string) object {
	if text == "" {
		return schema
	}
	if _, ok := schema["$ref"]; ok {
		schema = object{"allOf": []any{schema}}
	}
	schema["description"] = text
	return schema
}

// message returns a reference to the schema of a message. events tells that eventjson prints it, in place of protojson.
func (s schemas) message(m protoreflect.MessageDescriptor, events bool) (object, error) {
	switch m.FullName() {
	case "google.protobuf.Timestamp":
		return object{"type": "string", "format": "date-time"}, nil
	case "google.protobuf.Duration":
		if events {
			return nil, fmt.Errorf("an event contains a %s", m.FullName()) // eventjson prints it as an object
		}
		return object{"type": "string", "pattern": `^-?[0-9]+(\.[0-9]+)?s$`}, nil
	}
	return s.refer(nameOf(m), func() (any, error) { return s.fields(m, events) })
}

// fields returns the schema of a message with all its fields. Fields without presence are always printed.
func (s schemas) fields(m protoreflect.MessageDescriptor, events bool) (object, error) {
	properties, required := object{}, []string{}
	text := []string{protodoc.Comment(m)}
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		schema, err := s.field(f, events)
		if err != nil {
			return nil, err
		}
		properties[string(f.Name())] = schema
		if !f.HasPresence() {
			required = append(required, string(f.Name()))
		}
	}
	for i := range m.Oneofs().Len() {
		if o := m.Oneofs().Get(i); !o.IsSynthetic() {
			text = append(text, "At most one of "+strings.Join(members(o), ", ")+" is present. "+protodoc.Comment(o))
		}
	}
	schema := object{"type": "object", "properties": properties}
	if len(required) > 0 {
		schema["required"] = required
	}
	return described(schema, strings.Join(text, "\n\n")), nil
}

func members(o protoreflect.OneofDescriptor) (names []string) {
	for i := range o.Fields().Len() {
		names = append(names, "`"+string(o.Fields().Get(i).Name())+"`")
	}
	return names
}

// field returns the schema of a field.
func (s schemas) field(f protoreflect.FieldDescriptor, events bool) (object, error) {
	if f.IsMap() {
		if events {
			return nil, fmt.Errorf("an event contains the map %s", f.FullName()) // eventjson knows none
		}
		value, err := s.value(f.MapValue(), events)
		return described(object{"type": "object", "additionalProperties": value}, protodoc.Comment(f)), err
	}
	schema, err := s.value(f, events)
	if f.IsList() {
		schema = object{"type": "array", "items": schema}
	}
	return described(schema, protodoc.Comment(f)), err
}

// value returns the schema of a field's value, or of one of its values.
func (s schemas) value(f protoreflect.FieldDescriptor, events bool) (object, error) {
	if protodoc.IsStringIndex(f) {
		if !events {
			return nil, fmt.Errorf("%s is an index into the strings of a batch, and outside of events", f.FullName())
		}
		return object{"type": "string"}, nil
	}
	switch f.Kind() {
	case protoreflect.MessageKind:
		return s.message(f.Message(), events)
	case protoreflect.EnumKind:
		return s.enum(f.Enum())
	case protoreflect.BoolKind:
		return object{"type": "boolean"}, nil
	case protoreflect.StringKind:
		return object{"type": "string"}, nil
	case protoreflect.BytesKind:
		return object{"type": "string", "format": "byte"}, nil
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return object{"type": "integer", "format": "int32"}, nil
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return object{"type": "integer", "format": "int64", "minimum": 0, "maximum": uint32(1<<32 - 1)}, nil
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return object{"type": "string", "pattern": "^-?[0-9]+$"}, nil
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return object{"type": "string", "pattern": "^[0-9]+$"}, nil
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return s.refer("Number", func() (any, error) {
			return object{
				"description": "A number, or the name of a value that JSON cannot express.",
				"anyOf":       []any{object{"type": "number"}, object{"type": "string", "enum": []string{"NaN", "Infinity", "-Infinity"}}},
			}, nil
		})
	default:
		return nil, fmt.Errorf("%s is a %v", f.FullName(), f.Kind())
	}
}

// enum returns a reference to the schema of an enum.
func (s schemas) enum(e protoreflect.EnumDescriptor) (object, error) {
	return s.refer(nameOf(e), func() (any, error) {
		var names, values []string
		for i := range e.Values().Len() {
			v := e.Values().Get(i)
			names = append(names, string(v.Name()))
			values = append(values, "* `"+string(v.Name())+"`: "+strings.ReplaceAll(protodoc.Comment(v), "\n\n", " "))
		}
		return object{
			"description": protodoc.Comment(e) + "\n\n" + strings.Join(values, "\n") + "\n\nA value without a name is its number.",
			"anyOf":       []any{object{"type": "string", "enum": names}, object{"type": "integer", "format": "int32"}},
		}, nil
	})
}

// event returns a reference to the schema of the events of a format, as they are printed.
func (s schemas) event(m protoreflect.MessageDescriptor) (object, error) {
	return s.refer(nameOf(m), func() (any, error) {
		schema, err := s.fields(m, true)
		if err != nil {
			return nil, err
		}
		kinds := []string{}
		kind := m.Oneofs().ByName("kind")
		for i := range kind.Fields().Len() {
			kinds = append(kinds, string(kind.Fields().Get(i).Name()))
		}
		properties, _ := schema["properties"].(object)
		for name, comment := range map[string]string{
			"sequence": "The number of the event in its stream, after filtering, from 0.",
			"offset": "Where the event's record starts, in bytes of the decompressed replay. Offset and index are the event's position, " +
				"which is the same in every stream.",
			"index": "The place of the event among those of its record.",
		} {
			properties[name] = object{
				"type": "string", "pattern": "^[0-9]+$", "description": comment + " Absent in events of the state.",
			}
		}
		properties["replay"] = object{"type": "string", "description": replayText + " Present in lines of all replays alone."}
		properties["state"] = object{"type": "boolean", "enum": []bool{true}, "description": "Present in events of the state."}
		properties["kind"] = object{"type": "string", "enum": kinds, "description": protodoc.Comment(kind)}
		schema["required"] = []string{"at_tick", "kind"}
		schema["description"] = protodoc.Comment(m) + "\n\nOf the fields that are named after kinds, only the one that `kind` names is present."
		return schema, nil
	})
}
