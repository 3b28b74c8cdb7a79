package teehistorian_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/teehistorian"
)

// FuzzHeader decodes arbitrary files. The seeds make it vary the header.
func FuzzHeader(f *testing.F) {
	f.Add(file(func(w *writer) { w.finish() }))
	f.Add([]byte(tiny))
	f.Add(newWriter(`{"version":1,"server_port":8303,"config":{"a":1,"b":[]},"uuids":["x"],"mod":null}`).b)
	f.Fuzz(func(t *testing.T, data []byte) { _, _ = survive(t, data) })
}

// FuzzRecords decodes arbitrary records after a valid header. The events must not depend on how the bytes arrive: whole
// files take the fast path, and single bytes take the general path. Nor must they depend on Moves and SkipInputs.
func FuzzRecords(f *testing.F) {
	f.Add([]byte(tiny)[len(tiny)-12:])
	f.Add([]byte("\x47\x00\x42\x00\xbf\xff\xff\xff\x0f\xff\xff\xff\xff\x0f\x00\x01\x40\x40"))
	f.Add([]byte("\x47\x03\x48\x03bye\x00\x49\x40\x04cmd\x00\x02a\x00b c\x00\x41\x05\x40"))
	f.Add([]byte("\x47\x00\x42\x00\x01\x02\x45\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x44\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a" +
		"\x00\x01\x02\x00\x03\x04\x80\x01\x05\x06\x43\x00\x40"))
	w := &writer{marked: true}
	w.ex("teehistorian-joinver7@ddnet.tw", func(w *writer) { w.int(0) })
	w.ex("teehistorian-ddnetver@ddnet.tw", func(w *writer) { w.int(0); w.uuid(someUUID); w.int(1); w.text("x") })
	w.message(0, func(w *writer) { w.int(24<<1, 1, 2); w.text("hello") })
	f.Add(w.b)
	f.Fuzz(func(t *testing.T, records []byte) {
		data := file(func(w *writer) { w.b = append(w.b, records...) })
		want, end := survive(t, data)
		d := decode(data, iotest.OneByteReader)
		got, err := all(d)
		if errors.Is(err, decoders.ErrMore) {
			err = d.Close()
		}
		prefixOf(t, got, want, "byte by byte")
		if len(got) != len(want) || err.Error() != end.Error() {
			t.Fatalf("byte by byte: %d events of %d, %v, not %v", len(got), len(want), err, end)
		}
		d = decode(data, nil)
		got, _, err = allWithMoves(d, 0)
		if errors.Is(err, decoders.ErrMore) {
			err = d.Close()
		}
		prefixOf(t, got, want, "by Moves")
		if len(got) != len(want) || err.Error() != end.Error() {
			t.Fatalf("by Moves: %d events of %d, %v, not %v", len(got), len(want), err, end)
		}
		if _, err := skipping(data); err != nil {
			t.Fatalf("by SkipInputs: %v", err)
		}
	})
}

// sendable reports whether a client can send a message: it begins with an integer, that of a message of games, and fits into a packet.
func sendable(payload []byte) bool {
	last := 0 // of the integer's bytes; none that is sent has more than four
	for last < 3 && last < len(payload) && payload[last]&0x80 != 0 {
		last++
	}
	const packet, negative, system = 1400, 0x40, 1
	return last < len(payload) && payload[last]&0x80 == 0 && len(payload) <= packet && payload[0]&(negative|system) == 0
}

// FuzzMessage decodes one arbitrary message of a client of each protocol.
func FuzzMessage(f *testing.F) {
	f.Add([]byte("\x28name\x00clan\x00\x40skin\x00\x01\x02\x03"))
	f.Add([]byte("\x36name\x00clan\x00\x00a\x00b\x00c\x00d\x00e\x00f\x00\x00\x00\x00\x00\x00\x00\x01\x02\x03\x04\x05\x06"))
	f.Add([]byte("\x00\x53\xbb\x28\xaf\x42\x52\x3a\xc9\x8f\xd3\x6c\xcb\xc2\xa6\x03\xe3\x01\x02"))
	f.Add([]byte("\x8e\x01timeout\x00secret\x00"))
	f.Fuzz(func(t *testing.T, payload []byte) {
		if !sendable(payload) {
			return // it is damage: TestRules
		}
		data := file(func(w *writer) {
			for id, joinver := range []string{"", "teehistorian-joinver6@ddnet.tw", "teehistorian-joinver7@ddnet.tw"} {
				if joinver != "" {
					w.ex(joinver, func(w *writer) { w.int(int32(id)) })
				}
				w.join(int32(id))
				w.message(int32(id), func(w *writer) { w.b = append(w.b, payload...) })
			}
			w.finish()
		})
		d := decode(data, nil)
		var ev teehistorian.Event
		messages := 0
		for {
			err := d.Next(&ev)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if ev.Kind != teehistorian.KindMessage {
				continue
			}
			messages++
			m := &ev.Message
			if !bytes.Equal(m.Raw, payload) {
				t.Fatal("the raw bytes differ")
			}
			if m.ContentCase != teehistorian.MessageContentNone && (len(m.Error) > 0 || len(m.Name) == 0) {
				t.Fatalf("contents, name %q and error %q", m.Name, m.Error)
			}
			_ = describe(&ev)
		}
		if messages != 3 {
			t.Fatalf("%d messages", messages)
		}
	})
}

// FuzzSnapshot restores decoders from arbitrary snapshots and runs them.
func FuzzSnapshot(f *testing.F) {
	data := file(func(w *writer) {
		w.join(0)
		w.begin(1)
		w.playerNew(0, 1000, 2000)
		w.input(-6, 0, [10]int32{1, 2, 3})
		w.begin(2)
		w.playerDiff(0, 1, 1)
		w.finish()
	})
	d := decode(data, nil)
	h, err := d.Header()
	if err != nil {
		f.Fatal(err)
	}
	var ev teehistorian.Event
	for d.Next(&ev) == nil {
		f.Add(d.Snapshot(nil), d.Position().Offset)
	}
	f.Fuzz(func(t *testing.T, snapshot []byte, at int64) {
		if at < 0 || at > int64(len(data)) {
			return
		}
		d, err := restore(data, at, h, snapshot)
		if err != nil {
			if !errors.Is(err, teehistorian.ErrSnapshot) {
				t.Fatal(err)
			}
			return
		}
		again := d.Snapshot(nil)
		if e, err := restore(data, at, h, again); err != nil || !bytes.Equal(e.Snapshot(nil), again) {
			t.Fatalf("restored once more: %v", err)
		}
		_, _ = all(d)
	})
}
