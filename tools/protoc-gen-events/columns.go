package main

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// columnar is a message of columns. It is a field of EventList whose message has the name of a kind's message plus
// "Columns".
type columnar struct {
	field  *protogen.Field // of EventList
	kind   *protogen.Field // of Event
	values []string        // for each field of the message, the expression of its value in an event
}

// columnars returns the columns of a format. A column named place is the event's place in the batch. Any other is named
// after the event's field, with nested names joined by "_".
func (f *format) columnars() ([]columnar, error) {
	var found []columnar
	for _, list := range f.file.Messages {
		if list.Desc.Name() != "EventList" {
			continue
		}
		for _, field := range list.Fields {
			if field.Message == nil || !strings.HasSuffix(field.Message.GoIdent.GoName, "Columns") {
				continue
			}
			c, err := f.columnar(field)
			if err != nil {
				return nil, err
			}
			found = append(found, c)
		}
	}
	return found, nil
}

func (f *format) columnar(list *protogen.Field) (columnar, error) {
	c := columnar{field: list}
	name := strings.TrimSuffix(list.Message.GoIdent.GoName, "Columns")
	for _, field := range f.event.Fields {
		if o := realOneof(field); o != nil && f.isKind(o, f.event) && field.Message.GoIdent.GoName == name {
			c.kind = field
		}
	}
	if c.kind == nil {
		return c, fmt.Errorf("%s: no kind has the message %s", list.Message.Desc.FullName(), name)
	}
	for _, column := range list.Message.Fields {
		var value string
		switch column.Desc.Name() {
		case "place":
			value = "place"
		case "at_tick":
			value = "e.AtTick"
		default:
			path, ok := pathTo(c.kind.Message, string(column.Desc.Name()))
			if !ok {
				return c, fmt.Errorf("%s: %s has no such field", column.Desc.FullName(), c.kind.Message.Desc.FullName())
			}
			value = "e." + c.kind.GoName + path
		}
		c.values = append(c.values, value)
	}
	return c, nil
}

// pathTo returns the path to the field of a message that a column is named after.
func pathTo(m *protogen.Message, name string) (string, bool) {
	for _, field := range m.Fields {
		own := string(field.Desc.Name())
		if own == name && field.Message == nil {
			return "." + field.GoName, true
		}
		if rest, ok := strings.CutPrefix(name, own+"_"); ok && field.Message != nil {
			if path, ok := pathTo(field.Message, rest); ok {
				return "." + field.GoName + path, true
			}
		}
	}
	return "", false
}

// writeColumns writes service/codec/<format>/columns.gen.go, if the format has columns.
func (f *format) writeColumns() error {
	found, err := f.columnars()
	if err != nil || len(found) == 0 {
		return err
	}
	path := protogen.GoImportPath(module + "/service/codec/" + f.name)
	g := f.plugin.NewGeneratedFile("service/codec/"+f.name+"/columns.gen.go", path)
	g.P(header)
	g.P("// source: ", f.file.Desc.Path())
	g.P()
	g.P("package ", f.name)
	g.P()
	g.P("// Columns collects the events of a batch that are sent as columns. Its memory is reused for the next batch.")
	g.P("type Columns struct {")
	for _, c := range found {
		g.P(local(c.kind), " [", len(c.values), "][]byte // the packed arrays of ", c.field.Message.GoIdent.GoName)
	}
	g.P("}")
	g.P()
	g.P("// Reset begins a new batch.")
	g.P("func (c *Columns) Reset() {")
	for _, c := range found {
		g.P("for i := range c.", local(c.kind), " {")
		g.P("c.", local(c.kind), "[i] = c.", local(c.kind), "[i][:0]")
		g.P("}")
	}
	g.P("}")
	g.P()
	g.P("// Len returns the number of bytes of the columns.")
	g.P("func (c *Columns) Len() int {")
	g.P("n := 0")
	for _, c := range found {
		g.P("for i := range c.", local(c.kind), " {")
		g.P("n += len(c.", local(c.kind), "[i])")
		g.P("}")
	}
	g.P("return n")
	g.P("}")
	g.P()
	g.P("// Add adds an event if its kind is sent as columns, and reports whether it did. place is its place in the batch.")
	g.P("func (c *Columns) Add(e *", f.structs().Ident("Event"), ", place uint32) bool {")
	g.P("if ", f.warnings(), " {")
	g.P("return false // columns cannot hold the event's other fields")
	g.P("}")
	g.P("switch e.Kind {")
	for _, c := range found {
		g.P("case ", f.structs().Ident("Kind"+c.kind.GoName), ":")
		g.P("v := &c.", local(c.kind))
		for i, column := range c.field.Message.Fields {
			g.P("v[", i, "] = ", strings.Replace(appendScalar(g, column, c.values[i]), "(b, ", fmt.Sprintf("(v[%d], ", i), 1))
		}
	}
	g.P("default:")
	g.P("return false")
	g.P("}")
	g.P("return true")
	g.P("}")
	g.P()
	g.P("// AppendTo appends the columns as fields of the event list.")
	g.P("func (c *Columns) AppendTo(b []byte) []byte {")
	for _, c := range found {
		g.P("if len(c.", local(c.kind), "[0]) > 0 {")
		g.P("b = append(b, ", tagBytes(c.field, protowire.BytesType), ", 0)")
		g.P("at := len(b)")
		for i, column := range c.field.Message.Fields {
			g.P("b = append(b, ", tagBytes(column, protowire.BytesType), ")")
			g.P("b = ", appendPath.Ident("Bytes"), "(b, c.", local(c.kind), "[", i, "])")
		}
		g.P("b = ", appendPath.Ident("Close"), "(b, at)")
		g.P("}")
	}
	g.P("return b")
	g.P("}")
	return nil
}

// warnings returns the condition that an event has a field other than its tick and its kind.
func (f *format) warnings() string {
	var conditions []string
	for _, field := range f.event.Fields {
		switch {
		case realOneof(field) != nil || field.Desc.Name() == "at_tick":
		case field.Desc.Cardinality() == protoreflect.Repeated:
			conditions = append(conditions, "len(e."+field.GoName+") > 0")
		case field.Message != nil:
			conditions = append(conditions, "e.Has"+field.GoName)
		}
	}
	if len(conditions) == 0 {
		return "e == nil"
	}
	return strings.Join(conditions, " || ")
}

func local(field *protogen.Field) string {
	return strings.ToLower(field.GoName[:1]) + field.GoName[1:]
}
