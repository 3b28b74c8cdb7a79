package dem

import (
	"encoding/binary"
	"math"

	"github.com/replayd/replayd/decoders/bits"
)

// cell is a value of a field, in 16 bytes.
type cell struct {
	word uint64 // the value; x and y of a vector; where the bytes of text, tuple and blob lie
	z    uint32 // z of a vector
	kind valueKind
}

type valueKind uint8

const (
	valueNone valueKind = iota // the field is absent
	valueInt
	valueUint
	valueFloat
	valueBool
	valueHandle
	valueVector
	valueText
	valueTuple // float32s, little-endian
	valueBlob
	valueLength  // how many elements a list has
	valuePointer // whether an object is there: 0, or 1 + which of its types
)

// inBytes tells whether the value lies outside the cell.
func (k valueKind) inBytes() bool { return k == valueText || k == valueTuple || k == valueBlob }

// span packs a place among bytes into a cell's word.
func span(start, end int) uint64 { return uint64(start)<<32 | uint64(uint32(end)) }

func (c *cell) span() (start, end int) { return int(c.word >> 32), int(uint32(c.word)) }

// maxText bounds a string or a blob within an entity.
const maxText = 1 << 20

// read reads a value. Bytes go to the arena, whose extended slice is returned in d.arena. tick is a tick in seconds.
func (c *codec) read(r *bits.Reader, arena *[]byte, tick float32) cell {
	switch c.op {
	case opBool:
		return boolCell(r.Bool())
	case opInt32:
		return cell{word: uint64(int64(r.Varint32())), kind: valueInt}
	case opUint32:
		return cell{word: uint64(r.Varuint32()), kind: valueUint}
	case opHandle:
		return cell{word: uint64(r.Varuint32()), kind: valueHandle}
	case opFloat:
		return cell{word: uint64(math.Float32bits(c.readFloat(r, tick))), kind: valueFloat}
	case opUint64:
		return cell{word: r.Varuint64(), kind: valueUint}
	case opInt64:
		return cell{word: uint64(r.Varint64()), kind: valueInt}
	case opFixed64:
		return cell{word: r.Uint64(), kind: valueUint}
	case opFixedInt8:
		return cell{word: uint64(int64(int8(r.Bits(8)))), kind: valueInt}
	case opFixedUint8:
		return cell{word: r.Bits(8), kind: valueUint}
	case opMinusOne:
		return cell{word: uint64(int64(r.Varuint32()) - 1), kind: valueInt}
	case opLength:
		return cell{word: uint64(r.Varuint32()), kind: valueLength}
	case opPointer:
		return c.readPointer(r)
	case opVector:
		x := c.readFloat(r, tick)
		y := c.readFloat(r, tick)
		return vectorCell(x, y, c.readFloat(r, tick))
	case opNormal3:
		return readNormal3(r)
	case opPitchYaw, opPreciseAngles, opCoordAngles, opRawAngles, opBitAngles:
		return c.readAngles(r)
	case opText:
		start := len(*arena)
		*arena = r.AppendCString(*arena)
		if len(*arena)-start > maxText {
			r.Skip(r.Len() + 1) // an overrun
			*arena = (*arena)[:start]
		}
		return cell{word: span(start, len(*arena)), kind: valueText}
	case opBlob:
		n := int(r.Varuint32())
		start := len(*arena)
		if n > maxText || 8*n > r.Len() {
			r.Skip(r.Len() + 1) // an overrun
			n = 0
		}
		*arena = r.Append(*arena, n)
		return cell{word: span(start, len(*arena)), kind: valueBlob}
	case opTuple:
		start := len(*arena)
		for range c.num {
			*arena = binary.LittleEndian.AppendUint32(*arena, math.Float32bits(c.readFloat(r, tick)))
		}
		return cell{word: span(start, len(*arena)), kind: valueTuple}
	}
	return cell{}
}

func boolCell(v bool) cell {
	if v {
		return cell{word: 1, kind: valueBool}
	}
	return cell{kind: valueBool}
}

func vectorCell(x, y, z float32) cell {
	return cell{
		word: uint64(math.Float32bits(x)) | uint64(math.Float32bits(y))<<32,
		z:    math.Float32bits(z),
		kind: valueVector,
	}
}

func (c *codec) readFloat(r *bits.Reader, tick float32) float32 {
	switch c.float {
	case floatQuantized:
		return c.quant.read(r)
	case floatCoord:
		return readCoord(r)
	case floatNormal:
		return readNormal(r)
	case floatTicks:
		return float32(r.Varuint32()) * tick
	}
	return r.Float32()
}

// readPointer reads whether an object is there, and of which type it is where it may be of several.
func (c *codec) readPointer(r *bits.Reader) cell {
	v := cell{kind: valuePointer}
	if r.Bool() {
		v.word = 1
		if c.num > 1 {
			v.word += uint64(r.UBitVar())
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

func readNormal3(r *bits.Reader) cell {
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

func (c *codec) readAngles(r *bits.Reader) cell {
	switch c.op {
	case opPitchYaw:
		if c.num == 0 {
			x := r.Float32()
			return vectorCell(x, r.Float32(), 0)
		}
		x := readAngle(r, int(c.num))
		return vectorCell(x, readAngle(r, int(c.num)), 0)
	case opRawAngles:
		x, y := r.Float32(), r.Float32()
		return vectorCell(x, y, r.Float32())
	case opBitAngles:
		x, y := readAngle(r, int(c.num)), readAngle(r, int(c.num))
		return vectorCell(x, y, readAngle(r, int(c.num)))
	}
	has := [3]bool{r.Bool(), r.Bool(), r.Bool()}
	var v [3]float32
	for i := range v {
		switch {
		case !has[i]:
		case c.op == opPreciseAngles:
			// From −180° on, unlike all other angles.
			v[i] = readAngle(r, 20) - 180
		default:
			v[i] = readCoord(r)
		}
	}
	return vectorCell(v[0], v[1], v[2])
}
