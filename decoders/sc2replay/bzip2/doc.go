// Package bzip2 decompresses bzip2 data that lies in memory.
//
// Nearly all of a StarCraft II replay is bzip2, and with compress/bzip2 most of the time of reading one goes into it. What
// is different here: the output's size is known and bounds all memory; codes are looked up in tables instead of walked
// bit by bit; and the inverse Burrows-Wheeler transform, a chase of pointers through a permutation that waits for memory
// at every step, is cut into segments that several walkers chase at once (see unbwt.go).
//
// The format is described by the sources of the reference implementation; there is no other document.
package bzip2
