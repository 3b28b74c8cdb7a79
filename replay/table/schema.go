package table

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"sync"
)

// Type is the type of a column's values.
type Type uint8

// The types. A Name is a text of which a replay has few different ones, such as the names of an enum or of classes: a dictionary
// holds each once.
const (
	Bool Type = iota
	Int32
	Int64
	Uint32
	Uint64
	Float32
	Float64
	Time // a decoders.Time
	Text
	Binary
	Name
	List
	Struct
)

// bytes returns the size of a value in Column.Data, or of its offset for Text, Binary and List.
func (t Type) bytes() int {
	switch t {
	case Bool:
		return 1
	case Int64, Uint64, Float64, Time:
		return 8
	case Struct:
		return 0
	default:
		return 4
	}
}

// String returns the type's name in the documentation.
func (t Type) String() string {
	return [...]string{
		"bool", "int32", "int64", "uint32", "uint64", "float32", "float64", "timestamp", "text", "binary", "dictionary of texts", "list", "struct",
	}[t]
}

// Field describes a column.
type Field struct {
	Name string
	Type Type
	// Nullable is true if values may be missing.
	Nullable bool
	// Resolved is true for a column that only tables with resolved players have.
	Resolved bool
	// Comment is the comment of the field in the .proto. It gives the unit and the range.
	Comment string
	// Enum holds the names of an enum's values by number, if the Name is an enum.
	Enum map[int32]string
	// Fields are the fields of a Struct, or the element of a List.
	Fields []Field
}

// TypeName returns the names of the column's type and of the types below it, and whether values may be missing.
func (f *Field) TypeName() string {
	var name string
	switch f.Type {
	case List:
		name = "list of " + f.Fields[0].TypeName()
	case Struct:
		var fields []string
		for i := range f.Fields {
			fields = append(fields, f.Fields[i].Name)
		}
		name = "struct (" + strings.Join(fields, ", ") + ")"
	default:
		name = f.Type.String()
	}
	if f.Nullable {
		name += "?"
	}
	return name
}

// Kind describes the table of one kind of events.
type Kind struct {
	Name    string
	Comment string
	Fields  []Field
}

// Format describes the tables of a format. Kinds are by number; number 0 is no kind.
type Format struct {
	Name  string
	Kinds []Kind
	// Event are the fields that all events of the format have, besides Positions. They precede the kind's own fields. A list of
	// enums among them holds warnings, each at most once.
	Event []Field

	once    sync.Once
	columns [][]Field  // by kind
	layouts [2]*Layout // without and with resolved players
}

// The indices of the first columns of every table.
const (
	OffsetColumn = iota
	IndexColumn
	TickColumn
	TimeColumn
	Positions // the number of these columns
)

var positions = [Positions]Field{
	{Name: "offset", Type: Int64, Nullable: true, Comment: "Where the event's record starts, in bytes of the decompressed " +
		"replay. Offset and index are the event's position: it is the same in every table and with any filter. Missing in a state."},
	{Name: "index", Type: Int64, Nullable: true, Comment: "The order of the events of one record. Missing in a state."},
	{Name: "at_tick", Type: Int32, Comment: "The tick in which it happened, on the replay's own clock."},
	{Name: "time", Type: Float64, Nullable: true, Comment: "The same in seconds: at_tick divided by Replay.ticks_per_second. " +
		"Missing where the format has no clock, and before the first tick of a demo."},
}

// Rising reports whether the values of the column of that name, in every table, seldom fall from row to row. Files then store the
// differences.
func Rising(name string) bool {
	return name == positions[OffsetColumn].Name || name == positions[TickColumn].Name || name == positions[TimeColumn].Name
}

// all returns the columns of the tables by kind, with the columns that only resolved players fill.
func (f *Format) all() [][]Field {
	f.once.Do(func() {
		f.columns = make([][]Field, len(f.Kinds))
		for k := range f.Kinds {
			all := append(append([]Field(nil), positions[:]...), f.Event...)
			f.columns[k] = append(all, f.Kinds[k].Fields...)
		}
		f.layouts = [2]*Layout{f.newLayout(false), f.newLayout(true)}
	})
	return f.columns
}

// width returns the number of columns that fields take, with the columns below them.
func width(fields []Field) int {
	n := 0
	for i := range fields {
		n += fields[i].width()
	}
	return n
}

// width returns the number of columns that a field takes.
func (f *Field) width() int { return 1 + width(f.Fields) }

// Version returns a short text that changes when the columns of a table change.
func (f *Format) Version() string {
	h := sha256.New()
	for k := range f.Kinds {
		_, _ = io.WriteString(h, f.Kinds[k].Name)
		describe(h, f.all()[k])
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

func describe(w io.Writer, fields []Field) {
	for i := range fields {
		_, _ = fmt.Fprint(w, "(", fields[i].Name, fields[i].Type, fields[i].Nullable)
		describe(w, fields[i].Fields)
		_, _ = fmt.Fprint(w, ")")
	}
}
