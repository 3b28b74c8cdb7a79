package teehistorian_test

import (
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/replayd/replayd/decoders/teehistorian"
)

// benchmarkFile is the largest file of the corpus: 48 players, 1.1 million records.
const benchmarkFile = "teehistorian/ddnet-16.4/1ef1b84f-e194-4af4-944e-9573abe74f92.teehistorian"

// BenchmarkDecode decodes a whole file. It counts all events, and also records: an implied tick is an event but not a
// record.
func BenchmarkDecode(b *testing.B) {
	data := corpusFile(b, benchmarkFile)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	var events, records int
	var ev teehistorian.Event
	for b.Loop() {
		d := decode(data, nil)
		for {
			err := d.Next(&ev)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
			events++
			if ev.Kind != teehistorian.KindTick || !ev.Tick.Implicit {
				records++
			}
		}
	}
	b.ReportMetric(float64(records)/b.Elapsed().Seconds()/1e6, "Mrecords/s")
	b.ReportMetric(float64(events)/b.Elapsed().Seconds()/1e6, "Mevents/s")
}

// TestNoAllocations checks that events of any kind allocate nothing once the buffers for clients, names and lists
// exist. It decodes each kind many times over, and the largest real file.
func TestNoAllocations(t *testing.T) {
	records := file(everything)
	header := len(file(func(*writer) {}))
	made := records[:header]
	for range 1000 {
		made = append(made, records[header:]...)
	}
	files := map[string][]byte{"every kind": made}
	for name := range references(t) {
		if name == benchmarkFile {
			files["real"] = corpusFile(t, name)
		}
	}
	for name, data := range files {
		t.Run(name, func(t *testing.T) {
			d := decode(data, nil)
			var ev teehistorian.Event
			decodeTo := func(offset int64) {
				for d.Position().Offset < offset {
					if err := d.Next(&ev); err != nil {
						t.Fatal(err)
					}
				}
			}
			decodeTo(int64(len(data) / 2))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			decodeTo(int64(len(data) - 100))
			runtime.ReadMemStats(&after)
			if n := after.Mallocs - before.Mallocs; n > 10 { // the runtime itself may need some
				t.Errorf("%d allocations", n)
			}
		})
	}
}

// everything writes at least one record of each kind except finish.
func everything(w *writer) {
	w.join(0)
	w.int(-2, 0)
	w.int(-3, 0, 100, 200)
	w.int(0, 3, -4)
	w.input(-6, 0, [10]int32{1, 100, -100, 1, 5, 1, 1, 2})
	w.input(-5, 0, [10]int32{-1, 7, 1000})
	w.int(-4, 0)
	w.command(0, 128, "team", "3", "more")
	for _, id := range []int32{17, 18, 19, 22, 23, 24, 25, 27, 28, 29, 30, 31, 32, 34, 39, 99} {
		w.message(0, func(w *writer) { w.int(id<<1, 1, 2); w.text("x", "y", "z") }) // some of it unreadable
	}
	w.message(0, func(w *writer) {
		w.int(20 << 1)
		w.text("name", "clan")
		w.int(1)
		w.text("skin")
		w.int(0, 1, 2)
	})
	w.message(0, func(w *writer) { w.int(0); w.uuid("53bb28af-4252-3ac9-8fd3-6ccbc2a603e3"); w.int(1400, 800) })
	for _, name := range extensionNames {
		w.ex(name, func(w *writer) { w.int(0, 1); w.uuid(someUUID); w.text("text") })
	}
	for _, name := range []string{"save", "load"} {
		w.ex("teehistorian-"+name+"-success@ddnet.tw", func(w *writer) {
			w.int(3)
			w.uuid(someUUID)
			w.text("2\t2\t1\t1\t1\n" + strings.Repeat(strings.Join(savedTee("alice"), "\t")+"\tlater\n", 2) + "1\t50\t7")
		})
	}
	w.ex("teehistorian-mod@example.org", func(w *writer) { w.int(1) })
	w.drop(0, "bye")
}
