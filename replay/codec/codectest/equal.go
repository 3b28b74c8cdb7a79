package codectest

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/replayd/replayd/decoders"
)

// equal compares a struct with a message, and returns an error that describes the difference.
func equal(v reflect.Value, m protoreflect.Message) error {
	if n := len(m.GetUnknown()); n > 0 {
		return fmt.Errorf("%s: %d bytes of fields that it does not have", m.Descriptor().FullName(), n)
	}
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		if err := equalField(v, m, fd); err != nil {
			return fmt.Errorf("%s: %w", fd.Name(), err)
		}
	}
	return nil
}

func equalField(v reflect.Value, m protoreflect.Message, fd protoreflect.FieldDescriptor) error {
	f := field(v, fd)
	if o := realOneof(fd); o != nil {
		number := int(choice(v, o).Uint())
		chosen := number > 0 && number <= o.Fields().Len() && o.Fields().Get(number-1) == fd
		if m.Has(fd) != chosen {
			return fmt.Errorf("present: %v, not %v", m.Has(fd), chosen)
		}
		if !chosen {
			return nil
		}
		return equalValue(f, m.Get(fd), fd)
	}
	switch {
	case fd.IsList():
		list := m.Get(fd).List()
		if list.Len() != f.Len() {
			return fmt.Errorf("%d elements, not %d", list.Len(), f.Len())
		}
		for i := range list.Len() {
			if err := equalValue(f.Index(i), list.Get(i), fd); err != nil {
				return fmt.Errorf("[%d]: %w", i, err)
			}
		}
		return nil
	case f.Kind() == reflect.Pointer:
		if m.Has(fd) == f.IsNil() {
			return fmt.Errorf("present: %v", m.Has(fd))
		}
		if f.IsNil() {
			return nil
		}
	case hasAbsent(fd):
		if is := !isAbsent(v.FieldByName(camel(string(fd.Name()))), fd); is != m.Has(fd) {
			return fmt.Errorf("%s is there: %v, and in the message: %v", fd.Name(), is, m.Has(fd))
		} else if !is {
			return nil
		}
	case optional(fd):
		has := named(v, "Has"+camel(string(fd.Name()))).Bool()
		if m.Has(fd) != has {
			return fmt.Errorf("present: %v, not %v", m.Has(fd), has)
		}
		if !has {
			return nil
		}
	}
	return equalValue(f, m.Get(fd), fd)
}

// isTime reports whether a field is a point in time.
func isTime(fd protoreflect.FieldDescriptor) bool {
	return fd.Message() != nil && fd.Message().FullName() == "google.protobuf.Timestamp"
}

// timeOf returns the time that a google.protobuf.Timestamp has.
func timeOf(m protoreflect.Message) time.Time {
	fields := m.Descriptor().Fields()
	nanos := m.Get(fields.ByName("nanos")).Int()
	if nanos < 0 || nanos >= 1e9 {
		return time.Time{}
	}
	return time.Unix(m.Get(fields.ByName("seconds")).Int(), nanos).UTC()
}

func equalValue(f reflect.Value, got protoreflect.Value, fd protoreflect.FieldDescriptor) error {
	var same bool
	switch fd.Kind() {
	case protoreflect.MessageKind:
		if isTime(fd) {
			if t := timeOf(got.Message()); t != decoders.Time(f.Int()).Time() {
				return fmt.Errorf("%v, not %v", t, f)
			}
			return nil
		}
		return equal(reflect.Indirect(f), got.Message())
	case protoreflect.StringKind:
		same = got.String() == string(bytes.ToValidUTF8(f.Bytes(), []byte("\uFFFD")))
	case protoreflect.BytesKind:
		same = bytes.Equal(got.Bytes(), f.Bytes())
	case protoreflect.BoolKind:
		same = got.Bool() == f.Bool()
	case protoreflect.EnumKind:
		same = int64(got.Enum()) == f.Int()
	case protoreflect.FloatKind: // compare bits, because of NaN; widening does not keep the bits of a signalling NaN
		same = math.Float32bits(float32(got.Float())) == math.Float32bits(float32(f.Float()))
	case protoreflect.DoubleKind:
		same = math.Float64bits(got.Float()) == math.Float64bits(f.Float())
	default:
		if f.CanInt() {
			same = got.Int() == f.Int()
		} else {
			same = got.Uint() == f.Uint()
		}
	}
	if !same {
		return fmt.Errorf("%v, not %v", got, f)
	}
	return nil
}
