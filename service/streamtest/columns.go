package streamtest

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/replayd/replayd/proto/protoscan"
)

// The parts of field names that mark columns. The field `player_diff_columns` of an event list holds events of kind
// player_diff. Its field `place` holds the places of these events in the batch.
const (
	columnsSuffix = "_columns"
	placeColumn   = "place"
)

// columns holds the kinds of events of an event list that may be sent as columns.
type columns struct {
	list  protoreflect.MessageType
	event protoreflect.MessageType
	kinds []protoreflect.FieldDescriptor // of the list
}

// columnsOf returns nil for an event list without columns.
func columnsOf(list protoreflect.MessageDescriptor) (*columns, error) {
	var c columns
	var err error
	for i := range list.Fields().Len() {
		if f := list.Fields().Get(i); strings.HasSuffix(string(f.Name()), columnsSuffix) {
			c.kinds = append(c.kinds, f)
		}
	}
	if len(c.kinds) == 0 {
		return nil, nil //nolint:nilnil // no columns
	}
	if c.list, err = protoregistry.GlobalTypes.FindMessageByName(list.FullName()); err != nil {
		return nil, err
	}
	c.event, err = protoregistry.GlobalTypes.FindMessageByName(list.Fields().ByNumber(1).Message().FullName())
	return &c, err
}

// interleave converts the columns of a list to events as wire bytes. It returns them in their places among the other events.
func (c *columns) interleave(list []byte, others []string) ([]string, error) {
	some := false
	err := fields(list, func(field protoscan.Field) {
		some = some || slices.ContainsFunc(c.kinds, func(f protoreflect.FieldDescriptor) bool { return f.Number() == field.Number })
	})
	if err != nil || !some {
		return others, err
	}
	m := c.list.New()
	if err := proto.Unmarshal(list, m.Interface()); err != nil {
		return nil, err
	}
	rows := map[uint64]string{}
	for _, f := range c.kinds {
		if !m.Has(f) {
			continue
		}
		if err := c.transpose(f, m.Get(f).Message(), rows); err != nil {
			return nil, err
		}
	}
	all := make([]string, 0, len(others)+len(rows))
	for place := range uint64(len(others) + len(rows)) {
		switch row, ok := rows[place]; {
		case ok:
			all = append(all, row)
		case len(others) > 0:
			all, others = append(all, others[0]), others[1:]
		default:
			return nil, fmt.Errorf("columns leave place %d empty", place)
		}
	}
	return all, nil
}

// transpose converts the columns of one kind to events.
func (c *columns) transpose(f protoreflect.FieldDescriptor, m protoreflect.Message, rows map[uint64]string) error {
	kind := c.event.Descriptor().Fields().ByName(protoreflect.Name(strings.TrimSuffix(string(f.Name()), columnsSuffix)))
	if kind == nil {
		return fmt.Errorf("%s are columns of no kind", f.Name())
	}
	fields := m.Descriptor().Fields()
	places := m.Get(fields.ByName(placeColumn)).List()
	for i := range places.Len() {
		event := c.event.New()
		event.Mutable(kind)
		for j := range fields.Len() {
			column := fields.Get(j)
			values := m.Get(column).List()
			if values.Len() != places.Len() {
				return fmt.Errorf("%s: %d values of %d", column.FullName(), values.Len(), places.Len())
			}
			if column.Name() != placeColumn && !enter(event, kind, string(column.Name()), values.Get(i)) {
				return fmt.Errorf("%s is a column of no field", column.FullName())
			}
		}
		row, err := proto.MarshalOptions{Deterministic: true}.Marshal(event.Interface())
		if err != nil {
			return err
		}
		place := places.Get(i).Uint()
		if _, taken := rows[place]; taken {
			return fmt.Errorf("two events are in place %d", place)
		}
		rows[place] = string(row)
	}
	return nil
}

// enter sets the field of a column. It is a field of the event, or a field of the kind's message. For example,
// `input_target_x` is the field target_x of input.
func enter(event protoreflect.Message, kind protoreflect.FieldDescriptor, column string, v protoreflect.Value) bool {
	if own := event.Descriptor().Fields().ByName(protoreflect.Name(column)); own != nil {
		event.Set(own, v)
		return true
	}
	return enterPath(event.Mutable(kind).Message(), column, v)
}

func enterPath(m protoreflect.Message, path string, v protoreflect.Value) bool {
	fields := m.Descriptor().Fields()
	if f := fields.ByName(protoreflect.Name(path)); f != nil {
		m.Set(f, v)
		return true
	}
	for i := range fields.Len() {
		f := fields.Get(i)
		rest, ok := strings.CutPrefix(path, string(f.Name())+"_")
		if ok && f.Message() != nil && !f.IsList() && enterPath(m.Mutable(f).Message(), rest, v) {
			return true
		}
	}
	return false
}
