package wire

import "encoding/binary"

// Tag is the kind of a value in the versioned encoding.
type Tag byte

// The tags.
const (
	TagArray    Tag = iota // a count, and that many values
	TagBits                // a count, and that many bits
	TagBlob                // a count, and that many bytes
	TagChoice              // the number of an alternative, and its value
	TagOptional            // a byte, and a value if the byte is not 0
	TagStruct              // a count of fields, each a tag and a value
	TagByte                // one byte, also for booleans
	TagWord                // four bytes, also for four letters
	TagLong                // eight bytes
	TagInt                 // an integer of variable length
)

const maxDepth = 32

// Versioned reads values with tags.
type Versioned struct {
	buf    []byte
	pos    int
	failed bool
}

// NewVersioned returns a reader of buf. The caller must not modify buf while the reader is in use.
func NewVersioned(buf []byte) Versioned { return Versioned{buf: buf} }

// Failed reports whether a read went past the end, the data was invalid, or Fail was called.
func (r *Versioned) Failed() bool { return r.failed }

// Fail marks the reader as failed. Callers use it for values that are impossible.
func (r *Versioned) Fail() { r.failed = true }

// Offset returns the number of bytes consumed.
func (r *Versioned) Offset() int { return r.pos }

// Len returns the total number of bytes.
func (r *Versioned) Len() int { return len(r.buf) }

// Remaining returns the number of bytes left.
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

// Int reads an integer of variable length, seven bits per byte, lowest first. The lowest bit is the sign.
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

// Count reads the number of elements that follow. Each takes at least one byte, so a larger count fails.
func (r *Versioned) Count() int {
	n := r.Int()
	if n < 0 || n > int64(r.Remaining()) {
		r.failed = true
		return 0
	}
	return int(n)
}

// Bytes reads n bytes. The result is a slice of the data.
func (r *Versioned) Bytes(n int) []byte {
	if n < 0 || n > r.Remaining() {
		r.failed = true
		return nil
	}
	p := r.buf[r.pos : r.pos+n : r.pos+n]
	r.pos += n
	return p
}

// Number reads a number of any width and its tag. It skips any other value.
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

// Blob reads a byte string and its tag. It skips any other value.
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

// Skip skips a value and its tag.
func (r *Versioned) Skip() { r.skip(r.Tag(), 0) }

// SkipValue skips a value whose tag has been read.
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
