package tablefile

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/parquet-go/parquet-go/encoding/bytestreamsplit"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// A page is written when it has this number of values, or this number of bytes before encoding. Rows are not divided.
const (
	maxPageValues = 64 << 10
	maxPageBytes  = 1 << 20
)

// chunk writes the columns of a row group one after the other.
type chunk struct {
	out  *counter
	leaf *leaf
	meta format.ColumnMetaData
	err  error // the first error of writing; after it nothing is written

	// The page that is being collected.
	rep, def []byte   // levels, of columns that have them
	entries  int      // values, including missing ones
	missing  int      // the values of entries that are missing
	indices  []int32  // the values that are in the dictionary
	numbers  []uint64 // the values that are in no dictionary
	texts    []byte   // the values that are in no dictionary, encoded

	dictionary dictionary
	waiting    []byte // pages that follow the dictionary
	bounds     bounds

	page, part, packed []byte // memory
	wide               []uint64
	halves             []int32
}

// begin begins a column.
func (c *chunk) begin(l *leaf) {
	c.leaf = l
	c.bounds = bounds{kind: l.kind()}
	c.dictionary = dictionary{open: l.physical != format.Boolean && !l.rising}
	c.meta = format.ColumnMetaData{Type: l.physical, PathInSchema: l.path, Codec: format.Zstd, DataPageOffset: c.out.at}
}

// level begins a value with its levels of repetition and definition. The value is missing if its definition level is below the
// column's highest.
func (c *chunk) level(rep, def byte) {
	if rep == 0 {
		c.room()
	}
	if c.leaf.rep > 0 {
		c.rep = append(c.rep, rep)
	}
	if c.leaf.def > 0 {
		c.def = append(c.def, def)
	}
	c.entries++
	if def < c.leaf.def {
		c.missing++
	}
}

// room makes room for a row: a page that is full is finished, and so is a dictionary.
func (c *chunk) room() {
	if c.entries >= maxPageValues || len(c.indices)*4+len(c.numbers)*8+len(c.texts) >= maxPageBytes {
		c.finishPage()
	}
	if c.dictionary.open && len(c.dictionary.data) >= maxDictionaryBytes {
		c.finishPage()
		c.finishDictionary()
	}
}

// number adds a number in the form of appendNumber.
func (c *chunk) number(v uint64) {
	if !c.dictionary.open {
		c.bounds.number(v)
		c.numbers = append(c.numbers, v)
		return
	}
	c.indices = append(c.indices, c.index(v))
}

// index returns the index of a number in the dictionary, which takes it if it is new.
func (c *chunk) index(v uint64) int32 {
	i, had := c.dictionary.number(v, c.leaf.physical)
	if !had {
		c.bounds.number(v)
	}
	return i
}

// all adds numbers, of which there must be some. One that is repeated is looked up once.
func (c *chunk) all(v []uint64) {
	if !c.dictionary.open {
		c.bounds.all(v)
		c.numbers = append(c.numbers, v...)
		return
	}
	at := len(c.indices)
	c.indices = slices.Grow(c.indices, len(v))[:at+len(v)]
	last, i, to := v[0], c.index(v[0]), c.indices[at:]
	for n, v := range v {
		if v != last {
			if r := c.dictionary.place(v); r.number == v && r.next > 0 {
				i = r.next - 1
			} else {
				i = c.index(v)
			}
			last = v
		}
		to[n] = i
	}
}

// text adds a text or bytes.
func (c *chunk) text(v []byte) {
	if !c.dictionary.open {
		c.bounds.text(v)
		c.texts = appendText(c.texts, v)
		return
	}
	i, had := c.dictionary.text(v)
	if !had {
		c.bounds.text(v)
	}
	c.indices = append(c.indices, i)
}

// finishPage writes the page.
func (c *chunk) finishPage() {
	if c.entries == 0 {
		return
	}
	c.page = c.page[:0]
	if c.leaf.rep > 0 {
		c.levels(c.rep, c.leaf.rep)
	}
	if c.leaf.def > 0 {
		c.levels(c.def, c.leaf.def)
	}
	encoding := c.values()
	c.write(format.PageHeader{Type: format.DataPage, DataPageHeader: thrift.New(format.DataPageHeader{
		NumValues: int32(c.entries), Encoding: encoding, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE,
		Statistics: format.Statistics{NullCount: int64(c.missing)},
	})}, encoding)
	c.meta.NumValues += int64(c.entries)
	c.meta.Statistics.NullCount += int64(c.missing)
	c.rep, c.def, c.entries, c.missing = c.rep[:0], c.def[:0], 0, 0
	c.indices, c.numbers, c.texts = c.indices[:0], c.numbers[:0], c.texts[:0]
}

// levels adds levels to the page.
func (c *chunk) levels(l []byte, highest byte) {
	c.used(format.RLE)
	var err error
	c.part, err = (&rle.Encoding{BitWidth: bits.Len8(highest)}).EncodeLevels(c.part, l)
	c.fail(err)
	c.page = binary.LittleEndian.AppendUint32(c.page, uint32(len(c.part)))
	c.page = append(c.page, c.part...)
}

// values adds the values to the page, and returns their encoding. If all are missing, there is nothing to encode.
func (c *chunk) values() format.Encoding {
	var err error
	switch {
	case c.entries == c.missing:
		return format.Plain
	case c.dictionary.open:
		width := max(1, bits.Len(uint(c.dictionary.count-1))) // some readers do not accept 0
		c.part, err = (&rle.Encoding{BitWidth: width}).EncodeInt32(c.part, c.indices)
		c.fail(err)
		c.page = append(append(c.page, byte(width)), c.part...)
		return format.RLEDictionary
	case c.leaf.rising:
		var encoding format.Encoding
		encoding, err = c.rising()
		c.fail(err)
		c.page = append(c.page, c.part...)
		return encoding
	case c.leaf.physical == format.Boolean:
		c.page = appendBits(c.page, c.numbers)
	default:
		c.page = append(c.page, c.texts...)
		for _, v := range c.numbers {
			c.page = appendNumber(c.page, v, c.leaf.physical)
		}
	}
	return format.Plain
}

// finishDictionary writes the dictionary, if it has values, and the pages that follow it. Later values are in no dictionary.
func (c *chunk) finishDictionary() {
	c.dictionary.open = false
	if c.dictionary.count > 0 {
		c.meta.DictionaryPageOffset = c.out.at
		c.page = append(c.page[:0], c.dictionary.data...)
		c.write(format.PageHeader{Type: format.DictionaryPage, DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{
			NumValues: int32(c.dictionary.count), Encoding: format.Plain,
		})}, format.Plain)
	}
	c.meta.DataPageOffset = c.out.at
	c.put(c.waiting)
	c.waiting = c.waiting[:0]
}

// write writes a page. The page waits if the dictionary before it is not complete.
func (c *chunk) write(h format.PageHeader, encoding format.Encoding) {
	c.used(encoding)
	c.packed = pages.EncodeAll(c.page, c.packed[:0])
	h.UncompressedPageSize, h.CompressedPageSize = int32(len(c.page)), int32(len(c.packed))
	head, err := thrift.Marshal(new(thrift.CompactProtocol), &h)
	c.fail(err)
	c.meta.TotalUncompressedSize += int64(len(head) + len(c.page))
	c.meta.TotalCompressedSize += int64(len(head) + len(c.packed))
	if c.dictionary.open {
		c.waiting = append(append(c.waiting, head...), c.packed...)
		return
	}
	c.put(head)
	c.put(c.packed)
}

func (c *chunk) put(b []byte) {
	if c.err == nil {
		_, c.err = c.out.Write(b)
	}
}

func (c *chunk) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// used notes that the column uses an encoding.
func (c *chunk) used(e format.Encoding) {
	if i, found := slices.BinarySearch(c.meta.Encoding, e); !found {
		c.meta.Encoding = slices.Insert(c.meta.Encoding, i, e)
	}
}

// finish finishes the column, and returns its description.
func (c *chunk) finish() (format.ColumnMetaData, error) {
	c.finishPage()
	if c.dictionary.open {
		c.finishDictionary()
	}
	c.meta.Statistics.MinValue, c.meta.Statistics.MaxValue = c.bounds.values(c.leaf.physical)
	return c.meta, c.err
}

// rising encodes numbers, most of which are a little larger than the previous one.
func (c *chunk) rising() (as format.Encoding, err error) {
	at := unsafe.Pointer(unsafe.SliceData(c.numbers))
	switch c.leaf.physical {
	case format.Int32:
		c.halves = slices.Grow(c.halves[:0], len(c.numbers))[:len(c.numbers)]
		for i, v := range c.numbers {
			c.halves[i] = int32(v)
		}
		c.part, err = new(delta.BinaryPackedEncoding).EncodeInt32(c.part, c.halves)
	case format.Int64:
		c.part, err = new(delta.BinaryPackedEncoding).EncodeInt64(c.part, unsafe.Slice((*int64)(at), len(c.numbers)))
	default:
		c.part, err = new(bytestreamsplit.Encoding).EncodeDouble(c.part, unsafe.Slice((*float64)(at), len(c.numbers)))
		return format.ByteStreamSplit, err
	}
	return format.DeltaBinaryPacked, err
}

// appendNumber appends a number, which is given by its bits: a number of 32 bits is in the lower half, and true is 1.
func appendNumber(to []byte, v uint64, as format.Type) []byte {
	switch as {
	case format.Boolean:
		return append(to, byte(v))
	case format.Int32, format.Float:
		return binary.LittleEndian.AppendUint32(to, uint32(v))
	default:
		return binary.LittleEndian.AppendUint64(to, v)
	}
}

func appendText(to, v []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(to, uint32(len(v))), v...)
}

// appendBits appends bits, beginning with the lowest of each byte.
func appendBits(to []byte, v []uint64) []byte {
	for i, bit := range v {
		if i&7 == 0 {
			to = append(to, 0)
		}
		to[len(to)-1] |= byte(bit) << (i & 7)
	}
	return to
}
