package sc2replay_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/replayd/replayd/decoders/sc2replay"
)

// BenchmarkEvents decodes the events of all replays of the corpus from unpacked streams. bench/sc2replay compares with
// another decoder.
func BenchmarkEvents(b *testing.B) {
	var unpacked []*sc2replay.Unpacked
	corpus(b, func(_ string, data []byte) {
		p, err := sc2replay.Open(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		u, err := p.Unpack()
		if err != nil {
			b.Fatal(err)
		}
		unpacked = append(unpacked, u)
	})
	want := sc2replay.AllKinds()
	want[sc2replay.KindMember] = false // members would have to be unpacked
	var ev sc2replay.Event
	events := 0
	b.ReportAllocs()
	for b.Loop() {
		for _, u := range unpacked {
			d := u.Events(sc2replay.Options{Want: &want})
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
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds()/1e6, "Mevents/s")
}

// BenchmarkOne reads and decodes one replay of 5.0 with a tracker stream. Run it with -cpu 1 and with -cpu 2, because
// streams are unpacked two at a time.
func BenchmarkOne(b *testing.B) {
	var file []byte
	corpus(b, func(name string, data []byte) {
		if strings.HasPrefix(name, "sc2replay/5.0.12") && len(data) > len(file) {
			file = data
		}
	})
	var ev sc2replay.Event
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	for b.Loop() {
		p, err := sc2replay.Open(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			b.Fatal(err)
		}
		d := p.Events(sc2replay.Options{})
		for d.Next(&ev) == nil {
		}
	}
}

// BenchmarkWhole reads and decodes all replays of the corpus.
func BenchmarkWhole(b *testing.B) {
	var files [][]byte
	size := int64(0)
	corpus(b, func(_ string, data []byte) {
		files = append(files, data)
		size += int64(len(data))
	})
	var ev sc2replay.Event
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		for _, data := range files {
			p, err := sc2replay.Open(bytes.NewReader(data), int64(len(data)))
			if err != nil {
				continue
			}
			d := p.Events(sc2replay.Options{})
			for d.Next(&ev) == nil {
			}
		}
	}
}
