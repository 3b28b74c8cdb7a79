package usercmd

import (
	"encoding/binary"
	"errors"
	"sync"

	"github.com/replayd/replayd/decoders/dem/internal/lexicon"
	"github.com/replayd/replayd/decoders/dem/internal/pb"
)

// command is the message of a command.
var command = sync.OnceValue(func() *pb.Shape { return lexicon.Type("CSGOUserCmdPB") })

// maxElements bounds the lists of a command, as in the game.
const maxElements = 256

// maxWork limits the cost of one delta, in bytes read and written. A command has some hundred bytes.
const maxWork = 1 << 18

// The reasons why differences cannot be applied.
var (
	errDelta = errors.New("differences of a user command cannot be read")
	errWork  = errors.New("differences of a user command are too many")
)

// maxDepth limits the nesting of messages in a command. The game's have three levels.
const maxDepth = 4

// entry is a field of a message that is being merged.
type entry struct {
	num   int
	wire  byte
	value uint64 // of a number
	raw   []byte // of bytes
}

// entryOf returns the present field of a reader.
func entryOf(m *pb.Reader) entry { return entry{m.Num, m.Type, m.Val, m.Raw} }

// merger applies differences. Its memory is reused. It is not safe for concurrent use.
type merger struct {
	arena  []byte // merged parts; slices of it stay valid when it grows
	fields [maxDepth][]entry
	list   [maxDepth][][]byte
	left   int // work
	log    *pb.Log
}

// merge appends to dst the command that a delta makes of base. It leaves out unknown fields, because the meaning of their
// differences is unknown. It does not change base.
func (m *merger) merge(dst, base, delta []byte) ([]byte, error) {
	m.arena, m.left = m.arena[:0], maxWork
	fields, err := m.message(0, command(), base, delta)
	if err != nil {
		return nil, err
	}
	return m.write(dst, fields)
}

// spend counts work.
func (m *merger) spend(n int) error {
	if m.left -= n + 16; m.left < 0 {
		return errWork
	}
	return nil
}

// message returns the fields that a delta makes of base, a message of a schema.
func (m *merger) message(depth int, s *pb.Shape, base, delta []byte) ([]entry, error) {
	if err := m.spend(len(base) + len(delta)); err != nil {
		return nil, err
	}
	fields, err := read(m.fields[depth][:0], s, base)
	if err != nil {
		return nil, err
	}
	ops := pb.Differences(delta)
	for ops.Next() {
		if err := m.spend(len(fields)); err != nil { // because apply searches them
			return nil, err
		}
		if fields, err = m.apply(fields, depth, s, entryOf(&ops)); err != nil {
			return nil, err
		}
	}
	if ops.Bad {
		return nil, errDelta
	}
	m.fields[depth] = fields
	return fields, nil
}

// valid reports whether a message can be read, with the messages in it, and has no list that is too long. It counts unknown fields.
func valid(s *pb.Shape, b []byte, log *pb.Log) bool {
	elements := 0
	m := pb.NewReader(b)
	for m.Next() {
		f, known := s.Field(m.Num)
		if f.Repeated {
			elements++
		}
		if !known || m.Type != f.Type {
			log.Add(pb.Unknown{Message: s.Name, Num: m.Num, Type: m.Type, Changed: known}, 1)
		}
		if elements > maxElements || known && m.Type != f.Type || f.Of != nil && !valid(f.Of, m.Raw, log) {
			return false
		}
	}
	return !m.Bad
}

// write appends the fields of a message to dst.
func (m *merger) write(dst []byte, fields []entry) ([]byte, error) {
	start := len(dst)
	for i := range fields {
		dst = fields[i].append(dst)
	}
	return dst, m.spend(len(dst) - start)
}

// read appends the known fields of a message.
func read(fields []entry, s *pb.Shape, b []byte) ([]entry, error) {
	m := pb.NewReader(b)
	for m.Next() {
		f, known := s.Field(m.Num)
		switch {
		case !known:
		case m.Type != f.Type:
			return nil, errDelta
		case f.Repeated:
			fields = append(fields, entryOf(&m))
		default:
			fields = put(fields, entryOf(&m))
		}
	}
	if m.Bad {
		return nil, errDelta
	}
	return fields, nil
}

// apply applies an operation to the fields of a message.
func (m *merger) apply(fields []entry, depth int, s *pb.Shape, op entry) ([]entry, error) {
	f, known := s.Field(op.num)
	if !known || op.wire != f.Type && op.wire != pb.Reset {
		m.log.Add(pb.Unknown{Message: s.Name, Num: op.num, Type: op.wire, Changed: known}, 1)
	}
	switch {
	case !known && op.wire == pb.Reset:
		return nil, errDelta
	case !known:
		return fields, nil
	case op.wire == pb.Reset:
		return remove(fields, op.num), nil
	case op.wire != f.Type || f.Repeated && f.Of == nil: // the differences of lists of numbers have no known form
		return nil, errDelta
	case f.Repeated:
		return m.patch(fields, depth, f.Of, op)
	case f.Of != nil:
		var old []byte
		if e := find(fields, op.num); e != nil {
			old = e.raw
		}
		var err error
		if op.raw, err = m.nested(depth, f.Of, old, op.raw); err != nil {
			return nil, err
		}
	}
	return put(fields, op), nil
}

// nested merges an inner message. Its result lies in the arena, after all messages within it.
func (m *merger) nested(depth int, s *pb.Shape, base, delta []byte) ([]byte, error) {
	if depth+1 == maxDepth {
		return nil, errDelta
	}
	fields, err := m.message(depth+1, s, base, delta)
	if err != nil {
		return nil, err
	}
	start := len(m.arena)
	if m.arena, err = m.write(m.arena, fields); err != nil {
		return nil, err
	}
	return m.arena[start:len(m.arena):len(m.arena)], nil
}

// patch applies the operations on a list: lengths, and differences of elements by index. They are encoded like fields, but
// numbers begin with 0, which no field has.
func (m *merger) patch(fields []entry, depth int, s *pb.Shape, op entry) ([]entry, error) {
	list := m.list[depth][:0]
	for i := range fields {
		if fields[i].num == op.num {
			list = append(list, fields[i].raw)
		}
	}
	for b := op.raw; len(b) > 0; {
		key, n := pb.Uvarint(b)
		if n <= 0 {
			return nil, errDelta
		}
		b = b[n:]
		index := key >> 3
		switch {
		case key&7 == pb.Reset && index <= maxElements:
			for uint64(len(list)) < index {
				list = append(list, nil)
			}
			list = list[:index]
			if err := m.spend(int(index)); err != nil {
				return nil, err
			}
		case key&7 == pb.Bytes && index < uint64(len(list)):
			size, n := pb.Uvarint(b)
			if n <= 0 || size > uint64(len(b)-n) {
				return nil, errDelta
			}
			var err error
			if list[index], err = m.nested(depth, s, list[index], b[n:n+int(size)]); err != nil {
				return nil, err
			}
			b = b[n+int(size):]
		default:
			return nil, errDelta
		}
	}
	m.list[depth] = list
	fields = remove(fields, op.num)
	for _, raw := range list {
		fields = append(fields, entry{num: op.num, wire: pb.Bytes, raw: raw})
	}
	return fields, m.spend(len(list))
}

// append appends the field to a message.
func (e *entry) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(e.num)<<3|uint64(e.wire))
	switch e.wire {
	case pb.Varint:
		return binary.AppendUvarint(dst, e.value)
	case pb.Fixed32:
		return binary.LittleEndian.AppendUint32(dst, uint32(e.value))
	case pb.Fixed64:
		return binary.LittleEndian.AppendUint64(dst, e.value)
	}
	return append(binary.AppendUvarint(dst, uint64(len(e.raw))), e.raw...)
}

// find returns the field with a number, or nil.
func find(fields []entry, num int) *entry {
	for i := range fields {
		if fields[i].num == num {
			return &fields[i]
		}
	}
	return nil
}

// put sets a field that is not a list.
func put(fields []entry, e entry) []entry {
	if old := find(fields, e.num); old != nil {
		*old = e
		return fields
	}
	return append(fields, e)
}

// remove removes a field, or a list.
func remove(fields []entry, num int) []entry {
	kept := fields[:0]
	for _, e := range fields {
		if e.num != num {
			kept = append(kept, e)
		}
	}
	return kept
}
