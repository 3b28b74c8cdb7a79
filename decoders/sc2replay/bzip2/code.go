package bzip2

// fastBits is the largest length of a code that one look-up decodes. Longer codes are rare.
const fastBits = 10

// code is one Huffman code.
type code struct {
	// fast maps the next fastBits bits to symbol<<5 | length, or to 0 where the code is longer.
	fast [1 << fastBits]uint16
	// For each length: the first code of that length, left-aligned in 20 bits, one past the last one, and the index of
	// the first symbol of that length.
	first, past [maxLength + 1]uint32
	start       [maxLength + 1]uint16
	symbols     [maxCodes]uint16
}

// build makes the canonical code with the given lengths, which must be 1 to 20.
func (c *code) build(lengths []uint8) error {
	var count [maxLength + 2]int
	for _, l := range lengths {
		count[l]++
	}
	next, at := uint32(0), 0
	var nextCode [maxLength + 1]uint32
	for l := 1; l <= maxLength; l++ {
		c.first[l] = next
		c.start[l] = uint16(at)
		nextCode[l] = next
		next += uint32(count[l]) << (maxLength - l)
		c.past[l] = next
		at += count[l]
	}
	if next > 1<<maxLength {
		return corrupt("more codes than fit")
	}
	clear(c.fast[:])
	fill := c.start
	for s, l := range lengths {
		c.symbols[fill[l]] = uint16(s)
		fill[l]++
		if l <= fastBits {
			lo := nextCode[l] >> (maxLength - fastBits)
			for i := range uint32(1) << (fastBits - l) {
				c.fast[lo+i] = uint16(s)<<5 | uint16(l)
			}
		}
		nextCode[l] += 1 << (maxLength - l)
	}
	return nil
}

// slow decodes a code of more than fastBits bits from the top of acc.
func (c *code) slow(acc uint64) (entry uint16, ok bool) {
	v := uint32(acc >> (64 - maxLength))
	for l := fastBits + 1; l <= maxLength; l++ {
		if v >= c.first[l] && v < c.past[l] {
			k := c.start[l] + uint16((v-c.first[l])>>(maxLength-l))
			return c.symbols[k]<<5 | uint16(l), true
		}
	}
	return 0, false
}
