package main

import (
	"fmt"
	"sort"
	"strings"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

const appendPath = protogen.GoImportPath(module + "/replay/codec/protoappend")

// writeAppenders writes replay/codec/<format>/append.gen.go.
func (f *format) writeAppenders() {
	path := protogen.GoImportPath(module + "/replay/codec/" + f.name)
	g := f.plugin.NewGeneratedFile("replay/codec/"+f.name+"/append.gen.go", path)
	g.P(header)
	g.P("// source: ", f.file.Desc.Path())
	g.P()
	g.P("package ", f.name)
	g.P()
	for _, m := range f.messages {
		f.writeAppender(g, m)
	}
	f.writeKindNames(g)
}

func (f *format) writeKindNames(g *protogen.GeneratedFile) {
	g.P("// Kinds holds the names of all kinds, as in filters. A kind's number is its index; 0 is no kind.")
	g.P("var Kinds = []string{")
	g.P(`"",`)
	for _, o := range f.event.Oneofs {
		if f.isKind(o, f.event) {
			for _, field := range o.Fields {
				g.P(`"`, field.Desc.Name(), `",`)
			}
		}
	}
	g.P("}")
}

// funcName returns the name of the appender of a message. Only Event's is exported.
func (f *format) funcName(m *protogen.Message) string {
	if m == f.event {
		return "AppendEvent"
	}
	return "append" + m.GoIdent.GoName
}

func (f *format) writeAppender(g *protogen.GeneratedFile, m *protogen.Message) {
	typ := g.QualifiedGoIdent(f.structs().Ident(m.GoIdent.GoName))
	name := f.funcName(m)
	if m == f.event {
		g.P("// AppendEvent appends an event as protobuf wire bytes, in the same order as protobuf's own marshaller, and")
		g.P("// returns the extended slice. It does not allocate beyond growing the slice.")
	}
	if len(m.Fields) == 0 {
		g.P("func ", name, "(b []byte, _ *", typ, ") []byte { return b }")
		g.P()
		return
	}
	g.P("func ", name, "(b []byte, m *", typ, ") []byte {")
	// protobuf-go marshals plain fields by number, then oneofs.
	plain := make([]*protogen.Field, 0, len(m.Fields))
	for _, field := range m.Fields {
		if realOneof(field) == nil {
			plain = append(plain, field)
		}
	}
	sort.Slice(plain, func(i, j int) bool { return plain[i].Desc.Number() < plain[j].Desc.Number() })
	for _, field := range plain {
		f.writeField(g, field, "m."+field.GoName)
	}
	for _, o := range m.Oneofs {
		if o.Desc.IsSynthetic() {
			continue
		}
		_, caseField, prefix := f.caseType(o, m)
		g.P("switch m.", caseField, " {")
		for _, field := range o.Fields {
			g.P("case ", f.structs().Ident(prefix+field.GoName), ":")
			f.writeValue(g, field, "m."+field.GoName)
		}
		g.P("}")
	}
	g.P("return b")
	g.P("}")
	g.P()
}

// writeField writes code for a field that is omitted when it is not set or zero.
func (f *format) writeField(g *protogen.GeneratedFile, field *protogen.Field, expr string) {
	switch {
	case field.Desc.IsList():
		f.writeList(g, field, expr)
	case f.isPointer(field):
		g.P("if ", expr, " != nil {")
		f.writeValue(g, field, expr)
		g.P("}")
	case f.hasPresence(field):
		g.P("if m.Has", field.GoName, " {")
		f.writeValue(g, field, expr)
		g.P("}")
	case hasAbsent(field):
		g.P("if ", present(g, field, expr), " {")
		f.writeValue(g, field, expr)
		g.P("}")
	default:
		g.P("if ", notZero(g, field, expr), " {")
		f.writeValue(g, field, expr)
		g.P("}")
	}
}

func notZero(g *protogen.GeneratedFile, field *protogen.Field, expr string) string {
	switch field.Desc.Kind() {
	case protoreflect.BoolKind:
		return expr
	case protoreflect.StringKind, protoreflect.BytesKind:
		return "len(" + expr + ") > 0"
	case protoreflect.FloatKind: // minus zero is not the default
		return g.QualifiedGoIdent(protogen.GoImportPath("math").Ident("Float32bits")) + "(" + expr + ") != 0"
	case protoreflect.DoubleKind:
		return g.QualifiedGoIdent(protogen.GoImportPath("math").Ident("Float64bits")) + "(" + expr + ") != 0"
	default:
		return expr + " != 0"
	}
}

// writeValue writes code for the tag and the value of a single field, whatever the value is.
func (f *format) writeValue(g *protogen.GeneratedFile, field *protogen.Field, expr string) {
	if field.Message != nil {
		f.writeMessage(g, field, expr)
		return
	}
	g.P("b = append(b, ", tagBytes(field, wireType(field)), ")")
	g.P("b = ", appendScalar(g, field, expr))
}

// writeMessage writes code for a message. It reserves one byte for the length, which protoappend.Close widens if
// necessary.
func (f *format) writeMessage(g *protogen.GeneratedFile, field *protogen.Field, expr string) {
	if !f.isPointer(field) && !isTime(field) {
		expr = "&" + expr
	}
	at := "at"
	g.P("{")
	g.P("b = append(b, ", tagBytes(field, protowire.BytesType), ", 0)")
	g.P(at, " := len(b)")
	if isTime(field) {
		g.P("b = ", appendPath.Ident("Time"), "(b, ", expr, ")")
	} else {
		g.P("b = ", f.funcName(field.Message), "(b, ", expr, ")")
	}
	g.P("b = ", appendPath.Ident("Close"), "(b, ", at, ")")
	g.P("}")
}

func (f *format) writeList(g *protogen.GeneratedFile, field *protogen.Field, expr string) {
	switch {
	case field.Message != nil:
		g.P("for i := range ", expr, " {")
		f.writeMessage(g, field, expr+"[i]")
		g.P("}")
	case field.Desc.Kind() == protoreflect.StringKind, field.Desc.Kind() == protoreflect.BytesKind:
		g.P("for _, v := range ", expr, " {")
		g.P("b = append(b, ", tagBytes(field, protowire.BytesType), ")")
		g.P("b = ", appendScalar(g, field, "v"))
		g.P("}")
	default: // packed
		g.P("if len(", expr, ") > 0 {")
		g.P("b = append(b, ", tagBytes(field, protowire.BytesType), ", 0)")
		g.P("at := len(b)")
		g.P("for _, v := range ", expr, " {")
		g.P("b = ", appendScalar(g, field, "v"))
		g.P("}")
		g.P("b = ", appendPath.Ident("Close"), "(b, at)")
		g.P("}")
	}
}

// appendScalar returns an expression that appends the scalar expr, without its tag, to b.
func appendScalar(g *protogen.GeneratedFile, field *protogen.Field, expr string) string {
	call := func(name, arg string) string {
		return g.QualifiedGoIdent(appendPath.Ident(name)) + "(b, " + arg + ")"
	}
	switch field.Desc.Kind() {
	case protoreflect.BoolKind:
		return call("Bool", expr)
	case protoreflect.Int32Kind, protoreflect.Int64Kind, protoreflect.Uint32Kind, protoreflect.Uint64Kind,
		protoreflect.EnumKind:
		return call("Varint", "uint64("+expr+")")
	case protoreflect.Sint32Kind:
		return call("Sint32", expr)
	case protoreflect.Sint64Kind:
		return call("Sint64", expr)
	case protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind:
		return call("Fixed32", "uint32("+expr+")")
	case protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind:
		return call("Fixed64", "uint64("+expr+")")
	case protoreflect.FloatKind:
		return call("Float", expr)
	case protoreflect.DoubleKind:
		return call("Double", expr)
	case protoreflect.StringKind:
		return call("String", expr)
	default:
		return call("Bytes", expr)
	}
}

func wireType(field *protogen.Field) protowire.Type {
	switch field.Desc.Kind() {
	case protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind, protoreflect.FloatKind:
		return protowire.Fixed32Type
	case protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind, protoreflect.DoubleKind:
		return protowire.Fixed64Type
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind:
		return protowire.BytesType
	default:
		return protowire.VarintType
	}
}

// tagBytes returns a field's encoded tag as arguments of an append.
func tagBytes(field *protogen.Field, typ protowire.Type) string {
	var parts []string
	for _, c := range protowire.AppendTag(nil, field.Desc.Number(), typ) {
		parts = append(parts, fmt.Sprintf("%#02x", c))
	}
	return strings.Join(parts, ", ")
}
