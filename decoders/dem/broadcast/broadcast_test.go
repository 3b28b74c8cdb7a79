package broadcast_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/golang/snappy"
	"github.com/google/go-cmp/cmp"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/decoders/dem/broadcast"
	"github.com/replayd/replayd/decoders/dem/demtest"
)

// body is a body of a broadcast.
type body struct {
	part broadcast.Part
	data []byte
}

// demoOf returns the demo of bodies, and checks that it does not depend on when they come.
func demoOf(tb testing.TB, bodies []body) (broadcast.Demo, []byte) {
	tb.Helper()
	d := broadcast.Demo{Label: "a test"}
	var file []byte
	for i, b := range bodies {
		before := int64(len(file))
		stored, err := json.Marshal(d)
		if err != nil {
			tb.Fatal(err)
		}
		if file, err = d.Append(file, b.part, b.data); err != nil {
			tb.Fatalf("body %d: %v", i, err)
		}
		var again broadcast.Demo // a program that was killed after it had written a part
		if err := json.Unmarshal(stored, &again); err != nil {
			tb.Fatal(err)
		}
		added, err := again.Append(nil, b.part, b.data)
		if err != nil || again != d {
			tb.Fatalf("body %d again: %+v, %v", i, again, err)
		}
		half := (before + d.Size) / 2
		if rest, err := broadcast.Resume(file[before:half], added); err != nil || !bytes.Equal(rest, file[half:]) {
			tb.Fatalf("body %d: resumed with other bytes: %v", i, err)
		}
		if d.Size != int64(len(file)) {
			tb.Fatalf("body %d: %d bytes, %d counted", i, len(file), d.Size)
		}
	}
	offsets := d.Offsets()
	copy(file[broadcast.OffsetsAt:], offsets[:])
	return d, file
}

// recorded returns the bodies of a recorded broadcast of the corpus.
func recorded(tb testing.TB, name string) []body {
	tb.Helper()
	dir := decodertest.Shared(tb, "corpus", "broadcast", name)
	var bodies []body
	for part, pattern := range []string{"*/start.bin", "*/full.bin", "*/delta.bin"} {
		names, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(names) == 0 {
			tb.Fatal(pattern, err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				tb.Fatal(err)
			}
			bodies = append(bodies, body{broadcast.Part(part), data})
		}
	}
	return bodies
}

// decode delivers the events of a demo, and returns the error that ended it.
func decode(demo []byte, each func(*dem.Decoder, *dem.Event)) error {
	d := dem.New(bytes.NewReader(demo), dem.Options{})
	var ev dem.Event
	for {
		switch err := d.Next(&ev); {
		case errors.Is(err, decoders.ErrMore):
			return d.Close()
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		each(d, &ev)
	}
}

// TestRecorded: a recorded broadcast has the events that an independent decoder found, and is a demo with a header and an end.
func TestRecorded(t *testing.T) {
	bodies := recorded(t, "deadlock_2025-02")
	last := &bodies[len(bodies)-1]
	last.data = append(last.data, 0, 0, 0, 0, 0, 0) // the recording was ended before the match was
	d, file := demoOf(t, bodies)
	var events []string
	updates, faults := 0, 0
	if err := decode(file, func(_ *dem.Decoder, ev *dem.Event) {
		switch ev.Kind {
		case dem.KindEntityUpdated:
			updates++
		case dem.KindFault:
			faults++
		case dem.KindGameEvent:
			events = append(events, fmt.Sprintf("%d %s", ev.AtTick, ev.GameEvent.Name))
		}
	}); err != nil {
		t.Error(err)
	}
	if updates != 28018 || faults != 0 {
		t.Errorf("%d updates of entities, %d faults", updates, faults)
	}
	reference := decodertest.Read(t, "reference", "broadcast_deadlock_2025-02_events.txt")
	var want []string
	for line := range strings.Lines(string(reference)) {
		want = append(want, strings.TrimSpace(regexp.MustCompile(`^\s*\d+ `).ReplaceAllString(line, "")))
	}
	if len(want) != 17 || len(events) < len(want) || !slices.Equal(events[:len(want)], want) {
		t.Error(cmp.Diff(want, events))
	}
	if n := bytes.Count(file[:280000], binary.AppendUvarint(nil, 1<<32-1)); n < 15 {
		t.Errorf("%d records of the sign-on part have a tick of -1", n)
	}
	header, info, lastTick, hasInfo, err := dem.ReadInfo(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if string(header.MapName) != "dl_midtown" || header.BuildNum != 5506 || string(header.ClientName) != "a test" ||
		string(header.GameDirectory) != "/opt/srcds/project8/citadel_v5506/citadel" {
		t.Errorf("header %+v", header)
	}
	if !hasInfo || lastTick != d.Last || info.PlaybackTicks != d.Ticks() || d.First != 14623 || d.Packets != 385 || info.PlaybackFrames != 385 {
		t.Errorf("file info %+v of %+v", info, d)
	}
}

// told returns the kinds and ticks of the events of a demo that a broadcast has, too.
func told(tb testing.TB, name string, demo []byte) []string {
	tb.Helper()
	var lines []string
	if err := decode(demo, func(_ *dem.Decoder, ev *dem.Event) {
		switch ev.Kind {
		case dem.KindFileHeader, dem.KindFileInfo, dem.KindSyncTick, dem.KindStop, dem.KindKeyFrame, dem.KindCommand,
			dem.KindConsoleCmd, dem.KindUserCmd, dem.KindStringTableEntry, dem.KindStringTable:
			return
		}
		lines = append(lines, fmt.Sprintf("%v %d", ev.Kind, ev.AtTick))
	}); err != nil {
		tb.Errorf("%s: %v", name, err)
	}
	return lines
}

// TestRoundTrip: a demo that is made a broadcast and a demo again has the same events.
func TestRoundTrip(t *testing.T) {
	files := map[string][]byte{"made": demtest.Fight()}
	names, err := filepath.Glob("../../../../shared/corpus/dem/demofile-net/*.dem")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if files[filepath.Base(name)], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	for name, file := range files {
		t.Run(name, func(t *testing.T) {
			start, fragments, err := broadcast.Split(file, 64)
			if err != nil {
				t.Fatal(err)
			}
			bodies := []body{{broadcast.Start, start}, {broadcast.Full, fragments[0].Full}}
			for _, f := range fragments {
				bodies = append(bodies, body{broadcast.Delta, f.Delta})
			}
			d, again := demoOf(t, bodies)
			if !d.Stopped() {
				t.Error("it has no end")
			}
			if diff := cmp.Diff(told(t, name, file), told(t, name, again)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestSplitDamaged: a demo with a record that cannot be inflated is no broadcast.
func TestSplitDamaged(t *testing.T) {
	var typed *decoders.Error
	if _, _, err := broadcast.Split(demtest.Sample(), 1); !errors.As(err, &typed) || !errors.Is(err, decoders.ErrCorrupt) || typed.Tick != 10 {
		t.Error(err)
	}
	if _, _, err := broadcast.Split([]byte("PBDEMS2\x00 and nothing else"), 1); err == nil {
		t.Error("a broadcast of nothing")
	}
}

// made returns a small broadcast.
func made(tb testing.TB) []body {
	tb.Helper()
	start, fragments, err := broadcast.Split(demtest.Fight(), 64)
	if err != nil {
		tb.Fatal(err)
	}
	return []body{{broadcast.Start, start}, {broadcast.Full, fragments[0].Full}, {broadcast.Delta, fragments[0].Delta}}
}

// recordOf returns a record of a broadcast.
func recordOf(command byte, size uint32, contents string) []byte {
	head := binary.LittleEndian.AppendUint32([]byte{command, 7, 0, 0, 0, 0}, size)
	return append(head, contents...)
}

// TestRefused: a body that is not what it should be adds nothing, and a Demo goes on with the right one.
func TestRefused(t *testing.T) {
	bodies := made(t)
	full := bodies[1].data
	zeros := snappy.Encode(nil, make([]byte, 4096))
	for _, c := range []struct {
		name   string
		data   []byte
		kind   error
		offset int64
	}{
		{"nothing", nil, decoders.ErrTruncated, 0},
		{"half a head", full[:5], decoders.ErrTruncated, 0},
		{"a head alone", full[:10], decoders.ErrTruncated, 0},
		{"cut", full[:len(full)-1], decoders.ErrTruncated, 0},
		{"rest", append(slices.Clone(full), 7), decoders.ErrTruncated, int64(len(full))},
		{"a stop with more behind it", append(make([]byte, 6), full...), decoders.ErrCorrupt, 0},
		{"command 19", recordOf(19, 0, ""), decoders.ErrCorrupt, 0},
		{"a file header", recordOf(1, 0, ""), decoders.ErrCorrupt, 0},
		{"the end of a sign-on part", recordOf(3, 0, ""), decoders.ErrCorrupt, 0},
		{"HTML", []byte("<html><body>502 Bad Gateway</body></html>"), decoders.ErrCorrupt, 0},
		{"4 GiB", recordOf(7, 1<<32-1, "x"), decoders.ErrTruncated, 0},
		{"no snappy", recordOf(7|64, 3, "abc"), decoders.ErrCorrupt, 0},
		{"a spawn group longer than it is", append(slices.Clone(full), recordOf(15, 4, "\x00\xfa\xff\x03")...), decoders.ErrCorrupt, int64(len(full))},
		{"inflated beyond the limit", bytes.Repeat(recordOf(7|64, uint32(len(zeros)), string(zeros)), 1<<13+1), decoders.ErrCorrupt, int64(1<<13) * int64(10+len(zeros))},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := broadcast.Demo{}
			file, err := d.Append(nil, broadcast.Start, bodies[0].data)
			if err != nil {
				t.Fatal(err)
			}
			before := d
			out, err := d.Append(file, broadcast.Full, c.data)
			var typed *decoders.Error
			if !errors.As(err, &typed) || !errors.Is(err, c.kind) || typed.Offset != c.offset {
				t.Errorf("%v, and not %v at byte %d", err, c.kind, c.offset)
			}
			if len(out) != len(file) || d != before {
				t.Error("it added something")
			}
			if _, err := d.Append(file, broadcast.Full, full); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestOrder: bodies come in the order of a file.
func TestOrder(t *testing.T) {
	bodies := made(t)
	var d broadcast.Demo
	for i := range bodies {
		for j, b := range bodies {
			if j != i {
				if _, err := d.Append(nil, b.part, b.data); !errors.Is(err, decoders.ErrCorrupt) {
					t.Errorf("%v where %v is expected: %v", b.part, bodies[i].part, err)
				}
			}
		}
		if _, err := d.Append(nil, bodies[i].part, bodies[i].data); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.Append(nil, broadcast.Delta, make([]byte, 6)); err != nil || !d.Stopped() {
		t.Error("a stop alone:", err)
	}
	if _, err := d.Append(nil, broadcast.Delta, bodies[2].data); !errors.Is(err, decoders.ErrCorrupt) {
		t.Error("behind the end:", err)
	}
}

// TestStartWithoutServer: nobody can tell which game a broadcast is of whose server does not describe itself.
func TestStartWithoutServer(t *testing.T) {
	var d broadcast.Demo
	if out, err := d.Append(nil, broadcast.Start, recordOf(8, 1, "x")); !errors.Is(err, decoders.ErrCorrupt) || len(out) > 0 || d != (broadcast.Demo{}) {
		t.Error(len(out), err)
	}
}

// TestResume: what a file has and its broadcast does not make is found.
func TestResume(t *testing.T) {
	for _, c := range []struct{ tail, added, rest string }{{"", "abc", "abc"}, {"ab", "abc", "c"}, {"abc", "abc", ""}} {
		if rest, err := broadcast.Resume([]byte(c.tail), []byte(c.added)); err != nil || string(rest) != c.rest {
			t.Errorf("%q of %q: %q, %v", c.tail, c.added, rest, err)
		}
	}
	for _, tail := range []string{"b", "abd", "abcd"} {
		if _, err := broadcast.Resume([]byte(tail), []byte("abc")); !errors.Is(err, broadcast.ErrResume) {
			t.Errorf("%q: %v", tail, err)
		}
	}
}

// FuzzBodies makes a demo of any bodies. What it makes are records.
func FuzzBodies(f *testing.F) {
	bodies := made(f)
	f.Add(bodies[0].data, bodies[1].data, bodies[2].data)
	f.Add(bodies[0].data, recordOf(15, 4, "\x00\x08\x04\x00"), make([]byte, 6))
	f.Fuzz(func(t *testing.T, start, full, delta []byte) {
		var d broadcast.Demo
		var file []byte
		for part, data := range [][]byte{start, full, delta} {
			before := d
			out, err := d.Append(file, broadcast.Part(part), data)
			var typed *decoders.Error
			if err != nil && (!errors.As(err, &typed) || d != before || len(out) != len(file) || typed.Offset > int64(len(data))) {
				t.Fatal(err)
			}
			file = out
		}
		if d.Size != int64(len(file)) {
			t.Fatalf("%d bytes, %d counted", len(file), d.Size)
		}
		if d.Next == broadcast.Start {
			return
		}
		offsets := d.Offsets()
		copy(file[broadcast.OffsetsAt:], offsets[:])
		if header, _, _, info, err := dem.ReadInfo(bytes.NewReader(file)); err != nil || info != d.Stopped() {
			t.Fatalf("%+v: %v, %v", header, info, err)
		}
	})
}

// FuzzSplit makes a broadcast of any demo, and a demo of that.
func FuzzSplit(f *testing.F) {
	f.Add(demtest.Fight(), int32(64))
	f.Add(demtest.Round(), int32(1))
	f.Fuzz(func(t *testing.T, demo []byte, ticks int32) {
		start, fragments, err := broadcast.Split(demo, ticks)
		if err != nil {
			return
		}
		var d broadcast.Demo
		file, err := d.Append(nil, broadcast.Start, start)
		if err != nil {
			return // without a server
		}
		if file, err = d.Append(file, broadcast.Full, fragments[0].Full); err != nil {
			t.Fatal(err)
		}
		for i, f := range fragments {
			if file, err = d.Append(file, broadcast.Delta, f.Delta); err != nil {
				t.Fatalf("fragment %d: %v", i, err)
			}
		}
		if !d.Stopped() {
			t.Fatal("it has no end")
		}
	})
}
