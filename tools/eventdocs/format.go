package main

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/replayd/replayd/replay/table"
	"github.com/replayd/replayd/service/describe"
)

// format is the description of a format's events in the .proto files.
type format struct {
	name   string
	file   protoreflect.FileDescriptor
	event  protoreflect.MessageDescriptor
	kind   protoreflect.OneofDescriptor
	header protoreflect.MessageDescriptor // nil when the format has none
	tables *table.Format
}

func newFormat(
	name string, files *protoregistry.Files, file protoreflect.FileDescriptor, event protoreflect.MessageDescriptor,
) *format {
	f := &format{name: name, file: file, event: event, kind: event.Oneofs().ByName("kind")}
	for _, codec := range describe.Codecs() {
		if codec.Format.String() == name {
			f.tables = codec.Tables
		}
	}
	if d, err := files.FindDescriptorByName(file.Package().Append("Header")); err == nil && d.ParentFile() != file {
		f.header, _ = d.(protoreflect.MessageDescriptor)
	}
	return f
}

// kinds returns the names of the kinds, in the order of the .proto file.
func (f *format) kinds() []string {
	var names []string
	for i := range f.kind.Fields().Len() {
		names = append(names, string(f.kind.Fields().Get(i).Name()))
	}
	return names
}

// columns returns the columns of the table of a kind, without those that all tables have.
func (f *format) columns(kind string) string {
	for k := range f.tables.Kinds {
		if f.tables.Kinds[k].Name != kind {
			continue
		}
		all := f.tables.Layout(true).Fields(uint8(k))[int(table.Positions)+len(f.tables.Event):]
		if len(all) == 0 {
			return "none of its own"
		}
		return columnList(all)
	}
	return ""
}

// columnList lists columns with their types.
func columnList(fields []table.Field) string {
	var list []string
	for i := range fields {
		list = append(list, "`"+fields[i].Name+"` "+fields[i].TypeName())
	}
	return strings.Join(list, ", ")
}

// conditions returns the filter conditions that events of a kind can meet.
func (f *format) conditions(kind string) (names []string) {
	for _, codec := range describe.Codecs() {
		if codec.Format.String() != f.name {
			continue
		}
		for _, k := range codec.Filters.Kinds {
			if k.Name != kind {
				continue
			}
			for _, p := range k.Has.All() {
				names = append(names, "`"+p.String()+"`")
			}
		}
	}
	return names
}

// types returns the messages and enums that others refer to, except those of the kinds. They are in the order in which
// a reader meets them.
func (f *format) types() []protoreflect.Descriptor {
	seen := map[protoreflect.FullName]bool{f.event.FullName(): true}
	var types []protoreflect.Descriptor
	var visit func(m protoreflect.MessageDescriptor)
	meet := func(d protoreflect.Descriptor) bool {
		if seen[d.FullName()] || d.ParentFile().Package() != f.file.Package() {
			return false
		}
		seen[d.FullName()] = true
		types = append(types, d)
		return true
	}
	visit = func(m protoreflect.MessageDescriptor) {
		for i := range m.Fields().Len() {
			field := m.Fields().Get(i)
			if field.IsMap() {
				field = field.MapValue()
			}
			if e := field.Enum(); e != nil {
				meet(e)
			}
			if inner := field.Message(); inner != nil && meet(inner) {
				visit(inner)
			}
		}
	}
	kinds := f.kind.Fields()
	for i := range kinds.Len() {
		seen[kinds.Get(i).Message().FullName()] = true
	}
	for i := range kinds.Len() {
		visit(kinds.Get(i).Message())
	}
	visit(f.event)
	if f.header != nil {
		seen[f.header.FullName()] = true
		visit(f.header)
	}
	return types
}

// kindOf returns the name of the kind whose message is m, or "".
func (f *format) kindOf(m protoreflect.MessageDescriptor) string {
	for i := range f.kind.Fields().Len() {
		if field := f.kind.Fields().Get(i); field.Message().FullName() == m.FullName() {
			return string(field.Name())
		}
	}
	return ""
}
