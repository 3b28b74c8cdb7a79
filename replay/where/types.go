package where

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	optionsv1 "github.com/replayd/replayd/proto/replayd/options/v1"
)

// provider tells CEL about the messages of a format. Numbers are of three types: every integer is an int, except one of 64 bits
// without a sign, which is a uint. Numbers that name something, those of enums and of the strings of a batch, are the text.
type provider struct {
	*types.Registry

	messages map[string]protoreflect.MessageDescriptor
}

func newProvider(of protoreflect.MessageDescriptor) *provider {
	p := &provider{messages: map[string]protoreflect.MessageDescriptor{}}
	p.Registry, _ = types.NewRegistry() // of no messages: it cannot fail
	p.add(of)
	return p
}

func (p *provider) add(m protoreflect.MessageDescriptor) {
	name := string(m.FullName())
	if p.messages[name] != nil || name == timestampName {
		return
	}
	p.messages[name] = m
	for i := range m.Fields().Len() {
		if sub := m.Fields().Get(i).Message(); sub != nil {
			p.add(sub)
		}
	}
}

const timestampName = "google.protobuf.Timestamp"

func objectOf(m protoreflect.MessageDescriptor) *types.Type {
	return types.NewObjectType(string(m.FullName()))
}

// FindStructType implements types.Provider.
func (p *provider) FindStructType(name string) (*types.Type, bool) {
	if m, ok := p.messages[name]; ok {
		return types.NewTypeTypeWithParam(objectOf(m)), true
	}
	return p.Registry.FindStructType(name)
}

// FindStructFieldNames implements types.Provider.
func (p *provider) FindStructFieldNames(name string) (names []string, ok bool) {
	m, ok := p.messages[name]
	if !ok {
		return nil, false
	}
	for i := range m.Fields().Len() {
		names = append(names, string(m.Fields().Get(i).Name()))
	}
	return names, true
}

// FindStructFieldType implements types.Provider.
func (p *provider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	m, ok := p.messages[name]
	if !ok {
		return nil, false
	}
	f := m.Fields().ByName(protoreflect.Name(field))
	if f == nil {
		return nil, false
	}
	typ := typeOf(f)
	if f.IsList() {
		typ = types.NewListType(typ)
	}
	return &types.FieldType{
		Type: typ,
		IsSet: func(of any) bool {
			m, ok := of.(*message)
			if ok && isRef(f) && !f.HasPresence() { // the number is the batch's affair
				return m.names(uint32(m.Get(f).Uint())) != ""
			}
			return ok && m.Has(f)
		},
		GetFrom: func(of any) (any, error) {
			m, ok := of.(*message)
			if !ok {
				return nil, fmt.Errorf("%T is no message", of)
			}
			return m.get(p, f)
		},
	}, true
}

// NativeToValue implements types.Adapter.
func (p *provider) NativeToValue(v any) ref.Val {
	if m, ok := v.(*message); ok {
		return m
	}
	return p.Registry.NativeToValue(v)
}

func isRef(f protoreflect.FieldDescriptor) bool {
	return proto.GetExtension(f.Options(), optionsv1.E_StringIndex).(bool)
}

// typeOf returns the type of a field, or of its elements.
func typeOf(f protoreflect.FieldDescriptor) *types.Type {
	switch f.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		if f.Message().FullName() == timestampName {
			return types.TimestampType
		}
		return objectOf(f.Message())
	case protoreflect.BoolKind:
		return types.BoolType
	case protoreflect.StringKind, protoreflect.EnumKind:
		return types.StringType
	case protoreflect.BytesKind:
		return types.BytesType
	default:
	}
	switch numberOfField(f) {
	case double:
		return types.DoubleType
	case unsigned:
		return types.UintType
	case signed:
		return types.IntType
	}
	return types.StringType
}

// numberOfField returns what the values of a field are as numbers.
func numberOfField(f protoreflect.FieldDescriptor) number {
	if isRef(f) {
		return noNumber
	}
	switch f.Kind() {
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return double
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return unsigned
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind, protoreflect.Uint32Kind, protoreflect.Fixed32Kind,
		protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return signed
	default:
		return noNumber
	}
}

// errAbsent is the error of a field that is not there.
var errAbsent = errors.New("absent")

// message is a message of an event.
type message struct {
	protoreflect.Message

	names func(uint32) string
}

// get returns the value of a field, and errAbsent if it is not there.
func (m *message) get(p *provider, f protoreflect.FieldDescriptor) (any, error) {
	if f.HasPresence() && !m.Has(f) {
		return nil, errAbsent
	}
	v := m.Get(f)
	if !f.IsList() {
		return m.value(f, v), nil
	}
	list := make([]ref.Val, v.List().Len())
	for i := range list {
		list[i] = m.value(f, v.List().Get(i))
	}
	return types.NewRefValList(p, list), nil
}

// value returns a value of a field, or one of its elements.
func (m *message) value(f protoreflect.FieldDescriptor, v protoreflect.Value) ref.Val {
	switch f.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		if t, ok := v.Message().Interface().(*timestamppb.Timestamp); ok {
			return types.Timestamp{Time: t.AsTime()}
		}
		return &message{v.Message(), m.names}
	case protoreflect.BoolKind:
		return types.Bool(v.Bool())
	case protoreflect.StringKind:
		return types.String(v.String())
	case protoreflect.EnumKind:
		if d := f.Enum().Values().ByNumber(v.Enum()); d != nil {
			return types.String(d.Name())
		}
		return types.String(strconv.Itoa(int(v.Enum())))
	case protoreflect.BytesKind:
		return types.Bytes(v.Bytes())
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return types.Double(v.Float())
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		if isRef(f) {
			return types.String(m.names(uint32(v.Uint())))
		}
		return types.Int(v.Uint())
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return types.Uint(v.Uint())
	default:
		return types.Int(v.Int())
	}
}

// ConvertToNative implements ref.Val.
func (m *message) ConvertToNative(reflect.Type) (any, error) {
	return nil, errors.New("a message of an event cannot be converted")
}

// ConvertToType implements ref.Val.
func (m *message) ConvertToType(to ref.Type) ref.Val {
	if to == types.TypeType {
		return objectOf(m.Descriptor())
	}
	return types.NewErr("a message of an event cannot be converted to %s", to.TypeName())
}

// Equal implements ref.Val.
func (m *message) Equal(other ref.Val) ref.Val {
	o, ok := other.(*message)
	return types.Bool(ok && proto.Equal(m.Interface(), o.Interface()))
}

// Type implements ref.Val.
func (m *message) Type() ref.Type { return objectOf(m.Descriptor()) }

// Value implements ref.Val.
func (m *message) Value() any { return m }
