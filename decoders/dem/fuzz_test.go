package dem

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/bits"
	"github.com/replayd/replayd/decoders/dem/demtest"
)

// drain decodes to the end, whatever that is. It fails when an error is not one of those that the contract knows.
func drain(t *testing.T, d *Decoder) {
	t.Helper()
	var ev Event
	last := d.Position()
	for {
		err := d.Next(&ev)
		if err == nil {
			if ev.Kind == KindNone || ev.Kind >= KindCount {
				t.Fatalf("event of kind %d", ev.Kind)
			}
			now := d.Position()
			if now.Offset < last.Offset {
				t.Fatalf("position %+v after %+v", now, last)
			}
			last = now
			continue
		}
		var typed *decoders.Error
		if !errors.Is(err, io.EOF) && !errors.Is(err, decoders.ErrMore) && !errors.As(err, &typed) {
			t.Fatalf("Next: %v", err)
		}
		if errors.Is(err, decoders.ErrMore) {
			_ = d.Close()
		}
		return
	}
}

// FuzzOuter decodes any file.
func FuzzOuter(f *testing.F) {
	sample := demtest.Sample()
	f.Add(sample)
	f.Add(sample[:len(sample)/2])
	f.Add([]byte("PBDEMS2\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		drain(t, New(bytes.NewReader(data), Options{}))
		_, _, _, _, _ = ReadInfo(bytes.NewReader(data))
		_, _ = ReadIndex(bytes.NewReader(data))
	})
}

// FuzzInner decodes any contents of a packet, behind the sign-on part of the sample.
func FuzzInner(f *testing.F) {
	for _, p := range samplePackets() {
		f.Add(p)
	}
	head := signon()
	f.Fuzz(func(t *testing.T, data []byte) {
		d := demtest.Continue(head)
		d.Record(demtest.CmdPacket, 2, demtest.Proto(nil).Bytes(3, data))
		drain(t, New(bytes.NewReader(d.Bytes()), Options{}))
	})
}

// FuzzEntities decodes any bits as entities, with any bytes as sizes.
func FuzzEntities(f *testing.F) {
	for _, p := range samplePackets() {
		for _, m := range demtest.Messages(demtest.Proto(nil).Bytes(3, p)) {
			if m.ID != svcPacketEntities {
				continue
			}
			var data, sizes []byte
			for w := (wire{buf: m.Data}); w.next(); {
				switch w.num {
				case 7:
					data = w.raw
				case 13:
					sizes = w.raw
				}
			}
			f.Add(data, sizes, byte(3), true)
			f.Add(data, []byte{}, byte(3), false)
		}
	}
	head := signon()
	f.Fuzz(func(t *testing.T, data, sizes []byte, count byte, delta bool) {
		m := demtest.Proto(nil).Varint(2, int64(count)).Bytes(7, data)
		if delta {
			m = m.Varint(3, 1)
		}
		if len(sizes) > 0 {
			m = m.Bytes(13, sizes)
		}
		d := demtest.Continue(head)
		full := &demtest.Entities{ClassBits: 2}
		full.Create(0, 0, 1)
		d.Packet(0, full.Message(false))
		d.Packet(2, demtest.Message{ID: svcPacketEntities, Data: m})
		drain(t, New(bytes.NewReader(d.Bytes()), Options{}))
	})
}

// FuzzStringTable reads any bits as entries of a table.
func FuzzStringTable(f *testing.F) {
	table := demtest.Table{Flags: 1, Varint: true}
	f.Add(table.Entries(demtest.Entry{Index: 0, Key: "a", HasValue: true, Value: []byte("value"), Compress: true},
		demtest.Entry{Index: 1, Key: "ab", History: 1, Prefix: 1}), 2, int32(1), true, 0)
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff"), 1<<30, int32(0), false, 13)
	f.Fuzz(func(t *testing.T, data []byte, n int, flags int32, varint bool, fixed int) {
		table := &stringTable{flags: flags, varint: varint, kept: true, fixedBits: max(fixed, 0) & 0xffff}
		var r tableReader
		for range 2 {
			var c tableChange
			for r.start(table, 0, data, n); r.next(&c); {
				if c.index >= len(table.entries) {
					t.Fatalf("entry %d of a table of %d", c.index, len(table.entries))
				}
			}
		}
	})
}

// FuzzSendTables compiles any bytes as a schema, and looks at some of its fields.
func FuzzSendTables(f *testing.F) {
	for m := (wire{buf: demtest.SampleSchema()}); m.next(); {
		f.Add(m.raw, 0)
		f.Add(m.raw, 900)
	}
	f.Fuzz(func(_ *testing.T, data []byte, build int) {
		s, ok := parseSendTables(data, build, gameDota)
		if !ok {
			return
		}
		tree := newClassTree(nil)
		for _, ser := range s.serializers[:min(len(s.serializers), 8)] {
			c := &class{name: tree.intern([]byte(ser.name)), root: tree.newRoot(ser)}
			for i := range int32(min(len(ser.fields), 8)) {
				if k := tree.kid(c, c.root, i, 0); k != nil {
					if k = tree.kid(c, k, i, 0); k != nil {
						tree.kid(c, k, 1, 0)
					}
				}
			}
		}
	})
}

// FuzzPaths reads any bits as field paths.
func FuzzPaths(f *testing.F) {
	var w demtest.Bits
	w.Fields(demtest.Value{Path: []int{1, 2, 3}, Write: func(*demtest.Bits) {}}, demtest.Value{Path: []int{4}, Write: func(*demtest.Bits) {}})
	f.Add(w.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bits.New(data)
		paths, _ := readPaths(&r, nil)
		whole(t, paths)
	})
}

// FuzzLZSS unpacks any bytes.
func FuzzLZSS(f *testing.F) {
	f.Add([]byte("LZSS\x05\x00\x00\x00\x10abcd\x00\x01\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if !isLZSS(data) {
			return
		}
		out, err := unpackLZSS(data, 1<<20)
		if err == nil && len(out) > 1<<20 {
			t.Fatalf("%d bytes", len(out))
		}
	})
}

// FuzzFieldType parses any text as a type.
func FuzzFieldType(f *testing.F) {
	f.Add("CNetworkUtlVectorBase< CHandle< CBaseEntity > >")
	f.Add("CDOTA_AbilityDraftAbilityState[MAX_ABILITY_DRAFT_ABILITIES]")
	f.Fuzz(func(t *testing.T, s string) {
		ft := parseFieldType(s)
		if ft.count < 0 || ft.count > maxElements {
			t.Fatalf("%q has %d elements", s, ft.count)
		}
		ft.shape(true)
		ft.shape(false)
	})
}

// signon is the sample up to its first packet.
func signon() []byte {
	data := demtest.Sample()
	d := New(bytes.NewReader(data), Options{})
	if err := d.begin(); err != nil {
		return nil
	}
	for {
		at := d.win.Offset()
		if _, err := d.readFrame(); err != nil || d.frame.command == cmdPacket {
			return data[:at]
		}
	}
}

// samplePackets are the bit streams of the sample's packets.
func samplePackets() [][]byte {
	d := New(bytes.NewReader(demtest.Sample()), Options{})
	if err := d.begin(); err != nil {
		return nil
	}
	var out [][]byte
	for {
		payload, err := d.readFrame()
		if err != nil {
			return out
		}
		if d.frame.command == cmdPacket && !d.frame.compressed {
			out = append(out, bytes.Clone(packetData(payload)))
		}
	}
}

// TestUnpackLZSS unpacks literal bytes and overlapping copies.
func TestUnpackLZSS(t *testing.T) {
	// abc, then 6 bytes from 3 back, then the end.
	out, err := unpackLZSS([]byte("LZSS\x09\x00\x00\x00\x18abc\x00\x25\x00\x00"), 100)
	if err != nil || string(out) != "abcabcabc" {
		t.Errorf("%q, %v", out, err)
	}
	for name, data := range map[string]string{
		"too far back": "LZSS\x09\x00\x00\x00\x01\x01\x05", "cut": "LZSS\x09\x00\x00\x00\x18ab",
		"other length": "LZSS\x08\x00\x00\x00\x18abc\x00\x25\x00\x00", "declares too much": "LZSS\xff\xff\xff\x7f\x00",
		"nothing": "LZSS\x00\x00\x00\x00",
	} {
		if _, err := unpackLZSS([]byte(data), 100); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
