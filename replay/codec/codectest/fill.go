package codectest

import (
	"math"
	"reflect"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// maxDepth limits the depth of messages that contain themselves.
const maxDepth = 4

// filler fills structs with values derived from a seed.
type filler struct{ seed []byte }

// next returns the next byte of the seed, or 0 after its end.
func (f *filler) next() byte {
	if len(f.seed) == 0 {
		return 0
	}
	b := f.seed[0]
	f.seed = f.seed[1:]
	return b
}

// number returns a number. It is often small, or at the limit of some integer width.
func (f *filler) number() uint64 {
	switch b := f.next(); {
	case b < 0x20:
		return 0
	case b < 0x60:
		return uint64(f.next())
	case b < 0x80:
		return -uint64(f.next())
	case b < 0xc0:
		return 1<<(f.next()%64) + uint64(int64(f.next()%3)-1)
	default:
		var v uint64
		for range 8 {
			v = v<<8 | uint64(f.next())
		}
		return v
	}
}

// text returns some bytes. They are not always valid UTF-8, and sometimes too long for a length of one byte.
func (f *filler) text() []byte {
	n := int(f.next()) % 24
	if n == 23 {
		n = 100 + int(f.next())
	}
	var b []byte
	for range n {
		switch c := f.next(); {
		case c < 0xa0:
			b = append(b, c&0x7f)
		case c < 0xd0:
			b = append(b, "\u00e4\u20ac\U0001f600"[c%9:]...)
		default:
			b = append(b, c)
		}
	}
	return b
}

// message fills the struct of a message.
func (f *filler) message(v reflect.Value, md protoreflect.MessageDescriptor, depth int) {
	for i := range md.Fields().Len() {
		f.field(v, md.Fields().Get(i), depth)
	}
	for i := range md.Oneofs().Len() {
		if o := md.Oneofs().Get(i); !o.IsSynthetic() {
			choice(v, o).SetUint(uint64(int(f.next()) % (o.Fields().Len() + 1)))
		}
	}
}

// field fills the struct field of a message field.
func (f *filler) field(v reflect.Value, fd protoreflect.FieldDescriptor, depth int) {
	target := field(v, fd)
	switch {
	case fd.IsList():
		n := int(f.next()) % 5
		if n == 0 || depth > maxDepth {
			return
		}
		list := reflect.MakeSlice(target.Type(), n, n)
		for i := range n {
			f.value(list.Index(i), fd, depth)
		}
		target.Set(list)
	case target.Kind() == reflect.Pointer:
		if f.next()&1 == 0 || depth > maxDepth {
			return
		}
		target.Set(reflect.New(target.Type().Elem()))
		f.message(target.Elem(), fd.Message(), depth+1)
	default:
		if optional(fd) {
			named(v, "Has"+camel(string(fd.Name()))).SetBool(f.next()&1 == 0)
		}
		f.value(target, fd, depth)
		if hasAbsent(fd) && f.next()&1 == 0 {
			setAbsent(target, fd)
		}
	}
}

// setAbsent sets a field to what marks it as absent.
func setAbsent(v reflect.Value, fd protoreflect.FieldDescriptor) {
	switch {
	case absent(fd) == 0:
		v.SetZero()
	case v.CanUint():
		v.SetUint(uint64(absent(fd)))
	default:
		v.SetInt(absent(fd))
	}
}

// isAbsent reports whether a field has what marks it as absent. Minus zero does not.
func isAbsent(v reflect.Value, fd protoreflect.FieldDescriptor) bool {
	switch {
	case v.Kind() == reflect.Slice:
		return v.Len() == 0
	case absent(fd) == 0:
		return v.IsZero()
	case v.CanUint():
		return v.Uint() == uint64(absent(fd))
	}
	return v.Int() == absent(fd)
}

func (f *filler) value(v reflect.Value, fd protoreflect.FieldDescriptor, depth int) {
	switch v.Kind() {
	case reflect.Struct:
		f.message(v, fd.Message(), depth+1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.message(v.Elem(), fd.Message(), depth+1)
	case reflect.Bool:
		v.SetBool(f.next()&1 != 0)
	case reflect.Int32:
		v.SetInt(int64(int32(f.number())))
	case reflect.Int64:
		v.SetInt(int64(f.number()))
	case reflect.Uint32:
		v.SetUint(uint64(uint32(f.number())))
	case reflect.Uint64:
		v.SetUint(f.number())
	case reflect.Float32:
		v.Set(reflect.ValueOf(math.Float32frombits(uint32(f.number()))).Convert(v.Type()))
	case reflect.Float64:
		v.SetFloat(math.Float64frombits(f.number()))
	case reflect.Slice:
		v.SetBytes(f.text())
	default:
		panic("no rule for " + v.Type().String()) // an error in the test
	}
}
