package entity

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"github.com/replayd/replayd/decoders/dem/internal/share"
	"github.com/replayd/replayd/decoders/dem/internal/value"
)

// Image is a state as bytes, with the other known facts of its entity. It is immutable, so that snapshots share it. It can be
// used only with a tree that numbers cells in the same way as the state's tree; see Grown.
type Image struct {
	count share.Count
	About
	cells  int
	places int // values that lie outside their cells
	bytes  int // the total length of these values
	data   []byte
}

// About holds the known facts of an entity besides its state.
type About struct {
	Index  int32 // the slot, or another number that distinguishes images
	Class  int32 // the class's id
	Serial uint32
	Active bool
}

// imageSize is the approximate memory of an image besides its data.
const imageSize = 96

// Hold implements share.Part.
func (m *Image) Hold() int { return m.count.Hold(imageSize + len(m.data)) }

// Release implements share.Part.
func (m *Image) Release() int { return m.count.Release(imageSize + len(m.data)) }

// openValue is a byte with which no cell begins.
const openValue = 15

// slack is how many bytes after its end an image's data can be read.
const slack = 8

// Imager makes images. The zero value is ready for use.
type Imager struct{ buf []byte }

// Image returns an image of a state: old, if that still is one.
//
// A cell is a byte with its kind and the number of bytes of its word, and those bytes; then the z of a vector, or the value's
// bytes where the word is their number. A byte of its own before it says that the value is open. Absent cells are a zero byte and their number.
func (m *Imager) Image(s *State, about About, old *Image) *Image {
	b := m.buf[:0]
	places, outside := 0, 0
	for i := 0; i < len(s.Cells); i++ {
		c := &s.Cells[i]
		if c.Kind == value.None {
			start := i
			for i+1 < len(s.Cells) && s.Cells[i+1].Kind == value.None {
				i++
			}
			b = binary.AppendUvarint(append(b, 0), uint64(i+1-start))
			continue
		}
		word := c.Word
		switch {
		case c.Kind.InBytes():
			word = uint64(len(s.bytes[c.Word]))
		case c.Kind == value.Int:
			word = word<<1 ^ uint64(int64(word)>>63)
		}
		if c.Open {
			b = append(b, openValue)
		}
		n := (bits.Len64(word) + 7) / 8
		b = append(b, byte(c.Kind)|byte(n<<4))
		b = binary.LittleEndian.AppendUint64(b, word)[:len(b)+n]
		switch {
		case c.Kind.InBytes():
			b = append(b, s.bytes[c.Word]...)
			places++
			outside += int(word)
		case c.Kind == value.Vector:
			b = binary.LittleEndian.AppendUint32(b, c.Z)
		}
	}
	m.buf = b
	if old != nil && old.About == about && old.cells == len(s.Cells) && bytes.Equal(old.data, b) {
		return old
	}
	data := append(make([]byte, 0, len(b)+slack), b...)
	return &Image{About: about, cells: len(s.Cells), places: places, bytes: outside, data: data}
}

// State returns the image's state. Its memory comes from slab.
func (m *Image) State(slab *Slab) (s State) {
	s.Cells = slab.take(m.cells)
	if m.places > 0 {
		s.bytes = make([][]byte, 0, m.places)
		s.outside = m.bytes
	}
	var outside []byte
	if m.bytes > 0 {
		outside = make([]byte, 0, m.bytes)
	}
	b := m.data[:len(m.data)+slack]
	for i, p := 0, 0; i < m.cells; i++ {
		head := b[p]
		p++
		if head == 0 {
			n, used := binary.Uvarint(b[p:])
			p += used
			i += int(n) - 1
			continue
		}
		open := head == openValue
		if open {
			head = b[p]
			p++
		}
		kind, n := value.Kind(head&15), int(head>>4)
		word := binary.LittleEndian.Uint64(b[p:]) & (1<<(8*n) - 1)
		p += n
		c := value.Cell{Kind: kind, Open: open}
		switch {
		case kind.InBytes():
			start := len(outside)
			outside = append(outside, b[p:p+int(word)]...)
			s.bytes = append(s.bytes, outside[start:len(outside):len(outside)])
			p += int(word)
			word = uint64(len(s.bytes) - 1)
		case kind == value.Int:
			word = word>>1 ^ -(word & 1)
		case kind == value.Vector:
			c.Z = binary.LittleEndian.Uint32(b[p:])
			p += 4
		}
		c.Word = word
		s.Cells[i] = c
	}
	return s
}

// Slab hands out memory for cells. The zero value is ready for use.
type Slab struct{ cells []value.Cell }

// Grow makes room for n cells.
func (s *Slab) Grow(n int) { s.cells = make([]value.Cell, n) }

func (s *Slab) take(n int) []value.Cell {
	if n > len(s.cells) {
		s.cells = make([]value.Cell, max(n, 4096))
	}
	c := s.cells[:n:n]
	s.cells = s.cells[n:]
	return c
}
