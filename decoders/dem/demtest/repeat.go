package demtest

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/golang/snappy"
)

// record is a record of a file that is read.
type record struct {
	command    uint32
	compressed bool
	tick       int32
	stored     []byte
}

var errDemo = errors.New("not a demo")

func records(data []byte) ([]record, error) {
	if len(data) < 16 || !bytes.HasPrefix(data, []byte("PBDEMS2\x00")) {
		return nil, errDemo
	}
	var out []record
	for b := data[16:]; len(b) > 0; {
		var v [3]uint64
		for i := range v {
			value, n := binary.Uvarint(b)
			if n <= 0 {
				return nil, errDemo
			}
			v[i], b = value, b[n:]
		}
		if v[2] > uint64(len(b)) {
			return nil, errDemo
		}
		out = append(out, record{uint32(v[0]) &^ 64, v[0]&64 != 0, int32(uint32(v[1])), b[:v[2]]})
		b = b[v[2]:]
	}
	return out, nil
}

func (r record) payload() ([]byte, error) {
	if !r.compressed {
		return r.stored, nil
	}
	return snappy.Decode(nil, r.stored)
}

// Repeat makes a demo of at least size bytes from a recorded one. It repeats the packets after the first one, which holds the
// whole state, and continues their ticks. It changes only one other thing: the directory of the game gets a build number,
// because some decoders refuse a demo without one. When the recording has a key frame, which equals the first packet, Repeat
// puts a copy of it before each repetition.
func Repeat(data []byte, size int) ([]byte, error) {
	all, err := records(data)
	if err != nil {
		return nil, err
	}
	d := New()
	var loop []record
	var last int32
	first := true
	for i, r := range all {
		switch {
		case r.command == CmdSignonPacket:
			payload, err := r.payload()
			if err != nil {
				return nil, err
			}
			d.Record(CmdSignonPacket, r.tick, renameDir(payload))
		case r.command == CmdPacket && !first:
			loop = append(loop, r)
			last = r.tick
		case r.command == CmdStop:
			for offset := int32(0); len(d.buf) < size; offset += last {
				for _, p := range loop {
					command := p.command
					if p.compressed {
						command |= 64
					}
					d.Record(command, p.tick+offset, p.stored)
				}
			}
			fallthrough
		default: // everything else once
			if r.command == CmdPacket {
				first = false
			}
			command := r.command
			if r.compressed {
				command |= 64
			}
			d.Record(command, r.tick, r.stored)
			if r.command == CmdFileInfo && i == len(all)-1 {
				return d.Bytes(), nil
			}
		}
	}
	return d.Bytes(), nil
}

// Messages returns the messages of a CDemoPacket.
func Messages(payload []byte) []Message {
	var data []byte
	fields(payload, func(num int, _ uint64, raw []byte) {
		if num == 3 {
			data = raw
		}
	})
	r := bitReader{buf: data}
	var out []Message
	for 8*len(data)-r.pos >= 8 {
		id := r.ubitvar()
		n := int(r.varint())
		if n > len(data) {
			break
		}
		m := Message{ID: id, Data: make([]byte, n)}
		for i := range m.Data {
			m.Data[i] = byte(r.bits(8))
		}
		out = append(out, m)
	}
	return out
}

// renameDir gives the directory in a packet's ServerInfo a build number.
func renameDir(payload []byte) []byte {
	messages := Messages(payload)
	for i, m := range messages {
		if m.ID != 40 {
			continue
		}
		var out Proto
		fieldsRaw(m.Data, func(num int, field, raw []byte) {
			if num == 14 && !bytes.Contains(raw, []byte("_v")) {
				out = out.Text(14, "/opt/srcds/dota/dota_v6000/dota")
				return
			}
			out = append(out, field...)
		})
		messages[i].Data = out
	}
	return PackMessages(messages...)
}

// fields calls f with each field of a protobuf message.
func fields(b []byte, f func(num int, val uint64, raw []byte)) {
	for len(b) > 0 {
		tag, n := binary.Uvarint(b)
		if n <= 0 {
			return
		}
		b = b[n:]
		var val uint64
		var raw []byte
		switch tag & 7 {
		case 0:
			if val, n = binary.Uvarint(b); n <= 0 {
				return
			}
			b = b[n:]
		case 1:
			val, b = binary.LittleEndian.Uint64(b), b[8:]
		case 2:
			l, n := binary.Uvarint(b)
			raw, b = b[n:n+int(l)], b[n+int(l):]
		case 5:
			val, b = uint64(binary.LittleEndian.Uint32(b)), b[4:]
		default:
			return
		}
		f(int(tag>>3), val, raw)
	}
}

// fieldsRaw calls f with each field of a protobuf message, its whole encoding and its bytes.
func fieldsRaw(b []byte, f func(num int, field, raw []byte)) {
	fields(b, func(num int, _ uint64, raw []byte) {
		n := fieldLen(b)
		f(num, b[:n], raw)
		b = b[n:]
	})
}

func fieldLen(b []byte) int {
	tag, n := binary.Uvarint(b)
	switch tag & 7 {
	case 0:
		_, k := binary.Uvarint(b[n:])
		return n + k
	case 1:
		return n + 8
	case 2:
		l, k := binary.Uvarint(b[n:])
		return n + k + int(l)
	}
	return n + 4
}

type bitReader struct {
	buf []byte
	pos int
}

func (r *bitReader) bits(n int) (v uint64) {
	for i := range n {
		if k := r.pos >> 3; k < len(r.buf) {
			v |= uint64(r.buf[k]>>(r.pos&7)&1) << i
		}
		r.pos++
	}
	return v
}

func (r *bitReader) varint() (v uint64) {
	for shift := 0; shift < 35; shift += 7 {
		b := r.bits(8)
		v |= b & 0x7f << shift
		if b < 0x80 {
			break
		}
	}
	return v
}

func (r *bitReader) ubitvar() uint32 {
	v := uint32(r.bits(6))
	switch v >> 4 {
	case 1:
		return v&15 | uint32(r.bits(4))<<4
	case 2:
		return v&15 | uint32(r.bits(8))<<4
	case 3:
		return v&15 | uint32(r.bits(28))<<4
	}
	return v
}

// LastTick returns the tick of the last record that has one.
func LastTick(data []byte) (last int32) {
	all, _ := records(data)
	for _, r := range all {
		last = max(last, r.tick)
	}
	return last
}
