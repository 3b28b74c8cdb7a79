// Package value reads the values of fields of entities. A [Codec] describes how to read a value. A [Cell] holds the result.
package value

// Op is a way of reading a value.
type Op uint8

// The ways of reading a value. docs/formats/dem.md describes them.
const (
	OpNone Op = iota // the path does not lead to a value
	OpBool
	OpInt32
	OpInt64
	OpUint32
	OpUint64
	OpFixed64
	OpFixedInt8
	OpFixedUint8
	OpHandle
	OpMinusOne
	OpFloat // any float, by the float rule
	OpVector
	OpNormal3
	OpTuple // Num floats by the float rule
	OpPitchYaw
	OpPreciseAngles
	OpCoordAngles
	OpRawAngles
	OpBitAngles
	OpText
	OpBlob
	OpLength
	OpPointer
)

// FloatOp is a way of reading a float.
type FloatOp uint8

// The ways of reading a float.
const (
	FloatRaw FloatOp = iota
	FloatCoord
	FloatNormal
	FloatTicks
	FloatQuantized
)

// Codec describes how the values of a field are read.
type Codec struct {
	Op    Op
	Float FloatOp
	Num   uint8 // components of a tuple, bits of an angle, number of types of a polymorphic pointer
	// Guess reports whether the type is unknown. An unknown type is read as varuint64, which is right for enums.
	Guess bool
	Quant *Quantizer // for FloatQuantized
}

// Plain reports whether the values lie in their cells, and no value below their fields depends on them.
func (c *Codec) Plain() bool { return c.Op < OpText && c.Op != OpTuple }

// NoValue is the codec of a place in the tree without a value.
var NoValue = Codec{Op: OpNone}
