package inflate

import "encoding/binary"

// adler32 is a checksum of bytes: the sum of all of them and 1, and the sum of what that was after each byte, both modulo 65521.
type adler32 struct{ sum, sums uint32 }

func (s *adler32) value() uint32 { return s.sums<<16 | s.sum }

// Bytes are summed in rows of 16, in every second of whose bytes a number of 64 bits has room for the sums of 256 rows.
const (
	adlerBase = 65521
	adlerRow  = 16
	adlerRows = 256
	adlerMask = 0x00ff_00ff_00ff_00ff
)

func (s *adler32) add(p []byte) {
	sum, sums := uint64(s.sum), uint64(s.sums)
	for len(p) > 0 {
		part := p[:min(len(p), adlerRow*adlerRows)]
		p = p[len(part):]
		var before, a, b, c, d uint64 // the sums before each row; and of each column
		for ; len(part) >= adlerRow; part = part[adlerRow:] {
			lower, upper := binary.LittleEndian.Uint64(part), binary.LittleEndian.Uint64(part[8:])
			before += sum
			w, x, y, z := lower&adlerMask, lower>>8&adlerMask, upper&adlerMask, upper>>8&adlerMask
			sum += (w + x + y + z) * 0x0001_0001_0001_0001 >> 48 // the sum of the four
			a, b, c, d = a+w, b+x, c+y, d+z
		}
		sums += adlerRow * before
		for i := range uint64(4) { // a byte counts once for itself and for each byte behind it in its row
			shift, weight := 16*i, adlerRow-2*i
			sums += a>>shift&0xffff*weight + b>>shift&0xffff*(weight-1) + c>>shift&0xffff*(weight-8) + d>>shift&0xffff*(weight-9)
		}
		for _, one := range part {
			sum += uint64(one)
			sums += sum
		}
		sum %= adlerBase
		sums %= adlerBase
	}
	s.sum, s.sums = uint32(sum), uint32(sums)
}

// repeat adds p n times: each time, the sums grow by those of p alone, and by its length times the sum before it.
func (s *adler32) repeat(p []byte, n int) {
	alone := adler32{}
	alone.add(p)
	sum, k, size := uint64(s.sum), uint64(n), uint64(len(p))
	s.sums = uint32((uint64(s.sums) + k*(size*sum+uint64(alone.sums)) + k*(k-1)/2*size*uint64(alone.sum)) % adlerBase)
	s.sum = uint32((sum + k*uint64(alone.sum)) % adlerBase)
}
