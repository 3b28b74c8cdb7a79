package sc2test

import (
	"bytes"
	"compress/zlib"
	"crypto/md5"
	"encoding/binary"
	"hash/adler32"
	"hash/crc32"
	"slices"
	"strings"
)

// Methods of compression of a member. Zlib and Bzip2 may be combined with Sparse.
const (
	Stored = 0x00
	Zlib   = 0x02
	Bzip2  = 0x10
	Sparse = 0x20
)

// Member is a file of an archive.
type Member struct {
	Name string
	Data []byte
	// Method is the compression method.
	Method byte
	// Sectors packs the member in sectors.
	Sectors bool
	// SectorSums adds a checksum for every sector.
	SectorSums bool
	// Encrypted encrypts the member. FixKey makes the key depend on its offset.
	Encrypted, FixKey bool
}

// Archive is an MPQ archive to write.
type Archive struct {
	// UserData is the content of the block before the archive.
	UserData []byte
	// Version is the format version, 0 to 3.
	Version int
	// SectorShift makes sectors of 512 << SectorShift bytes.
	SectorShift int
	// HiBlocks writes a table of the high halves of offsets.
	HiBlocks bool
	// PackedHashes packs the hash table.
	PackedHashes bool
	// HashSlots is the number of slots of the hash table; 0 means as many as needed.
	HashSlots int
	// Deleted is the number of slots to mark as deleted before members are added.
	Deleted int
	// Sums adds a member with the checksums of the others. Version 3 also has checksums of its tables.
	Sums    bool
	Members []Member

	// DropName, DropBlock and Equal damage the member with that name. DropName removes its name from the hash table. DropBlock
	// marks its block as nonexistent. Equal writes its packed size also as its size, as some programs do.
	DropName, DropBlock, Equal string
	// Flip flips flags in the blocks of members with these names.
	Flip map[string]uint32
}

// archiveOffset is the offset of the archive in the file.
const archiveOffset = 1024

const (
	keyHashTable  = 0xC3AF3770
	keyBlockTable = 0xEC83B3A3
)

var headerSizes = [...]int{32, 44, 68, 208}

// Bytes returns the archive with the user data before it.
func (a *Archive) Bytes() []byte {
	le := binary.LittleEndian
	file := make([]byte, archiveOffset, 64<<10)
	copy(file, "MPQ\x1b")
	le.PutUint32(file[4:], 512)
	le.PutUint32(file[8:], archiveOffset)
	le.PutUint32(file[12:], uint32(len(a.UserData)))
	copy(file[16:], a.UserData)

	body := make([]byte, headerSizes[a.Version])
	var blocks []byte
	members := a.Members
	if a.Sums {
		members = append(slices.Clone(members), Member{Name: "(attributes)", Data: checksums(members)})
	}
	for i := range members {
		m := &members[i]
		offset, size := len(body), len(m.Data)
		packed, flags := a.pack(m, offset)
		body = append(body, packed...)
		if m.Name == a.Equal {
			size = len(packed)
		}
		flags ^= a.Flip[m.Name]
		if m.Name == a.DropBlock {
			flags &^= 0x80000000
		}
		for _, v := range []int{offset, len(packed), size} {
			blocks = le.AppendUint32(blocks, uint32(v))
		}
		blocks = le.AppendUint32(blocks, flags)
	}
	slots := max(a.HashSlots, 1)
	for slots < len(members)+a.Deleted+1 && a.HashSlots == 0 {
		slots *= 2
	}
	hashes := a.hashTable(members, slots)
	encrypt(hashes, keyHashTable)
	if a.PackedHashes {
		// The table is packed first and then encrypted.
		plain := a.hashTable(members, slots)
		hashes = append([]byte{Zlib}, deflate(plain)...)
		encrypt(hashes, keyHashTable)
	}
	encrypt(blocks, keyBlockTable)
	hashOffset := len(body)
	body = append(body, hashes...)
	blockOffset := len(body)
	body = append(body, blocks...)
	hiOffset := 0
	if a.HiBlocks {
		hiOffset = len(body)
		body = append(body, make([]byte, 2*len(members))...)
	}

	h := body
	copy(h, "MPQ\x1a")
	le.PutUint32(h[4:], uint32(headerSizes[a.Version]))
	le.PutUint32(h[8:], uint32(len(body)))
	le.PutUint16(h[12:], uint16(a.Version))
	le.PutUint16(h[14:], uint16(a.SectorShift))
	le.PutUint32(h[16:], uint32(hashOffset))
	le.PutUint32(h[20:], uint32(blockOffset))
	le.PutUint32(h[24:], uint32(slots))
	le.PutUint32(h[28:], uint32(len(members)))
	if a.Version >= 1 {
		le.PutUint64(h[32:], uint64(hiOffset))
	}
	if a.Version >= 2 {
		le.PutUint64(h[44:], uint64(len(body)))
	}
	if a.Version >= 3 {
		le.PutUint64(h[68:], uint64(len(hashes)))
		le.PutUint64(h[76:], uint64(len(blocks)))
		if a.Sums {
			sumTables(h, blocks, hashes)
		}
	}
	return append(file, body...)
}

// sumTables writes the MD5 of the tables and of the header itself to a header of version 3.
func sumTables(h, blocks, hashes []byte) {
	for at, p := range map[int][]byte{112: blocks, 128: hashes} {
		sum := md5.Sum(p)
		copy(h[at:], sum[:])
	}
	sum := md5.Sum(h[:192])
	copy(h[192:], sum[:])
}

// checksums returns the member with the CRC32, an empty time and the MD5 of every member. Its own are zeros.
func checksums(members []Member) []byte {
	le := binary.LittleEndian
	var crc, digest []byte
	for _, m := range members {
		crc = le.AppendUint32(crc, crc32.ChecksumIEEE(m.Data))
		sum := md5.Sum(m.Data)
		digest = append(digest, sum[:]...)
	}
	p := le.AppendUint32(nil, 100)
	p = le.AppendUint32(p, 1|2|4)
	p = append(p, append(crc, 0, 0, 0, 0)...)
	p = append(p, make([]byte, 8*(len(members)+1))...)
	return append(p, append(digest, make([]byte, md5.Size)...)...)
}

// hashTable puts each member's name in the first free slot.
func (a *Archive) hashTable(members []Member, slots int) []byte {
	le := binary.LittleEndian
	table := bytes.Repeat([]byte{0xFF}, 16*slots)
	for i := range a.Deleted {
		le.PutUint32(table[16*(i%slots)+12:], 0xFFFFFFFE)
	}
	for i, m := range members {
		if m.Name == a.DropName {
			continue
		}
		at := int(hash(m.Name, 0)) & (slots - 1)
		for le.Uint32(table[16*at+12:]) < 0xFFFFFFFE || a.Deleted > 0 && le.Uint32(table[16*at+12:]) == 0xFFFFFFFE {
			at = (at + 1) & (slots - 1)
		}
		e := table[16*at:]
		le.PutUint32(e, hash(m.Name, 1))
		le.PutUint32(e[4:], hash(m.Name, 2))
		le.PutUint32(e[8:], 0)
		le.PutUint32(e[12:], uint32(i))
	}
	return table
}

// pack packs a member that will be at the given offset.
func (a *Archive) pack(m *Member, offset int) (packed []byte, flags uint32) {
	flags = 0x80000000
	if m.Method != Stored {
		flags |= 0x200
	}
	var key uint32
	if m.Encrypted {
		flags |= 0x10000
		key = hash(m.Name[strings.LastIndexAny(m.Name, `/\`)+1:], 3)
		if m.FixKey {
			flags |= 0x20000
			key = (key + uint32(offset)) ^ uint32(len(m.Data))
		}
	}
	if !m.Sectors {
		packed = compress(m.Data, m.Method)
		if m.Encrypted {
			encrypt(packed, key)
		}
		return packed, flags | 0x01000000
	}
	size := 512 << a.SectorShift
	var sectors [][]byte
	var sums []byte
	for i := 0; i < len(m.Data); i += size {
		s := compress(m.Data[i:min(i+size, len(m.Data))], m.Method)
		sums = binary.LittleEndian.AppendUint32(sums, adler32.Checksum(s))
		if m.Encrypted {
			encrypt(s, key+uint32(len(sectors)))
		}
		sectors = append(sectors, s)
	}
	if m.SectorSums {
		flags |= 0x04000000
		sectors = append(sectors, sums)
	}
	if m.Method != Stored {
		at := 4 * (len(sectors) + 1)
		for _, s := range sectors {
			packed = binary.LittleEndian.AppendUint32(packed, uint32(at))
			at += len(s)
		}
		packed = binary.LittleEndian.AppendUint32(packed, uint32(at))
		if m.Encrypted {
			encrypt(packed, key-1)
		}
	}
	return append(packed, bytes.Join(sectors, nil)...), flags
}

// compress packs data with a method, unless the result is not smaller.
func compress(data []byte, method byte) []byte {
	packed := data
	if method&Sparse != 0 {
		packed = sparse(packed)
	}
	switch {
	case method&Zlib != 0:
		packed = deflate(packed)
	case method&Bzip2 != 0:
		packed = Compress(packed)
	}
	if method == Stored || len(packed)+1 >= len(data) {
		return bytes.Clone(data)
	}
	return append([]byte{method}, packed...)
}

func deflate(data []byte) []byte {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	_, _ = w.Write(data) // a buffer does not fail
	_ = w.Close()
	return b.Bytes()
}

// sparse encodes runs of three to 130 zeros as one byte, and up to 128 other bytes with one byte before them.
func sparse(data []byte) []byte {
	out := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
	zeros := func(p []byte) int {
		n := 0
		for n < len(p) && n < 130 && p[n] == 0 {
			n++
		}
		return n
	}
	for len(data) > 0 {
		if n := zeros(data); n >= 3 {
			out = append(out, byte(n-3))
			data = data[n:]
			continue
		}
		n := 1
		for n < len(data) && n < 128 && zeros(data[n:]) < 3 {
			n++
		}
		out = append(append(out, byte(n-1)|0x80), data[:n]...)
		data = data[n:]
	}
	return out
}

// crypt is the table for hashing and encryption, in rows of 256.
var crypt = func() (t [5 * 256]uint32) {
	seed := uint32(0x00100001)
	for i := range 256 {
		for row := range 5 {
			seed = (seed*125 + 3) % 0x2AAAAB
			high := seed & 0xFFFF
			seed = (seed*125 + 3) % 0x2AAAAB
			t[row*256+i] = high<<16 | seed&0xFFFF
		}
	}
	return t
}()

func hash(name string, kind int) uint32 {
	a, b := uint32(0x7FED7FED), uint32(0xEEEEEEEE)
	for _, c := range []byte(strings.ToUpper(strings.ReplaceAll(name, "/", `\`))) {
		a = crypt[kind*256+int(c)] ^ (a + b)
		b = uint32(c) + a + b + b<<5 + 3
	}
	return a
}

func encrypt(p []byte, key uint32) {
	b := uint32(0xEEEEEEEE)
	for ; len(p) >= 4; p = p[4:] {
		b += crypt[4*256+int(key&0xFF)]
		w := binary.LittleEndian.Uint32(p)
		binary.LittleEndian.PutUint32(p, w^(key+b))
		key = ^key<<21 + 0x11111111 | key>>11
		b = w + b + b<<5 + 3
	}
}
