package main

import (
	"strings"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// writeStructs writes decoders/<format>/events.gen.go.
func (f *format) writeStructs() {
	g := f.plugin.NewGeneratedFile("decoders/"+f.name+"/events.gen.go", f.structs())
	g.P(header)
	g.P("// source: ", f.file.Desc.Path())
	g.P()
	g.P("package ", f.name)
	g.P()
	for _, m := range f.messages {
		f.writeStruct(g, m)
	}
	for _, m := range f.messages {
		for _, o := range m.Oneofs {
			if !o.Desc.IsSynthetic() {
				f.writeCases(g, o, m)
			}
		}
	}
	for _, e := range f.enums {
		writeEnum(g, e)
	}
}

func (f *format) writeStruct(g *protogen.GeneratedFile, m *protogen.Message) {
	comment(g, m.GoIdent.GoName, m.Comments)
	g.P("type ", m.GoIdent.GoName, " struct {")
	seen := map[*protogen.Oneof]bool{}
	for _, field := range m.Fields {
		if o := realOneof(field); o != nil && !seen[o] {
			seen[o] = true
			typ, name, _ := f.caseType(o, m)
			g.P("// ", name, " identifies the field of the oneof ", o.Desc.Name(), " that is set.")
			g.P(name, " ", typ)
		}
		comment(g, "", field.Comments)
		g.P(field.GoName, " ", f.goType(g, field))
		if f.hasPresence(field) {
			g.P("// Has", field.GoName, " reports whether ", field.GoName, " is set.")
			g.P("Has", field.GoName, " bool")
		}
	}
	g.P("}")
	g.P()
}

func (f *format) goType(g *protogen.GeneratedFile, field *protogen.Field) string {
	var typ string
	switch field.Desc.Kind() {
	case protoreflect.BoolKind:
		typ = "bool"
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		typ = "int32"
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		typ = "int64"
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		typ = "uint32"
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		typ = "uint64"
	case protoreflect.FloatKind:
		typ = "float32"
	case protoreflect.DoubleKind:
		typ = "float64"
	case protoreflect.StringKind, protoreflect.BytesKind:
		typ = "[]byte"
	case protoreflect.EnumKind:
		typ = field.Enum.GoIdent.GoName
	case protoreflect.MessageKind, protoreflect.GroupKind:
		typ = field.Message.GoIdent.GoName
		if isTime(field) {
			typ = g.QualifiedGoIdent(decodersPath.Ident("Time"))
		}
	}
	switch {
	case field.Desc.IsList():
		return "[]" + typ
	case f.isPointer(field):
		return "*" + typ
	}
	return typ
}

// writeCases writes the type whose values identify the alternative of a oneof.
func (f *format) writeCases(g *protogen.GeneratedFile, o *protogen.Oneof, m *protogen.Message) {
	typ, _, prefix := f.caseType(o, m)
	if f.isKind(o, m) {
		g.P("// Kind is the kind of an event. It identifies the field that is set.")
	} else {
		g.P("// ", typ, " identifies the field of the oneof ", o.Desc.Name(), " of ", m.GoIdent.GoName, " that is set.")
	}
	g.P("type ", typ, " uint8")
	g.P()
	g.P("// The alternatives of ", typ, ". The first means that none is set.")
	g.P("const (")
	g.P(prefix, "None ", typ, " = iota")
	for _, field := range o.Fields {
		g.P(prefix, field.GoName)
	}
	g.P(")")
	g.P()
	if !f.isKind(o, m) {
		return
	}
	g.P("// KindCount is the number of kinds, including KindNone.")
	g.P("const KindCount = ", len(o.Fields)+1)
	g.P()
	g.P("var kindNames = [KindCount]string{")
	g.P(`"none",`)
	for _, field := range o.Fields {
		g.P(`"`, field.Desc.Name(), `",`)
	}
	g.P("}")
	g.P()
	g.P("// String returns the kind's name in the API.")
	g.P("func (k Kind) String() string {")
	g.P("if int(k) < len(kindNames) { return kindNames[k] }")
	g.P("return kindNames[KindNone]")
	g.P("}")
	g.P()
}

func writeEnum(g *protogen.GeneratedFile, e *protogen.Enum) {
	name := e.GoIdent.GoName
	comment(g, name, e.Comments)
	g.P("type ", name, " int32")
	g.P()
	g.P("// The values of ", name, ".")
	g.P("const (")
	prefix := screaming(string(e.Desc.Name())) + "_"
	for _, v := range e.Values {
		comment(g, "", v.Comments)
		g.P(name, camel(strings.TrimPrefix(string(v.Desc.Name()), prefix)), " ", name, " = ", v.Desc.Number())
	}
	g.P(")")
	g.P()
}

// comment writes a .proto comment as a Go comment. A type's comment begins with its name.
func comment(g *protogen.GeneratedFile, name string, c protogen.CommentSet) {
	text := strings.TrimSpace(string(c.Leading))
	if name != "" {
		text = name + ": " + text
	}
	for line := range strings.SplitSeq(text, "\n") {
		g.P("// ", strings.TrimSpace(line))
	}
}

// screaming converts AuthLevel to AUTH_LEVEL.
func screaming(s string) string {
	var b strings.Builder
	for i, r := range s {
		if i > 0 && isUpper(byte(r)) && !isUpper(s[i-1]) {
			b.WriteByte('_')
		}
		b.WriteRune(r)
	}
	return strings.ToUpper(b.String())
}

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }

// camel converts FLAG_RED to FlagRed.
func camel(s string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(strings.ToLower(s), "_") {
		if word != "" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}
