package datafile

import "encoding/binary"

// ints is a stored list of little-endian 32-bit integers.
type ints []byte

func (n ints) len() int       { return len(n) / 4 }
func (n ints) at(i int) int32 { return int32(binary.LittleEndian.Uint32(n[4*i:])) }

// get returns the i-th integer, or otherwise if the list is shorter.
func (n ints) get(i int, otherwise int32) int32 {
	if i < n.len() {
		return n.at(i)
	}
	return otherwise
}
