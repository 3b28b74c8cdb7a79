package dem

import (
	"encoding/binary"
	"math"
)

// fill writes a value to an event's field. data are the bytes of a value that lies outside its cell; floats holds the
// numbers of tuples.
func fill(f *FieldValue, c *cell, data []byte, floats *[]float32) {
	switch c.kind {
	case valueInt:
		f.ValueCase, f.Int = FieldValueValueInt, int64(c.word)
	case valueUint, valueLength:
		f.ValueCase, f.Uint = FieldValueValueUint, c.word
	case valueFloat:
		f.ValueCase, f.Float = FieldValueValueFloat, math.Float32frombits(uint32(c.word))
	case valueBool, valuePointer:
		f.ValueCase, f.Bool = FieldValueValueBool, c.word != 0
	case valueHandle:
		f.ValueCase, f.Handle = FieldValueValueHandle, uint32(c.word)
	case valueVector:
		f.ValueCase, f.Vector = FieldValueValueVector, vectorOf(c)
	case valueText:
		f.ValueCase, f.Text = FieldValueValueText, data
	case valueBlob:
		f.ValueCase, f.Blob = FieldValueValueBlob, data
	case valueTuple:
		start := len(*floats)
		for ; len(data) >= 4; data = data[4:] {
			*floats = append(*floats, math.Float32frombits(binary.LittleEndian.Uint32(data)))
		}
		f.ValueCase, f.Tuple.Values = FieldValueValueTuple, (*floats)[start:len(*floats):len(*floats)]
	default:
		f.ValueCase = FieldValueValueNone
	}
}

func vectorOf(c *cell) Vector {
	return Vector{
		X: math.Float32frombits(uint32(c.word)),
		Y: math.Float32frombits(uint32(c.word >> 32)),
		Z: math.Float32frombits(c.z),
	}
}
