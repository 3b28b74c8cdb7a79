package source

import "bytes"

// Compression is how a file is compressed as a whole. The zero value is none.
type Compression uint8

// The supported compressions.
const (
	Plain Compression = iota
	Gzip              // RFC 1952
	Zstd              // RFC 8878
	XZ                // the .xz file format 1.2.1
	Bzip2
)

var compressionNames = [...]string{"none", "gzip", "zstd", "xz", "bzip2"}

// Compressions returns all compressions, Plain included.
func Compressions() []Compression { return []Compression{Plain, Gzip, Zstd, XZ, Bzip2} }

// String returns the compression's name, such as "gzip".
func (c Compression) String() string {
	if int(c) < len(compressionNames) {
		return compressionNames[c]
	}
	return "unknown"
}

var (
	gzipMagic       = []byte{0x1f, 0x8b, 8} // with deflate, the only method
	zstdMagic       = []byte{0x28, 0xb5, 0x2f, 0xfd}
	zstdSkipMagic   = []byte{0x2a, 0x4d, 0x18} // after a first byte 0x50 .. 0x5f: a skippable frame, which pzstd writes first
	xzMagic         = []byte{0xfd, '7', 'z', 'X', 'Z', 0}
	bzip2Magic      = []byte("BZh")
	bzip2BlockMagic = []byte{0x31, 0x41, 0x59, 0x26, 0x53, 0x59} // the digits of pi
	bzip2EndMagic   = []byte{0x17, 0x72, 0x45, 0x38, 0x50, 0x90} // the digits of the square root of pi: an empty file
)

// sniffCompression recognises a compression by a file's first decoders.SniffLen bytes.
func sniffCompression(head []byte) Compression {
	switch {
	case bytes.HasPrefix(head, gzipMagic):
		return Gzip
	case bytes.HasPrefix(head, zstdMagic):
		return Zstd
	case len(head) >= 4 && head[0]&0xf0 == 0x50 && bytes.HasPrefix(head[1:], zstdSkipMagic):
		return Zstd
	case bytes.HasPrefix(head, xzMagic):
		return XZ
	case len(head) >= 10 && bytes.HasPrefix(head, bzip2Magic) && '1' <= head[3] && head[3] <= '9' &&
		(bytes.HasPrefix(head[4:], bzip2BlockMagic) || bytes.HasPrefix(head[4:], bzip2EndMagic)):
		return Bzip2
	}
	return Plain
}
