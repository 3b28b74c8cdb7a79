package mpq

import (
	"crypto/md5" //nolint:gosec // what archives carry: it finds damage and keeps nobody out
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"

	"github.com/replayd/replayd/decoders"
)

// Names of members that describe the others.
const (
	// ListFile lists the names of the others.
	ListFile = "(listfile)"
	// AttributesFile holds checksums of the others.
	AttributesFile = "(attributes)"
)

// maxList bounds the size of the two. Those of replays have less than 600 bytes.
const maxList = 128 << 10

// ErrChecksum says that the contents of a member are not those of which the archive holds the checksum: the member was
// damaged, or edited by a program that did not write the checksums anew. It wraps decoders.ErrCorrupt.
var ErrChecksum = fmt.Errorf("%w: the archive's checksum differs", decoders.ErrCorrupt)

// sums are the checksums of members by block, empty where the archive has none.
type sums struct {
	crc []uint32
	md5 [][md5.Size]byte
}

// Flags of AttributesFile: which lists it has.
const (
	sumsVersion = 100
	sumsCRC32   = 1 << 0
	sumsTime    = 1 << 1
	sumsMD5     = 1 << 2
)

// check reads what the archive says of its own members, and notes in Faults what does not agree with its tables.
func (a *Archive) check() error {
	for _, read := range []func() error{a.readSums, a.readNames} {
		if err := read(); err != nil {
			if _, ok := errors.AsType[*decoders.Error](err); !ok {
				return err // the file cannot be read
			}
			a.Faults = append(a.Faults, err)
		}
	}
	a.checkBlocks()
	return nil
}

// readSums reads AttributesFile, if there is one.
func (a *Archive) readSums() error {
	p, m, err := a.list(AttributesFile)
	if err != nil || len(p) == 0 {
		return err
	}
	le := binary.LittleEndian
	n, size := len(a.blocks), 8
	if len(p) < size || le.Uint32(p) != sumsVersion {
		return fail(m.Offset, m.Name, decoders.ErrUnsupported, "not of version %d", sumsVersion)
	}
	flags := le.Uint32(p[4:])
	crcAt := size
	if flags&sumsCRC32 != 0 {
		size += 4 * n
	}
	if flags&sumsTime != 0 {
		size += 8 * n
	}
	md5At := size
	if flags&sumsMD5 != 0 {
		size += md5.Size * n
	}
	if len(p) < size {
		return fail(m.Offset, m.Name, decoders.ErrCorrupt, "%d bytes for %d members, which take %d", len(p), n, size)
	}
	if flags&sumsCRC32 != 0 {
		a.sums.crc = make([]uint32, n)
		for i := range a.sums.crc {
			a.sums.crc[i] = le.Uint32(p[crcAt+4*i:])
		}
	}
	if flags&sumsMD5 != 0 {
		a.sums.md5 = make([][md5.Size]byte, n)
		for i := range a.sums.md5 {
			a.sums.md5[i] = [md5.Size]byte(p[md5At+md5.Size*i:])
		}
	}
	return nil
}

// list reads one of the members that describe the others.
func (a *Archive) list(name string) ([]byte, Member, error) {
	m, ok := a.Find(name)
	if !ok {
		return nil, m, nil
	}
	if m.Size > maxList || m.PackedSize > maxList {
		return nil, m, fail(m.Offset, name, decoders.ErrLimit, "%d bytes, %d when unpacked", m.PackedSize, m.Size)
	}
	p, err := a.Append(nil, m)
	return p, m, err
}

// verify compares a member's contents with its checksums. The CRC is compared first, for it costs nearly nothing; where it
// differs and the MD5 does not, the CRC is what was damaged.
func (a *Archive) verify(m Member, data []byte) error {
	var crc uint32
	var sum [md5.Size]byte
	hasCRC, hasMD5 := m.block < len(a.sums.crc), m.block < len(a.sums.md5)
	if hasCRC {
		crc = a.sums.crc[m.block]
	}
	if hasMD5 {
		sum = a.sums.md5[m.block]
	}
	switch {
	case m.Name == AttributesFile, crc == 0 && sum == [md5.Size]byte{}: // not recorded
		return nil
	case hasCRC && crc32.ChecksumIEEE(data) == crc:
		return nil
	case hasMD5 && md5.Sum(data) == sum: //nolint:gosec // see the import
		return nil
	}
	return ErrChecksum
}

// readNames reads ListFile, if there is one, and looks for every name.
func (a *Archive) readNames() error {
	p, m, err := a.list(ListFile)
	if err != nil {
		return err
	}
	var lost []string
	for name := range strings.FieldsFuncSeq(string(p), func(r rune) bool { return r == '\r' || r == '\n' || r == ';' }) {
		if _, ok := a.Find(name); !ok {
			lost = append(lost, name)
		} else if len(a.names) < len(a.blocks) && !slices.Contains(a.names, name) {
			a.names = append(a.names, name)
		}
	}
	if len(lost) > 0 {
		return fail(m.Offset, m.Name, decoders.ErrCorrupt, "%.60q, which it lists, is not in the archive", lost[0])
	}
	return nil
}

// Names returns the names of the members that the archive lists and holds. Archives need not list any. The caller must not
// change them.
func (a *Archive) Names() []string { return a.names }

// checkBlocks looks for members that no name leads to, and for names that lead to none.
func (a *Archive) checkBlocks() {
	note := func(offset int64, what, detail string, args ...any) {
		a.Faults = append(a.Faults, fail(offset, what, decoders.ErrCorrupt, detail, args...))
	}
	named := make([]bool, len(a.blocks))
	for i, e := range a.hashes {
		switch {
		case e.block == slotUnused || e.block == slotDeleted:
		case e.block < uint32(len(named)) && a.blocks[e.block].exists():
			named[e.block] = true
		default:
			note(a.start, "hash table", "entry %d leads to member %d, which does not exist", i, e.block)
			return
		}
	}
	for i := range a.blocks {
		if b := &a.blocks[i]; b.exists() && !named[i] {
			note(a.start+b.offset, "hash table", "no name leads to member %d", i)
			return
		}
	}
}

// checkTable compares a table with the MD5 that headers of version 3 hold at the given offset, zeros for none.
func (a *Archive) checkTable(what string, header, table []byte, at int) {
	if len(header) < headerSizes[3] {
		return
	}
	want := [md5.Size]byte(header[at:])
	if want == [md5.Size]byte{} || md5.Sum(table) == want { //nolint:gosec // see the import
		return
	}
	a.Faults = append(a.Faults, fail(a.start, what, decoders.ErrCorrupt, "its checksum differs"))
}
