package mpq

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/sc2replay/bzip2"
)

// ErrOverflow reports that a member, or a sector of it, unpacks to more bytes than the archive declares. It wraps
// decoders.ErrCorrupt.
var ErrOverflow = fmt.Errorf("%w: it runs over its size", decoders.ErrCorrupt)

// Append unpacks a member, appends it to dst and compares it with the archive's checksums. With an error, it also
// returns the data that it could unpack. With ErrChecksum, that is all of it.
//
// According to the format, a member with two equal sizes is stored unpacked. But some programs write packed members
// with a wrong unpacked size that equals the packed one. Append unpacks these.
func (a *Archive) Append(dst []byte, m Member) ([]byte, error) {
	p, err := readAt(a.src, a.size, m.Offset, int(m.PackedSize), m.Name)
	if err != nil {
		return dst, err
	}
	if err := m.readable(p); err != nil {
		return dst, wrap(m.Offset, m.Name, err)
	}
	compressed := m.flags&flagCompress != 0
	size, start := int(m.Size), len(dst)
	if m.flags&flagSingleUnit != 0 || m.Size == 0 {
		if m.flags&flagEncrypted != 0 {
			decrypt(p, a.key(m))
		}
		if data, ok := unpackEqual(p, size, compressed); ok {
			dst = append(dst, data...)
		} else {
			dst, err = unpack(dst, p, size, compressed)
		}
	} else {
		dst, err = a.sectors(dst, p, m)
	}
	if err == nil {
		err = a.verify(m, dst[start:])
	}
	if err != nil {
		return dst, wrap(m.Offset, m.Name, err)
	}
	return dst, nil
}

// Contains reports whether a member's packed bytes lie within the file.
func (a *Archive) Contains(m Member) bool { return m.Offset >= 0 && m.PackedSize <= a.size-m.Offset }

// key returns the key of an encrypted member.
func (a *Archive) key(m Member) uint32 {
	k := hash(path.Base(strings.ReplaceAll(m.Name, `\`, "/")), hashKey)
	if m.flags&flagFixKey != 0 {
		k = (k + uint32(m.Offset-a.start)) ^ uint32(m.Size)
	}
	return k
}

// sectors unpacks a member that was packed in sectors, each of sectorSize bytes when unpacked.
func (a *Archive) sectors(dst, p []byte, m Member) ([]byte, error) {
	n := int((m.Size + int64(a.sectorSize) - 1) / int64(a.sectorSize))
	compressed, encrypted := m.flags&flagCompress != 0, m.flags&flagEncrypted != 0
	var key uint32
	if encrypted {
		key = a.key(m)
	}
	// The offsets of the sectors and of the end come first, unless the sectors are not compressed and so have known
	// offsets.
	var table []byte
	if compressed {
		if 4*(n+1) > len(p) {
			return dst, fmt.Errorf("%w: table of %d sectors in %d bytes", decoders.ErrCorrupt, n, len(p))
		}
		table = p[:4*(n+1)]
		if encrypted {
			decrypt(table, key-1)
		}
	}
	rest := int(m.Size)
	for i := range n {
		from, to := i*a.sectorSize, min((i+1)*a.sectorSize, int(m.Size))
		if compressed {
			from, to = int(binary.LittleEndian.Uint32(table[4*i:])), int(binary.LittleEndian.Uint32(table[4*i+4:]))
		}
		if from < len(table) || to < from || to > len(p) {
			return dst, fmt.Errorf("%w: sector %d from %d to %d of %d bytes", decoders.ErrCorrupt, i, from, to, len(p))
		}
		sector := p[from:to]
		if encrypted {
			decrypt(sector, key+uint32(i))
		}
		want := min(a.sectorSize, rest)
		var err error
		if dst, err = unpack(dst, sector, want, compressed); err != nil {
			return dst, fmt.Errorf("sector %d: %w", i, err)
		}
		rest -= want
	}
	return dst, nil
}

// packedStart is the beginning of data packed with bzip2: the method, and a stream with a block.
var packedStart = []byte("\x10BZh91AY&SY")

// equalRatio bounds the compression ratio of a member with two equal sizes.
const equalRatio = 64

// unpackEqual unpacks a member whose declared sizes are equal. It reports whether p was packed at all: whether it has
// the beginning of packed data, and unpacks without an error and with valid checksums of its own.
func unpackEqual(p []byte, size int, compressed bool) ([]byte, bool) {
	if !compressed || len(p) != size {
		return nil, false
	}
	limit := equalRatio * len(p)
	switch {
	case bytes.HasPrefix(p, packedStart):
		data, err := bzip2.Append(nil, p[1:], limit)
		return data, err == nil
	case len(p) > 2 && p[0] == methodZlib:
		r, err := zlib.NewReader(bytes.NewReader(p[1:]))
		if err != nil {
			return nil, false
		}
		data, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
		return data, err == nil && len(data) <= limit
	}
	return nil, false
}

// unpack appends the unpacked data of p, size bytes. Data that did not become smaller is stored unpacked.
func unpack(dst, p []byte, size int, compressed bool) ([]byte, error) {
	if len(p) >= size || !compressed {
		if len(p) < size {
			return append(dst, p...), fmt.Errorf("%w: %d of %d bytes", decoders.ErrTruncated, len(p), size)
		}
		return append(dst, p[:size]...), nil
	}
	if len(p) == 0 {
		return dst, fmt.Errorf("%w: no method of compression", decoders.ErrCorrupt)
	}
	method, p := p[0], p[1:]
	start := len(dst)
	var err error
	if !supported(method) {
		return dst, unsupported(method, p, size)
	}
	sparse := method&methodSparse != 0
	limit := size
	if sparse {
		limit = 2*size + 8 // at worst one control byte for every byte
	}
	switch {
	case method&methodBzip2 != 0:
		dst, err = bzip2.Append(room(dst, len(p), limit), p, limit)
	case method&methodZlib != 0:
		dst, err = inflate(room(dst, len(p), limit), p, limit)
	default:
		dst = append(dst, p...)
	}
	if sparse {
		full, sparseErr := unsparse(nil, dst[start:], size)
		dst = append(dst[:start], full...)
		if err == nil {
			err = sparseErr
		}
	}
	switch {
	case errors.Is(err, decoders.ErrLimit): // the limit is the declared size
		err = fmt.Errorf("%w: more than %d bytes", ErrOverflow, size)
	case err == nil && len(dst)-start != size:
		err = fmt.Errorf("%w: %d bytes instead of %d", decoders.ErrCorrupt, len(dst)-start, size)
	}
	return dst, err
}

// room reserves the memory that packed bytes usually need when unpacked. More is allocated as data arrives.
func room(dst []byte, packed, size int) []byte {
	return slices.Grow(dst, min(size, 16*packed+4<<10))
}

// inflate decompresses zlib data.
func inflate(dst, p []byte, limit int) ([]byte, error) {
	if len(p) < 2 {
		return dst, decoders.ErrTruncated
	}
	if p[0]&0x0F != 8 || (uint(p[0])<<8|uint(p[1]))%31 != 0 || p[1]&0x20 != 0 {
		return dst, fmt.Errorf("%w: not zlib data", decoders.ErrCorrupt)
	}
	// This uses compress/flate instead of compress/zlib, because old archives may lack the checksum behind the data.
	r := flate.NewReader(bytes.NewReader(p[2:]))
	for {
		if len(dst) == cap(dst) {
			dst = slices.Grow(dst, 4<<10)
		}
		n, err := r.Read(dst[len(dst):min(cap(dst), len(dst)+limit+1)])
		dst = dst[:len(dst)+n]
		limit -= n
		switch {
		case limit < 0:
			return dst[:len(dst)+limit], decoders.ErrLimit
		case errors.Is(err, io.EOF):
			return dst, nil
		case errors.Is(err, io.ErrUnexpectedEOF):
			return dst, decoders.ErrTruncated
		case err != nil:
			return dst, fmt.Errorf("%w: %w", decoders.ErrCorrupt, err)
		}
	}
}

// unsparse expands runs of zeros. After the size (big-endian), each control byte gives the number of bytes that follow,
// or of zeros.
func unsparse(dst, p []byte, size int) ([]byte, error) {
	if len(p) < 4 {
		return dst, decoders.ErrTruncated
	}
	if n := binary.BigEndian.Uint32(p); int64(n) != int64(size) {
		return dst, fmt.Errorf("%w: sparse data of %d bytes instead of %d", decoders.ErrCorrupt, n, size)
	}
	p = p[4:]
	for len(p) > 0 && len(dst) < size {
		c := p[0]
		p = p[1:]
		if c&0x80 != 0 {
			n := min(int(c&0x7F)+1, len(p), size-len(dst))
			dst = append(dst, p[:n]...)
			p = p[n:]
			continue
		}
		for range min(int(c)+3, size-len(dst)) {
			dst = append(dst, 0)
		}
	}
	return dst, nil
}
