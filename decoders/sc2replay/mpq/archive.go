package mpq

import (
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"github.com/replayd/replayd/decoders"
)

const (
	magicUserData = "MPQ\x1b"
	magicArchive  = "MPQ\x1a"

	// Limits. Replays have up to 32 hash slots, 16 blocks and 115 bytes of user data.
	maxEntries  = 4096
	maxUserData = 64 << 10
	maxProbes   = 256 // places to search for the archive's header

	alignment = 512 // alignment of headers in a file
)

// Archive is an open archive.
type Archive struct {
	src   io.ReaderAt
	size  int64 // of the file
	start int64 // offset of the archive in the file; its own offsets are relative to it

	// Version is the archive's format version, 0 to 3.
	Version int
	// Faults are the contradictions between the archive's tables, its checksums and its list of names. They may mean
	// that members are missing or have wrong names. All are *decoders.Error.
	Faults []error

	sectorSize int
	hashes     []hashEntry
	blocks     []blockEntry
	sums       sums
	names      []string
}

type hashEntry struct {
	nameA, nameB     uint32
	locale, platform uint16
	block            uint32
}

const (
	slotUnused  = 0xFFFFFFFF // never used: a search ends here
	slotDeleted = 0xFFFFFFFE // a search continues
)

type blockEntry struct {
	offset       int64 // from the archive's start
	packed, size uint32
	flags        uint32
}

// exists reports whether the block holds a member.
func (b *blockEntry) exists() bool { return b.flags&flagExists != 0 && b.flags&flagDeleted == 0 }

// Flags of a block.
const (
	flagImplode    = 0x00000100
	flagCompress   = 0x00000200
	flagEncrypted  = 0x00010000
	flagFixKey     = 0x00020000
	flagPatch      = 0x00100000
	flagSingleUnit = 0x01000000
	flagDeleted    = 0x02000000
	flagSectorSums = 0x04000000
	flagExists     = 0x80000000

	flagsKnown = flagImplode | flagCompress | flagEncrypted | flagFixKey | flagPatch | flagSingleUnit | flagDeleted | flagSectorSums | flagExists
)

func fail(offset int64, what string, kind error, detail string, args ...any) *decoders.Error {
	return decoders.Errorf(decoders.SC2Replay, offset, decoders.NoTick, what, kind, detail, args...)
}

// wrap adds an offset and a name to an error that already wraps one of the kinds of package decoders.
func wrap(offset int64, what string, err error) *decoders.Error {
	return &decoders.Error{Format: decoders.SC2Replay, Offset: offset, Tick: decoders.NoTick, What: what, Err: err}
}

// readAt reads n bytes at an offset. It returns an error if they are not inside the file.
func readAt(r io.ReaderAt, size, offset int64, n int, what string) ([]byte, error) {
	if offset < 0 || offset > size || int64(n) > size-offset {
		return nil, fail(offset, what, decoders.ErrTruncated, "%d bytes are needed, the file has %d", n, max(size-offset, 0))
	}
	p := make([]byte, n)
	if k, err := r.ReadAt(p, offset); k < n {
		if errors.Is(err, io.EOF) {
			return nil, fail(offset+int64(k), what, decoders.ErrTruncated, "the file ends")
		}
		return nil, err
	}
	return p, nil
}

// UserData reads the block before the archive. It returns its content, the content's offset in the file, and the
// declared offset of the archive's header. A file that begins with the archive itself has no user data.
func UserData(r io.ReaderAt, size int64) (content []byte, offset, archive int64, err error) {
	head, err := readAt(r, size, 0, 16, "user data")
	if err != nil {
		return nil, 0, 0, err
	}
	switch string(head[:4]) {
	case magicUserData:
	case magicArchive:
		return nil, 0, 0, nil
	default:
		return nil, 0, 0, fail(0, "user data", decoders.ErrCorrupt, "not an MPQ archive")
	}
	archive = int64(binary.LittleEndian.Uint32(head[8:]))
	// Do not use the field with the used length. It is not needed to find the end of the content, and may be wrong.
	n := min(max(archive-16, int64(binary.LittleEndian.Uint32(head[12:]))), maxUserData, size-16)
	content, err = readAt(r, size, 16, int(max(n, 0)), "user data")
	return content, 16, archive, err
}

// Open reads the archive's header and tables.
func Open(r io.ReaderAt, size int64) (*Archive, error) {
	_, _, declared, err := UserData(r, size)
	if err != nil {
		return nil, err
	}
	start, err := find(r, size, declared)
	if err != nil {
		return nil, err
	}
	a := &Archive{src: r, size: size, start: start}
	if err := a.readHeader(); err != nil {
		return nil, err
	}
	if err := a.check(); err != nil {
		return nil, err
	}
	return a, nil
}

// find returns the offset of the archive's header: the declared one, or else the next multiple of 512 bytes with a
// header.
func find(r io.ReaderAt, size, declared int64) (int64, error) {
	var magic [4]byte
	is := func(offset int64) bool {
		n, _ := r.ReadAt(magic[:], offset)
		return n == len(magic) && string(magic[:]) == magicArchive
	}
	if declared+32 <= size && is(declared) {
		return declared, nil
	}
	for i := range int64(maxProbes) {
		if i*alignment+32 > size {
			break
		}
		if is(i * alignment) {
			return i * alignment, nil
		}
	}
	if declared+32 > size {
		return 0, fail(size, "archive header", decoders.ErrTruncated, "it should be at %d, the file has %d bytes", declared, size)
	}
	return 0, fail(declared, "archive header", decoders.ErrCorrupt, "there is none")
}

// headerSizes are the minimum sizes of the header in each version.
var headerSizes = [...]int{32, 44, 68, 208}

func (a *Archive) readHeader() error {
	h, err := readAt(a.src, a.size, a.start, 32, "archive header")
	if err != nil {
		return err
	}
	le := binary.LittleEndian
	a.Version = int(le.Uint16(h[12:]))
	headerSize := int64(le.Uint32(h[4:]))
	if a.Version >= len(headerSizes) {
		kind := decoders.ErrUnsupported
		if slices.Contains(headerSizes[:], int(headerSize)) { // a header of a new version has a new size
			kind = decoders.ErrCorrupt
		}
		return fail(a.start+12, "archive header", kind, "version %d with a header of %d bytes", a.Version, headerSize)
	}
	// A header that is too short for its version is treated as the highest version that it is long enough for.
	for a.Version > 0 && headerSize < int64(headerSizes[a.Version]) {
		a.Version--
	}
	if h, err = readAt(a.src, a.size, a.start, headerSizes[a.Version], "archive header"); err != nil {
		return err
	}
	shift := le.Uint16(h[14:])
	if shift > 15 {
		return fail(a.start+14, "archive header", decoders.ErrCorrupt, "sector shift %d", shift)
	}
	a.sectorSize = 512 << shift

	hashOffset, blockOffset := int64(le.Uint32(h[16:])), int64(le.Uint32(h[20:]))
	nHash, nBlock := le.Uint32(h[24:]), le.Uint32(h[28:])
	var hiOffset int64
	if a.Version >= 1 {
		hiOffset = int64(le.Uint64(h[32:]))
		hashOffset |= int64(le.Uint16(h[40:])) << 32
		blockOffset |= int64(le.Uint16(h[42:])) << 32
	}
	// Zero entries are valid: clients leave empty archives behind when they cannot save a replay.
	if nHash > maxEntries || nHash&(nHash-1) != 0 {
		return fail(a.start+24, "archive header", decoders.ErrCorrupt, "%d hash table entries", nHash)
	}
	if nBlock > maxEntries {
		return fail(a.start+28, "archive header", decoders.ErrCorrupt, "%d block table entries", nBlock)
	}
	hashPacked, blockPacked := int64(nHash)*16, int64(nBlock)*16
	if a.Version >= 3 {
		hashPacked = min(hashPacked, int64(le.Uint64(h[68:])))
		blockPacked = min(blockPacked, int64(le.Uint64(h[76:])))
	} else if gap := blockOffset - hashOffset; gap > 0 && gap < hashPacked {
		hashPacked = gap // there is no field for the size; if the tables would overlap, the first one is packed
	}
	a.checkTable("archive header", h, h[:min(len(h), headerMD5)], headerMD5)
	if err := a.readHashes(h, hashOffset, hashPacked, int(nHash)); err != nil {
		return err
	}
	return a.readBlocks(h, blockOffset, blockPacked, int(nBlock), hiOffset)
}

// Offsets, in headers of version 3, of the MD5 of the tables and of the header's own preceding bytes.
const (
	blockMD5  = 112
	hashMD5   = 128
	headerMD5 = 192
)

// table reads, decrypts and unpacks a table of n entries of 16 bytes. The header may have the table's MD5 at offset
// sum.
func (a *Archive) table(what string, header []byte, sum int, offset, packed int64, n int, key uint32) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	if packed < 0 {
		return nil, fail(a.start, what, decoders.ErrCorrupt, "packed size %d", packed)
	}
	p, err := readAt(a.src, a.size, a.start+offset, int(packed), what)
	if err != nil {
		return nil, err
	}
	a.checkTable(what, header, p, sum)
	decrypt(p, key)
	if len(p) < 16*n {
		if p, err = unpack(nil, p, 16*n, true); err != nil {
			return nil, wrap(a.start+offset, what, err)
		}
	}
	if len(p) != 16*n {
		return nil, fail(a.start+offset, what, decoders.ErrCorrupt, "%d bytes instead of %d", len(p), 16*n)
	}
	return p, nil
}

func (a *Archive) readHashes(header []byte, offset, packed int64, n int) error {
	p, err := a.table("hash table", header, hashMD5, offset, packed, n, keyHashTable)
	if err != nil {
		return err
	}
	le := binary.LittleEndian
	a.hashes = make([]hashEntry, n)
	for i := range a.hashes {
		e := p[16*i:]
		a.hashes[i] = hashEntry{le.Uint32(e), le.Uint32(e[4:]), le.Uint16(e[8:]), le.Uint16(e[10:]), le.Uint32(e[12:])}
	}
	return nil
}

func (a *Archive) readBlocks(header []byte, offset, packed int64, n int, hiOffset int64) error {
	p, err := a.table("block table", header, blockMD5, offset, packed, n, keyBlockTable)
	if err != nil {
		return err
	}
	var hi []byte
	if hiOffset != 0 {
		if hi, err = readAt(a.src, a.size, a.start+hiOffset, 2*n, "high block table"); err != nil {
			return err
		}
	}
	le := binary.LittleEndian
	a.blocks = make([]blockEntry, n)
	for i := range a.blocks {
		e := p[16*i:]
		a.blocks[i] = blockEntry{int64(le.Uint32(e)), le.Uint32(e[4:]), le.Uint32(e[8:]), le.Uint32(e[12:])}
		if hi != nil {
			a.blocks[i].offset |= int64(le.Uint16(hi[2*i:])) << 32
		}
	}
	return nil
}

// Member is a file of an archive.
type Member struct {
	// Name is the name that was passed to Find.
	Name string
	// Offset is the offset of the member's bytes in the file that holds the archive.
	Offset int64
	// PackedSize is the number of bytes there.
	PackedSize int64
	// Size is the declared unpacked size, in bytes.
	Size  int64
	flags uint32
	block int // index of its block
}

// Find returns the member with a name. It ignores case.
func (a *Archive) Find(name string) (Member, bool) {
	nameA, nameB := hash(name, hashNameA), hash(name, hashNameB)
	mask := uint32(len(a.hashes) - 1)
	first := hash(name, hashPosition) & mask
	for i := range uint32(len(a.hashes)) {
		e := &a.hashes[(first+i)&mask]
		if e.block == slotUnused {
			break
		}
		if e.nameA != nameA || e.nameB != nameB || e.block >= uint32(len(a.blocks)) {
			continue
		}
		b := &a.blocks[e.block]
		if !b.exists() {
			continue
		}
		return Member{
			Name: name, Offset: a.start + b.offset, PackedSize: int64(b.packed), Size: int64(b.size), flags: b.flags,
			block: int(e.block),
		}, true
	}
	return Member{}, false
}

// Empty reports whether the archive has no members at all.
func (a *Archive) Empty() bool { return len(a.blocks) == 0 }
