package mpq

import (
	"encoding/binary"
	"sync"
)

// The purposes of a name's hash.
const (
	hashPosition = 0 // the first slot to search in the hash table
	hashNameA    = 1
	hashNameB    = 2
	hashKey      = 3 // the key to decrypt the member
)

// Keys of the tables: the hashes of "(hash table)" and "(block table)".
const (
	keyHashTable  = 0xC3AF3770
	keyBlockTable = 0xEC83B3A3
)

// cryptTable holds the pseudo-random numbers of hashing (rows 0 to 3) and of encryption (row 4).
var cryptTable = sync.OnceValue(func() *[5][256]uint32 {
	var t [5][256]uint32
	seed := uint32(0x00100001)
	step := func() uint32 {
		seed = (seed*125 + 3) % 0x2AAAAB
		return seed & 0xFFFF
	}
	for i := range 256 {
		for row := range t {
			high := step()
			t[row][i] = high<<16 | step()
		}
	}
	return &t
})

// hash returns the hash of a name. It ignores case and the direction of slashes.
func hash(name string, purpose int) uint32 {
	t := cryptTable()
	a, b := uint32(0x7FED7FED), uint32(0xEEEEEEEE)
	for i := range len(name) {
		c := name[i]
		switch {
		case c >= 'a' && c <= 'z':
			c -= 'a' - 'A'
		case c == '/':
			c = '\\'
		}
		a = t[purpose][c] ^ (a + b)
		b = uint32(c) + a + b + b<<5 + 3
	}
	return a
}

// decrypt decrypts the whole words of p in place.
func decrypt(p []byte, key uint32) {
	t := &cryptTable()[4]
	b := uint32(0xEEEEEEEE)
	for ; len(p) >= 4; p = p[4:] {
		b += t[key&0xFF]
		w := binary.LittleEndian.Uint32(p) ^ (key + b)
		binary.LittleEndian.PutUint32(p, w)
		key = ^key<<21 + 0x11111111 | key>>11
		b = w + b + b<<5 + 3
	}
}
