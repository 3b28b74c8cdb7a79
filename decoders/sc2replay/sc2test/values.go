package sc2test

import (
	"fmt"
	"math/rand/v2"

	"github.com/replayd/replayd/decoders/sc2replay/protocol"
)

// S is the value of a struct: a map from names to values. A missing field is zero, or absent if it is optional.
type S map[string]any

// C is the value of a choice.
type C struct {
	Name  string
	Value any
}

// B is the value of a list of bits. It has Size bits; bit j of byte k is number 8k+j.
type B struct {
	Size int
	Bits []byte
}

// PackedWriter writes the bit-packed encoding.
type PackedWriter struct {
	Buf []byte
	pos int
}

// Bits writes the low n bits of v.
func (w *PackedWriter) Bits(v uint64, n int) {
	for n > 0 {
		skip := w.pos & 7
		if skip == 0 {
			w.Buf = append(w.Buf, 0)
		}
		take := min(8-skip, n)
		piece := v >> (n - take) & (1<<take - 1)
		w.Buf[len(w.Buf)-1] |= byte(piece) << skip
		w.pos, n = w.pos+take, n-take
	}
}

// Align moves to the next byte.
func (w *PackedWriter) Align() { w.pos = len(w.Buf) * 8 }

// Bytes aligns and writes whole bytes.
func (w *PackedWriter) Bytes(p []byte) {
	w.Align()
	w.Buf = append(w.Buf, p...)
	w.pos = len(w.Buf) * 8
}

// Value writes a value with a layout. It panics if they do not match, which is a mistake in the test.
func (w *PackedWriter) Value(t *protocol.Type, v any) {
	switch t.Kind {
	case protocol.Int:
		w.Bits(uint64(integer(v)-t.Offset), int(t.Bits))
	case protocol.Bool:
		w.Bits(uint64(integer(v)), 1)
	case protocol.Null:
	case protocol.FourCC:
		for _, b := range four(v) {
			w.Bits(uint64(b), 8)
		}
	case protocol.Optional:
		if v == nil {
			w.Bits(0, 1)
			return
		}
		w.Bits(1, 1)
		w.Value(t.Elem, v)
	case protocol.Blob:
		p := blob(t, v)
		w.Bits(uint64(int64(len(p))-t.Offset), int(t.Bits))
		w.Bytes(p)
	case protocol.BitArray:
		b, _ := v.(B)
		w.Bits(uint64(int64(b.Size)-t.Offset), int(t.Bits))
		w.list(b)
	case protocol.Array:
		list := elements(t, v)
		w.Bits(uint64(int64(len(list))-t.Offset), int(t.Bits))
		for _, e := range list {
			w.Value(t.Elem, e)
		}
	case protocol.Choice:
		alt, value := alternative(t, v)
		w.Bits(uint64(int64(alt.Tag)-t.Offset), int(t.Bits))
		w.Value(alt.Type, value)
	case protocol.Struct:
		for _, f := range t.Fields {
			w.Value(f.Type, member(v, f.Name))
		}
	default:
		panic(fmt.Sprintf("sc2test: %v", t))
	}
}

// list writes a list of bits as 32-bit numbers and a shorter last one. A number's most significant eight bits are the
// list's next byte.
func (w *PackedWriter) list(b B) {
	for i := 0; i < b.Size; {
		number, n := uint64(0), min(32, b.Size-i)
		for end := i + n; i < end; {
			size := min(8, end-i)
			number = number<<size | uint64(b.Bits[i/8])&(1<<size-1)
			i += size
		}
		w.Bits(number, n)
	}
}

// AppendVersioned appends a value with a layout, in the versioned encoding.
func AppendVersioned(p []byte, t *protocol.Type, v any) []byte {
	switch t.Kind {
	case protocol.Int:
		return AppendInt(append(p, 9), integer(v))
	case protocol.Bool:
		return append(p, 6, byte(integer(v)))
	case protocol.FourCC:
		b := four(v)
		return append(append(p, 7), b[:]...)
	case protocol.Optional:
		if v == nil {
			return append(p, 4, 0)
		}
		return AppendVersioned(append(p, 4, 1), t.Elem, v)
	case protocol.Blob:
		b := blob(t, v)
		return append(AppendInt(append(p, 2), int64(len(b))), b...)
	case protocol.Array:
		list := elements(t, v)
		p = AppendInt(append(p, 0), int64(len(list)))
		for _, e := range list {
			p = AppendVersioned(p, t.Elem, e)
		}
		return p
	case protocol.Struct:
		p = AppendInt(append(p, 5), int64(len(t.Fields)))
		for _, f := range t.Fields {
			p = AppendVersioned(AppendInt(p, int64(f.Tag)), f.Type, member(v, f.Name))
		}
		return p
	}
	panic(fmt.Sprintf("sc2test: %v", t))
}

// AppendInt appends an integer of variable length.
func AppendInt(p []byte, v int64) []byte {
	u := uint64(v) << 1
	if v < 0 {
		u = uint64(-v)<<1 | 1
	}
	for ; u >= 0x80; u >>= 7 {
		p = append(p, byte(u)|0x80)
	}
	return append(p, byte(u))
}

func integer(v any) int64 {
	switch v := v.(type) {
	case nil:
		return 0
	case int:
		return int64(v)
	case int64:
		return v
	case bool:
		if v {
			return 1
		}
		return 0
	}
	panic(fmt.Sprintf("sc2test: %T is not an integer", v))
}

func four(v any) (out [4]byte) {
	s, _ := v.(string)
	copy(out[:], s)
	return out
}

func blob(t *protocol.Type, v any) []byte {
	s, _ := v.(string)
	if t.Bits == 0 {
		return append([]byte(s), make([]byte, int(t.Offset)-len(s))...)
	}
	return []byte(s)
}

func elements(t *protocol.Type, v any) []any {
	list, _ := v.([]any)
	for int64(len(list)) < t.Offset {
		list = append(list, nil)
	}
	return list
}

func alternative(t *protocol.Type, v any) (protocol.Field, any) {
	c, ok := v.(C)
	for _, f := range t.Fields {
		if !ok || f.Name == c.Name {
			return f, c.Value
		}
	}
	panic(fmt.Sprintf("sc2test: no alternative %s", c.Name))
}

func member(v any, name string) any {
	s, ok := v.(S)
	if !ok && v != nil {
		return v // a struct of one field stands for it
	}
	return s[name]
}

// Random returns a random value with a layout. Lists have few elements.
func Random(t *protocol.Type, r *rand.Rand) any {
	switch t.Kind {
	case protocol.Int:
		v := r.Uint64()
		if t.Bits < 64 {
			v &= 1<<t.Bits - 1
		}
		return int64(v) + t.Offset
	case protocol.Bool:
		return r.IntN(2) == 1
	case protocol.Null:
		return nil
	case protocol.FourCC:
		return string(letters(r, 4))
	case protocol.Optional:
		if r.IntN(2) == 0 {
			return nil
		}
		if v := Random(t.Elem, r); v != nil {
			return v
		}
		return S{}
	case protocol.Blob:
		if t.Bits == 0 {
			return string(letters(r, int(t.Offset)))
		}
		return string(letters(r, int(t.Offset)+r.IntN(min(1<<t.Bits, 20))))
	case protocol.BitArray:
		n := int(t.Offset) + r.IntN(min(1<<t.Bits, 40))
		b := B{Size: n}
		for i := 0; i < n; i += 8 {
			b.Bits = append(b.Bits, byte(r.Uint32())&byte(1<<min(8, n-i)-1))
		}
		return b
	case protocol.Array:
		n := int(t.Offset)
		if t.Bits > 0 {
			n += r.IntN(min(1<<t.Bits, 4))
		}
		list := make([]any, n)
		for i := range list {
			list[i] = Random(t.Elem, r)
		}
		return list
	case protocol.Choice:
		f := t.Fields[r.IntN(len(t.Fields))]
		return C{f.Name, Random(f.Type, r)}
	case protocol.Struct:
		s := S{}
		for _, f := range t.Fields {
			s[f.Name] = Random(f.Type, r)
		}
		return s
	}
	panic(fmt.Sprintf("sc2test: %v", t))
}

func letters(r *rand.Rand, n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte('a' + r.IntN(26))
	}
	return p
}
