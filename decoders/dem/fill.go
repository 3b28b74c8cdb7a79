package dem

import (
	"encoding/binary"
	"math"

	"github.com/replayd/replayd/decoders/dem/internal/value"
)

// fill writes a value to an event's field. data holds the bytes of a value that lies outside its cell. floats holds the
// numbers of tuples.
func fill(f *FieldValue, c *value.Cell, data []byte, floats *[]float32) {
	switch c.Kind {
	case value.Int:
		f.ValueCase, f.Int = FieldValueValueInt, int64(c.Word)
	case value.Uint, value.Length:
		f.ValueCase, f.Uint = FieldValueValueUint, c.Word
	case value.Float:
		f.ValueCase, f.Float = FieldValueValueFloat, math.Float32frombits(uint32(c.Word))
	case value.Bool, value.Pointer:
		f.ValueCase, f.Bool = FieldValueValueBool, c.Word != 0
	case value.Handle:
		f.ValueCase, f.Handle = FieldValueValueHandle, uint32(c.Word)
	case value.Vector:
		f.ValueCase, f.Vector = FieldValueValueVector, vectorOf(c)
	case value.Text:
		f.ValueCase, f.Text = FieldValueValueText, data
	case value.Blob:
		f.ValueCase, f.Blob = FieldValueValueBlob, data
	case value.Tuple:
		start := len(*floats)
		for ; len(data) >= 4; data = data[4:] {
			*floats = append(*floats, math.Float32frombits(binary.LittleEndian.Uint32(data)))
		}
		f.ValueCase, f.Tuple.Values = FieldValueValueTuple, (*floats)[start:len(*floats):len(*floats)]
	default:
		f.ValueCase = FieldValueValueNone
	}
}

func vectorOf(c *value.Cell) Vector {
	return Vector{
		X: math.Float32frombits(uint32(c.Word)),
		Y: math.Float32frombits(uint32(c.Word >> 32)),
		Z: math.Float32frombits(c.Z),
	}
}
