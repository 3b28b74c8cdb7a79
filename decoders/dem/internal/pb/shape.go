package pb

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Shape holds the known fields of a message.
type Shape struct {
	Name   string
	fields []Field // by number
	wire   []uint8 // by number: the allowed wire types, a bit for each; 0 for an unknown field
}

// Field is a known field of a message.
type Field struct {
	Name     []byte
	Type     byte   // its wire type
	Repeated bool   // it is a list; numbers in it may be packed
	Text     bool   // its bytes are text
	Of       *Shape // the fields of a message; nil when they are not known
}

// Add adds a field with a number.
func (s *Shape) Add(num int, f Field) {
	for num >= len(s.fields) {
		s.fields, s.wire = append(s.fields, Field{}), append(s.wire, 0)
	}
	s.fields[num], s.wire[num] = f, 1<<f.Type
	if f.Repeated {
		s.wire[num] |= 1 << Bytes
	}
}

// knows reports whether a field is known with that wire type.
func (s *Shape) knows(num int, typ byte) bool { return num < len(s.wire) && s.wire[num]&(1<<typ) != 0 }

// Field returns the field with a number. ok is false when it is not known.
func (s *Shape) Field(num int) (f Field, ok bool) {
	if s == nil || num >= len(s.fields) {
		return f, false
	}
	return s.fields[num], s.wire[num] != 0
}

// Unknown identifies a field that is unknown, or has an unexpected wire type.
type Unknown struct {
	Message string
	Num     int
	Type    byte
	Changed bool // the field is known with another wire type
}

// Log counts unknown fields. The zero value is empty and ready for use.
type Log struct {
	Counts map[Unknown]int64
	More   int64         // fields beyond those that are counted separately
	Met    func(Unknown) // called for each of them, unless it is nil
}

// maxUnknown is the maximum number of unknown fields that are counted separately.
const maxUnknown = 1 << 10

// Add counts an unknown field n times. A nil Log counts nothing.
func (l *Log) Add(u Unknown, n int64) {
	if l == nil {
		return
	}
	if l.Met != nil {
		l.Met(u)
	}
	if _, ok := l.Counts[u]; !ok {
		if len(l.Counts) >= maxUnknown {
			l.More += n
			return
		}
		if l.Counts == nil {
			l.Counts = map[Unknown]int64{}
		}
	}
	l.Counts[u] += n
}

// AddAll adds the counts of another log.
func (l *Log) AddAll(of *Log) {
	for _, u := range of.Fields() {
		l.Add(u, of.Counts[u])
	}
	l.More += of.More
}

// Fields returns the fields that are counted, in the order of the messages' names and the fields' numbers.
func (l *Log) Fields() []Unknown {
	return slices.SortedFunc(maps.Keys(l.Counts), func(x, y Unknown) int {
		return cmp.Or(strings.Compare(x.Message, y.Message), cmp.Compare(x.Num, y.Num), cmp.Compare(x.Type, y.Type))
	})
}

// Sum returns how often there were unknown fields.
func (l *Log) Sum() int64 {
	n := l.More
	for _, count := range l.Counts {
		n += count
	}
	return n
}

// Copy returns a copy of the counts.
func (l *Log) Copy() Log { return Log{Counts: maps.Clone(l.Counts), More: l.More} }

// Read returns a reader of a message with a shape. It passes over unknown fields and fields with an unexpected wire type, and
// counts them in log. A nil shape knows no fields, and its reader returns every field. A nil log counts nothing.
func Read(b []byte, shape *Shape, log *Log) Reader { return Reader{buf: b, shape: shape, log: log} }

// ReadParts is like Read, for a message that is read in parts, with other work in between: it counts all unknown fields at once,
// including those of inner messages, and reading the parts does not count them again.
func ReadParts(b []byte, shape *Shape, log *Log) Reader {
	count(Read(b, shape, log), maxDepth)
	return Read(b, shape, nil)
}

// maxDepth is the maximum nesting of messages that are read in parts. Games nest four levels.
const maxDepth = 8

// count counts the unknown fields of a message and its inner messages.
func count(m Reader, depth int) {
	for m.Next() {
		if depth > 0 && m.shape != nil && m.shape.fields[m.Num].Of != nil {
			count(m.Message(), depth-1)
		}
	}
}

// Message returns a reader of the message in the present field. It counts in the same log.
func (m *Reader) Message() Reader {
	q := Reader{buf: m.Raw, log: m.log}
	if m.shape != nil {
		q.shape = m.shape.fields[m.Num].Of
	}
	return q
}

// passOver counts the present field, which is unknown.
func (m *Reader) passOver() {
	_, known := m.shape.Field(m.Num)
	m.log.Add(Unknown{m.shape.Name, m.Num, m.Type, known}, 1)
}

// Within moves q, a reader of the message in the present field, to its next field. It reports whether there is one. If q cannot
// be read to its end, m is bad.
//
//	for q := m.Message(); m.Within(&q); {
//		switch q.Num {
//		case 1:
//			name = q.Raw
//		}
//	}
func (m *Reader) Within(q *Reader) bool {
	if q.Next() {
		return true
	}
	m.Bad = m.Bad || q.Bad
	return false
}
