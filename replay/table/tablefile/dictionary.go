package tablefile

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"unsafe"

	"github.com/parquet-go/parquet-go/format"
)

// maxDictionaryBytes is the size from which a dictionary takes no more values. The values of one row are not divided.
const maxDictionaryBytes = 256 << 10

// maxNear is the largest number of places of dictionary.near.
const maxNear = 16 << 10

// dictionary holds each value of a column once. The zero dictionary takes no values.
type dictionary struct {
	open    bool // it takes values
	count   int
	size    int      // bytes of the values, encoded
	numbers []uint64 // by index
	texts   []byte   // encoded
	begins  []int32  // the places of texts, by index
	slots   []int32  // a table by hash: indices plus 1, 0 for free places. Its length is a power of 2, at least twice the number of values
	near    []int32  // indices plus 1 of numbers from base on, which are found so in a third of the time; 0 for those that are not there
	base    int64
}

// Hashes depend on these, so that nobody can choose values with the same one.
var (
	seed = maphash.MakeSeed()
	odd  = [...]uint64{maphash.Comparable(seed, 0) | 1, maphash.Comparable(seed, 1) | 1}
)

// hashOf returns the hash of a number. All bits of the number count in its lowest bits: those of floats are mostly zeros below. A number is
// multiplied twice, since half of all factors leave many numbers with an equal distance, such as floats, the same lowest bits.
func hashOf(v uint64) uint64 {
	high, low := bits.Mul64(v, odd[0])
	high, low = bits.Mul64(high^low, odd[1])
	return high ^ low
}

// cost returns the bytes of memory of the dictionary.
func (d *dictionary) cost() int {
	return cap(d.numbers)*int(unsafe.Sizeof(uint64(0))) + cap(d.texts) + (cap(d.begins)+cap(d.slots)+cap(d.near))*int(unsafe.Sizeof(int32(0)))
}

// number returns the index of a number, and whether the dictionary had the number already.
func (d *dictionary) number(v uint64, as format.Type) (i int32, had bool) {
	if len(d.slots) > 0 {
		mask := uint64(len(d.slots) - 1)
		for at := hashOf(v); ; at++ {
			i := d.slots[at&mask] - 1
			if i < 0 {
				break
			}
			if d.numbers[i] == v {
				return i, true
			}
		}
	}
	d.size += sizeOf(as)
	d.numbers = append(d.numbers, v)
	i = d.take(hashOf(v))
	if as == format.Int32 {
		d.nearby(int64(int32(v)), i)
	} else {
		d.nearby(int64(v), i)
	}
	return i, false
}

// nearby adds a number to those that are near each other, unless it is too far from them.
func (d *dictionary) nearby(v int64, i int32) {
	if len(d.near) == 0 {
		d.base = v
	}
	below := v < d.base
	if n := uint64(len(d.near)); below || uint64(v-d.base) >= n {
		far, span := uint64(v-d.base), uint64(v-d.base)+1
		if below {
			far, span = uint64(d.base-v), uint64(d.base-v)+n
		}
		if far >= maxNear || span > min(maxNear, uint64(32*d.count)) { // a sum may wrap around
			return
		}
		room := make([]int32, max(32, 1<<bits.Len64(span-1)))
		if below { // it grows downwards
			copy(room[uint64(len(room))-n:], d.near)
			d.base -= int64(uint64(len(room)) - n)
		} else {
			copy(room, d.near)
		}
		d.near = room
	}
	d.near[v-d.base] = i + 1
}

// text returns the index of a text, and whether the dictionary had the text already.
func (d *dictionary) text(v []byte) (i int32, had bool) {
	hash := maphash.Bytes(seed, v)
	if len(d.slots) > 0 {
		mask := uint64(len(d.slots) - 1)
		for at := hash; ; at++ {
			i := d.slots[at&mask] - 1
			if i < 0 {
				break
			}
			if bytes.Equal(d.at(i), v) {
				return i, true
			}
		}
	}
	d.begins = append(d.begins, int32(len(d.texts)))
	d.texts = appendText(d.texts, v)
	d.size = len(d.texts)
	return d.take(hash), false
}

// at returns a text.
func (d *dictionary) at(i int32) []byte {
	b := d.texts[d.begins[i]:]
	return b[4:][:binary.LittleEndian.Uint32(b)]
}

// take adds the value that was appended last to the table.
func (d *dictionary) take(hash uint64) int32 {
	d.count++
	if 2*d.count > len(d.slots) {
		d.slots = make([]int32, max(16, 2*len(d.slots)))
		for i := range d.count - 1 {
			if len(d.numbers) > 0 {
				d.place(hashOf(d.numbers[i]), int32(i))
			} else {
				d.place(maphash.Bytes(seed, d.at(int32(i))), int32(i))
			}
		}
	}
	i := int32(d.count - 1)
	d.place(hash, i)
	return i
}

func (d *dictionary) place(hash uint64, i int32) {
	mask := uint64(len(d.slots) - 1)
	for d.slots[hash&mask] > 0 {
		hash++
	}
	d.slots[hash&mask] = i + 1
}

// pays reports whether n values take less room with the dictionary than without.
func (d *dictionary) pays(n int) bool {
	return d.count == 0 || d.size+n*bits.Len(uint(d.count-1))/8 < n*d.size/d.count
}

// values appends the values of indices.
func (d *dictionary) values(to []byte, indices []int32, as format.Type) []byte {
	for _, i := range indices {
		if as == format.ByteArray {
			to = appendText(to, d.at(i))
		} else {
			to = appendNumber(to, d.numbers[i], as)
		}
	}
	return to
}

// append appends all values.
func (d *dictionary) append(to []byte, as format.Type) []byte {
	to = append(to, d.texts...)
	for _, v := range d.numbers {
		to = appendNumber(to, v, as)
	}
	return to
}

// sizeOf returns the number of bytes of a number.
func sizeOf(as format.Type) int { return len(appendNumber(nil, 0, as)) }
