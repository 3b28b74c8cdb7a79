package inflate

import (
	"math/bits"
	"slices"
	"sync"
)

// entry is what a table has for some bits: how many of them are the code of a symbol, and what the symbol means.
type entry uint32

const (
	ofCode       = 0xf    // bits of the code
	isByte entry = 1 << 4 // a byte, or a number of bits
	isLink entry = 1 << 5 // another table, of as many bits as extra ones
	isEnd  entry = 1 << 6 // of the block
	isBad  entry = 1 << 7 // no symbol
	extra        = 8      // where the number of extra bits is,
	value        = 16     // and what they are added to: a length, a distance, or where the other table begins
)

func (e entry) extra() uint { return uint(e >> extra & 0xf) }

// with returns the value and the extra bits, which are the lowest of more.
func (e entry) with(more uint64) int { return int(e>>value) + int(more&(1<<e.extra()-1)) }

const (
	rootBits                                               = 10 // of the first table of a code
	maxBits                                                = 15 // of a symbol
	symbols, lengthSymbols, distanceSymbols, numberSymbols = 288, 286, 30, 19
	endOfBlock                                             = 256
)

// Entries of all symbols, but for the bits of their codes.
var (
	lengthEntries   [symbols]entry
	distanceEntries [32]entry
)

func init() {
	ranges := func(entries []entry, from, double int) {
		for i := range entries {
			more := max(i/double-1, 0)
			entries[i] = entry(from<<value | more<<extra)
			from += 1 << more
		}
	}
	for i := range lengthEntries {
		lengthEntries[i] = isByte | entry(i)<<value
	}
	lengthEntries[endOfBlock], lengthEntries[285], lengthEntries[286], lengthEntries[287] = isEnd, 258<<value, isBad, isBad
	distanceEntries[30], distanceEntries[31] = isBad, isBad
	ranges(lengthEntries[endOfBlock+1:285], 3, 4)
	ranges(distanceEntries[:distanceSymbols], 1, 2)
}

// code is a Huffman code, as a table of the next bits.
type code struct{ table []entry }

// codes are those of bytes and lengths, and of distances.
type codes struct {
	lengths, distances code
	least              uint // if described, the bits of the end of the block: no symbol is read before they are there
}

// fixed are the codes of blocks that describe none.
var fixed = sync.OnceValue(func() *codes {
	var c codes
	c.lengths.build(slices.Concat(slices.Repeat([]byte{8}, 144), slices.Repeat([]byte{9}, 112), slices.Repeat([]byte{7}, 24), slices.Repeat([]byte{8}, 8)), lengthEntries[:])
	c.distances.build(slices.Repeat([]byte{5}, 32), distanceEntries[:])
	return &c
})

// find returns the entry of the next bits.
func (c *code) find(held uint64) entry {
	e := c.table[held&(1<<rootBits-1)]
	if e&isLink != 0 {
		e = c.table[e.with(held>>rootBits)]
	}
	return e
}

// build makes the table from the numbers of bits of the symbols' codes, 0 for symbols without one. It reports whether there is such a code.
func (c *code) build(numbers []byte, entries []entry) bool {
	var count, next [maxBits + 1]int
	for _, n := range numbers {
		count[n]++
	}
	longest, codes := 0, 0 // codes of the bits so far
	for n := 1; n <= maxBits; n++ {
		codes *= 2
		next[n] = codes
		if codes += count[n]; count[n] > 0 {
			longest = n
		}
	}
	if whole := codes == 1<<maxBits; !whole && longest > 0 && (longest > 1 || count[1] > 1) {
		return false
	}
	c.table = slices.Grow(c.table[:0], 1<<rootBits)[:1<<rootBits]
	for i := range c.table {
		c.table[i] = isBad // it remains so if there is but one symbol, or none
	}
	for symbol, n := range numbers {
		if n == 0 {
			continue
		}
		at := int(bits.Reverse16(uint16(next[n])) >> (16 - n))
		next[n]++
		table, step := c.table[:1<<rootBits], 1<<n
		if n > rootBits {
			root, size := &c.table[at&(1<<rootBits-1)], longest-rootBits
			if *root&isLink == 0 {
				*root = isLink | entry(size)<<extra | entry(len(c.table))<<value
				c.table = append(c.table, make([]entry, 1<<size)...)
			}
			link := *root
			table = c.table[link>>value:][:1<<size]
			at, step = at>>rootBits, step>>rootBits
		}
		for ; at < len(table); at += step {
			table[at] = entries[symbol] | entry(n)
		}
	}
	return true
}

// order is that of the numbers of bits that describe a code of numbers of bits.
var order = [numberSymbols]byte{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// readCodes reads the codes of a block.
func (r *Reader) readCodes() error {
	head := r.bits(14)
	lengths, distances, numbers := int(head&0x1f)+257, int(head>>5&0x1f)+1, int(head>>10)+4
	if r.err == nil && (lengths > lengthSymbols || distances > distanceSymbols) {
		return ErrCorrupt
	}
	var all [lengthSymbols + distanceSymbols]byte
	for _, symbol := range order[:numbers] {
		all[symbol] = byte(r.bits(3))
	}
	c := &r.own
	if r.err == nil && !c.distances.build(all[:numberSymbols], lengthEntries[:]) {
		return ErrCorrupt
	}
	var last byte
	for i, n := 0, lengths+distances; i < n && r.err == nil; {
		r.more(maxBits)
		e := c.distances.find(r.hold)
		number, repeat := byte(e>>value), 1
		switch r.bits(uint(e & ofCode)); {
		case r.err != nil:
			return r.err
		case e&isBad != 0, number == 16 && i == 0:
			return ErrCorrupt
		case number == 16:
			number, repeat = last, 3+int(r.bits(2))
		case number == 17:
			number, repeat = 0, 3+int(r.bits(3))
		case number == 18:
			number, repeat = 0, 11+int(r.bits(7))
		}
		if r.err == nil && repeat > n-i {
			return ErrCorrupt
		}
		for last = number; repeat > 0; repeat-- {
			all[i] = number
			i++
		}
	}
	if r.err == nil && (!c.lengths.build(all[:lengths], lengthEntries[:]) || !c.distances.build(all[lengths:][:distances], distanceEntries[:])) {
		return ErrCorrupt
	}
	c.least = uint(all[endOfBlock])
	return r.err
}
