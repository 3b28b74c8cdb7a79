package value

import (
	"encoding/binary"
	"math"

	"github.com/replayd/replayd/decoders/bits"
)

// Cell is a value of a field, in 16 bytes.
type Cell struct {
	Word uint64 // the value; x and y of a vector; or the place of a text's, tuple's or blob's bytes
	Z    uint32 // z of a vector
	Kind Kind
	// Open reports whether the data can be read in another way that gives another value.
	Open bool
}

// Kind is the kind of value in a cell.
type Kind uint8

// The kinds of values.
const (
	None Kind = iota // the field is absent
	Int
	Uint
	Float
	Bool
	Handle
	Vector
	Text
	Tuple // float32s, little-endian
	Blob
	Length  // the number of elements of a list
	Pointer // whether an object exists: 0, or 1 + the number of its type
)

// InBytes reports whether the value lies outside its cell.
func (k Kind) InBytes() bool { return k == Text || k == Tuple || k == Blob }

// Leaf reports whether no other value depends on this one.
func (k Kind) Leaf() bool { return k < Length }

// span packs a place among bytes into a cell's word.
func span(start, end int) uint64 { return uint64(start)<<32 | uint64(uint32(end)) }

// Span returns the start and end of the bytes of a value that lies outside its cell, in the arena that it was read into.
func (c *Cell) Span() (start, end int) { return int(c.Word >> 32), int(uint32(c.Word)) }

// maxText bounds a string or a blob within an entity.
const maxText = 1 << 20

// Read reads a value. It appends text, tuples and blobs to arena. tick is the length of a tick, in seconds. A value beyond the
// end of r makes r.Overrun true.
func (c *Codec) Read(r *bits.Reader, arena *[]byte, tick float32) Cell {
	switch c.Op {
	case OpFloat:
		return Cell{Word: uint64(math.Float32bits(c.ReadFloat(r, tick))), Kind: Float}
	case OpBool:
		return boolCell(r.Bool())
	case OpInt32:
		return Cell{Word: uint64(int64(r.Varint32())), Kind: Int}
	case OpUint32:
		return Cell{Word: uint64(r.Varuint32()), Kind: Uint}
	case OpHandle:
		return Cell{Word: uint64(r.Varuint32()), Kind: Handle}
	case OpUint64:
		return Cell{Word: r.Varuint64(), Kind: Uint}
	case OpInt64:
		return Cell{Word: uint64(r.Varint64()), Kind: Int}
	case OpFixed64:
		return Cell{Word: r.Uint64(), Kind: Uint}
	case OpFixedInt8:
		return Cell{Word: uint64(int64(int8(r.Bits(8)))), Kind: Int}
	case OpFixedUint8:
		return Cell{Word: r.Bits(8), Kind: Uint}
	case OpMinusOne:
		return Cell{Word: uint64(int64(r.Varuint32()) - 1), Kind: Int}
	case OpLength:
		return Cell{Word: uint64(r.Varuint32()), Kind: Length}
	case OpPointer:
		return c.readPointer(r)
	case OpVector:
		x := c.ReadFloat(r, tick)
		y := c.ReadFloat(r, tick)
		return vectorCell(x, y, c.ReadFloat(r, tick))
	case OpNormal3:
		return readNormal3(r)
	case OpPitchYaw, OpPreciseAngles, OpCoordAngles, OpRawAngles, OpBitAngles:
		return c.readAngles(r)
	case OpText:
		start := len(*arena)
		*arena = r.AppendCString(*arena)
		if len(*arena)-start > maxText {
			r.Skip(r.Len() + 1) // an overrun
			*arena = (*arena)[:start]
		}
		return Cell{Word: span(start, len(*arena)), Kind: Text}
	case OpBlob:
		n := int(r.Varuint32())
		start := len(*arena)
		if n > maxText || 8*n > r.Len() {
			r.Skip(r.Len() + 1) // an overrun
			n = 0
		}
		*arena = r.Append(*arena, n)
		return Cell{Word: span(start, len(*arena)), Kind: Blob}
	case OpTuple:
		start := len(*arena)
		for range c.Num {
			*arena = binary.LittleEndian.AppendUint32(*arena, math.Float32bits(c.ReadFloat(r, tick)))
		}
		return Cell{Word: span(start, len(*arena)), Kind: Tuple}
	}
	return Cell{}
}

func boolCell(v bool) Cell {
	if v {
		return Cell{Word: 1, Kind: Bool}
	}
	return Cell{Kind: Bool}
}

func vectorCell(x, y, z float32) Cell {
	return Cell{
		Word: uint64(math.Float32bits(x)) | uint64(math.Float32bits(y))<<32,
		Z:    math.Float32bits(z),
		Kind: Vector,
	}
}

// ReadFloat reads a float by the float rule, like Read.
func (c *Codec) ReadFloat(r *bits.Reader, tick float32) float32 {
	switch c.Float {
	case FloatRaw: // nearly half of all values
		return r.Float32()
	case FloatQuantized:
		return c.Quant.read(r)
	case FloatCoord:
		return readCoord(r)
	case FloatNormal:
		return readNormal(r)
	case FloatTicks:
		return float32(r.Varuint32()) * tick
	}
	return r.Float32()
}

// readPointer reads whether an object exists and, if it may be of several types, which type it has.
func (c *Codec) readPointer(r *bits.Reader) Cell {
	v := Cell{Kind: Pointer}
	if r.Bool() {
		v.Word = 1
		if c.Num > 1 {
			v.Word += uint64(r.UBitVar())
		}
	}
	return v
}

func readCoord(r *bits.Reader) float32 {
	hasInt, hasFrac := r.Bool(), r.Bool()
	if !hasInt && !hasFrac {
		return 0
	}
	negative := r.Bool()
	var v float32
	if hasInt {
		v = float32(r.Bits(14) + 1)
	}
	if hasFrac {
		v += float32(r.Bits(5)) * (1.0 / 32)
	}
	if negative {
		return -v
	}
	return v
}

func readNormal(r *bits.Reader) float32 {
	negative := r.Bool()
	v := float32(r.Bits(11)) * (1.0 / 2047)
	if negative {
		return -v
	}
	return v
}

func readNormal3(r *bits.Reader) Cell {
	hasX, hasY := r.Bool(), r.Bool()
	var x, y, z float32
	if hasX {
		x = readNormal(r)
	}
	if hasY {
		y = readNormal(r)
	}
	negative := r.Bool()
	// The conversions keep processors from adding before the products are rounded.
	if sum := float32(x*x) + float32(y*y); sum < 1 {
		z = float32(math.Sqrt(float64(1 - sum)))
	}
	if negative {
		z = -z
	}
	return vectorCell(x, y, z)
}

func readAngle(r *bits.Reader, n int) float32 {
	return float32(r.Bits(n)) * 360 / float32(uint64(1)<<n)
}

func (c *Codec) readAngles(r *bits.Reader) Cell {
	switch c.Op {
	case OpPitchYaw:
		if c.Num == 0 {
			x := r.Float32()
			return vectorCell(x, r.Float32(), 0)
		}
		x := readAngle(r, int(c.Num))
		return vectorCell(x, readAngle(r, int(c.Num)), 0)
	case OpRawAngles:
		x, y := r.Float32(), r.Float32()
		return vectorCell(x, y, r.Float32())
	case OpBitAngles:
		x, y := readAngle(r, int(c.Num)), readAngle(r, int(c.Num))
		return vectorCell(x, y, readAngle(r, int(c.Num)))
	}
	has := [3]bool{r.Bool(), r.Bool(), r.Bool()}
	var v [3]float32
	for i := range v {
		switch {
		case !has[i]:
		case c.Op == OpPreciseAngles:
			// From −180° on, unlike all other angles.
			v[i] = readAngle(r, 20) - 180
		default:
			v[i] = readCoord(r)
		}
	}
	return vectorCell(v[0], v[1], v[2])
}
