package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	optionsv1 "github.com/replayd/replayd/proto/replayd/options/v1"
)

const (
	tablePath    = protogen.GoImportPath(module + "/replay/table")
	decodersPath = protogen.GoImportPath(module + "/decoders")
)

// positionColumns are the columns with which every table begins; package table has them.
var positionColumns = []string{"offset", "index", "at_tick", "time"}

// commonPrefix is what the name of a column that is common to all kinds begins with, and no field of a kind: so that a column which
// is added never takes a field's name, nor gives the field another. The columns that are older than the rule are positionColumns and
// shortCommon; a field of a kind that has one of their names gets that of the kind in front.
const commonPrefix = "replayd_"

// shortCommon lists the fields of all events of a format whose columns have no prefix. No field is ever added to it.
var shortCommon = map[string][]string{
	"datafile":     {"warnings"},
	"sc2replay":    {"player", "unproven"},
	"teehistorian": {"warnings", "player", "other_player"},
}

// commonColumn returns the name of the column of a field of all events.
func (f *format) commonColumn(field *protogen.Field) string {
	name := string(field.Desc.Name())
	if slices.Contains(shortCommon[f.name], name) {
		return name
	}
	return commonPrefix + name
}

// kindColumn returns a function that names the columns of a kind, and a function that returns an error if two columns have the
// same name or one has a name of common columns.
func (f *format) kindColumn(kind *protogen.Field) (name func(string) string, check func() error) {
	taken := slices.Clone(positionColumns)
	for _, field := range f.common() {
		taken = append(taken, f.commonColumn(field))
	}
	seen := map[string]bool{}
	var err error
	name = func(name string) string {
		if slices.Contains(taken, name) {
			name = string(kind.Desc.Name()) + "_" + name
		}
		if seen[name] || strings.HasPrefix(name, commonPrefix) {
			err = fmt.Errorf("%s: the column %s is there already, or has the prefix of common columns", kind.Message.Desc.FullName(), name)
		}
		seen[name] = true
		return name
	}
	return name, func() error { return err }
}

// caseSuffix is added to the name of a oneof to name the column that says which member is set.
const caseSuffix = "_case"

// writeTables writes replay/codec/<format>/tables.gen.go.
func (f *format) writeTables() error {
	for _, m := range f.messages {
		if f.cyclic[m.Desc.FullName()] || containsItself(m, m, map[*protogen.Message]bool{}) {
			return fmt.Errorf("%s contains itself: no table can hold it, except as a list of its own", m.Desc.FullName())
		}
		if err := uniqueColumns(m); err != nil {
			return err
		}
	}
	path := protogen.GoImportPath(module + "/replay/codec/" + f.name)
	g := f.plugin.NewGeneratedFile("replay/codec/"+f.name+"/tables.gen.go", path)
	g.P(header)
	g.P("// source: ", f.file.Desc.Path())
	g.P()
	g.P("package ", f.name)
	g.P()
	kinds := f.kinds()
	g.P("// Tables describes the tables of the format's kinds. AddRow fills them.")
	g.P("var Tables = ", tablePath.Ident("Format"), "{")
	g.P("Name: ", strconv.Quote(f.name), ",")
	g.P("Event: []", tablePath.Ident("Field"), "{")
	for _, field := range f.common() {
		f.writeColumn(g, field, f.commonColumn(field))
	}
	g.P("},")
	g.P("Kinds: []", tablePath.Ident("Kind"), "{")
	g.P("{},")
	for _, kind := range kinds {
		g.P("{Name: ", strconv.Quote(string(kind.Desc.Name())), ", Comment: ", text(kind.Message.Comments), ", Fields: []", tablePath.Ident("Field"), "{")
		name, check := f.kindColumn(kind)
		f.writeColumns(g, kind.Message, name)
		if err := check(); err != nil {
			return err
		}
		g.P("}},")
	}
	g.P("},")
	g.P("}")
	g.P()
	for _, m := range f.messages {
		if m != f.event && f.nested(m) {
			g.P("var ", columnsVar(m), " = []", tablePath.Ident("Field"), "{")
			f.writeColumns(g, m, func(name string) string { return name })
			g.P("}")
			g.P()
		}
	}
	for _, e := range f.enums {
		g.P("var ", enumVar(e), " = map[int32]string{")
		for _, v := range e.Values {
			g.P(v.Desc.Number(), ": ", strconv.Quote(string(v.Desc.Name())), ",")
		}
		g.P("}")
		g.P()
	}
	f.writeAddRow(g, kinds)
	for _, m := range f.messages {
		if m != f.event {
			f.writeRow(g, m)
		}
	}
	return nil
}

// depthColumn is the name of the column of depths that a list gets if its messages have such lists.
const depthColumn = "depth"

// uniqueColumns returns an error if two columns of a message would have one name.
func uniqueColumns(m *protogen.Message) error {
	seen := map[string]bool{}
	for _, field := range m.Fields {
		seen[string(field.Desc.Name())] = true
	}
	if branch(m) != nil && seen[depthColumn] {
		return fmt.Errorf("%s: a field takes the name of the column %s", m.Desc.FullName(), depthColumn)
	}
	for _, o := range m.Oneofs {
		if name := string(o.Desc.Name()) + caseSuffix; !o.Desc.IsSynthetic() && seen[name] {
			return fmt.Errorf("%s: a oneof takes the name of the column %s", m.Desc.FullName(), name)
		}
	}
	return nil
}

// containsItself reports whether m leads to a message of the type of, except by a list that is a field of this type.
func containsItself(m, of *protogen.Message, seen map[*protogen.Message]bool) bool {
	for _, field := range m.Fields {
		switch {
		case messageOf(field) == nil || isBranch(field):
		case field.Message == of:
			return true
		case !seen[field.Message]:
			seen[field.Message] = true
			if containsItself(field.Message, of, seen) {
				return true
			}
		}
	}
	return false
}

// isBranch reports whether a field is a list of messages of the type that has the field. A table holds such a tree as one list:
// the messages in a message follow it, and the column depth says how deep each is.
func isBranch(field *protogen.Field) bool {
	return field.Message != nil && field.Desc.IsList() && field.Message == field.Parent
}

// branch returns the field of a message that is a list of messages of its own type, or nil.
func branch(m *protogen.Message) *protogen.Field {
	for _, field := range m.Fields {
		if isBranch(field) {
			return field
		}
	}
	return nil
}

// kinds returns the alternatives of the oneof kind.
func (f *format) kinds() []*protogen.Field {
	for _, o := range f.event.Oneofs {
		if f.isKind(o, f.event) {
			return o.Fields
		}
	}
	return nil
}

// common returns the fields that events of all kinds have, besides their tick.
func (f *format) common() (fields []*protogen.Field) {
	for _, field := range f.event.Fields {
		if realOneof(field) == nil && field.Desc.Name() != "at_tick" {
			fields = append(fields, field)
		}
	}
	return fields
}

// nested reports whether a field of a table holds the message.
func (f *format) nested(m *protogen.Message) bool {
	for _, of := range f.messages {
		for _, field := range of.Fields {
			if field.Message == m && (of != f.event || realOneof(field) == nil) {
				return true
			}
		}
	}
	return false
}

func columnsVar(m *protogen.Message) string { return "columnsOf" + m.GoIdent.GoName }
func enumVar(e *protogen.Enum) string       { return "namesOf" + e.GoIdent.GoName }

// text returns a comment as a Go string, on one line.
func text(c protogen.CommentSet) string {
	return strconv.Quote(strings.Join(strings.Fields(string(c.Leading)), " "))
}

// writeColumns writes the descriptions of the columns of a message.
func (f *format) writeColumns(g *protogen.GeneratedFile, m *protogen.Message, rename func(string) string) {
	if branch(m) != nil {
		g.P("{Name: ", strconv.Quote(rename(depthColumn)), ", Type: ", tablePath.Ident("Uint32"),
			", Comment: \"How many elements before it in the list this one is in. 0 for none. An element is in the last one before it that is less deep.\"},")
	}
	for _, field := range m.Fields {
		if isBranch(field) {
			continue
		}
		if o := realOneof(field); o != nil && o.Fields[0] == field {
			g.P("{Name: ", strconv.Quote(rename(string(o.Desc.Name())+caseSuffix)), ", Type: ", tablePath.Ident("Name"),
				", Nullable: true, Comment: ", strconv.Quote("Which of the columns of "+string(o.Desc.Name())+" is set. Missing when none is."),
				", Enum: map[int32]string{")
			for i, alternative := range o.Fields {
				g.P(i+1, ": ", strconv.Quote(string(alternative.Desc.Name())), ",")
			}
			g.P("}},")
		}
		f.writeColumn(g, field, rename(string(field.Desc.Name())))
	}
}

// writeColumn writes the description of the column of a field.
func (f *format) writeColumn(g *protogen.GeneratedFile, field *protogen.Field, name string) {
	parts := []any{"{Name: ", strconv.Quote(name)}
	if !field.Desc.IsList() && (realOneof(field) != nil || field.Message != nil || field.Desc.HasOptionalKeyword()) {
		parts = append(parts, ", Nullable: true")
	}
	if proto.HasExtension(field.Desc.Options(), optionsv1.E_Resolved) {
		parts = append(parts, ", Resolved: true")
	}
	parts = append(parts, ", Comment: ", text(field.Comments))
	if field.Desc.IsList() {
		parts = append(parts, ", Type: ", tablePath.Ident("List"), ", Fields: []", tablePath.Ident("Field"), "{{Name: \"item\"")
	}
	parts = append(parts, ", Type: ", tablePath.Ident(columnType(field)))
	switch {
	case messageOf(field) != nil:
		parts = append(parts, ", Fields: ", columnsVar(field.Message))
	case field.Enum != nil:
		parts = append(parts, ", Enum: ", enumVar(field.Enum))
	}
	if field.Desc.IsList() {
		parts = append(parts, "}}")
	}
	g.P(append(parts, "},")...)
}

// columnType returns the type of the column of a field, or of its elements.
func columnType(field *protogen.Field) string {
	switch field.Desc.Kind() {
	case protoreflect.BoolKind:
		return "Bool"
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return "Int32"
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return "Int64"
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		if isRef(field) {
			return "Name"
		}
		return "Uint32"
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return "Uint64"
	case protoreflect.FloatKind:
		return "Float32"
	case protoreflect.DoubleKind:
		return "Float64"
	case protoreflect.StringKind:
		if repeats(field) {
			return "Name"
		}
		return "Text"
	case protoreflect.BytesKind:
		return "Binary"
	case protoreflect.EnumKind:
		return "Name"
	default:
		if isTime(field) {
			return "Time"
		}
		return "Struct"
	}
}

// isRef reports whether a field is a number that stands for a text.
func isRef(field *protogen.Field) bool {
	return proto.HasExtension(field.Desc.Options(), optionsv1.E_StringIndex)
}

// repeats reports whether a replay has few different texts of a field, so that its column has a dictionary: the field's last word
// is one of these names of things and people.
func repeats(field *protogen.Field) bool {
	words := strings.Split(string(field.Desc.Name()), "_")
	switch words[len(words)-1] {
	case "name", "names", "type", "clan", "role", "game":
		return true
	}
	return false
}

// columnWidth returns how many columns a field has, those below it included.
func (f *format) columnWidth(field *protogen.Field) int {
	n := 1
	if field.Desc.IsList() {
		n++
	}
	if m := messageOf(field); m != nil {
		n += f.messageWidth(m)
	}
	return n
}

func (f *format) messageWidth(m *protogen.Message) int {
	n := 0
	if branch(m) != nil {
		n++
	}
	for _, field := range m.Fields {
		if isBranch(field) {
			continue
		}
		if o := realOneof(field); o != nil && o.Fields[0] == field {
			n++
		}
		n += f.columnWidth(field)
	}
	return n
}

// writeAddRow writes the exported appender.
func (f *format) writeAddRow(g *protogen.GeneratedFile, kinds []*protogen.Field) {
	g.P("// AddRow appends an event to the table of its kind. Its position is as in Set.Begin.")
	g.P("func AddRow(s *", tablePath.Ident("Set"), ", at ", decodersPath.Ident("Position"), ", m *", f.structs().Ident("Event"), ") {")
	g.P("c := s.Begin(uint8(m.Kind), at, m.AtTick)")
	at := 0
	for _, field := range f.common() {
		f.writeCell(g, field, at)
		at += f.columnWidth(field)
	}
	g.P("switch m.Kind {")
	for _, kind := range kinds {
		if len(kind.Message.Fields) > 0 {
			g.P("case ", f.structs().Ident("Kind"+kind.GoName), ":")
			g.P(rowFunc(kind.Message), "(c[", at, ":], &m.", kind.GoName, ")")
		}
	}
	g.P("default: // it has no fields")
	g.P("}")
	g.P("}")
	g.P()
}

func rowFunc(m *protogen.Message) string { return "row" + m.GoIdent.GoName }

// writeRow writes the appender of a message, which appends one value to each column of the message's fields.
func (f *format) writeRow(g *protogen.GeneratedFile, m *protogen.Message) {
	if len(m.Fields) == 0 && !f.nested(m) {
		return
	}
	typ := f.structs().Ident(m.GoIdent.GoName)
	if len(m.Fields) == 0 {
		g.P("func ", rowFunc(m), "([]", tablePath.Ident("Column"), ", *", typ, ") {}")
		g.P()
		return
	}
	g.P("func ", rowFunc(m), "(c []", tablePath.Ident("Column"), ", m *", typ, ") {")
	g.P("_ = c[", f.messageWidth(m)-1, "]")
	at := 0
	if branch(m) != nil {
		at++ // the caller appends the depth
	}
	for _, field := range m.Fields {
		if isBranch(field) {
			continue
		}
		if o := realOneof(field); o != nil && o.Fields[0] == field {
			_, caseField, prefix := f.caseType(o, m)
			g.P("if m.", caseField, " != ", f.structs().Ident(prefix+"None"), " {")
			g.P("c[", at, "].Enum(int32(m.", caseField, "))")
			g.P("} else {")
			g.P("c[", at, "].Null()")
			g.P("}")
			at++
		}
		f.writeCell(g, field, at)
		at += f.columnWidth(field)
	}
	g.P("}")
	g.P()
	if b := branch(m); b != nil {
		f.writeTree(g, m, b)
	}
}

// writeTree writes functions that append a tree of messages, and count it.
func (f *format) writeTree(g *protogen.GeneratedFile, m *protogen.Message, b *protogen.Field) {
	typ := g.QualifiedGoIdent(f.structs().Ident(m.GoIdent.GoName))
	g.P("func ", countFunc(m), "(list []", typ, ") int {")
	g.P("n := len(list)")
	g.P("for i := range list {")
	g.P("n += ", countFunc(m), "(list[i].", b.GoName, ")")
	g.P("}")
	g.P("return n")
	g.P("}")
	g.P()
	g.P("func ", treeFunc(m), "(c []", tablePath.Ident("Column"), ", list []", typ, ", depth uint32) {")
	g.P("for i := range list {")
	g.P(tablePath.Ident("Fields"), "(c)")
	g.P("c[1].Uint32(depth)")
	g.P(rowFunc(m), "(c[1:], &list[i])")
	g.P(treeFunc(m), "(c, list[i].", b.GoName, ", depth+1)")
	g.P("}")
	g.P("}")
	g.P()
}

func countFunc(m *protogen.Message) string { return "count" + m.GoIdent.GoName }
func treeFunc(m *protogen.Message) string  { return "tree" + m.GoIdent.GoName }

// writeCell writes code that appends the value of a field to its columns, of which at is the first.
func (f *format) writeCell(g *protogen.GeneratedFile, field *protogen.Field, at int) {
	expr := "m." + field.GoName
	var condition string
	switch o := realOneof(field); {
	case field.Message != nil && branch(field.Message) != nil:
		g.P("if !c[", at, "].Off {")
		g.P("c[", at, "].Items(", countFunc(field.Message), "(", expr, "))")
		g.P(treeFunc(field.Message), "(c[", at+1, ":], ", expr, ", 0)")
		g.P("}")
		return
	case field.Desc.IsList():
		g.P("if !c[", at, "].Off {")
		g.P("c[", at, "].Items(len(", expr, "))")
		g.P("for i := range ", expr, " {")
		f.writeCellValue(g, field, expr+"[i]", at+1)
		g.P("}")
		g.P("}")
		return
	case o != nil:
		_, caseField, prefix := f.caseType(o, field.Parent)
		condition = "m." + caseField + " == " + g.QualifiedGoIdent(f.structs().Ident(prefix+field.GoName))
	case f.hasPresence(field):
		condition = "m.Has" + field.GoName
	case hasAbsent(field):
		condition = present(g, field, expr)
	default:
		f.writeCellValue(g, field, expr, at)
		return
	}
	if messageOf(field) != nil {
		g.P("if !c[", at, "].Off {")
		defer g.P("}")
	}
	g.P("if ", condition, " {")
	f.writeCellValue(g, field, expr, at)
	g.P("} else {")
	g.P("c[", at, "].Null()")
	g.P("}")
}

func (f *format) writeCellValue(g *protogen.GeneratedFile, field *protogen.Field, expr string, at int) {
	switch {
	case messageOf(field) != nil:
		g.P(tablePath.Ident("Fields"), "(c[", at, ":])")
		g.P(rowFunc(field.Message), "(c[", at+1, ":], &", expr, ")")
	case isRef(field):
		g.P("c[", at, "].Ref(", expr, ")")
	case field.Enum != nil:
		g.P("c[", at, "].Enum(int32(", expr, "))")
	default:
		g.P("c[", at, "].", columnType(field), "(", expr, ")")
	}
}
