package dem

import (
	"bytes"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/protoappend"
)

// TestAppendUpdate checks that the hand-written appender writes the same bytes as the generated one.
func TestAppendUpdate(t *testing.T) {
	d := dem.New(bytes.NewReader(nil), dem.Options{}) // all its names are empty
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.OneOf(rapid.Uint64(), rapid.Uint64Range(0, 300))
		float := rapid.OneOf(rapid.Float32(), rapid.SampledFrom([]float32{0, float32(math.Copysign(0, -1)), float32(math.NaN())}))
		ev := dem.Event{AtTick: rapid.Int32Range(0, math.MaxInt32).Draw(t, "tick"), Kind: dem.KindEntityUpdated}
		ev.EntityUpdated = dem.EntityUpdated{
			Index: uint32(number.Draw(t, "index")), Class: rapid.Uint32Range(0, 3).Draw(t, "class"), Serial: uint32(number.Draw(t, "serial")),
		}
		for range rapid.IntRange(0, 12).Draw(t, "fields") {
			ev.EntityUpdated.Fields = append(ev.EntityUpdated.Fields, dem.FieldValue{
				Field:     rapid.Uint32Range(0, 300).Draw(t, "field"),
				ValueCase: dem.FieldValueValueCase(rapid.IntRange(0, int(dem.FieldValueValueBlob)).Draw(t, "case")),
				Int:       int64(number.Draw(t, "int")), Uint: number.Draw(t, "uint"), Handle: uint32(number.Draw(t, "handle")),
				Bool: rapid.Bool().Draw(t, "bool"), Float: float.Draw(t, "float"),
				Vector: dem.Vector{X: float.Draw(t, "x"), Y: float.Draw(t, "y"), Z: float.Draw(t, "z")},
				Text:   rapid.SliceOf(rapid.Byte()).Draw(t, "text"), Blob: rapid.SliceOf(rapid.Byte()).Draw(t, "blob"),
				Tuple: dem.Tuple{Values: rapid.SliceOf(float).Draw(t, "tuple")},
			})
		}
		same := ev
		same.EntityUpdated.Fields = append([]dem.FieldValue(nil), ev.EntityUpdated.Fields...)

		var plain, hot codec.Batch
		var a, b stringTable
		a.begin()
		b.begin()
		a.refer(&plain, d, &same)
		plain.Events = append(plain.Events, "before\x0a\x00"...)
		plain.Events = protoappend.Close(AppendEvent(plain.Events, &same), 8)
		hot.Events = append(hot.Events, "before"...)
		appendUpdate(&hot, &b, d, &ev)
		if !bytes.Equal(hot.Events, plain.Events) || !bytes.Equal(hot.Tail, plain.Tail) {
			t.Fatalf("got  % x\nwant % x", hot.Events, plain.Events)
		}
	})
}
