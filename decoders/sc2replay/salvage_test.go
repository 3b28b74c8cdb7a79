package sc2replay_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/replayd/replayd/decoders/sc2replay"
	"github.com/replayd/replayd/decoders/sc2replay/sc2test"
)

// bombs are damaged archives that take much to look through: the header, and streams that unpack to much more.
func bombs() map[string][]byte {
	rnd := rand.New(rand.NewPCG(1, 2))
	var long []byte
	for len(long) < 4<<20 { // runs, which bzip2 packs well, of bytes that are quick to sort
		long = append(long, bytes.Repeat([]byte{byte(rnd.Uint32())}, 255)...)
	}
	whole := sc2test.Sample(80949).Bytes()
	head := whole[:1024] // without the archive
	stream := append([]byte{0x10}, sc2test.Compress(long)...)
	return map[string][]byte{
		"a sample without its tables": whole[:len(whole)-5],
		"one stream":                  append(bytes.Clone(head), stream...),
		"many streams":                append(bytes.Clone(head), bytes.Repeat(stream, 20)...),
		"a large file":                append(append(bytes.Clone(head), bytes.Repeat(stream, 20)...), make([]byte, 12<<20)...),
	}
}

// TestSalvageTakesMemory: all that looking through a damaged archive allocates was asked for before, all that is not kept is
// given back, and who gets no memory hears why.
func TestSalvageTakesMemory(t *testing.T) {
	none := errors.New("there is none")
	for name, file := range bombs() {
		t.Run(name, func(t *testing.T) {
			var taken, most int64
			take := func(n int64) error {
				taken += n
				most = max(most, taken)
				return nil
			}
			// Once before, for tables that are made once.
			if _, err := sc2replay.Open(bytes.NewReader(file), int64(len(file))); err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			p, err := sc2replay.OpenWithin(bytes.NewReader(file), int64(len(file)), take)
			runtime.ReadMemStats(&after)
			if err != nil || p.Damage == nil {
				t.Fatalf("%v, damage %v", err, p.Damage)
			}
			const small = 2 << 20 // what the header and the small members take
			if took := int64(after.TotalAlloc - before.TotalAlloc); took > most+small {
				t.Errorf("%d bytes were allocated, %d were asked for", took, most)
			}
			if held := p.Events(sc2replay.Options{}).Held(); taken != held {
				t.Errorf("%d bytes are taken in the end, %d are held", taken, held)
			}
			if most > 64<<20 {
				t.Errorf("it takes %d bytes", most)
			}
			if _, err := sc2replay.OpenWithin(bytes.NewReader(file), int64(len(file)), func(int64) error { return none }); !errors.Is(err, none) {
				t.Errorf("without memory: %v", err)
			}
		})
	}
}
