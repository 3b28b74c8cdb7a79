package datafiletest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/zlib"
)

// Writer writes a datafile from items and blobs, which it holds in memory. See [MapWriter] for maps. The zero value
// writes version 4.
type Writer struct {
	// Version is the container's version: 4, or 3, whose blobs are not compressed. 0 means 4.
	Version int
	// SwappedMagic writes the magic "ATAD".
	SwappedMagic bool
	// CrudeSizes omits the table of inflated sizes from the sizes in the header, as old writers did.
	CrudeSizes bool

	items []writtenItem
	data  []writtenData
}

type writtenItem struct {
	typ, id int
	data    []byte
}

type writtenData struct {
	stored []byte
	size   int
}

// AddItem adds an item. Its data must be whole 32-bit integers, little-endian. Items are written in order of their
// types, and within a type in the order in which they were added.
func (w *Writer) AddItem(typ, id int, data []byte) {
	w.items = append(w.items, writtenItem{typ, id, slices.Clone(data)})
}

// AddInts adds an item with the given integers.
func (w *Writer) AddInts(typ, id int, values ...int32) {
	w.items = append(w.items, writtenItem{typ, id, appendInt(nil, values...)})
}

// AddData adds a blob and returns its index.
func (w *Writer) AddData(data []byte) int32 {
	if w.Version == 3 {
		return w.addStored(slices.Clone(data), len(data))
	}
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	// Writing to a bytes.Buffer does not fail.
	_, _ = z.Write(data)
	_ = z.Close()
	return w.addStored(b.Bytes(), len(data))
}

// addStored adds a blob in its stored form, with its declared size.
func (w *Writer) addStored(stored []byte, size int) int32 {
	w.data = append(w.data, writtenData{stored, size})
	return int32(len(w.data) - 1)
}

// AddText adds a blob with a text and returns its index, or -1 for an empty text.
func (w *Writer) AddText(text []byte) int32 {
	if len(text) == 0 {
		return -1
	}
	return w.AddData(append(slices.Clone(text), 0))
}

// WriteTo writes the file.
func (w *Writer) WriteTo(to io.Writer) (int64, error) {
	version := w.Version
	if version == 0 {
		version = 4
	}
	items := slices.Clone(w.items)
	slices.SortStableFunc(items, func(a, b writtenItem) int { return a.typ - b.typ })

	var types, itemOffsets, body, dataOffsets, dataSizes, data []byte
	put := func(b []byte, v int) []byte { return binary.LittleEndian.AppendUint32(b, uint32(v)) }
	numTypes := 0
	for i, item := range items {
		if item.typ < 0 || item.typ >= maxTypes || item.id < 0 || item.id >= maxTypes || len(item.data)%4 != 0 {
			return 0, fmt.Errorf("datafiletest: item %d of type %d with %d bytes cannot be written", item.id, item.typ,
				len(item.data))
		}
		if i == 0 || items[i-1].typ != item.typ {
			count := 1
			for i+count < len(items) && items[i+count].typ == item.typ {
				count++
			}
			types = put(put(put(types, item.typ), i), count)
			numTypes++
		}
		itemOffsets = put(itemOffsets, len(body))
		body = put(put(body, item.typ<<16|item.id), len(item.data))
		body = append(body, item.data...)
	}
	for _, d := range w.data {
		dataOffsets = put(dataOffsets, len(data))
		if version >= 4 {
			dataSizes = put(dataSizes, d.size)
		}
		data = append(data, d.stored...)
	}

	declared := headerSize - 16 + len(types) + len(itemOffsets) + len(dataOffsets) + len(dataSizes) + len(body)
	if w.CrudeSizes {
		declared -= len(dataSizes)
	}
	magic := "DATA"
	if w.SwappedMagic {
		magic = "ATAD"
	}
	file := []byte(magic)
	for _, v := range []int{
		version, declared + len(data), declared, numTypes, len(items), len(w.data), len(body), len(data),
	} {
		file = put(file, v)
	}
	file = slices.Concat(file, types, itemOffsets, dataOffsets, dataSizes, body, data)
	n, err := to.Write(file)
	return int64(n), err
}
