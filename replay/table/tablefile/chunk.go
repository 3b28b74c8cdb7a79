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
	maxPageBytes  = 64 << 10
)

// chunk collects a column of a row group. Its pages wait as they will be written.
type chunk struct {
	leaf *leaf
	work *workspace
	meta format.ColumnMetaData // offsets begin with the column
	err  error                 // the first error of encoding

	// The page that is being collected.
	rep, def []byte  // levels, of columns that have them
	entries  int     // values, including missing ones
	missing  int     // the values of entries that are missing
	indices  []int32 // the values that are in the dictionary
	plain    []byte  // the values that are in no dictionary, as the plain encoding has them; a byte for a bool

	dictionary dictionary
	first      page // the dictionary, if it takes no more values
	pages      []page
	waiting    int // bytes of first and pages that are in memory
	bounds     bounds
}

// page is a page with its header, in memory or in a file.
type page struct {
	data   []byte // nil if it is in the file
	at     int64  // the place in the file
	length int
}

// workspace is memory for one page, which all columns share.
type workspace struct{ page, part, packed, bools []byte }

const pageCost = int(unsafe.Sizeof(page{}))

// begin begins a column.
func (c *chunk) begin(l *leaf, w *workspace) {
	*c = chunk{leaf: l, work: w, bounds: bounds{kind: l.kind()}}
	c.dictionary.open = l.physical != format.Boolean && !l.rising
	c.meta = format.ColumnMetaData{Type: l.physical, PathInSchema: l.path, Codec: format.Zstd}
}

// cost returns the bytes of memory of the column: of its values, which can move to a file, and of what describes them.
func (c *chunk) cost() (about, values int) {
	return cap(c.pages)*pageCost + c.dictionary.cost(), c.waiting + cap(c.rep) + cap(c.def) + cap(c.indices)*4 + cap(c.plain)
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
	if full := c.size() >= maxPageBytes; full || c.entries >= maxPageValues {
		if full {
			c.weigh()
		}
		c.finishPage()
	}
	if c.dictionary.open && c.dictionary.size >= maxDictionaryBytes {
		c.finishPage()
		c.finishDictionary()
	}
}

// size returns the bytes of the values of the page that is being collected.
func (c *chunk) size() int { return len(c.indices)*4 + len(c.plain) }

// number adds a number in the form of appendNumber.
func (c *chunk) number(v uint64) {
	if !c.dictionary.open {
		c.bounds.number(v)
		c.plain = appendNumber(c.plain, v, c.leaf.physical)
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
func all[N uint8 | uint32 | uint64](c *chunk, v []N) {
	if !c.dictionary.open {
		plain := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(v[0])))
		c.bounds.all(plain)
		c.plain = append(c.plain, plain...)
		return
	}
	at := len(c.indices)
	c.indices = slices.Grow(c.indices, len(v))[:at+len(v)]
	to, d := c.indices[at:], &c.dictionary
	near, base := d.near, N(d.base)
	last, i := v[0], c.index(uint64(v[0]))
	for n, v := range v {
		if at := uint64(v - base); at < uint64(len(near)) && near[at] > 0 {
			to[n] = near[at] - 1
			continue
		}
		if v != last {
			i, last = c.index(uint64(v)), v
			near, base = d.near, N(d.base)
		}
		to[n] = i
	}
}

// text adds a text or bytes.
func (c *chunk) text(v []byte) {
	if !c.dictionary.open {
		c.bounds.text(v)
		c.plain = appendText(c.plain, v)
		return
	}
	i, had := c.dictionary.text(v)
	if !had {
		c.bounds.text(v)
	}
	c.indices = append(c.indices, i)
}

// weigh takes the values of the first page out of the dictionary if they take less room without it, and ends the dictionary.
func (c *chunk) weigh() {
	if d := &c.dictionary; d.open && len(c.pages) == 0 && !d.pays(len(c.indices)) {
		c.plain, c.indices = d.values(c.plain, c.indices, c.leaf.physical), c.indices[:0]
		c.dictionary = dictionary{}
	}
}

// finishPage finishes the page.
func (c *chunk) finishPage() {
	if c.entries == 0 {
		return
	}
	w := c.work
	w.page = w.page[:0]
	if c.leaf.rep > 0 {
		c.levels(c.rep, c.leaf.rep)
	}
	if c.leaf.def > 0 {
		c.levels(c.def, c.leaf.def)
	}
	encoding := c.values()
	c.pages = append(c.pages, c.pack(format.PageHeader{Type: format.DataPage, DataPageHeader: thrift.New(format.DataPageHeader{
		NumValues: int32(c.entries), Encoding: encoding, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE,
		Statistics: format.Statistics{NullCount: int64(c.missing)},
	})}, encoding))
	c.meta.NumValues += int64(c.entries)
	c.meta.Statistics.NullCount += int64(c.missing)
	c.rep, c.def, c.entries, c.missing = c.rep[:0], c.def[:0], 0, 0
	c.indices, c.plain = c.indices[:0], c.plain[:0]
}

// levels adds levels to the page.
func (c *chunk) levels(l []byte, highest byte) {
	c.used(format.RLE)
	w := c.work
	var err error
	w.part, err = (&rle.Encoding{BitWidth: bits.Len8(highest)}).EncodeLevels(w.part, l)
	c.fail(err)
	w.page = binary.LittleEndian.AppendUint32(w.page, uint32(len(w.part)))
	w.page = append(w.page, w.part...)
}

// values adds the values to the page, and returns their encoding. If all are missing, there is nothing to encode.
func (c *chunk) values() format.Encoding {
	w := c.work
	var err error
	switch {
	case c.entries == c.missing:
		return format.Plain
	case c.dictionary.open:
		width := max(1, bits.Len(uint(c.dictionary.count-1))) // some readers do not accept 0
		w.part, err = (&rle.Encoding{BitWidth: width}).EncodeInt32(w.part, c.indices)
		c.fail(err)
		w.page = append(append(w.page, byte(width)), w.part...)
		return format.RLEDictionary
	case c.leaf.rising:
		var encoding format.Encoding
		encoding, err = c.rising()
		c.fail(err)
		w.page = append(w.page, w.part...)
		return encoding
	case c.leaf.physical == format.Boolean:
		w.page = appendBits(w.page, c.plain)
	default:
		w.page = append(w.page, c.plain...)
	}
	return format.Plain
}

// finishDictionary finishes the dictionary. Later values are in no dictionary.
func (c *chunk) finishDictionary() {
	if count := c.dictionary.count; count > 0 {
		c.work.page = c.dictionary.append(c.work.page[:0], c.leaf.physical)
		c.first = c.pack(format.PageHeader{Type: format.DictionaryPage, DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{
			NumValues: int32(count), Encoding: format.Plain,
		})}, format.Plain)
	}
	c.dictionary = dictionary{}
}

// pack returns the page in the workspace, compressed.
func (c *chunk) pack(h format.PageHeader, encoding format.Encoding) page {
	c.used(encoding)
	w := c.work
	w.packed = pages.EncodeAll(w.page, w.packed[:0])
	h.UncompressedPageSize, h.CompressedPageSize = int32(len(w.page)), int32(len(w.packed))
	head, err := thrift.Marshal(new(thrift.CompactProtocol), &h)
	c.fail(err)
	data := slices.Concat(head, w.packed)
	c.meta.TotalUncompressedSize += int64(len(head) + len(w.page))
	c.meta.TotalCompressedSize += int64(len(data))
	c.waiting += len(data)
	return page{data: data, length: len(data)}
}

// move moves the values to the end of a file. A large dictionary of values of which few are repeated ends, to save memory.
func (c *chunk) move(to *waiting) error {
	c.finishPage()
	if c.dictionary.size > maxDictionaryBytes/16 && int64(c.dictionary.count) > (c.meta.NumValues-c.meta.Statistics.NullCount)/2 {
		c.finishDictionary()
	}
	c.rep, c.def, c.indices, c.plain, c.waiting = nil, nil, nil, nil, 0
	if err := c.first.move(to); err != nil {
		return err
	}
	for i := len(c.pages) - 1; i >= 0 && c.pages[i].data != nil; i-- { // the others are there already
		if err := c.pages[i].move(to); err != nil {
			return err
		}
	}
	return nil
}

func (p *page) move(to *waiting) (err error) {
	if p.data != nil {
		p.at, err = to.add(p.data)
		p.data = nil
	}
	return err
}

// fail keeps the first error.
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

// write writes the column, and returns its description.
func (c *chunk) write(out *counter, from *waiting) (format.ColumnMetaData, error) {
	c.weigh()
	c.finishPage()
	if c.dictionary.open {
		c.finishDictionary()
	}
	if c.first.length > 0 {
		c.meta.DictionaryPageOffset = out.at
		c.fail(c.first.write(out, from, c.work))
	}
	c.meta.DataPageOffset = out.at
	for i := range c.pages {
		c.fail(c.pages[i].write(out, from, c.work))
	}
	c.meta.Statistics.MinValue, c.meta.Statistics.MaxValue = c.bounds.values(c.leaf.physical)
	return c.meta, c.err
}

func (p *page) write(out *counter, from *waiting, w *workspace) error {
	data := p.data
	if data == nil {
		w.packed = slices.Grow(w.packed[:0], p.length)[:p.length]
		if err := from.readAt(w.packed, p.at); err != nil {
			return err
		}
		data = w.packed
	}
	_, err := out.Write(data)
	return err
}

// rising encodes numbers, most of which are a little larger than the previous one.
func (c *chunk) rising() (as format.Encoding, err error) {
	w := c.work
	switch c.leaf.physical {
	case format.Int32:
		w.part, err = new(delta.BinaryPackedEncoding).EncodeInt32(w.part, numbersOf[int32](c.plain))
	case format.Int64:
		w.part, err = new(delta.BinaryPackedEncoding).EncodeInt64(w.part, numbersOf[int64](c.plain))
	default:
		w.part, err = new(bytestreamsplit.Encoding).EncodeDouble(w.part, numbersOf[float64](c.plain))
		return format.ByteStreamSplit, err
	}
	return format.DeltaBinaryPacked, err
}

// numbersOf returns bytes as numbers, which are in the memory as this machine has them.
func numbersOf[N any](b []byte) []N {
	return unsafe.Slice((*N)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(*new(N))))
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
func appendBits(to, v []byte) []byte {
	for i, bit := range v {
		if i&7 == 0 {
			to = append(to, 0)
		}
		to[len(to)-1] |= bit << (i & 7)
	}
	return to
}
