package datafile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/replayd/replayd/decoders"
)

// Limits bound what a file may ask for. See docs/formats/datafile.md, "Limits".
type Limits struct {
	// Tables is how many bytes the tables and all items may have together. They are held in memory.
	Tables int64
	// Blob is how many bytes a blob may have once inflated, and the expanded tiles of a layer; no more than 2^31-1 at
	// any rate.
	Blob int64
	// Inflated is how many bytes all items may refer to together, once inflated.
	Inflated int64
	// References is how many items may refer to the same blob.
	References int
}

// DefaultLimits let all known maps pass with room to spare: the largest has 620 MB of data, 128 MB of it in one blob.
var DefaultLimits = Limits{Tables: 32 << 20, Blob: 512 << 20, Inflated: 4 << 30, References: 256}

// The numbers of the item types that all files share.
const (
	typeVersion   = 0
	typeInfo      = 1
	typeImage     = 2
	typeEnvelope  = 3
	typeGroup     = 4
	typeLayer     = 5
	typePoints    = 6
	typeSound     = 7
	typeUuidFirst = 0x8001 // the smallest number that a type with a UUID may have
	typeUuidLast  = 0xfffe // the largest one
	typeUuidIndex = 0xffff // items that give UUIDs to types
)

const (
	headerSize    = 36
	typeEntrySize = 12
	itemHeader    = 8
	maxTypes      = 1 << 16
)

// File is an open datafile whose container has been checked. It holds the tables and items in memory, not the blobs.
type File struct {
	r      io.ReaderAt
	limits Limits
	header Header

	// The pieces of the file up to its blobs, as they are stored. All are parts of one allocation.
	types       []byte
	itemOffsets ints
	dataOffsets ints
	dataSizes   ints // empty in version 3
	items       []byte

	itemsAt int64 // where the items start in the file
	dataAt  int64 // where the blobs start
	excess  bool  // the file goes on behind them

	plan plan
}

// Open reads and checks the container in the first size bytes of r, which must stay readable while the file or a decoder
// of it is used. It inflates nothing. What is wrong with the file is a *decoders.Error; failures of r are not.
func Open(r io.ReaderAt, size int64, limits Limits) (*File, error) {
	f := &File{r: r, limits: limits}
	f.limits.Blob = min(limits.Blob, math.MaxInt32)
	if err := f.readHeader(size); err != nil {
		return nil, err
	}
	for _, check := range []func() error{f.checkTypes, f.checkItems, f.checkData} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	if err := f.makePlan(); err != nil {
		return nil, err
	}
	return f, nil
}

// readHeader reads everything up to the blobs. Nothing is allocated before the header has been checked against the
// limits and the file's size.
func (f *File) readHeader(size int64) error {
	var buf [headerSize]byte
	head := buf[:min(size, headerSize)]
	if err := f.readAt(head, 0, "header"); err != nil {
		return err
	}
	le := binary.LittleEndian
	switch magic := string(head[:min(len(head), 4)]); {
	case magic == "DATA":
	case magic == "ATAD":
		f.header.SwappedMagic = true
	case len(magic) < 4:
		return failure(0, "header", decoders.ErrTruncated, "the file has %d bytes", size)
	default:
		return failure(0, "header", decoders.ErrCorrupt, "magic %q", magic)
	}
	if len(head) >= 8 {
		if v := le.Uint32(head[4:]); v != 3 && v != 4 {
			return failure(4, "header", decoders.ErrUnsupported, "version %d", v)
		}
	}
	if len(head) < headerSize {
		return failure(0, "header", decoders.ErrTruncated, "the file has %d bytes", size)
	}

	// All of these are signed in the format, but a negative one is no more sensible than a huge one.
	field := func(i int) int64 { return int64(le.Uint32(head[4*i:])) }
	version, types, items, data, itemBytes, dataBytes := field(1), field(4), field(5), field(6), field(7), field(8)
	if types > maxTypes {
		return failure(16, "header", decoders.ErrLimit, "%d item types", types)
	}
	dataTables := int64(1)
	if version == 4 {
		dataTables = 2
	}
	tables := types*typeEntrySize + items*4 + data*4*dataTables + itemBytes
	if tables > f.limits.Tables {
		return failure(16, "header", decoders.ErrLimit, "%d bytes of tables and items, of which %d are allowed",
			tables, f.limits.Tables)
	}
	if itemBytes%4 != 0 {
		return failure(28, "header", decoders.ErrCorrupt, "%d bytes of items are not whole integers", itemBytes)
	}
	total := headerSize + tables + dataBytes

	// The sizes in the header leave out the first 16 bytes; some writers also forgot the table of inflated sizes.
	fits := func(declared, actual int64) bool {
		crude := version == 4 && declared == actual-4*data
		if crude && data > 0 {
			f.header.CrudeSizes = true
		}
		return crude || declared == actual
	}
	consistent := fits(field(2), total-16) && fits(field(3), total-16-dataBytes)
	switch {
	case !consistent:
		return failure(8, "header", decoders.ErrCorrupt,
			"declares sizes of %d and %d bytes, its tables ask for %d and %d",
			field(2), field(3), total-16, total-16-dataBytes)
	case size < total:
		return failure(size, "file", decoders.ErrTruncated, "has %d of %d bytes", size, total)
	}
	f.excess = size > total

	all := make([]byte, tables)
	if err := f.readAt(all, headerSize, "tables"); err != nil {
		return err
	}
	cut := func(n int64) []byte {
		part := all[:n:n]
		all = all[n:]
		return part
	}
	f.types = cut(types * typeEntrySize)
	f.itemOffsets = cut(items * 4)
	f.dataOffsets = cut(data * 4)
	f.dataSizes = cut(data * 4 * (dataTables - 1))
	f.items = all
	f.dataAt = total - dataBytes
	f.itemsAt = f.dataAt - itemBytes

	f.header.Version = int32(version)
	f.header.NumItemTypes = int32(types)
	f.header.NumItems = int32(items)
	f.header.NumData = int32(data)
	f.header.ItemBytes = int32(itemBytes)
	f.header.DataBytes = dataBytes
	f.header.FileBytes = size
	return nil
}

// checkTypes checks that the table of types is in order: no type twice, and their items one after another.
func (f *File) checkTypes() error {
	var seen [maxTypes / 64]uint64
	next := int64(0)
	for i := range f.NumTypes() {
		at := f.typeAt(i)
		entry := ints(f.types[i*typeEntrySize:])
		typ, start, num := entry.at(0), int64(entry.at(1)), int64(entry.at(2))
		if typ < 0 || typ >= maxTypes {
			return failure(at, "item type", decoders.ErrCorrupt, "number %d", typ)
		}
		if seen[typ/64]&(1<<(typ%64)) != 0 {
			return failure(at, "item type", decoders.ErrCorrupt, "type %d is listed twice", typ)
		}
		seen[typ/64] |= 1 << (typ % 64)
		if num < 0 || start != next {
			return failure(at, "item type", decoders.ErrCorrupt,
				"type %d has %d items from %d on, expected from %d on", typ, num, start, next)
		}
		next += num
	}
	if next != int64(f.NumItems()) {
		return failure(headerSize, "item types", decoders.ErrCorrupt, "list %d items of %d", next, f.NumItems())
	}
	return nil
}

// checkItems checks that the items fill their block without gaps, that each is of the type under which it is listed,
// and that no id occurs twice within a type. Old tools did list UUIDs twice, so those may.
func (f *File) checkItems() error {
	next := int64(0)
	index := 0
	for t := range f.NumTypes() {
		typ, num := f.Type(t)
		last, ascending := -1, true
		first := index
		for range num {
			at := f.itemsAt + next
			offset := int64(f.itemOffsets.at(index))
			if offset != next || next+itemHeader > int64(len(f.items)) {
				return failure(at, "item", decoders.ErrCorrupt, "item %d is at %d of %d, expected at %d",
					index, offset, len(f.items), next)
			}
			head := ints(f.items[offset:])
			key, size := uint32(head.at(0)), int64(head.at(1))
			if key>>16 != uint32(typ) {
				return failure(at, "item", decoders.ErrCorrupt, "item %d says type %d, its table says %d",
					index, key>>16, typ)
			}
			next += itemHeader + size
			if size < 0 || size%4 != 0 || next > int64(len(f.items)) {
				return failure(at, "item", decoders.ErrCorrupt, "item %d has a size of %d bytes", index, size)
			}
			id := int(key & 0xffff)
			ascending = ascending && id > last
			last = id
			index++
		}
		if ascending || typ == typeUuidIndex {
			continue
		}
		var seen [maxTypes / 64]uint64
		for i := first; i < index; i++ {
			id := f.Item(i).ID
			if seen[id/64]&(1<<(id%64)) != 0 {
				return failure(f.itemAt(i), "item", decoders.ErrCorrupt, "id %d of type %d is taken", id, typ)
			}
			seen[id/64] |= 1 << (id % 64)
		}
	}
	if next != int64(len(f.items)) {
		return failure(f.itemsAt+next, "items", decoders.ErrCorrupt, "end after %d of %d bytes", next, len(f.items))
	}
	return nil
}

// checkData checks that the blobs fill their block in order, and adds up how large they claim to be.
func (f *File) checkData() error {
	last := int64(0)
	if f.NumData() == 0 && f.header.DataBytes != 0 {
		return failure(f.dataAt, "data", decoders.ErrCorrupt, "%d bytes belong to no blob", f.header.DataBytes)
	}
	for i := range f.NumData() {
		at := f.itemsAt - int64(len(f.dataSizes)) - int64(len(f.dataOffsets)) + 4*int64(i)
		offset := int64(f.dataOffsets.at(i))
		if offset < last || offset > f.header.DataBytes || i == 0 && offset != 0 {
			return failure(at, "data", decoders.ErrCorrupt, "blob %d is at %d, after %d, of %d bytes",
				i, offset, last, f.header.DataBytes)
		}
		last = offset
	}
	for i := range f.NumData() {
		size := f.DataSize(i)
		if size < 0 {
			return failure(f.blobAt(i), "data", decoders.ErrCorrupt, "blob %d declares %d bytes", i, size)
		}
		if size > f.limits.Blob {
			return failure(f.blobAt(i), "data", decoders.ErrLimit, "blob %d inflates to %d bytes, of which %d are allowed",
				i, size, f.limits.Blob)
		}
		f.header.InflatedBytes += size
	}
	return nil
}

// Header returns what the file's header says.
func (f *File) Header() Header { return f.header }

// NumTypes returns how many types of items there are.
func (f *File) NumTypes() int { return len(f.types) / typeEntrySize }

// Type returns the number of the i-th type, and how many items it has. See [File.TypeName].
func (f *File) Type(i int) (typ, count int) {
	entry := ints(f.types[i*typeEntrySize:])
	return int(entry.at(0)), int(entry.at(2))
}

// Item is an item of a datafile.
type Item struct {
	// Type is the number of the item's type, 0 to 0xffff.
	Type int
	// ID is the item's number within its type, 0 to 0xffff.
	ID int
	// Data is the item's integers, little-endian, 4 bytes each. It must not be changed.
	Data []byte
}

// NumItems returns how many items there are.
func (f *File) NumItems() int { return f.itemOffsets.len() }

// Item returns the i-th item, in the order of the file.
func (f *File) Item(i int) Item {
	offset := f.itemOffsets.at(i)
	head := ints(f.items[offset:])
	key, start := uint32(head.at(0)), offset+itemHeader
	end := start + head.at(1)
	return Item{Type: int(key >> 16), ID: int(key & 0xffff), Data: f.items[start:end:end]}
}

// NumData returns how many blobs there are.
func (f *File) NumData() int { return f.dataOffsets.len() }

// DataSize returns how many bytes the i-th blob has once inflated, as the file says.
func (f *File) DataSize(i int) int64 {
	if f.header.Version < 4 {
		return f.storedSize(i)
	}
	return int64(f.dataSizes.at(i))
}

// AppendData appends the i-th blob, inflated, to b. It is for small and trusted files: see [File.Decoder] for the rest.
func (f *File) AppendData(b []byte, i int) ([]byte, error) {
	in := inflater{file: f}
	in.open(i)
	// Memory follows what is really there, not what is declared.
	for in.left > 0 {
		n := min(in.left, ChunkSize)
		b = append(b, make([]byte, n)...)
		if _, err := in.read(b[len(b)-int(n):]); err != nil {
			return b, err
		}
	}
	return b, in.finish()
}

// storedSize is how many bytes the i-th blob occupies in the file.
func (f *File) storedSize(i int) int64 {
	end := f.header.DataBytes
	if i+1 < f.NumData() {
		end = int64(f.dataOffsets.at(i + 1))
	}
	return end - int64(f.dataOffsets.at(i))
}

// typeAt, itemAt and blobAt are where things start in the file.
func (f *File) typeAt(i int) int64 { return headerSize + int64(i)*typeEntrySize }
func (f *File) itemAt(i int) int64 { return f.itemsAt + int64(f.itemOffsets.at(i)) }
func (f *File) blobAt(i int) int64 { return f.dataAt + int64(f.dataOffsets.at(i)) }

// readAt fills p from the file.
func (f *File) readAt(p []byte, offset int64, what string) error {
	n, err := f.r.ReadAt(p, offset)
	switch {
	case n == len(p):
		return nil
	case err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return failure(offset+int64(n), what, decoders.ErrTruncated, "the file became shorter")
	}
	return fmt.Errorf("datafile: %s at byte %d: %w", what, offset, err)
}

// failure is the error of a bad file.
func failure(offset int64, what string, kind error, detail string, args ...any) error {
	return decoders.Errorf(decoders.Datafile, offset, decoders.NoTick, what, kind, detail, args...)
}

// ints is a list of little-endian 32-bit integers as it is stored.
type ints []byte

func (n ints) len() int       { return len(n) / 4 }
func (n ints) at(i int) int32 { return int32(binary.LittleEndian.Uint32(n[4*i:])) }

// get returns the i-th integer, or otherwise where the list is shorter.
func (n ints) get(i int, otherwise int32) int32 {
	if i < n.len() {
		return n.at(i)
	}
	return otherwise
}
