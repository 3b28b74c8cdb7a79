// Package xz unpacks .xz files. Such a file is a sequence of streams, and each stream has blocks of LZMA2.
//
// The project has its own decoder because a hostile file must not use as much memory as it declares. It is fuzzed against
// another decoder. Libraries allocate the dictionary that a block of a few bytes declares, up to 4 GiB, and do so again for
// each block. This package differs in three ways. One dictionary serves all blocks, and grows with the bytes present. The
// sizes of a stream's blocks are summed up, and not kept for its index. A truncated chunk is unpacked to its last byte.
//
// The caller must limit how many bytes a file may unpack to.
//
// The container is The .xz File Format, version 1.2.1 (https://tukaani.org/xz/xz-file-format.txt). The data in it is described
// by the specification of LZMA (https://7-zip.org/sdk.html, lzma-specification.txt). Filters other than LZMA2 are not
// supported. Checks other than CRC-32, CRC-64 and SHA-256 are not verified.
package xz
