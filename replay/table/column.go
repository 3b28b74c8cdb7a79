package table

import (
	"encoding/binary"
	"iter"
	"math"
	"slices"
	"strconv"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/replay/codec/protoappend"
)

// Column holds the values of one column, in the memory layout of Arrow: little endian, bits from the lowest. It is complete once Set.Table or
// Set.All has returned its table.
type Column struct {
	Field *Field
	// Off is true for a column that the table does not have. Nothing is appended to it.
	Off bool
	// Len is the number of values, missing ones included.
	Len int
	// Nulls is the number of missing values. Unless it is 0, Valid has one bit for each value: 0 if the value is missing. Otherwise Valid is
	// empty.
	Nulls int
	Valid []byte
	// Data holds the values: the bytes of a Text or a Binary; indices into the dictionary for a Name, 4 bytes each. It is empty
	// for lists and structs.
	Data []byte
	// Offsets holds, for Text, Binary and List, the beginnings of the values and the end of the last.
	Offsets []int32
	// Names is the dictionary of a column of type Name.
	Names *Names

	below  int                  // the number of columns below this one
	item   int                  // rowBytes of a list's elements
	late   int                  // the number of missing values at the end, which are only counted so far
	marked int                  // the number of values that have a bit in Valid. Those from there to Len are not missing
	size   *int                 // Set.size
	refs   *func(uint32) string // of the set
}

func newColumns(fields []Field, there []bool, to []Column, s *Set) []Column {
	for i := range fields {
		f := &fields[i]
		c := Column{Field: f, Off: !there[0], below: width(f.Fields), size: &s.size, refs: &s.Refs}
		switch {
		case c.Off:
		case f.Type == List:
			c.item = rowBytes(f.Fields, there[1:])
			c.Offsets = []int32{0}
		case f.Type == Text, f.Type == Binary:
			c.Offsets = []int32{0}
		case f.Type == Name:
			c.Names = newNames()
		}
		to = newColumns(f.Fields, there[1:], append(to, c), s)
		there = there[f.width():]
	}
	return to
}

// reset empties a column and keeps memory of a moderate size.
func (c *Column) reset() {
	c.Len, c.Nulls, c.late, c.marked = 0, 0, 0, 0
	c.Valid, c.Data = keep(c.Valid), keep(c.Data)
	if c.Offsets != nil {
		if cap(c.Offsets) > kept/4 {
			c.Offsets = []int32{0}
		}
		c.Offsets = c.Offsets[:1]
	}
	if c.Names != nil {
		c.Names.reset()
	}
}

// trim frees the memory of an empty column if it has much.
func (c *Column) trim() {
	const much = 16 << 10 // enough for a few rows that arrive at once
	if cap(c.Valid) > much {
		c.Valid = nil
	}
	if cap(c.Data) > much {
		c.Data = nil
	}
	if cap(c.Offsets) > much/4 {
		c.Offsets = []int32{0}
	}
	if c.Names != nil && cap(c.Names.Data) > much {
		c.Names = newNames()
	}
}

// kept is the number of bytes of a buffer that are kept for the next batch: enough for a column with nearly all bytes of a batch
// of 1 MiB, whose buffer append has made up to a quarter too large.
const kept = 1280 << 10

func keep(b []byte) []byte {
	if cap(b) > kept {
		return nil
	}
	return b[:0]
}

// there counts n values that are not missing. The caller appends their data then.
func (c *Column) there(n int) {
	if c.late > 0 {
		c.catchUp()
	}
	c.Len += n
}

// grow makes the data n bytes longer, and returns these bytes. Their content is undefined.
func (c *Column) grow(n int) []byte {
	had := len(c.Data)
	if n > cap(c.Data)-had {
		c.Data = slices.Grow(c.Data, n)
	}
	c.Data = c.Data[:had+n] // sets the length alone, without the garbage collector's write barrier
	return c.Data[had:]
}

// catchUp appends the missing values that were only counted. Columns below it get none.
func (c *Column) catchUp() {
	n := c.late
	c.mark(n)
	c.fill(n)
	c.late, c.Nulls = 0, c.Nulls+n
}

// mark brings the bits of values up to date, for n missing values behind them.
func (c *Column) mark(n int) {
	c.Valid = appendBits(c.Valid, c.marked, c.Len-c.marked, 0xff)
	c.Valid = appendBits(c.Valid, c.Len, n, 0)
	c.marked = c.Len + n
}

// appendBits appends n times the bit of which all is made to bits, of which there are some.
func appendBits(bits []byte, some, n int, all byte) []byte {
	if used := some & 7; used > 0 {
		last := &bits[some>>3]
		*last = *last&(1<<used-1) | all<<used
	}
	for len(bits) < (some+n+7)>>3 {
		bits = append(bits, all)
	}
	return bits
}

// fill appends the data of n values without any: zeros, and empty texts and lists.
func (c *Column) fill(n int) {
	switch c.Field.Type {
	case Bool:
		clear(c.grow((c.Len+n+7)>>3 - len(c.Data)))
	case Text, Binary, List:
		last := c.Offsets[len(c.Offsets)-1]
		for range n {
			c.Offsets = append(c.Offsets, last)
		}
	case Name:
		c.Names.ofString("", c.size) // index 0 must exist
		fallthrough
	default:
		clear(c.grow(n * c.Field.Type.bytes()))
	}
	c.Len += n
}

// Int32 appends a value.
func (c *Column) Int32(v int32) { c.Uint32(uint32(v)) }

// Uint32 appends a value.
func (c *Column) Uint32(v uint32) {
	if !c.Off {
		c.uint32(v)
	}
}

func (c *Column) uint32(v uint32) {
	c.there(1)
	c.Data = binary.LittleEndian.AppendUint32(c.Data, v)
}

// Int64 appends a value.
func (c *Column) Int64(v int64) { c.Uint64(uint64(v)) }

// Uint64 appends a value.
func (c *Column) Uint64(v uint64) {
	if !c.Off {
		c.uint64(v)
	}
}

func (c *Column) uint64(v uint64) {
	c.there(1)
	c.Data = binary.LittleEndian.AppendUint64(c.Data, v)
}

// Float32 appends a value.
func (c *Column) Float32(v float32) { c.Uint32(math.Float32bits(v)) }

// Float64 appends a value.
func (c *Column) Float64(v float64) { c.Uint64(math.Float64bits(v)) }

// Time appends a value.
func (c *Column) Time(v decoders.Time) { c.Uint64(uint64(v)) }

// Bool appends a value.
func (c *Column) Bool(v bool) {
	if c.Off {
		return
	}
	c.there(1)
	i := c.Len - 1
	if i&7 == 0 {
		c.Data = append(c.Data, 0)
	}
	if v {
		c.Data[i>>3] |= 1 << (i & 7)
	}
}

// Text appends a text, made valid UTF-8 as by protoappend.String.
func (c *Column) Text(v []byte) {
	if c.Off {
		return
	}
	c.there(1)
	c.Data = protoappend.Text(c.Data, v)
	c.close(len(v))
}

// Binary appends bytes.
func (c *Column) Binary(v []byte) {
	if c.Off {
		return
	}
	c.there(1)
	c.Data = append(c.Data, v...)
	c.close(len(v))
}

func (c *Column) close(n int) {
	c.Offsets = append(c.Offsets, int32(len(c.Data)))
	*c.size += n
}

// Name appends a text to a column of names.
func (c *Column) Name(v []byte) {
	if !c.Off {
		c.there(1)
		c.index(c.Names.of(v, c.size))
	}
}

// Enum appends the name of an enum's value to a column of names, or the value's number if it has no name.
func (c *Column) Enum(v int32) {
	if c.Off {
		return
	}
	c.there(1)
	i, known := c.Names.number(v)
	if !known {
		name, named := c.Field.Enum[v]
		if !named {
			name = strconv.Itoa(int(v))
		}
		i = c.Names.ofString(name, c.size)
		c.Names.setNumber(v, i)
	}
	c.index(i)
}

// Ref appends the text that the set's Refs returns for a number to a column of names.
func (c *Column) Ref(id uint32) {
	if c.Off {
		return
	}
	c.there(1)
	i, known := c.Names.ref(id)
	if !known {
		i = c.Names.of([]byte((*c.refs)(id)), c.size)
		c.Names.setRef(id, i)
	}
	c.index(i)
}

func (c *Column) index(i int32) { c.Data = binary.LittleEndian.AppendUint32(c.Data, uint32(i)) }

// Items begins a list of n elements, which the caller appends to the next column.
func (c *Column) Items(n int) {
	if c.Off {
		return
	}
	c.there(1)
	c.Offsets = append(c.Offsets, c.Offsets[len(c.Offsets)-1]+int32(n))
	*c.size += n * c.item
}

// Fields begins a struct, the first of the columns. The caller appends its fields to the next columns.
func Fields(c []Column) { BeginFields(c, 1) }

// BeginFields begins n structs, as Fields begins one.
func BeginFields(c []Column, n int) {
	if c[0].Off {
		return
	}
	if c[0].late > 0 {
		catchUp(c)
	}
	c[0].Len += n
}

// catchUp completes the first column and, as what a missing struct hides is not missing, fills those below a struct.
func catchUp(c []Column) {
	if n := c[0].late; n+c[0].Nulls > 0 {
		c[0].catchUp()
		hide(c, n)
	}
}

// hide fills the columns below a struct with n values.
func hide(c []Column, n int) {
	if c[0].Field.Type != Struct {
		return
	}
	for _, below := range Shown(c[1:c[0].Width()]) {
		catchUp(below)
		below[0].fill(n)
		hide(below, n)
	}
}

// Null appends a missing value. Most columns have few values, so it only counts.
func (c *Column) Null() { c.late++ }

// truncate removes all values of the first column from the n-th on.
func truncate(columns []Column, n int) {
	c := &columns[0]
	if n >= c.Len {
		c.late = n - c.Len
		return
	}
	for i := n; i < c.marked; i++ {
		if c.Valid[i>>3]&(1<<(i&7)) == 0 {
			c.Nulls--
		}
	}
	c.Len, c.late, c.marked = n, 0, min(c.marked, n)
	if c.Nulls == 0 {
		c.marked = 0
	}
	c.Valid = c.Valid[:(c.marked+7)/8]
	switch c.Field.Type {
	case Bool:
		c.Data = c.Data[:(n+7)/8]
		if n&7 != 0 {
			c.Data[n>>3] &= 1<<(n&7) - 1
		}
	case Text, Binary:
		c.Offsets = c.Offsets[:n+1]
		c.Data = c.Data[:c.Offsets[n]]
	case List:
		c.Offsets = c.Offsets[:n+1]
		truncate(columns[1:], int(c.Offsets[n]))
	case Struct:
		for _, below := range Shown(columns[1:c.Width()]) {
			truncate(below, n)
		}
	default:
		c.Data = c.Data[:n*c.Field.Type.bytes()]
	}
}

// Width returns the number of columns that this column takes, with the columns below it.
func (c *Column) Width() int { return 1 + c.below }

// Shown yields those of some columns that are not Off, each with its index and with the columns below it.
func Shown(columns []Column) iter.Seq2[int, []Column] {
	return func(yield func(int, []Column) bool) {
		for at := 0; at < len(columns); at += columns[at].Width() {
			if c := columns[at:]; !c[0].Off && !yield(at, c[:c[0].Width()]) {
				return
			}
		}
	}
}
