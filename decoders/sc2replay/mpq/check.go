package mpq

import (
	"crypto/md5" //nolint:gosec // archives contain it; it detects damage and is no protection
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
	// ListFile lists the names of the other members.
	ListFile = "(listfile)"
	// AttributesFile holds checksums of the other members.
	AttributesFile = "(attributes)"
)

// maxList bounds the size of these two members. Those of replays have less than 600 bytes.
const maxList = 128 << 10

// ErrChecksum reports that a member's contents do not match the archive's checksum. The member was damaged, or edited by
// a program that did not update the checksums. It wraps decoders.ErrCorrupt.
var ErrChecksum = fmt.Errorf("%w: the archive's checksum differs", decoders.ErrCorrupt)

// sums holds the checksums of members by block. It is empty if the archive has none.
type sums struct {
	crc []uint32
	md5 [][md5.Size]byte
}

// Flags of AttributesFile, which state the lists in it.
const (
	sumsVersion = 100
	sumsCRC32   = 1 << 0
	sumsTime    = 1 << 1
	sumsMD5     = 1 << 2
)

// check reads the members that describe the others, and adds contradictions with the archive's tables to Faults.
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

// readSums reads AttributesFile, if it exists.
func (a *Archive) readSums() error {
	p, m, err := a.list(AttributesFile)
	if err != nil || len(p) == 0 {
		return err
	}
	le := binary.LittleEndian
	n, size := len(a.blocks), 8
	if len(p) < size || le.Uint32(p) != sumsVersion {
		return fail(m.Offset, m.Name, decoders.ErrCorrupt, "not of version %d, the only one", sumsVersion)
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

// list reads a member that describes the others. A member of impossible size is damaged: a name has less than 300 bytes, and a
// member's checksums take less.
func (a *Archive) list(name string) ([]byte, Member, error) {
	m, ok := a.Find(name)
	if !ok {
		return nil, m, nil
	}
	if size := max(m.Size, m.PackedSize); size > maxList {
		kind := decoders.ErrLimit
		if size > 300*int64(len(a.blocks)+1) {
			kind = decoders.ErrCorrupt
		}
		return nil, m, fail(m.Offset, name, kind, "%d bytes, %d when unpacked", m.PackedSize, m.Size)
	}
	p, err := a.Append(nil, m)
	return p, m, err
}

// verify compares a member's contents with its checksums. It compares the CRC first, because that is cheap. If the CRC
// differs and the MD5 does not, the CRC itself is damaged, and the contents are valid.
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
	case m.Name == AttributesFile, crc == 0 && sum == [md5.Size]byte{}: // no checksum is recorded
		return nil
	case hasCRC && crc32.ChecksumIEEE(data) == crc:
		return nil
	case hasMD5 && md5.Sum(data) == sum: //nolint:gosec // see the import
		return nil
	}
	return ErrChecksum
}

// readNames reads ListFile, if it exists, and checks that every name in it is in the archive.
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
		return fail(m.Offset, m.Name, decoders.ErrCorrupt, "it lists %.60q, which is not in the archive", lost[0])
	}
	return nil
}

// Names returns the names of the members that the archive both lists and holds. An archive need not list any. The
// result must not be modified.
func (a *Archive) Names() []string { return a.names }

// checkBlocks checks for members without a name, and for names without a member.
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

// checkTable compares a table with its MD5, which headers of version 3 hold at offset at. Zeros mean that there is
// none.
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
