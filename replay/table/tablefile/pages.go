package tablefile

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/bytestreamsplit"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/format"
)

// leafReader reads a column of a file, a page at a time.
type leafReader struct {
	file     *Reader
	index    int
	physical format.Type
	rep, def uint8 // the highest levels

	group      int // the row group that comes next
	chunk      *bufio.Reader
	left       int64   // entries of the chunk
	dictionary entries // its numbers or texts
	page       entries
	at, used   int // entries and values of the page that were taken
	taken      entries
}

// entries are entries with their levels, where the column has them, and the values of those that are not missing.
type entries struct {
	count    int
	rep, def []byte
	numbers  []uint64 // in the form of appendNumber
	texts    [][]byte
}

const (
	maxPage    = 1 << 30 // bytes: a row is not divided
	maxEntries = 1 << 24 // of a page, for the same reason
	readBuffer = 8 << 10
)

// unpages decompresses pages. It may be used concurrently.
var unpages = func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxPage))
	if err != nil {
		panic(err) //nolint:forbidigo // these options are valid
	}
	return d
}()

// next reads the next page.
func (l *leafReader) next() error {
	for l.left == 0 {
		if l.group == len(l.file.meta.RowGroups) {
			return foreign("column %d has fewer rows than the file", l.index)
		}
		meta := &l.file.meta.RowGroups[l.group].Columns[l.index].MetaData
		l.group++
		from := meta.DataPageOffset
		if meta.DictionaryPageOffset > 0 {
			from = min(from, meta.DictionaryPageOffset)
		}
		if meta.Type != l.physical || meta.Codec != format.Zstd || from < 0 || meta.TotalCompressedSize < 0 || from > l.file.size-meta.TotalCompressedSize || meta.NumValues < 0 {
			return foreign("column %d is not where it should be", l.index)
		}
		section := io.NewSectionReader(l.file.from, from, meta.TotalCompressedSize)
		if l.chunk == nil {
			l.chunk = bufio.NewReaderSize(section, readBuffer)
		} else {
			l.chunk.Reset(section)
		}
		l.left, l.dictionary = meta.NumValues, entries{}
	}
	var h format.PageHeader
	head, err := l.chunk.Peek(maxPageHeader)
	if len(head) == 0 {
		return foreign("column %d: %w", l.index, errors.Join(err, io.ErrUnexpectedEOF))
	}
	n, err := decodeThrift(head, &h)
	if err != nil {
		return foreign("a page of column %d: %w", l.index, err)
	}
	_, _ = l.chunk.Discard(n)
	if h.UncompressedPageSize < 0 || h.CompressedPageSize < 0 || int64(h.CompressedPageSize) > l.file.size || h.UncompressedPageSize > maxPage {
		return foreign("a page of column %d has %d bytes", l.index, h.UncompressedPageSize)
	}
	packed := make([]byte, h.CompressedPageSize)
	if _, err := io.ReadFull(l.chunk, packed); err != nil {
		return foreign("a page of column %d: %w", l.index, err)
	}
	page, err := unpages.DecodeAll(packed, nil)
	if err == nil && len(page) != int(h.UncompressedPageSize) {
		err = fmt.Errorf("%d bytes in place of %d", len(page), h.UncompressedPageSize)
	}
	if err == nil {
		switch {
		case h.Type == format.DictionaryPage && h.DictionaryPageHeader.Valid:
			err = l.plain(&l.dictionary, page, int(h.DictionaryPageHeader.V.NumValues))
		case h.Type == format.DataPage && h.DataPageHeader.Valid:
			err = l.data(page, &h.DataPageHeader.V)
		default:
			err = errors.New("it has another type")
		}
	}
	if err != nil {
		return foreign("a page of column %d: %w", l.index, err)
	}
	return nil
}

// maxPageHeader is the largest header of a page.
const maxPageHeader = 1 << 10

// data decodes a page of entries.
func (l *leafReader) data(b []byte, h *format.DataPageHeader) (err error) {
	n := int(h.NumValues)
	if n <= 0 || int64(n) > l.left || n > maxEntries {
		return fmt.Errorf("%d entries", n)
	}
	l.page = entries{count: n, rep: l.page.rep[:0], def: l.page.def[:0], numbers: l.page.numbers[:0]}
	l.at, l.used = 0, 0
	if l.rep > 0 {
		if l.page.rep, b, err = decodeLevels(l.page.rep, b, l.rep, n); err != nil {
			return err
		}
	}
	values := n
	if l.def > 0 {
		if l.page.def, b, err = decodeLevels(l.page.def, b, l.def, n); err != nil {
			return err
		}
		values = 0
		for _, def := range l.page.def {
			if def == l.def {
				values++
			}
		}
	}
	l.left -= int64(n)
	if values == 0 {
		return nil
	}
	switch h.Encoding {
	case format.Plain:
		return l.plain(&l.page, b, values)
	case format.RLEDictionary:
		return l.indices(b, values)
	case format.DeltaBinaryPacked:
		err = l.deltas(b, values)
	case format.ByteStreamSplit:
		var v []float64
		v, err = new(bytestreamsplit.Encoding).DecodeDouble(nil, b)
		for _, v := range v {
			l.page.numbers = append(l.page.numbers, math.Float64bits(v))
		}
	default:
		err = fmt.Errorf("encoding %v", h.Encoding)
	}
	if err == nil && len(l.page.numbers) != values {
		err = fmt.Errorf("%d values in place of %d", len(l.page.numbers), values)
	}
	return err
}

// plain decodes values that stand one after the other.
func (l *leafReader) plain(to *entries, b []byte, n int) error {
	short := fmt.Errorf("%d values in %d bytes", n, len(b))
	width := 8
	switch l.physical {
	case format.ByteArray:
		for range n {
			if len(b) < 4 || uint64(binary.LittleEndian.Uint32(b)) > uint64(len(b)-4) {
				return short
			}
			end := 4 + int(binary.LittleEndian.Uint32(b))
			to.texts, b = append(to.texts, b[4:end:end]), b[end:]
		}
		return nil
	case format.Boolean:
		if n > len(b)*8 {
			return short
		}
		for i := range n {
			to.numbers = append(to.numbers, uint64(b[i>>3]>>(i&7)&1))
		}
		return nil
	case format.Int32, format.Float:
		width = 4
	case format.Int64, format.Double:
	default:
		return fmt.Errorf("type %v", l.physical)
	}
	if n < 0 || n > len(b)/width {
		return short
	}
	for i := range n {
		if width == 4 {
			to.numbers = append(to.numbers, uint64(binary.LittleEndian.Uint32(b[i*4:])))
		} else {
			to.numbers = append(to.numbers, binary.LittleEndian.Uint64(b[i*8:]))
		}
	}
	return nil
}

// indices decodes values that are in the dictionary.
func (l *leafReader) indices(b []byte, n int) error {
	if len(b) == 0 || b[0] > 32 {
		return errors.New("indices without a width")
	}
	text := l.physical == format.ByteArray
	return hybrid(b[1:], int(b[0]), n, func(v uint32, times int) error {
		switch {
		case text && int(v) < len(l.dictionary.texts):
			for range times {
				l.page.texts = append(l.page.texts, l.dictionary.texts[v])
			}
		case !text && int(v) < len(l.dictionary.numbers):
			for range times {
				l.page.numbers = append(l.page.numbers, l.dictionary.numbers[v])
			}
		default:
			return fmt.Errorf("index %d", v)
		}
		return nil
	})
}

// deltas decodes differences.
func (l *leafReader) deltas(b []byte, n int) error {
	rest := b
	for i := range 3 { // the sizes of blocks, and the number of values
		v, size := binary.Uvarint(rest)
		if size <= 0 || i == 2 && v != uint64(n) {
			return fmt.Errorf("differences of %d values in place of %d", v, n)
		}
		rest = rest[size:]
	}
	if l.physical == format.Int32 {
		v, err := new(delta.BinaryPackedEncoding).DecodeInt32(nil, b)
		for _, v := range v {
			l.page.numbers = append(l.page.numbers, uint64(uint32(v)))
		}
		return err
	}
	v, err := new(delta.BinaryPackedEncoding).DecodeInt64(nil, b)
	for _, v := range v {
		l.page.numbers = append(l.page.numbers, uint64(v))
	}
	return err
}

// decodeLevels decodes n levels, and returns what follows them.
func decodeLevels(to, b []byte, highest uint8, n int) (levels, rest []byte, err error) {
	if len(b) < 4 || uint64(binary.LittleEndian.Uint32(b)) > uint64(len(b)-4) {
		return nil, nil, errors.New("levels are longer than the page")
	}
	end := 4 + int(binary.LittleEndian.Uint32(b))
	err = hybrid(b[4:end], bits.Len8(highest), n, func(v uint32, times int) error {
		if v > uint32(highest) {
			return fmt.Errorf("level %d", v)
		}
		for range times {
			to = append(to, byte(v))
		}
		return nil
	})
	return to, b[end:], err
}

// hybrid decodes n numbers of some bits, of which equal ones are repeated and others packed. It calls add for each, or for a repeated one.
func hybrid(b []byte, width, n int, add func(v uint32, times int) error) error {
	for n > 0 {
		head, size := binary.Uvarint(b)
		if size <= 0 {
			return io.ErrUnexpectedEOF
		}
		b = b[size:]
		if head&1 == 0 {
			bytes := (width + 7) / 8
			if len(b) < bytes || head>>1 == 0 {
				return io.ErrUnexpectedEOF
			}
			v := uint32(0)
			for i, part := range b[:bytes] {
				v |= uint32(part) << (8 * i)
			}
			times := int(min(head>>1, uint64(n)))
			if err := add(v, times); err != nil {
				return err
			}
			b, n = b[bytes:], n-times
			continue
		}
		groups := head >> 1 // of 8
		if groups == 0 || groups > uint64(len(b)) && width > 0 {
			return io.ErrUnexpectedEOF
		}
		count := int(min(groups, uint64(n)/8+1)) * 8
		at := 0
		for range min(count, n) {
			v := uint32(0)
			for i := 0; i < width; {
				if at>>3 >= len(b) {
					return io.ErrUnexpectedEOF
				}
				part := min(8-at&7, width-i)
				v |= uint32(b[at>>3]>>(at&7)&(1<<part-1)) << i
				i, at = i+part, at+part
			}
			if err := add(v, 1); err != nil {
				return err
			}
		}
		n -= min(count, n)
		b = b[min(len(b), int(groups)*width):]
	}
	return nil
}

// buffersOf returns the first buffer of an array: none if all of it is there.
func buffersOf(valid []byte, all bool) []*memory.Buffer {
	if all {
		return []*memory.Buffer{nil}
	}
	return []*memory.Buffer{bufferOf(valid)}
}

func bufferOf(b []byte) *memory.Buffer { return memory.NewBufferBytes(b) }
