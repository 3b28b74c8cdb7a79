package sc2test

import (
	"bytes"
	"math/bits"
	"slices"
)

// Compress returns a bzip2 stream of one block, in the simplest form: all symbols have codes of equal length.
func Compress(data []byte) []byte {
	text := runs(data)
	var w msb
	w.bits('B'<<24|'Z'<<16|'h'<<8|'9', 32)
	sum := crc(data)
	if len(text) > 0 {
		w.block(text, sum)
	}
	w.bits(0x177245385090, 48)
	if len(text) == 0 {
		sum = 0
	}
	w.bits(uint64(sum), 32)
	return w.buf
}

// msb writes bits, most significant bit of each byte first.
type msb struct {
	buf  []byte
	free int
}

func (w *msb) bits(v uint64, n int) {
	for n--; n >= 0; n-- {
		if w.free == 0 {
			w.buf = append(w.buf, 0)
			w.free = 8
		}
		w.free--
		w.buf[len(w.buf)-1] |= byte(v>>n&1) << w.free
	}
}

// runs writes a count of repetitions behind every four equal bytes.
func runs(data []byte) (out []byte) {
	for len(data) > 0 {
		n := 1
		for n < len(data) && n < 259 && data[n] == data[0] {
			n++
		}
		for range min(n, 4) {
			out = append(out, data[0])
		}
		if n >= 4 {
			out = append(out, byte(n-4))
		}
		data = data[n:]
	}
	return out
}

func (w *msb) block(text []byte, sum uint32) {
	n := len(text)
	twice := append(bytes.Clone(text), text...)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return bytes.Compare(twice[a:a+n], twice[b:b+n]) })

	var used [256]bool
	for _, b := range text {
		used[b] = true
	}
	var list []byte
	for b, ok := range used {
		if ok {
			list = append(list, byte(b))
		}
	}
	w.bits(0x314159265359, 48)
	w.bits(uint64(sum), 32)
	w.bits(0, 1)
	w.bits(uint64(slices.Index(order, 0)), 24)
	rows := uint64(0)
	for row := range 16 {
		if slices.Contains(used[16*row:16*row+16], true) {
			rows |= 0x8000 >> row
		}
	}
	w.bits(rows, 16)
	for row := range 16 {
		if rows&(0x8000>>row) == 0 {
			continue
		}
		for _, ok := range used[16*row : 16*row+16] {
			w.bits(uint64(map[bool]int{true: 1}[ok]), 1)
		}
	}

	symbols := w.symbols(text, twice, order, slices.Clone(list))
	symbols = append(symbols, len(list)+1)
	selectors := (len(symbols) + 49) / 50
	w.bits(2, 3)
	w.bits(uint64(selectors), 15)
	for range selectors {
		w.bits(0, 1)
	}
	length := bits.Len(uint(len(list) + 1))
	for range 2 {
		w.bits(uint64(length), 5)
		for range len(list) + 2 {
			w.bits(0, 1)
		}
	}
	for _, s := range symbols {
		w.bits(uint64(s), length)
	}
}

// symbols applies the move-to-front transform and codes runs of the front in bijective base 2.
func (w *msb) symbols(text, twice []byte, order []int, list []byte) (out []int) {
	run := 0
	flush := func() {
		for ; run > 0; run = (run - 1) / 2 {
			out = append(out, 1-run&1)
		}
	}
	for _, at := range order {
		b := twice[at+len(text)-1]
		k := bytes.IndexByte(list, b)
		if k == 0 {
			run++
			continue
		}
		flush()
		out = append(out, k+1)
		copy(list[1:k+1], list[:k])
		list[0] = b
	}
	flush()
	return out
}

// crc returns the checksum of bzip2, computed bit by bit.
func crc(data []byte) uint32 {
	sum := ^uint32(0)
	for _, b := range data {
		sum ^= uint32(b) << 24
		for range 8 {
			sum = sum<<1 ^ 0x04C11DB7*(sum>>31)
		}
	}
	return ^sum
}
