package value

import (
	"math"
	"testing"

	"github.com/replayd/replayd/decoders/bits"
	"github.com/replayd/replayd/decoders/dem/demtest"
)

// TestRead: each way to read a value, from bits that docs/formats/dem.md describes, and that nothing behind the value is read.
func TestRead(t *testing.T) {
	const tick = 1.0 / 64
	float := func(v float32) uint64 { return uint64(math.Float32bits(v)) }
	vector := func(x, y, z float32) Cell {
		return Cell{Word: float(x) | float(y)<<32, Z: math.Float32bits(z), Kind: Vector}
	}
	nan := uint32(0x7f80_0001) // a signalling one: its bits stay
	for name, test := range map[string]struct {
		codec Codec
		write func(w *demtest.Bits)
		want  Cell
		data  string
	}{
		"float":     {Codec{Op: OpFloat}, func(w *demtest.Bits) { w.Float32(-1.5) }, Cell{Word: float(-1.5), Kind: Float}, ""},
		"no number": {Codec{Op: OpFloat}, func(w *demtest.Bits) { w.Bits(uint64(nan), 32) }, Cell{Word: uint64(nan), Kind: Float}, ""},
		"ticks":     {Codec{Op: OpFloat, Float: FloatTicks}, func(w *demtest.Bits) { w.Varint(128) }, Cell{Word: float(2), Kind: Float}, ""},
		"normal":    {Codec{Op: OpFloat, Float: FloatNormal}, func(w *demtest.Bits) { w.Bool(true); w.Bits(2047, 11) }, Cell{Word: float(-1), Kind: Float}, ""},
		"coordinate": {Codec{Op: OpFloat, Float: FloatCoord}, func(w *demtest.Bits) {
			w.Bool(true)
			w.Bool(true)
			w.Bool(true)
			w.Bits(99, 14)
			w.Bits(8, 5)
		}, Cell{Word: float(-100.25), Kind: Float}, ""},
		"whole coordinate": {Codec{Op: OpFloat, Float: FloatCoord}, func(w *demtest.Bits) {
			w.Bool(true)
			w.Bool(false)
			w.Bool(false)
			w.Bits(99, 14)
		}, Cell{Word: float(100), Kind: Float}, ""},
		"part of a coordinate": {Codec{Op: OpFloat, Float: FloatCoord}, func(w *demtest.Bits) {
			w.Bool(false)
			w.Bool(true)
			w.Bool(false)
			w.Bits(16, 5)
		}, Cell{Word: float(.5), Kind: Float}, ""},
		"no coordinate":    {Codec{Op: OpFloat, Float: FloatCoord}, func(w *demtest.Bits) { w.Bits(0, 2) }, Cell{Kind: Float}, ""},
		"true":             {Codec{Op: OpBool}, func(w *demtest.Bits) { w.Bool(true) }, Cell{Word: 1, Kind: Bool}, ""},
		"false":            {Codec{Op: OpBool}, func(w *demtest.Bits) { w.Bool(false) }, Cell{Kind: Bool}, ""},
		"int32":            {Codec{Op: OpInt32}, func(w *demtest.Bits) { w.Zigzag(-300) }, Cell{Word: 1<<64 - 300, Kind: Int}, ""},
		"uint32":           {Codec{Op: OpUint32}, func(w *demtest.Bits) { w.Varint(1<<32 - 1) }, Cell{Word: 1<<32 - 1, Kind: Uint}, ""},
		"handle":           {Codec{Op: OpHandle}, func(w *demtest.Bits) { w.Varint(77) }, Cell{Word: 77, Kind: Handle}, ""},
		"uint64":           {Codec{Op: OpUint64}, func(w *demtest.Bits) { w.Varint(1<<64 - 1) }, Cell{Word: 1<<64 - 1, Kind: Uint}, ""},
		"int64":            {Codec{Op: OpInt64}, func(w *demtest.Bits) { w.Zigzag(-1 << 62) }, Cell{Word: 3 << 62, Kind: Int}, ""},
		"fixed64":          {Codec{Op: OpFixed64}, func(w *demtest.Bits) { w.Bits(1<<40|5, 64) }, Cell{Word: 1<<40 | 5, Kind: Uint}, ""},
		"fixed int8":       {Codec{Op: OpFixedInt8}, func(w *demtest.Bits) { w.Bits(0xff, 8) }, Cell{Word: 1<<64 - 1, Kind: Int}, ""},
		"fixed uint8":      {Codec{Op: OpFixedUint8}, func(w *demtest.Bits) { w.Bits(0xff, 8) }, Cell{Word: 0xff, Kind: Uint}, ""},
		"minus one":        {Codec{Op: OpMinusOne}, func(w *demtest.Bits) { w.Varint(0) }, Cell{Word: 1<<64 - 1, Kind: Int}, ""},
		"length":           {Codec{Op: OpLength}, func(w *demtest.Bits) { w.Varint(3) }, Cell{Word: 3, Kind: Length}, ""},
		"no object":        {Codec{Op: OpPointer, Num: 3}, func(w *demtest.Bits) { w.Bool(false) }, Cell{Kind: Pointer}, ""},
		"an object":        {Codec{Op: OpPointer, Num: 1}, func(w *demtest.Bits) { w.Bool(true) }, Cell{Word: 1, Kind: Pointer}, ""},
		"one of three":     {Codec{Op: OpPointer, Num: 3}, func(w *demtest.Bits) { w.Bool(true); w.UBitVar(2) }, Cell{Word: 3, Kind: Pointer}, ""},
		"vector":           {Codec{Op: OpVector}, func(w *demtest.Bits) { w.Float32(1); w.Float32(2); w.Float32(3) }, vector(1, 2, 3), ""},
		"unit vector down": {Codec{Op: OpNormal3}, func(w *demtest.Bits) { w.Bits(0, 2); w.Bool(true) }, vector(0, 0, -1), ""},
		"unit vector aside": {Codec{Op: OpNormal3}, func(w *demtest.Bits) {
			w.Bool(false)
			w.Bool(true)
			w.Bool(true)
			w.Bits(2047, 11)
			w.Bool(false)
		}, vector(0, -1, 0), ""},
		"unit vector too long": {Codec{Op: OpNormal3}, func(w *demtest.Bits) {
			w.Bool(true)
			w.Bool(true)
			w.Bool(false)
			w.Bits(2047, 11)
			w.Bool(false)
			w.Bits(2047, 11)
			w.Bool(false)
		}, vector(1, 1, 0), ""},
		"pitch and yaw":         {Codec{Op: OpPitchYaw}, func(w *demtest.Bits) { w.Float32(10); w.Float32(20) }, vector(10, 20, 0), ""},
		"pitch and yaw in bits": {Codec{Op: OpPitchYaw, Num: 8}, func(w *demtest.Bits) { w.Bits(128, 8); w.Bits(64, 8) }, vector(180, 90, 0), ""},
		"raw angles":            {Codec{Op: OpRawAngles}, func(w *demtest.Bits) { w.Float32(10); w.Float32(20); w.Float32(30) }, vector(10, 20, 30), ""},
		"angles in bits":        {Codec{Op: OpBitAngles, Num: 2}, func(w *demtest.Bits) { w.Bits(1, 2); w.Bits(2, 2); w.Bits(3, 2) }, vector(90, 180, 270), ""},
		"precise angles": {Codec{Op: OpPreciseAngles}, func(w *demtest.Bits) {
			w.Bits(0b101, 3)
			w.Bits(0, 20)
			w.Bits(1<<19, 20)
		}, vector(-180, 0, 0), ""},
		"angles as coordinates": {Codec{Op: OpCoordAngles}, func(w *demtest.Bits) {
			w.Bits(0b010, 3)
			w.Bits(0b001, 3)
			w.Bits(89, 14)
		}, vector(0, 90, 0), ""},
		"text":  {Codec{Op: OpText}, func(w *demtest.Bits) { w.CString("abc") }, Cell{Word: 4<<32 | 7, Kind: Text}, "abc"},
		"bytes": {Codec{Op: OpBlob}, func(w *demtest.Bits) { w.Varint(2); w.Raw([]byte("xy")) }, Cell{Word: 4<<32 | 6, Kind: Blob}, "xy"},
		"tuple": {Codec{Op: OpTuple, Num: 2}, func(w *demtest.Bits) { w.Float32(1); w.Float32(0) }, Cell{Word: 4<<32 | 12, Kind: Tuple}, "\x00\x00\x80\x3f\x00\x00\x00\x00"},
		"none":  {Codec{}, func(*demtest.Bits) {}, Cell{}, ""},
	} {
		var w demtest.Bits
		test.write(&w)
		n := w.Len()
		w.Bits(1<<64-1, 64)
		r, arena := bits.New(w.Bytes()), []byte("kept")
		if got := test.codec.Read(&r, &arena, tick); got != test.want || r.Pos() != n || string(arena) != "kept"+test.data {
			t.Errorf("%s: %+v, want %+v; %d bits of %d; %q", name, got, test.want, r.Pos(), n, arena)
		}
	}
}

// TestShortBlob: bytes that are not all there, and more than there may be, are none, and behind the end.
func TestShortBlob(t *testing.T) {
	for name, size := range map[string]uint64{"one too many": 4, "beyond the limit": maxText + 1, "immense": 1<<32 - 1} {
		var w demtest.Bits
		w.Varint(size)
		w.Raw(make([]byte, 3))
		r, arena := bits.New(w.Bytes()), []byte(nil)
		c := Codec{Op: OpBlob}
		if got := c.Read(&r, &arena, 0); !r.Overrun() || got.Word != 0 || len(arena) > 0 {
			t.Errorf("%s: %+v, overrun %v, %d bytes", name, got, r.Overrun(), len(arena))
		}
	}
}

// TestDoubtful: values that no game has are doubtful, and those that games have are not.
func TestDoubtful(t *testing.T) {
	float := func(v float32) Cell { return Cell{Word: uint64(math.Float32bits(v)), Kind: Float} }
	for name, test := range map[string]struct {
		v       Cell
		data    string
		guessed bool
		want    bool
	}{
		"a name":              {Cell{Kind: Text}, "Zoë\n\t\r", false, false},
		"a cut name":          {Cell{Kind: Text}, "Zo\xc3", false, false},
		"a control":           {Cell{Kind: Text}, "a\x01", false, true},
		"a delete":            {Cell{Kind: Text}, "a\x7f", false, true},
		"zero":                {float(0), "", false, false},
		"one":                 {float(-1), "", false, false},
		"tiny":                {float(1e-20), "", false, true},
		"immense":             {float(-1e30), "", false, true},
		"the largest":         {float(math.MaxFloat32), "", false, false},
		"a vector, its y":     {Cell{Word: uint64(math.Float32bits(1e30)) << 32, Kind: Vector}, "", false, true},
		"a vector, its z":     {Cell{Z: math.Float32bits(1e30), Kind: Vector}, "", false, true},
		"a vector":            {Cell{Word: uint64(math.Float32bits(1)), Kind: Vector}, "", false, false},
		"an account":          {Cell{Word: 76561197960265729, Kind: Uint}, "", true, false},
		"too large":           {Cell{Word: 1<<57 + 1, Kind: Uint}, "", true, true},
		"too large, but told": {Cell{Word: 1<<57 + 1, Kind: Uint}, "", false, false},
		"all flags":           {Cell{Word: math.MaxUint64, Kind: Uint}, "", true, false},
		"a handle":            {Cell{Word: 1 << 60, Kind: Handle}, "", true, false},
	} {
		if got := Doubtful(&test.v, []byte(test.data), test.guessed); got != test.want {
			t.Errorf("%s is doubtful: %v", name, got)
		}
	}
}
