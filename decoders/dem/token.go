package dem

import (
	"encoding/binary"

	"github.com/replayd/replayd/decoders/dem/internal/stringtable"
)

// tokens finds the names of entities by the numbers that Deadlock has in their place.
type tokens struct {
	of    *stringtable.Table
	read  int              // entries of the table that are in index
	index map[uint32]int32 // of entries, by token
}

// maxTokens limits the names, to tens of times a game's number.
const maxTokens = 1 << 15

// name returns the name of an entity by its token, or nil. The table has the names of entities.
func (t *tokens) name(table *stringtable.Table, token uint32) []byte {
	if table == nil || token == 0 {
		return nil
	}
	if t.of != table || t.read > len(table.Entries) {
		*t = tokens{of: table, index: map[uint32]int32{}}
	}
	for ; t.read < min(len(table.Entries), maxTokens); t.read++ {
		t.index[tokenOf(table.Entries[t.read].Key)] = int32(t.read)
	}
	if i, ok := t.index[token]; ok {
		return table.Entries[i].Key
	}
	return nil
}

// tokenOf returns the token of a name: MurmurHash2 of its lower-case letters.
func tokenOf(name []byte) uint32 {
	const m, seed = 0x5bd1e995, 0x31415926
	h := uint32(seed) ^ uint32(len(name))
	for len(name) > 0 {
		var part [4]byte
		n := copy(part[:], name)
		name = name[n:]
		for i := range part {
			if 'A' <= part[i] && part[i] <= 'Z' {
				part[i] += 'a' - 'A'
			}
		}
		k := binary.LittleEndian.Uint32(part[:])
		if n < len(part) {
			h = (h ^ k) * m
			break
		}
		k *= m
		k = (k ^ k>>24) * m
		h = h*m ^ k
	}
	h = (h ^ h>>13) * m
	return h ^ h>>15
}
