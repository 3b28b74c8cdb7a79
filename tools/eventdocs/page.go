package main

import (
	"bytes"
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/replayd/replayd/tools/protodoc"
)

const notice = "<!-- Written by `make generate` from the .proto files and the samples. Do not edit. -->\n\n"

// index returns the page that links to the others.
func index(formats []*format) []byte {
	var b bytes.Buffer
	b.WriteString(notice)
	b.WriteString("# Events\n\nEvery kind of event of every format, with its fields, their units, and an example.\n\n")
	b.WriteString("| format | kinds | what it is |\n|---|---|---|\n")
	for _, f := range formats {
		what, _, _ := strings.Cut(protodoc.PackageComment(f.file), "\n\n")
		fmt.Fprintf(&b, "| [%s](%s.md) | %d | %s |\n", f.name, f.name, len(f.kinds()), cell(what))
	}
	b.WriteString(`
Each example is a line of ` + "`replayd cat`" + `, which prints an event as one JSON object: its sequence number, its
position (` + "`offset` and `index`" + `), its tick (` + "`at_tick`" + `), its
kind, and the event's fields under the name of its kind. Numbers of 64 bits are strings, bytes are base64, and enums are names ([json.md](../json.md)).
Events of a batch share their names: on the wire a name is an index into the batch's strings, in JSON it is the string itself.
`)
	return b.Bytes()
}

// page returns a format's page.
func (f *format) page(groups []group, examples map[string]string) []byte {
	b := &bytes.Buffer{}
	b.WriteString(notice)
	fmt.Fprintf(b, "# Events of %s\n\n%s\n\n", f.name, protodoc.PackageComment(f.file))
	fmt.Fprintf(b, "Defined in [`%s`](../../proto/%s). [How to read this page](README.md).\n\n", f.file.Path(), f.file.Path())
	for _, g := range groups {
		if g.title != "" {
			fmt.Fprintf(b, "## %s\n\n", g.title)
		}
		f.list(b, g.kinds)
	}
	if len(groups) > 1 {
		b.WriteString("## All kinds\n\n")
	}
	b.WriteString("The last column lists the conditions of [EventFilter](../../proto/replayd/v1/filter.proto) that events of the kind can meet, ")
	b.WriteString("in addition to those on kinds and ticks. The [cookbook](../cookbook.md) says which filter answers which question.\n")
	b.WriteString("\nEvery event also has:\n\n")
	f.fields(b, f.event, true)
	b.WriteString("\nWith ENCODING_ARROW and by `replayd export`, each kind is a table ([tables.md](../tables.md)). All have the columns ")
	common := f.tables.Layout(true).Fields(0)
	fmt.Fprintf(b, "%s. The others are listed with the kind.\n", columnList(common))
	for _, g := range groups {
		for _, kind := range g.kinds {
			f.section(b, kind, examples[string(kind.Name())])
		}
	}
	if f.header != nil {
		fmt.Fprintf(b, "\n## Header\n\n%s\n\nThis is not an event. GetReplay and the start of a stream return it.\n\n", protodoc.Comment(f.header))
		f.fields(b, f.header, false)
	}
	types := f.types()
	if len(types) > 0 {
		b.WriteString("\n## Types\n")
	}
	for _, t := range types {
		fmt.Fprintf(b, "\n### %s\n\n%s\n\n", t.Name(), protodoc.Comment(t))
		switch t := t.(type) {
		case protoreflect.EnumDescriptor:
			values(b, t)
		case protoreflect.MessageDescriptor:
			f.fields(b, t, false)
		}
	}
	return b.Bytes()
}

// list writes a table of kinds.
func (f *format) list(b *bytes.Buffer, kinds []protoreflect.FieldDescriptor) {
	b.WriteString("| kind | | filters |\n|---|---|---|\n")
	for _, kind := range kinds {
		name := kind.Name()
		fmt.Fprintf(b, "| [%s](#%s) | %s | %s |\n", name, name, cell(protodoc.Comment(kind)), strings.Join(f.conditions(string(name)), ", "))
	}
	b.WriteString("\n")
}

// section writes the section of a kind.
func (f *format) section(b *bytes.Buffer, kind protoreflect.FieldDescriptor, example string) {
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n", kind.Name(), protodoc.Comment(kind.Message()))
	f.fields(b, kind.Message(), false)
	fmt.Fprintf(b, "\nColumns: %s.\n", f.columns(string(kind.Name())))
	switch {
	case example == "":
		fmt.Fprintf(b, "\nThe samples have none. It looks like this:\n\n```json\n%s\n```\n", f.shape(kind))
	case len(example) > longest:
		cut := strings.ToValidUTF8(example[:longest], "")
		fmt.Fprintf(b, "\nAn example, cut:\n\n```\n%s…\n```\n", cut)
	default:
		fmt.Fprintf(b, "\n```json\n%s\n```\n", example)
	}
}

// fields writes the table of a message's fields. For Event it omits the kinds.
func (f *format) fields(b *bytes.Buffer, m protoreflect.MessageDescriptor, event bool) {
	rows := 0
	for i := range m.Fields().Len() {
		field := m.Fields().Get(i)
		if event && field.ContainingOneof() == f.kind {
			continue
		}
		if rows++; rows == 1 {
			b.WriteString("| field | type | |\n|---|---|---|\n")
		}
		text := protodoc.Comment(field)
		if oneof := field.ContainingOneof(); oneof != nil && !oneof.IsSynthetic() {
			text += fmt.Sprintf(" (One of %#q.)", oneof.Name())
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", field.Name(), f.typeOf(field), cell(text))
	}
	if rows == 0 {
		b.WriteString("It has no fields.\n")
	}
}

// typeOf returns the name of a field's type. It links to the type's description on this page, if there is one.
func (f *format) typeOf(field protoreflect.FieldDescriptor) string {
	if field.IsMap() {
		return fmt.Sprintf("map of %s to %s", f.typeOf(field.MapKey()), f.typeOf(field.MapValue()))
	}
	name := field.Kind().String()
	switch {
	case protodoc.IsStringIndex(field):
		name = "name"
	case field.Enum() != nil:
		name = f.link(field.Enum(), "")
	case field.Message() != nil:
		name = f.link(field.Message(), f.kindOf(field.Message()))
	}
	switch {
	case field.IsList():
		return "list of " + name
	case field.HasOptionalKeyword():
		return name + ", optional"
	}
	return name
}

func (f *format) link(d protoreflect.Descriptor, kind string) string {
	if d.ParentFile().Package() != f.file.Package() {
		return string(d.Name())
	}
	anchor := kind
	if anchor == "" {
		anchor = strings.ToLower(string(d.Name()))
	}
	return fmt.Sprintf("[%s](#%s)", d.Name(), anchor)
}

// values writes the table of an enum's values.
func values(b *bytes.Buffer, e protoreflect.EnumDescriptor) {
	b.WriteString("| value | number | |\n|---|---|---|\n")
	for i := range e.Values().Len() {
		v := e.Values().Get(i)
		fmt.Fprintf(b, "| `%s` | %d | %s |\n", v.Name(), v.Number(), cell(protodoc.Comment(v)))
	}
}

// cell formats text for a table cell.
func cell(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "\n\n", "<br>"), "|", `\|`)
}
