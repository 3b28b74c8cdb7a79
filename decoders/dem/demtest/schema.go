package demtest

// Serializer is a list of fields of a schema.
type Serializer struct {
	Name    string
	Version int
	Fields  []Field
}

// Field is a field of a serializer.
type Field struct {
	Name, Type, Encoder, SendNode string
	Bits, Flags                   int
	Low, High                     float32 // both 0 means that neither is written
	Serializer                    string
	SerializerVersion             int
	Polymorphic                   []string
	VarSerializer                 string // the game's own serializer of the field
}

// SendTables returns CDemoSendTables of a schema. A serializer must come before those that refer to it.
func SendTables(serializers ...Serializer) Proto {
	var symbols []string
	index := map[string]int64{}
	sym := func(s string) int64 {
		i, ok := index[s]
		if !ok {
			i = int64(len(symbols))
			index[s] = i
			symbols = append(symbols, s)
		}
		return i
	}
	var fields, lists Proto
	n := int64(0)
	for _, s := range serializers {
		list := Proto(nil).Varint(1, sym(s.Name)).Varint(2, int64(s.Version))
		for _, f := range s.Fields {
			p := Proto(nil).Varint(1, sym(f.Type)).Varint(2, sym(f.Name))
			if f.Bits != 0 {
				p = p.Varint(3, int64(f.Bits))
			}
			if f.Low != 0 || f.High != 0 {
				p = p.Float(4, f.Low).Float(5, f.High)
			}
			if f.Flags != 0 {
				p = p.Varint(6, int64(f.Flags))
			}
			if f.Serializer != "" {
				p = p.Varint(7, sym(f.Serializer)).Varint(8, int64(f.SerializerVersion))
			}
			if f.SendNode != "" {
				p = p.Varint(9, sym(f.SendNode))
			}
			if f.Encoder != "" {
				p = p.Varint(10, sym(f.Encoder))
			}
			for _, other := range f.Polymorphic {
				p = p.Bytes(11, Proto(nil).Varint(1, sym(other)).Varint(2, 0))
			}
			if f.VarSerializer != "" {
				p = p.Varint(12, sym(f.VarSerializer))
			}
			fields = fields.Bytes(3, p)
			list = list.Varint(3, n)
			n++
		}
		lists = lists.Bytes(1, list)
	}
	all := lists
	for _, s := range symbols {
		all = all.Text(2, s)
	}
	all = append(all, fields...)
	var w Bits
	w.Varint(uint64(len(all)))
	return Proto(nil).Bytes(1, append(w.Bytes(), all...))
}

// Classes returns CDemoClassInfo of classes numbered from 0.
func Classes(names ...string) Proto {
	var p Proto
	for i, name := range names {
		p = p.Bytes(1, Proto(nil).Varint(1, int64(i)).Text(2, name))
	}
	return p
}

// PathCodes are the codes of the 40 field path operations, the first bit first.
var PathCodes = [40]string{
	"0", "1110", "110010", "11011111", "11010", "110110001101", "110110001100101", "11011010", "11000", "11011100",
	"11011001", "1111", "110110110", "1101100011001000", "11011000110010011", "11011000110010010",
	"11011000110011101", "11011000110011100", "11011000110011111", "11011000110011110", "11011000110011001",
	"11011000110011000", "11011000110011011", "11011000110011010", "1101100011000101", "1101100011000100",
	"110111011", "110110001100001", "1101100011000111", "110011", "110110000", "110111010", "11011110",
	"1101100011000110", "1101100011000001", "1101100011000000", "11011000111", "110110111", "1101100010", "10",
}

// Finish ends a list of paths.
const Finish = 39

// Value is a field of an update: its path, and the function that writes its value.
type Value struct {
	Path  []int
	Write func(w *Bits)
}

// Fields writes an update: the paths, with the simplest operations that express them, and the values.
func (w *Bits) Fields(values ...Value) {
	at := []int{-1}
	for _, v := range values {
		w.path(at, v.Path)
		at = v.Path
	}
	w.Code(PathCodes[Finish])
	for _, v := range values {
		v.Write(w)
	}
}

// path writes what leads from one path to another: as many pops and changes of indices as it takes, then as many pushes.
// Every operation but the last would be a changed field of its own, so there is one only.
func (w *Bits) path(from, to []int) {
	switch {
	case len(to) == len(from) && samePrefix(from, to, len(from)-1) && to[len(to)-1] == from[len(from)-1]+1:
		w.Code(PathCodes[0])
	case len(to) < len(from):
		// PopNAndNonTopographical.
		w.Code(PathCodes[35])
		w.PathNumber(uint32(len(from) - len(to)))
		for i := range to {
			w.Bool(to[i] != from[i])
			if to[i] != from[i] {
				w.Zigzag(int64(to[i] - from[i]))
			}
		}
	default:
		// PushNAndNonTopological.
		w.Code(PathCodes[26])
		for i := range from {
			w.Bool(to[i] != from[i])
			if to[i] != from[i] {
				w.Zigzag(int64(to[i] - from[i] - 1))
			}
		}
		w.UBitVar(uint32(len(to) - len(from)))
		for _, v := range to[len(from):] {
			w.PathNumber(uint32(v))
		}
	}
}

func samePrefix(a, b []int, n int) bool {
	for i := range n {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// Entities writes the contents of CSVCMsg_PacketEntities.
type Entities struct {
	ClassBits int
	// NoSizes leaves out the list of the sizes of updates.
	NoSizes bool
	// Visible gives updates visibility bits: 2 for an update in view.
	Visible bool

	bits  Bits
	sizes Bits
	last  int
	count int
	extra Proto
}

func (e *Entities) head(index, command int) {
	if e.count == 0 {
		e.last = -1
	}
	e.count++
	e.bits.UBitVar(uint32(index - e.last - 1))
	e.last = index
	e.bits.Bits(uint64(command), 2)
}

func (e *Entities) payload(values []Value) {
	start := e.bits.Len()
	e.bits.Fields(values...)
	e.sizes.Varint(uint64(e.bits.Len() - start))
}

// Create writes the creation of an entity. Entities must be written in the order of their indices.
func (e *Entities) Create(index, class, serial int, values ...Value) {
	e.head(index, 2)
	e.bits.Bits(uint64(class), e.ClassBits)
	e.bits.Bits(uint64(serial), 17)
	e.bits.Varint(1) // the spawn group
	e.payload(values)
}

// Update writes an update.
func (e *Entities) Update(index int, values ...Value) {
	e.head(index, 0)
	if e.Visible {
		e.bits.Bits(2, 2)
	}
	e.payload(values)
}

// Hide writes that an entity is out of view, with nothing else, by visibility bits.
func (e *Entities) Hide(index int) {
	e.head(index, 0)
	e.bits.Bits(1, 2)
}

// Leave writes that an entity left the view.
func (e *Entities) Leave(index int) { e.head(index, 1) }

// Delete writes that an entity was deleted.
func (e *Entities) Delete(index int) { e.head(index, 3) }

// Deletions writes the list of deletions that older recordings have behind the entries.
func (e *Entities) Deletions(indices ...int) {
	e.bits.UBitVar(uint32(len(indices)))
	last := -1
	for _, i := range indices {
		e.bits.UBitVar(uint32(i - last))
		last = i
	}
	e.bits.Bits(0, 8) // so that more than seven bits are left in any case
}

// Extra adds fields to the message.
func (e *Entities) Extra(p Proto) { e.extra = append(e.extra, p...) }

// Message returns the message.
func (e *Entities) Message(delta bool) Message {
	p := Proto(nil).Varint(1, 2048).Varint(2, int64(e.count))
	if delta {
		p = p.Varint(3, 1)
	}
	p = p.Bytes(7, e.bits.Bytes())
	if !e.NoSizes {
		p = p.Bytes(13, e.sizes.Bytes())
	}
	if e.Visible {
		p = p.Varint(16, 1)
	}
	return Message{55, append(p, e.extra...)}
}

// Entry is an entry of a string table.
type Entry struct {
	Index    int
	Key      string
	NoKey    bool
	Value    []byte
	HasValue bool
	// Compress stores the value compressed; the table must have flag 1.
	Compress bool
	// History refers to one of the last 32 keys: how many of them back from the newest, 0 for none, and how many bytes.
	History, Prefix int
}

// Table describes how the entries of a string table are written.
type Table struct {
	Flags     int
	Varint    bool
	FixedBits int
}
