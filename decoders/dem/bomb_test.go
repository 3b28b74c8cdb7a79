package dem_test

import (
	"bytes"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"
	"time"

	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/decoders/dem/demtest"
)

// TestBombs decodes small files that unpack to much. Memory stays bounded, whatever they declare.
func TestBombs(t *testing.T) {
	if testing.Short() {
		t.Skip("unpacks some hundred megabytes")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // the heap is measured
	const large = 30 << 20
	repeat := func(p demtest.Proto) []byte { return bytes.Repeat(p, large/len(p)) }
	class := demtest.Proto(nil).Bytes(1, demtest.Proto(nil).Varint(1, 1))
	for name, write := range map[string]func(d *demtest.Demo){
		"zeros": func(d *demtest.Demo) {
			d.Compressed(demtest.CmdPacket, 1, demtest.Proto(nil).Bytes(3, make([]byte, large)))
		},
		"classes": func(d *demtest.Demo) { d.Compressed(demtest.CmdClassInfo, -1, repeat(class)) },
		"symbols": func(d *demtest.Demo) {
			var w demtest.Bits
			body := repeat(demtest.Proto(nil).Text(2, ""))
			w.Varint(uint64(len(body)))
			d.Compressed(demtest.CmdSendTables, -1, demtest.Proto(nil).Bytes(1, append(w.Bytes(), body...)))
		},
		"fields": func(d *demtest.Demo) {
			var w demtest.Bits
			body := append(repeat(demtest.Proto(nil).Bytes(3, nil)), demtest.Proto(nil).Bytes(1, repeat(demtest.Proto(nil).Varint(3, 1))[:large/2])...)
			w.Varint(uint64(len(body)))
			d.Compressed(demtest.CmdSendTables, -1, demtest.Proto(nil).Bytes(1, append(w.Bytes(), body...)))
		},
		"players": func(d *demtest.Demo) {
			d.Compressed(demtest.CmdFileInfo, -1, demtest.Proto(nil).Bytes(4, demtest.Proto(nil).Bytes(4, repeat(demtest.Proto(nil).Bytes(4, nil)))))
		},
		"rounds": func(d *demtest.Demo) {
			d.Compressed(demtest.CmdFileInfo, -1, demtest.Proto(nil).Bytes(4, demtest.Proto(nil).Bytes(5, repeat(demtest.Proto(nil).Varint(1, 1)))))
		},
		"game events": func(d *demtest.Demo) {
			list := repeat(demtest.Proto(nil).Bytes(1, demtest.Proto(nil).Bytes(3, nil)))[:10<<20]
			keys := repeat(demtest.Proto(nil).Bytes(3, nil))[:10<<20]
			d.Compressed(demtest.CmdPacket, 1, demtest.PackMessages(
				demtest.Message{ID: 205, Data: list}, demtest.Message{ID: 205, Data: demtest.Proto(nil).Bytes(1, keys)}, demtest.Message{ID: 207, Data: keys}))
		},
		"tables": func(d *demtest.Demo) {
			// Each entry of a table is as short as can be.
			var entries demtest.Bits
			for range 100_000 {
				entries.Code("111")
			}
			var messages []demtest.Message
			for i := range 600 {
				messages = append(messages, demtest.Message{ID: 44, Data: demtest.Proto(nil).Text(1, strconv.Itoa(i)).Varint(2, 1<<30).Bytes(7, entries.Bytes())})
			}
			d.Compressed(demtest.CmdPacket, 1, demtest.PackMessages(messages...))
		},
		"states": func(d *demtest.Demo) {
			// A default state of a megabyte, and two thousand entities that begin with it.
			text := demtest.Value{Path: []int{0}, Write: func(w *demtest.Bits) { w.CString(string(bytes.Repeat([]byte("x"), 1<<20-8))) }}
			var base demtest.Bits
			base.Fields(text)
			d.Record(demtest.CmdSignonPacket, -1, demtest.PackMessages(
				demtest.Message{ID: 40, Data: demtest.Proto(nil).Varint(11, 1)},
				demtest.Table{Flags: 1, Varint: true}.Create("instancebaseline", true, demtest.Entry{Index: 0, Key: "0", HasValue: true, Value: base.Bytes(), Compress: true})))
			d.Record(demtest.CmdSendTables, -1, demtest.SendTables(demtest.Serializer{Name: "C", Fields: []demtest.Field{{Name: "m_s", Type: "CUtlString"}}}))
			d.Record(demtest.CmdClassInfo, -1, demtest.Classes("C"))
			e := &demtest.Entities{ClassBits: 1}
			for i := range 2000 {
				e.Create(i, 0, 1)
			}
			e.Extra(demtest.Proto(nil).Varint(4, 1).Varint(5, 0))
			d.Packet(0, e.Message(true))
		},
		"lists": func(d *demtest.Demo) {
			// An entity with 48,000 elements, and thousands with the last one of them.
			d.Record(demtest.CmdSignonPacket, -1, demtest.PackMessages(demtest.Message{ID: 40, Data: demtest.Proto(nil).Varint(11, 1)}))
			list := "CNetworkUtlVectorBase< bool >"
			d.Record(demtest.CmdSendTables, -1, demtest.SendTables(demtest.Serializer{Name: "C", Fields: []demtest.Field{
				{Name: "m_l", Type: list}, {Name: "m_m", Type: list}, {Name: "m_n", Type: list},
			}}))
			d.Record(demtest.CmdClassInfo, -1, demtest.Classes("C"))
			set := func(w *demtest.Bits) { w.Bool(true) }
			var all []demtest.Value
			for field := range 3 {
				for i := range 16000 {
					all = append(all, demtest.Value{Path: []int{field, i}, Write: set})
				}
			}
			e := &demtest.Entities{ClassBits: 1}
			e.Create(0, 0, 1, all...)
			for i := 1; i < 4000; i++ {
				e.Create(i, 0, 1, demtest.Value{Path: []int{2, 15999}, Write: set})
			}
			d.Compressed(demtest.CmdPacket, 0, demtest.PackMessages(e.Message(false)))
		},
		"texts": func(d *demtest.Demo) {
			// Entities that have a megabyte of text each, and lose it again when they are sent once more.
			d.Record(demtest.CmdSignonPacket, -1, demtest.PackMessages(demtest.Message{ID: 40, Data: demtest.Proto(nil).Varint(11, 1)}))
			d.Record(demtest.CmdSendTables, -1, demtest.SendTables(demtest.Serializer{Name: "C", Fields: []demtest.Field{{Name: "m_s", Type: "CUtlString"}}}))
			d.Record(demtest.CmdClassInfo, -1, demtest.Classes("C"))
			text := string(bytes.Repeat([]byte("x"), 1<<20-8))
			for i := range 280 {
				long, again := &demtest.Entities{ClassBits: 1}, &demtest.Entities{ClassBits: 1}
				long.Create(i, 0, 1, demtest.Value{Path: []int{0}, Write: func(w *demtest.Bits) { w.CString(text) }})
				again.Create(i, 0, 1)
				d.Compressed(demtest.CmdPacket, int32(i), demtest.PackMessages(long.Message(i > 0), again.Message(true)))
			}
		},
		"units": func(d *demtest.Demo) {
			d.Compressed(demtest.CmdPacket, 1, demtest.PackMessages(demtest.Message{ID: 547, Data: demtest.Proto(nil).Bytes(3, make([]byte, large))}))
		},
		"declared": func(d *demtest.Demo) { d.Record(demtest.CmdPacket|64, 1, []byte{0xff, 0xff, 0xff, 0x7f, 0}) },
	} {
		t.Run(name, func(t *testing.T) {
			data := bomb(write)
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			before, peak, events := m.HeapAlloc, uint64(0), 0
			start := time.Now()
			decoder := dem.New(bytes.NewReader(data), dem.Options{})
			err := run(decoder, func(*dem.Event) {
				if events++; events&(1<<16-1) == 1 {
					runtime.ReadMemStats(&m)
					peak = max(peak, m.HeapAlloc)
				}
			})
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapAlloc)
			t.Logf("%d bytes: %d events in %v, %d MB, %v", len(data), events, time.Since(start), (peak-min(before, peak))>>20, err)
			if peak > before+256<<20 {
				t.Errorf("the heap grew by %d MB", (peak-before)>>20)
			}
		})
	}
}

// bomb returns a demo that has a header, what write writes, and an end.
func bomb(write func(d *demtest.Demo)) []byte {
	d := demtest.New()
	d.Record(demtest.CmdFileHeader, -1, demtest.Proto(nil).Text(1, "PBDEMS2").Text(14, "dota"))
	write(d)
	d.Record(demtest.CmdStop, 2, nil)
	return bytes.Clone(d.Bytes())
}
