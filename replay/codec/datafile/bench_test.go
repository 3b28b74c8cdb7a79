package datafile_test

import (
	"errors"
	"io"
	"testing"

	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/replay/codec"
)

// BenchmarkFill decodes and encodes everything, like a stream without a filter. It counts the bytes on the wire.
func BenchmarkFill(b *testing.B) {
	for _, name := range []string{"Tutorial_7194d2.map", "dm1.map"} {
		b.Run(name, func(b *testing.B) {
			data := decodertest.Read(b, "corpus", "datafile", "ddnet_ddnet", name)
			r := open(b, data, codec.Options{})
			batch := codec.Batch{MaxEvents: 512, MaxBytes: 256 << 10}
			wire, events := 0, 0
			b.ReportAllocs()
			for b.Loop() {
				if err := r.Seek(); err != nil {
					b.Fatal(err)
				}
				for {
					err := r.Fill(&batch)
					wire += len(batch.Events)
					events += batch.Count
					batch.Reset()
					if errors.Is(err, io.EOF) {
						break
					}
					if err != nil && !errors.Is(err, codec.ErrYield) {
						b.Fatal(err)
					}
				}
			}
			b.SetBytes(int64(wire / b.N))
			b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
		})
	}
}
