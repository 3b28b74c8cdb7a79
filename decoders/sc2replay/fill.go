package sc2replay

import (
	"reflect"
	"unsafe"

	"github.com/replayd/replayd/decoders/sc2replay/protocol"
	"github.com/replayd/replayd/decoders/sc2replay/wire"
)

// This file writes decoded values to the destinations that bind.go computed. It is the only file that uses unsafe. A
// destination is an offset in a struct, which needs no allocation and no work at run time. Reflection would take longer
// than decoding.
//
// This is sound for three reasons. Offsets come from reflect.StructField of the same type that the caller passes. The
// kind of every store was derived from that field's type. Slices grow through reflection.

// fillPacked decodes a value of the plan's layout into the struct at base, which must have the plan's type.
func (p *plan) fillPacked(r *wire.Packed, base unsafe.Pointer) {
	clearRegions(base, p.clear)
	packedStruct(r, p.fields, base)
}

// fillVersioned is like fillPacked, for the versioned encoding.
func (p *plan) fillVersioned(r *wire.Versioned, base unsafe.Pointer) {
	clearRegions(base, p.clear)
	versionedValue(r, &p.node, base)
}

func packedStruct(r *wire.Packed, fields []node, base unsafe.Pointer) {
	for i := range fields {
		n := &fields[i]
		if n.optional && !r.Bool() {
			continue
		}
		for _, flag := range n.has {
			*(*bool)(unsafe.Add(base, flag)) = true
		}
		switch n.kind {
		case protocol.Int:
			putInt(n, base, int64(r.Bits(uint(n.bits)))+n.add)
		case protocol.Struct:
			packedStruct(r, n.fields, base)
		default:
			packedValue(r, n, base)
		}
	}
}

// putInt stores a number.
func putInt(n *node, base unsafe.Pointer, v int64) {
	dst := unsafe.Add(base, n.dst)
	switch n.store {
	case storeUint32, storeInt32:
		*(*uint32)(dst) = uint32(v)
	case storeFloat:
		*(*float32)(dst) = float32(v) * n.scale
	case storeEnum:
		*(*int32)(dst) = int32(v) + 1
	case storeUint64, storeInt64:
		*(*int64)(dst) = v
	case storeBool:
		*(*bool)(dst) = v != 0
	case storeCase:
		*(*uint8)(dst) = uint8(v)
	}
}

// packedValue reads a value that is present and is not an integer of a struct.
func packedValue(r *wire.Packed, n *node, base unsafe.Pointer) {
	switch n.kind {
	case protocol.Int:
		putInt(n, base, int64(r.Bits(uint(n.bits)))+n.add)
	case protocol.Bool:
		*(*bool)(unsafe.Add(base, n.dst)) = r.Bool()
	case protocol.Struct:
		packedStruct(r, n.fields, base)
	case protocol.Blob:
		*(*[]byte)(unsafe.Add(base, n.dst)) = r.Bytes(packedLen(r, n, 8))
	case protocol.BitArray:
		mask := (*BitMask)(unsafe.Add(base, n.dst))
		size := packedLen(r, n, 1)
		mask.Size = uint32(size)
		mask.Bits = r.AppendBits(mask.Bits[:0], size)
	case protocol.Array:
		size := packedLen(r, n, n.minBits)
		n.slice.each(unsafe.Add(base, n.dst), size, func(elem unsafe.Pointer) bool {
			packedElem(r, n.elem, elem)
			return !r.Failed()
		})
	case protocol.Choice:
		number := int(int64(r.Bits(uint(n.bits))) + n.add)
		for i := range n.fields {
			alt := &n.fields[i]
			if alt.tag != number {
				continue
			}
			*(*uint8)(unsafe.Add(base, n.dst)) = alt.number
			packedValue(r, alt, base)
			return
		}
		r.Fail()
	case protocol.FourCC:
		p := make([]byte, 4)
		for i := range p {
			p[i] = byte(r.Bits(8))
		}
		*(*[]byte)(unsafe.Add(base, n.dst)) = p
	case protocol.Null:
	case protocol.Invalid:
		skipPacked(r, n.skip)
	default:
		r.Fail()
	}
}

// skipPacked reads a value that has no destination.
func skipPacked(r *wire.Packed, typ *protocol.Type) {
	t := tree{left: maxFields}
	t.packedField(r, nil, typ, nil)
}

// packedElem reads an element of a list, which may be optional.
func packedElem(r *wire.Packed, n *node, base unsafe.Pointer) {
	if n.optional && !r.Bool() {
		return
	}
	packedValue(r, n, base)
}

// packedLen reads the length of a list whose elements have at least the given number of bits. It checks that enough
// bits are left.
func packedLen(r *wire.Packed, n *node, bits int) int {
	size := int64(r.Bits(uint(n.bits))) + n.add
	if size*int64(bits) > int64(r.Remaining()) {
		r.Fail()
		return 0
	}
	return int(size)
}

// versionedValue reads a value with its tag. A value of another kind than in the table is skipped, and the destination
// stays empty.
func versionedValue(r *wire.Versioned, n *node, base unsafe.Pointer) {
	if n.optional {
		if tag := r.Tag(); tag != wire.TagOptional {
			r.SkipValue(tag)
			return
		}
		if r.Byte() == 0 {
			return
		}
	}
	var ok bool
	switch n.kind {
	case protocol.Int, protocol.Bool:
		var v int64
		if v, ok = r.Number(); ok {
			putInt(n, base, v)
		}
	case protocol.Blob, protocol.FourCC:
		var p []byte
		if p, ok = r.Blob(); ok {
			*(*[]byte)(unsafe.Add(base, n.dst)) = p
		}
	case protocol.Struct:
		ok = versionedStruct(r, n, base)
	case protocol.Array:
		ok = versionedArray(r, n, base)
	default:
		// In the versioned encoding, no choice, list of bits or null is bound, and a field without a destination is bound to
		// nothing.
		r.Skip()
		return
	}
	if ok {
		for _, flag := range n.has {
			*(*bool)(unsafe.Add(base, flag)) = true
		}
	}
}

func versionedStruct(r *wire.Versioned, n *node, base unsafe.Pointer) bool {
	if tag := r.Tag(); tag != wire.TagStruct {
		r.SkipValue(tag)
		return false
	}
	for left := r.Count(); left > 0 && !r.Failed(); left-- {
		tag := r.Int()
		if tag < 0 || tag >= int64(len(n.tags)) || n.tags[tag] < 0 {
			r.Skip() // newer than the table
			continue
		}
		versionedValue(r, &n.fields[n.tags[tag]], base)
	}
	return true
}

func versionedArray(r *wire.Versioned, n *node, base unsafe.Pointer) bool {
	if tag := r.Tag(); tag != wire.TagArray {
		r.SkipValue(tag)
		return false
	}
	n.slice.each(unsafe.Add(base, n.dst), r.Count(), func(elem unsafe.Pointer) bool {
		versionedValue(r, n.elem, elem)
		return !r.Failed()
	})
	return true
}

// sliceOf describes how to fill a slice.
type sliceOf struct {
	typ   reflect.Type
	size  uintptr // of an element
	clear []region
}

// sliceHeader is the memory layout of a slice.
type sliceHeader struct {
	data     unsafe.Pointer
	len, cap int
}

// each gives the slice at dst n elements, one by one, and calls fill for each. It stops when fill returns false. Memory
// grows with the elements that were filled, not with n.
func (s *sliceOf) each(dst unsafe.Pointer, n int, fill func(elem unsafe.Pointer) bool) {
	h := (*sliceHeader)(dst)
	h.len = 0
	for i := range n {
		if i == h.cap {
			v := reflect.NewAt(s.typ, dst).Elem()
			v.Grow(min(max(2*i, 8), n) - i)
		}
		h.len = i + 1
		elem := unsafe.Add(h.data, uintptr(i)*s.size)
		clearRegions(elem, s.clear)
		if !fill(elem) {
			return
		}
	}
}

// region is a part of a struct that is cleared in one way.
type region struct {
	offset, size uintptr // size 0: a slice
	bytes        bool    // a slice of memory that the struct does not own: set to nil; other slices keep their memory
}

// regions returns the parts of a type that must be cleared.
func regions(t reflect.Type) []region {
	var out []region
	var walk func(t reflect.Type, offset uintptr, mask bool)
	plain := func(offset, size uintptr) {
		if n := len(out); n > 0 && out[n-1].size > 0 && out[n-1].offset+out[n-1].size <= offset && padding(out[n-1], offset) {
			out[n-1].size = offset + size - out[n-1].offset
			return
		}
		out = append(out, region{offset: offset, size: size})
	}
	walk = func(t reflect.Type, offset uintptr, mask bool) {
		switch t.Kind() {
		case reflect.Struct:
			for f := range t.Fields() {
				walk(f.Type, offset+f.Offset, t == maskType)
			}
		case reflect.Slice:
			out = append(out, region{offset: offset, bytes: t == bytesType && !mask})
		default:
			plain(offset, t.Size())
		}
	}
	walk(t, 0, false)
	return out
}

// padding reports whether only padding lies between a region and offset. Fields come in order, so padding is less than
// a word.
func padding(r region, offset uintptr) bool { return offset-(r.offset+r.size) < 8 }

func clearRegions(base unsafe.Pointer, rs []region) {
	for _, r := range rs {
		at := unsafe.Add(base, r.offset)
		switch {
		case r.size > 0:
			// Word by word: most regions are too small for a call of clear to pay off.
			i := uintptr(0)
			for ; i+8 <= r.size; i += 8 {
				*(*uint64)(unsafe.Add(at, i)) = 0
			}
			for ; i < r.size; i++ {
				*(*uint8)(unsafe.Add(at, i)) = 0
			}
		case r.bytes:
			*(*[]byte)(at) = nil
		default:
			(*sliceHeader)(at).len = 0
		}
	}
}
