package wire

import "encoding/binary"

// Tag says what a value of the versioned encoding is.
type Tag byte

// The tags.
const (
	TagArray    Tag = iota // a number of values
	TagBits                // a number of bits
	TagBlob                // a number of bytes
	TagChoice              // the number of an alternative, and its value
	TagOptional            // a byte; if that is not 0, a value
	TagStruct              // a number of fields: each its tag and its value
	TagByte                // one byte, also for truths
	TagWord                // four bytes, also for four letters
	TagLong                // eight bytes
	TagInt                 // an integer of variable length
)

const maxDepth = 32

// Versioned reads values that say what they are.
type Versioned struct {
	buf    []byte
	pos    int
	failed bool
}

// NewVersioned returns a reader of buf, which must not change meanwhile.
func NewVersioned(buf []byte) Versioned { return Versioned{buf: buf} }

// Failed reports whether more was read than there is, or what is there is not possible.
func (r *Versioned) Failed() bool { return r.failed }

// Fail makes the reader fail: the caller found that what was read cannot be.
func (r *Versioned) Fail() { r.failed = true }

// Offset is how many bytes were consumed.
func (r *Versioned) Offset() int { return r.pos }

// Len is how many bytes there are in all.
func (r *Versioned) Len() int { return len(r.buf) }

// Remaining is how many bytes are left.
func (r *Versioned) Remaining() int { return len(r.buf) - r.pos }

// Done reports whether everything was consumed.
func (r *Versioned) Done() bool { return r.pos >= len(r.buf) }

// Tag reads the tag of the next value.
func (r *Versioned) Tag() Tag { return Tag(r.Byte()) }

// Byte reads a byte.
func (r *Versioned) Byte() byte {
	if r.pos >= len(r.buf) {
		r.failed = true
		return 0
	}
	b := r.buf[r.pos]
	r.pos++
	return b
}

// Int reads an integer of variable length: the lowest bit is the sign, seven bits a byte, the lowest first.
func (r *Versioned) Int() int64 {
	var v uint64
	for shift := uint(0); shift < 70; shift += 7 {
		if r.pos >= len(r.buf) {
			break
		}
		b := r.buf[r.pos]
		r.pos++
		v |= uint64(b&0x7F) << shift
		if b&0x80 == 0 {
			if v&1 != 0 {
				return -int64(v >> 1)
			}
			return int64(v >> 1)
		}
	}
	r.failed = true
	return 0
}

// Count reads how many things follow that need one byte each at least.
func (r *Versioned) Count() int {
	n := r.Int()
	if n < 0 || n > int64(r.Remaining()) {
		r.failed = true
		return 0
	}
	return int(n)
}

// Bytes reads n bytes. They are a slice of the data.
func (r *Versioned) Bytes(n int) []byte {
	if n < 0 || n > r.Remaining() {
		r.failed = true
		return nil
	}
	p := r.buf[r.pos : r.pos+n : r.pos+n]
	r.pos += n
	return p
}

// Number reads a value that is a number of any width, its tag included. Any other value is skipped.
func (r *Versioned) Number() (v int64, ok bool) {
	switch tag := r.Tag(); tag {
	case TagInt:
		return r.Int(), true
	case TagByte:
		return int64(r.Byte()), true
	case TagWord:
		if p := r.Bytes(4); p != nil {
			return int64(binary.BigEndian.Uint32(p)), true
		}
	case TagLong:
		if p := r.Bytes(8); p != nil {
			return int64(binary.BigEndian.Uint64(p)), true
		}
	default:
		r.SkipValue(tag)
	}
	return 0, false
}

// Blob reads a value that is bytes, its tag included. Any other value is skipped.
func (r *Versioned) Blob() (p []byte, ok bool) {
	switch tag := r.Tag(); tag {
	case TagBlob:
		return r.Bytes(r.Count()), true
	case TagWord:
		return r.Bytes(4), true
	default:
		r.SkipValue(tag)
		return nil, false
	}
}

// Skip skips a value, its tag included.
func (r *Versioned) Skip() { r.skip(r.Tag(), 0) }

// SkipValue skips a value whose tag was read.
func (r *Versioned) SkipValue(tag Tag) { r.skip(tag, 0) }

func (r *Versioned) skip(tag Tag, depth int) {
	if depth > maxDepth {
		r.failed = true
	}
	if r.failed {
		return
	}
	switch tag {
	case TagArray:
		for n := r.Count(); n > 0 && !r.failed; n-- {
			r.skip(r.Tag(), depth+1)
		}
	case TagBits:
		n := r.Int()
		if n < 0 || n > int64(r.Remaining())*8 {
			r.failed = true
			return
		}
		r.Bytes(int(n+7) / 8)
	case TagBlob:
		r.Bytes(r.Count())
	case TagChoice:
		r.Int()
		r.skip(r.Tag(), depth+1)
	case TagOptional:
		if r.Byte() != 0 {
			r.skip(r.Tag(), depth+1)
		}
	case TagStruct:
		for n := r.Count(); n > 0 && !r.failed; n-- {
			r.Int()
			r.skip(r.Tag(), depth+1)
		}
	case TagByte:
		r.Byte()
	case TagWord:
		r.Bytes(4)
	case TagLong:
		r.Bytes(8)
	case TagInt:
		r.Int()
	default:
		r.failed = true
	}
}
