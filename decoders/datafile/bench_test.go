package datafile_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"path"
	"testing"

	"github.com/klauspost/compress/zlib"

	"github.com/replayd/replayd/decoders/datafile"
	"github.com/replayd/replayd/decoders/decodertest"
)

var benchmarked = []string{
	"ddnet_ddnet/Tutorial_7194d2.map",
	"infclass_teeworlds-infclassR/infc_toilet_v2.map",
	"ChillerTW_GitMaps/ChillerDragores7.map",
	"ddnet_ddnet/dm1.map",
}

func benchmark(b *testing.B, run func(b *testing.B, data []byte, f *datafile.File)) {
	for _, name := range benchmarked {
		b.Run(path.Base(name), func(b *testing.B) {
			data := decodertest.Read(b, "corpus", "datafile", name)
			f, err := open(data)
			if err != nil {
				b.Fatal(err)
			}
			run(b, data, f)
		})
	}
}

// BenchmarkDecode decodes everything. It counts inflated bytes; compare with BenchmarkInflate.
func BenchmarkDecode(b *testing.B) {
	benchmark(b, func(b *testing.B, _ []byte, f *datafile.File) {
		b.SetBytes(f.Header().InflatedBytes)
		b.ReportAllocs()
		d := f.Events(datafile.Options{})
		start := d.Position()
		var ev datafile.Event
		events := 0
		for b.Loop() {
			if err := d.Seek(start); err != nil {
				b.Fatal(err)
			}
			for {
				err := d.Next(&ev)
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					b.Fatal(err)
				}
				events++
			}
		}
		b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
	})
}

// BenchmarkInflate inflates the same blobs with the zlib library alone.
func BenchmarkInflate(b *testing.B) {
	benchmark(b, func(b *testing.B, data []byte, f *datafile.File) {
		b.SetBytes(f.Header().InflatedBytes)
		stored := storedBlobs(data)
		ahead := bufio.NewReaderSize(nil, 32<<10)
		chunk := make([]byte, datafile.ChunkSize)
		var src bytes.Reader
		var z io.ReadCloser
		for b.Loop() {
			for _, blob := range stored {
				src.Reset(blob)
				ahead.Reset(&src)
				var err error
				if z == nil {
					z, err = zlib.NewReader(ahead)
				} else {
					err = z.(zlib.Resetter).Reset(ahead, nil)
				}
				for err == nil {
					_, err = io.ReadFull(z, chunk)
				}
				if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
					b.Fatal(err)
				}
			}
		}
	})
}

// storedBlobs returns the stored blobs of a valid file of version 4.
func storedBlobs(data []byte) [][]byte {
	field := func(at int) int { return int(binary.LittleEndian.Uint32(data[at:])) }
	offsets := 36 + 12*field(16) + 4*field(20)
	n, size := field(24), field(32)
	blobs := data[len(data)-size:]
	var stored [][]byte
	for i := range n {
		end := size
		if i+1 < n {
			end = field(offsets + 4*(i+1))
		}
		stored = append(stored, blobs[field(offsets+4*i):end])
	}
	return stored
}

// BenchmarkOpen opens the container without inflating a blob.
func BenchmarkOpen(b *testing.B) {
	benchmark(b, func(b *testing.B, data []byte, _ *datafile.File) {
		r := bytes.NewReader(data)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := datafile.Open(r, int64(len(data)), datafile.DefaultLimits); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkItems decodes the items and their texts, without their data.
func BenchmarkItems(b *testing.B) {
	benchmark(b, func(b *testing.B, _ []byte, f *datafile.File) {
		d := f.Events(datafile.Options{Want: func(kind datafile.Kind, _ datafile.Place) bool {
			switch kind {
			case datafile.KindTiles, datafile.KindTileSummary, datafile.KindImageData, datafile.KindSoundData,
				datafile.KindQuads, datafile.KindSoundSources, datafile.KindRawData:
				return false
			}
			return true
		}})
		start := d.Position()
		for b.Loop() {
			if err := d.Seek(start); err != nil {
				b.Fatal(err)
			}
			if err := discard(d); err != nil {
				b.Fatal(err)
			}
		}
	})
}
