package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/replayd/replayd/tools/protodoc"
)

// shape returns a line of a kind with made-up values, as an example of its form.
func (f *format) shape(kind protoreflect.FieldDescriptor) string {
	return fmt.Sprintf(`{"sequence":"0","offset":"0","index":"0","at_tick":0,"kind":%q,%q:%s}`, kind.Name(), kind.Name(), object(kind.Message(), shapeDepth))
}

// shapeDepth is the depth to which messages are filled.
const shapeDepth = 3

// object returns a message as JSON. Of each oneof it contains the first alternative.
func object(m protoreflect.MessageDescriptor, depth int) string {
	if m.FullName() == "google.protobuf.Timestamp" {
		return `"2026-11-20T20:29:14Z"`
	}
	var members []string
	for i := range m.Fields().Len() {
		field := m.Fields().Get(i)
		if oneof := field.ContainingOneof(); oneof != nil && oneof.Fields().Get(0) != field {
			continue
		}
		if field.Message() != nil && depth == 0 {
			continue
		}
		value := scalar(field)
		switch {
		case field.IsMap():
			value = "{}"
		case field.Message() != nil:
			value = object(field.Message(), depth-1)
		}
		if field.IsList() {
			value = "[" + value + "]"
		}
		members = append(members, fmt.Sprintf("%q:%s", field.Name(), value))
	}
	return "{" + strings.Join(members, ",") + "}"
}

func scalar(field protoreflect.FieldDescriptor) string {
	if protodoc.IsStringIndex(field) {
		return `"m_name"`
	}
	switch field.Kind() {
	case protoreflect.BoolKind:
		return "true"
	case protoreflect.EnumKind:
		values := field.Enum().Values()
		return quote(string(values.Get(min(1, values.Len()-1)).Name()))
	case protoreflect.StringKind:
		return quote(strings.ReplaceAll(string(field.Name()), "_", " "))
	case protoreflect.BytesKind:
		return `"AQID"`
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return "0.5"
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind, protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return `"1"`
	default:
		return "1"
	}
}

func quote(s string) string {
	b, _ := json.Marshal(s) //nolint:errchkjson // a string can be marshalled
	return string(b)
}
