package streamtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/replayd/replayd/decoders"
	optionsv1 "github.com/replayd/replayd/proto/replayd/options/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// tables converts tables back to events. It shares no code with the daemon: it knows Arrow, the .proto and the page docs/api.md.
type tables struct {
	schemas map[string][]byte // by kind
}

// row is an event that was a row of a table.
type row struct {
	event   []byte // as wire bytes
	strings [][]byte
	at      decoders.Position
	placed  bool // at is set
}

// learn notes the schemas of the tables of a state: a stream's schemas hold for everything after them.
func (t *tables) learn(r *replaydv1.StreamEventsResponse) {
	for _, one := range r.GetState().GetTables() {
		if len(one.GetSchema()) > 0 {
			if t.schemas == nil {
				t.schemas = map[string][]byte{}
			}
			t.schemas[one.GetKind()] = one.GetSchema()
		}
	}
}

// read returns the rows of all tables of a batch in the order of the replay, and the number of the field of EventBatch of their
// format.
func (t *tables) read(all []*replaydv1.Table) (rows []row, field protowire.Number, err error) {
	for _, one := range all {
		if len(one.GetSchema()) > 0 {
			if t.schemas == nil {
				t.schemas = map[string][]byte{}
			}
			t.schemas[one.GetKind()] = one.GetSchema()
		}
		more, of, err := t.readOne(one)
		if err != nil {
			return nil, 0, fmt.Errorf("table %s: %w", one.GetKind(), err)
		}
		if field != 0 && field != of {
			return nil, 0, errors.New("tables of two formats")
		}
		rows, field = append(rows, more...), of
	}
	if len(rows) > 0 && rows[0].placed {
		slices.SortStableFunc(rows, func(a, b row) int {
			switch {
			case a.at.Before(b.at):
				return -1
			case b.at.Before(a.at):
				return 1
			}
			return 0
		})
	}
	return rows, field, nil
}

func (t *tables) readOne(one *replaydv1.Table) ([]row, protowire.Number, error) {
	schema := t.schemas[one.GetKind()]
	if schema == nil {
		return nil, 0, errors.New("it came without a schema")
	}
	r, err := ipc.NewReader(bytes.NewReader(append(slices.Clone(schema), one.GetData()...)))
	if err != nil {
		return nil, 0, err
	}
	defer r.Release()
	about := r.Schema().Metadata()
	format, _ := about.GetValue("replayd.format")
	if kind, _ := about.GetValue("replayd.kind"); kind != one.GetKind() {
		return nil, 0, fmt.Errorf("its schema is of kind %q", kind)
	}
	list := (*replaydv1.EventBatch)(nil).ProtoReflect().Descriptor().Fields().ByName(protoreflect.Name(format))
	if list == nil || list.Message() == nil {
		return nil, 0, fmt.Errorf("its schema is of format %q", format)
	}
	event, err := protoregistry.GlobalTypes.FindMessageByName(list.Message().Fields().ByName("events").Message().FullName())
	if err != nil {
		return nil, 0, err
	}
	if !r.Next() {
		return nil, 0, fmt.Errorf("it has no record batch: %w", r.Err())
	}
	record, err := widen(r.RecordBatch())
	if err != nil {
		return nil, 0, err
	}
	for _, c := range record.Columns() {
		if err := whole(c.Data(), int(record.NumRows())); err != nil {
			return nil, 0, err
		}
	}
	rows, err := rowsOf(record, event, one.GetKind())
	if err == nil && len(rows) != int(one.GetRows()) {
		err = fmt.Errorf("it has %d rows, and says %d", len(rows), one.GetRows())
	}
	if err == nil && r.Next() {
		err = errors.New("it has two record batches")
	}
	return rows, list.Number(), err
}

// widen restores the types of narrow columns, by Arrow's own functions.
func widen(record arrow.RecordBatch) (arrow.RecordBatch, error) {
	fields, columns := record.Schema().Fields(), slices.Clone(record.Columns())
	for i := range fields {
		name, ok := fields[i].Metadata.GetValue("replayd.type")
		if !ok {
			continue
		}
		wide := wideTypes[name]
		if wide == nil {
			return nil, fmt.Errorf("column %s stands for a %q", fields[i].Name, name)
		}
		var err error
		if fields[i].Type.ID() == arrow.RUN_END_ENCODED {
			columns[i], err = compute.RunEndDecodeArray(context.Background(), columns[i])
		} else {
			columns[i], err = compute.CastArray(context.Background(), columns[i], compute.SafeCastOptions(wide))
		}
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", fields[i].Name, err)
		}
		if fields[i].Type = wide; !arrow.TypeEqual(columns[i].DataType(), wide) {
			return nil, fmt.Errorf("column %s is %v, want %v", fields[i].Name, columns[i].DataType(), wide)
		}
	}
	about := record.Schema().Metadata()
	return array.NewRecordBatch(arrow.NewSchema(fields, &about), columns, record.NumRows()), nil
}

// wideTypes holds the types of which columns may be narrowed.
var wideTypes = map[string]arrow.DataType{
	"int32": arrow.PrimitiveTypes.Int32, "int64": arrow.PrimitiveTypes.Int64, "uint32": arrow.PrimitiveTypes.Uint32,
	"uint64": arrow.PrimitiveTypes.Uint64, "float64": arrow.PrimitiveTypes.Float64,
}

// whole checks that an array, with the arrays below it, has the given number of values, including values that a missing struct
// hides, and that every index into a dictionary has a text.
func whole(d arrow.ArrayData, n int) error {
	if d.Len() != n {
		return fmt.Errorf("a column of %s has %d values instead of %d", d.DataType(), d.Len(), n)
	}
	a := array.MakeFromData(d)
	defer a.Release()
	switch a := a.(type) {
	case *array.Struct:
		for _, below := range d.Children() {
			if err := whole(below, n); err != nil {
				return err
			}
		}
	case *array.List:
		end := 0
		if n > 0 {
			_, last := a.ValueOffsets(n - 1)
			end = int(last)
		}
		return whole(d.Children()[0], end)
	case *array.Dictionary:
		indices := a.Indices().(*array.Int32).Int32Values()
		for _, i := range indices {
			if i < 0 || int(i) >= a.Dictionary().Len() {
				return fmt.Errorf("index %d into a dictionary of %d", i, a.Dictionary().Len())
			}
		}
	}
	return nil
}

// rowsOf converts a record batch.
func rowsOf(record arrow.RecordBatch, event protoreflect.MessageType, kind string) ([]row, error) {
	fd := event.Descriptor().Fields().ByName(protoreflect.Name(kind))
	if fd == nil {
		return nil, errors.New("there is no such kind")
	}
	taken := map[string]bool{"offset": true, "index": true, "at_tick": true, "time": true}
	for i := range event.Descriptor().Fields().Len() {
		if f := event.Descriptor().Fields().Get(i); f.ContainingOneof() == nil {
			taken[string(f.Name())] = true
		}
	}
	columns := map[string]arrow.Array{}
	for i, f := range record.Schema().Fields() {
		if columns[f.Name] != nil {
			return nil, fmt.Errorf("two columns %s", f.Name)
		}
		columns[f.Name] = record.Column(i)
	}
	rows := make([]row, record.NumRows())
	for i := range rows {
		m := event.New()
		r := reading{row: i}
		if err := r.fill(m, func(name string) arrow.Array { return columns[name] }); err != nil {
			return nil, err
		}
		if err := r.fill(m.Mutable(fd).Message(), func(name string) arrow.Array {
			if taken[name] {
				name = kind + "_" + name
			}
			return columns[name]
		}); err != nil {
			return nil, err
		}
		var err error
		if rows[i].event, err = (proto.MarshalOptions{Deterministic: true}).Marshal(m.Interface()); err != nil {
			return nil, err
		}
		rows[i].strings = r.strings
		if err := rows[i].place(columns, i, m.Get(event.Descriptor().Fields().ByName("at_tick")).Int()); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// place reads the position of a row, and checks its time.
func (r *row) place(columns map[string]arrow.Array, i int, tick int64) error {
	offset, ok1 := columns["offset"].(*array.Int64)
	index, ok2 := columns["index"].(*array.Int64)
	time, ok3 := columns["time"].(*array.Float64)
	if !ok1 || !ok2 || !ok3 || offset.IsNull(i) != index.IsNull(i) {
		return errors.New("its position or time is of another type")
	}
	if r.placed = offset.IsValid(i); r.placed {
		r.at = decoders.Position{Offset: offset.Value(i), Index: index.Value(i)}
	}
	if time.IsValid(i) {
		if speed := float64(tick) / time.Value(i); tick == 0 && time.Value(i) != 0 || tick != 0 && (speed < 1 || speed > 1000) {
			return fmt.Errorf("tick %d is at %v s", tick, time.Value(i))
		}
	}
	return nil
}

// reading is one row, with the strings that were read.
type reading struct {
	row     int
	strings [][]byte
}

// fill sets the fields of a message from the columns with their names. It leaves out fields that are kinds.
func (r *reading) fill(m protoreflect.Message, column func(name string) arrow.Array) error {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		oneof := f.ContainingOneof()
		if oneof != nil && oneof.Name() == "kind" && m.Descriptor().Name() == "Event" || f.IsList() && f.Message() == m.Descriptor() {
			continue
		}
		from := column(string(f.Name()))
		if from == nil {
			if resolved, _ := proto.GetExtension(f.Options(), optionsv1.E_Resolved).(bool); resolved {
				continue
			}
			return fmt.Errorf("no column for %s", f.FullName())
		}
		if oneof != nil && !oneof.IsSynthetic() {
			which, err := nameAt(column(string(oneof.Name())+"_case"), r.row)
			if err != nil || (which == string(f.Name())) != from.IsValid(r.row) {
				return fmt.Errorf("%s: the case is %q, and the value is there: %v (%w)", f.FullName(), which, from.IsValid(r.row), err)
			}
		}
		if err := r.set(m, f, from); err != nil {
			return fmt.Errorf("%s: %w", f.Name(), err)
		}
	}
	return nil
}

func (r *reading) set(m protoreflect.Message, f protoreflect.FieldDescriptor, from arrow.Array) error {
	i := r.row
	switch {
	case f.IsList():
		list, ok := from.(*array.List)
		if !ok {
			return fmt.Errorf("a list is %s", from.DataType())
		}
		begin, end := list.ValueOffsets(i)
		return r.setList(m, f, list.ListValues(), int(begin), int(end))
	case from.IsNull(i):
		if !f.HasPresence() {
			return errors.New("a value is missing")
		}
		return nil
	case f.Message() != nil && f.Message().FullName() == "google.protobuf.Timestamp":
		at, ok := from.(*array.Timestamp)
		if !ok || from.DataType().String() != "timestamp[us, tz=UTC]" {
			return fmt.Errorf("a time is %s", from.DataType())
		}
		proto.Merge(m.Mutable(f).Message().Interface(), timestamppb.New(at.Value(i).ToTime(arrow.Microsecond)))
		return nil
	case f.Message() != nil:
		return r.fillStruct(m.Mutable(f).Message(), from)
	}
	v, err := r.value(f, from, i)
	if err == nil {
		m.Set(f, v)
	}
	return err
}

func (r *reading) fillStruct(m protoreflect.Message, from arrow.Array) error {
	s, ok := from.(*array.Struct)
	if !ok {
		return fmt.Errorf("a message is %s", from.DataType())
	}
	return r.fill(m, fieldOf(s))
}

func fieldOf(s *array.Struct) func(name string) arrow.Array {
	return func(name string) arrow.Array {
		if at, ok := s.DataType().(*arrow.StructType).FieldIdx(name); ok {
			return s.Field(at)
		}
		return nil
	}
}

// setList sets a list from elements begin to end. A list of messages that have such lists is flat: depth tells where each belongs.
func (r *reading) setList(m protoreflect.Message, f protoreflect.FieldDescriptor, from arrow.Array, begin, end int) error {
	var branch protoreflect.FieldDescriptor
	if f.Message() != nil {
		for i := range f.Message().Fields().Len() {
			if b := f.Message().Fields().Get(i); b.IsList() && b.Message() == f.Message() {
				branch = b
			}
		}
	}
	within := []protoreflect.Message{m} // the messages whose lists are open
	for i := begin; i < end; i++ {
		inner := reading{row: i, strings: r.strings}
		if f.Message() == nil {
			v, err := inner.value(f, from, i)
			if err != nil {
				return err
			}
			m.Mutable(f).List().Append(v)
			r.strings = inner.strings
			continue
		}
		at, depth := f, 0
		if branch != nil {
			s, ok := from.(*array.Struct)
			if !ok {
				return errors.New("a tree is no list of structs")
			}
			depths, ok := fieldOf(s)("depth").(*array.Uint32)
			if !ok || int(depths.Value(i)) >= len(within) {
				return errors.New("a tree without depths")
			}
			if depth = int(depths.Value(i)); depth > 0 {
				at = branch
			}
		}
		within = within[:depth+1]
		v := within[depth].Mutable(at).List().AppendMutable().Message()
		if err := inner.fillStruct(v, from); err != nil {
			return err
		}
		r.strings = inner.strings
		within = append(within, v)
	}
	return nil
}

// value returns the value of a scalar.
func (r *reading) value(f protoreflect.FieldDescriptor, from arrow.Array, i int) (v protoreflect.Value, err error) {
	if from.IsNull(i) {
		return v, errors.New("a value is missing")
	}
	if ref, _ := proto.GetExtension(f.Options(), optionsv1.E_StringIndex).(bool); ref {
		name, err := nameAt(from, i)
		r.strings = append(r.strings, []byte(name))
		return protoreflect.ValueOfUint32(uint32(len(r.strings) - 1)), err
	}
	switch f.Kind() {
	case protoreflect.EnumKind:
		name, err := nameAt(from, i)
		if v := f.Enum().Values().ByName(protoreflect.Name(name)); v != nil {
			return protoreflect.ValueOfEnum(v.Number()), err
		}
		number, bad := strconv.Atoi(name)
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(number)), errors.Join(err, bad)
	case protoreflect.StringKind:
		if texts, ok := from.(*array.String); ok {
			return protoreflect.ValueOfString(texts.Value(i)), nil
		}
		name, err := nameAt(from, i)
		return protoreflect.ValueOfString(name), err
	default:
	}
	switch a := from.(type) {
	case *array.Boolean:
		v = protoreflect.ValueOfBool(a.Value(i))
	case *array.Int32:
		v = protoreflect.ValueOfInt32(a.Value(i))
	case *array.Int64:
		v = protoreflect.ValueOfInt64(a.Value(i))
	case *array.Uint32:
		v = protoreflect.ValueOfUint32(a.Value(i))
	case *array.Uint64:
		v = protoreflect.ValueOfUint64(a.Value(i))
	case *array.Float32:
		v = protoreflect.ValueOfFloat32(a.Value(i))
	case *array.Float64:
		v = protoreflect.ValueOfFloat64(a.Value(i))
	case *array.Binary:
		v = protoreflect.ValueOfBytes(a.Value(i))
	default:
		err = fmt.Errorf("a column of %s", from.DataType())
	}
	return v, err
}

// nameAt returns the text of an index into a dictionary, empty if it is missing.
func nameAt(from arrow.Array, i int) (string, error) {
	d, ok := from.(*array.Dictionary)
	if !ok {
		return "", errors.New("names are no dictionary")
	}
	if d.IsNull(i) {
		return "", nil
	}
	texts, ok := d.Dictionary().(*array.String)
	if at := d.GetValueIndex(i); ok && at < texts.Len() {
		return texts.Value(at), nil
	}
	return "", errors.New("a dictionary of other values")
}
