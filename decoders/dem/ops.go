package dem

// op is how a value is read.
type op uint8

const (
	opNone op = iota // the path does not lead to a value
	opBool
	opInt32
	opInt64
	opUint32
	opUint64
	opFixed64
	opFixedInt8
	opFixedUint8
	opHandle
	opMinusOne
	opFloat // any float, by the float rule
	opVector
	opNormal3
	opTuple // num floats by the float rule
	opPitchYaw
	opPreciseAngles
	opCoordAngles
	opRawAngles
	opBitAngles
	opText
	opBlob
	opLength
	opPointer
)

// floatOp is how a float is read.
type floatOp uint8

const (
	floatRaw floatOp = iota
	floatCoord
	floatNormal
	floatTicks
	floatQuantized
)

// codec is how the values of a field are read.
type codec struct {
	op    op
	float floatOp
	num   uint8 // components of a tuple, bits of an angle, number of types of a polymorphic pointer
	// guess: nobody knows the type, which is field.unknown; it is read as varuint64. That is right for enums.
	guess bool
	quant *quantizer
}

// noValue is the codec of places that have no value of their own.
var noValue = codec{op: opNone}
