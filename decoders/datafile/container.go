package datafile

import (
	"encoding/binary"

	"github.com/replayd/replayd/decoders"
)

const (
	headerSize    = 36
	typeEntrySize = 12
	itemHeader    = 8
	maxTypes      = 1 << 16
)

// pieces holds the sizes of the pieces of a file, from its header.
type pieces struct {
	version, types, items, data int64 // data is the number of blobs
	itemBytes, dataBytes        int64
}

// dataTables returns the number of tables with one entry per blob.
func (p *pieces) dataTables() int64 {
	if p.version == 4 {
		return 2
	}
	return 1
}

// tables returns the number of bytes between the header and the blobs.
func (p *pieces) tables() int64 {
	return p.types*typeEntrySize + p.items*4 + p.data*4*p.dataTables() + p.itemBytes
}

func (p *pieces) total() int64 { return headerSize + p.tables() + p.dataBytes }

// readHeader reads everything before the blobs. It checks the header against the limits and the file's size before it
// allocates.
func (f *File) readHeader(size int64) error {
	var buf [headerSize]byte
	head := buf[:min(size, headerSize)]
	if err := f.readAt(head, 0, "header"); err != nil {
		return err
	}
	if err := f.checkMagic(head, size); err != nil {
		return err
	}
	// All of these are signed in the format. A negative one, read as unsigned, exceeds every limit.
	field := func(i int) int64 { return int64(binary.LittleEndian.Uint32(head[4*i:])) }
	p := pieces{
		version: field(1), types: field(4), items: field(5), data: field(6), itemBytes: field(7), dataBytes: field(8),
	}
	if err := f.checkSizes(&p, field(2), field(3), size); err != nil {
		return err
	}
	f.header.Version = int32(p.version)
	f.header.NumItemTypes = int32(p.types)
	f.header.NumItems = int32(p.items)
	f.header.NumData = int32(p.data)
	f.header.ItemBytes = int32(p.itemBytes)
	f.header.DataBytes = p.dataBytes
	f.header.FileBytes = size
	return f.readTables(&p)
}

// checkMagic checks that the header is complete and of a known version.
func (f *File) checkMagic(head []byte, size int64) error {
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
		if v := binary.LittleEndian.Uint32(head[4:]); v != 3 && v != 4 {
			return failure(4, "header", decoders.ErrUnsupported, "version %d", v)
		}
	}
	if len(head) < headerSize {
		return failure(0, "header", decoders.ErrTruncated, "the file has %d bytes", size)
	}
	return nil
}

// checkSizes checks the pieces against the limits, the file's size, and the two sizes that the header declares: all
// bytes, and all bytes without the blobs.
func (f *File) checkSizes(p *pieces, all, withoutData, size int64) error {
	if p.types > maxTypes {
		return failure(16, "header", decoders.ErrLimit, "%d item types", p.types)
	}
	tables, total := p.tables(), p.total()
	if tables > f.limits.Tables {
		return failure(16, "header", decoders.ErrLimit, "%d bytes of tables and items, of which %d are allowed",
			tables, f.limits.Tables)
	}
	if p.itemBytes%4 != 0 {
		return failure(28, "header", decoders.ErrCorrupt, "%d bytes of items are not whole integers", p.itemBytes)
	}
	// The sizes in the header exclude the first 16 bytes. Some writers also omitted the table of inflated sizes.
	fits := func(declared, actual int64) bool {
		crude := p.version == 4 && declared == actual-4*p.data
		if crude && p.data > 0 {
			f.header.CrudeSizes = true
		}
		return crude || declared == actual
	}
	consistent := fits(all, total-16) && fits(withoutData, total-16-p.dataBytes)
	switch {
	case !consistent:
		return failure(8, "header", decoders.ErrCorrupt,
			"declares sizes of %d and %d bytes, its tables require %d and %d",
			all, withoutData, total-16, total-16-p.dataBytes)
	case size < total:
		return failure(size, "file", decoders.ErrTruncated, "has %d of %d bytes", size, total)
	}
	f.excess = size > total
	return nil
}

// readTables reads the tables and the items.
func (f *File) readTables(p *pieces) error {
	all := make([]byte, p.tables())
	if err := f.readAt(all, headerSize, "tables"); err != nil {
		return err
	}
	cut := func(n int64) []byte {
		part := all[:n:n]
		all = all[n:]
		return part
	}
	f.types = cut(p.types * typeEntrySize)
	f.itemOffsets = cut(p.items * 4)
	f.dataOffsets = cut(p.data * 4)
	f.dataSizes = cut(p.data * 4 * (p.dataTables() - 1))
	f.items = all
	f.dataAt = p.total() - p.dataBytes
	f.itemsAt = f.dataAt - p.itemBytes
	return nil
}

// checkTypes checks the table of types: no type occurs twice, and their items are consecutive.
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

// checkItems checks that the items fill their block without gaps and have the type under which they are listed. No id
// may occur twice within a type, except for UUIDs, because old tools listed some of them twice.
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

// checkData checks that the blobs fill their block in order, and sums their declared sizes.
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
