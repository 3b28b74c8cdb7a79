package dem

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/dem/demtest"
	"github.com/replayd/replayd/decoders/dem/internal/pb"
	"github.com/replayd/replayd/decoders/dem/internal/record"
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
		_ = new(Index).Read(bytes.NewReader(data), func() error { return nil })
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
			for w := pb.NewReader(m.Data); w.Next(); {
				switch w.Num {
				case 7:
					data = w.Raw
				case 13:
					sizes = w.Raw
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

// signon is the sample up to its first packet.
func signon() []byte {
	data := demtest.Sample()
	d := New(bytes.NewReader(data), Options{})
	if err := d.in.Begin(); err != nil {
		return nil
	}
	for {
		at := d.in.Win.Offset()
		if _, err := d.in.Next(); err != nil || d.in.Head.Command == record.CmdPacket {
			return data[:at]
		}
	}
}

// samplePackets are the bit streams of the sample's packets.
func samplePackets() [][]byte {
	d := New(bytes.NewReader(demtest.Sample()), Options{})
	if err := d.in.Begin(); err != nil {
		return nil
	}
	var out [][]byte
	for {
		payload, err := d.in.Next()
		if err != nil {
			return out
		}
		if d.in.Head.Command == record.CmdPacket && !d.in.Head.Compressed {
			out = append(out, bytes.Clone(packetData(pb.NewReader(payload))))
		}
	}
}
