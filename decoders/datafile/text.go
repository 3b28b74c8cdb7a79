package datafile

import "unicode/utf8"

// packedText appends to b the text that is packed into n integers, starting with integer first. Each integer holds four
// bytes, most significant first. Every byte has its highest bit flipped, and the last one is a NUL. packedText reports
// whether the text is valid. See docs/formats/datafile.md, "Texts".
func packedText(b []byte, items ints, first, n int) ([]byte, bool) {
	start := len(b)
	blank := true
	for i := first; i < first+n; i++ {
		v := uint32(items.at(i))
		blank = blank && v == 0
		v ^= 0x80808080
		b = append(b, byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
	}
	// Old editors left zeros where they wrote no text.
	if blank {
		return b[:start], true
	}
	b[len(b)-1] = 0
	for i, c := range b[start:] {
		if c == 0 {
			b = b[:start+i]
			break
		}
	}
	return b, utf8.Valid(b[start:])
}
