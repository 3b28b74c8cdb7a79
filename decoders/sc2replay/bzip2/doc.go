// Package bzip2 decompresses bzip2 data in memory.
//
// Nearly all data of a StarCraft II replay is compressed with bzip2. With compress/bzip2, reading a replay spends most
// of its time there. This package differs in three ways:
//
//   - The output's size is known and bounds all memory.
//   - Codes are decoded with look-up tables instead of bit by bit.
//   - The inverse Burrows-Wheeler transform follows pointers through a permutation, and waits for memory at every step.
//     Here it is split into segments, of which several are followed at once (see unbwt.go).
//
// The sources of the reference implementation are the only description of the format.
package bzip2
