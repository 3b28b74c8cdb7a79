package pb

// Shape is what is known about the fields of a message.
type Shape struct {
	Name   string
	fields []Field // by number
}

// Field is a known field of a message.
type Field struct {
	Type     byte   // its wire type
	Repeated bool   // a number that may be packed
	Of       *Shape // of a message; nil when it is not known
	known    bool
}

// Add adds a field with a number.
func (s *Shape) Add(num int, f Field) {
	for num >= len(s.fields) {
		s.fields = append(s.fields, Field{})
	}
	f.known = true
	s.fields[num] = f
}

// Field returns the field with a number. ok is false when it is not known.
func (s *Shape) Field(num int) (f Field, ok bool) {
	if s == nil || num >= len(s.fields) {
		return f, false
	}
	return s.fields[num], s.fields[num].known
}

// Unknown identifies a field that is not known, or that has another wire type than the known one.
type Unknown struct {
	Message string
	Num     int
	Type    byte
	Changed bool // the number is known, with another wire type
}

// Log counts fields that are not known. The zero value is empty and ready for use.
type Log struct {
	Counts map[Unknown]int64
	More   int64 // of fields beyond those that are told apart
}

// maxUnknown is how many unknown fields are told apart.
const maxUnknown = 1 << 10

func (l *Log) add(u Unknown) {
	if _, ok := l.Counts[u]; !ok {
		if len(l.Counts) >= maxUnknown {
			l.More++
			return
		}
		if l.Counts == nil {
			l.Counts = map[Unknown]int64{}
		}
	}
	l.Counts[u]++
}

// Read returns a reader of a message of a shape. It passes over fields that are not known, or that have another wire type, and
// counts them in log. A nil shape knows nothing, and its reader returns every field.
func Read(b []byte, shape *Shape, log *Log) Reader { return Reader{buf: b, shape: shape, log: log} }

// Message returns a reader of the message that the present field is. It counts in the same log.
func (m *Reader) Message() Reader {
	q := Reader{buf: m.Raw, log: m.log}
	if m.shape != nil {
		q.shape = m.shape.fields[m.Num].Of
	}
	return q
}

// Join takes over from a reader of an embedded message whether it was bad, or had a field of another wire type.
func (m *Reader) Join(q *Reader) {
	m.Bad = m.Bad || q.Bad
	if q.Changed != 0 {
		m.Changed = q.Changed
	}
}

// check reports whether the present field is known, and counts it if it is not.
func (m *Reader) check() bool {
	f, known := m.shape.Field(m.Num)
	if known {
		if f.Type == m.Type || f.Repeated && m.Type == Bytes {
			return true
		}
		m.Changed = m.Num
	}
	m.log.add(Unknown{m.shape.Name, m.Num, m.Type, known})
	return false
}
