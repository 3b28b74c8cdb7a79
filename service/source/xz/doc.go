// Package xz unpacks .xz files: streams, one after the other, of blocks of LZMA2.
//
// It is written here, and fuzzed against another decoder, because a hostile file must not cost what it declares. Libraries
// allocate the dictionary that a block of a few bytes declares, up to 4 GiB, and do so anew for each block. What is different
// here: one dictionary serves all blocks and grows with the bytes that are there; the sizes of a stream's blocks are summed
// up and not kept for its index; and what is there of a chunk that is cut is unpacked to the last byte.
//
// How many bytes a file may unpack to is for the caller to bound.
//
// The container is The .xz File Format, version 1.2.1 (https://tukaani.org/xz/xz-file-format.txt); what is in it is described
// by the specification of LZMA (https://7-zip.org/sdk.html, lzma-specification.txt). Filters other than LZMA2 are not
// supported, and checks other than CRC-32, CRC-64 and SHA-256 not verified.
package xz
