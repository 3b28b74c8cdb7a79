package codectest

import (
	"math"
	"reflect"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// maxDepth bounds messages that contain themselves.
const maxDepth = 4

// filler fills structs by a seed.
type filler struct{ seed []byte }

// next takes a byte of the seed, 0 after its end.
func (f *filler) next() byte {
	if len(f.seed) == 0 {
		return 0
	}
	b := f.seed[0]
	f.seed = f.seed[1:]
	return b
}

// number makes a number: often a small one, or one at the edge of what some width can hold.
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

// text makes some bytes, not always valid UTF-8, sometimes longer than a length of one byte can say.
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

// message fills a struct that stands for a message.
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

// field fills a struct's field that stands for a message's.
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
			target.SetInt(absent(fd))
		}
	}
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
		panic("no rule for " + v.Type().String()) // the test's own fault
	}
}
