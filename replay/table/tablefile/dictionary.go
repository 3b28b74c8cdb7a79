package tablefile

import "github.com/parquet-go/parquet-go/format"

// maxDictionaryBytes is the size from which a dictionary takes no more values. The values of one row are not divided.
const maxDictionaryBytes = 256 << 10

// dictionary holds each value of a column once. The zero dictionary takes no values.
type dictionary struct {
	open    bool // it takes values
	count   int
	data    []byte // the values, encoded
	numbers map[uint64]int32
	texts   map[string]int32
	recent  [recentNumbers]recent
}

// recent is a number that was looked up, and its index plus 1. Columns repeat few numbers, and finding one in the map takes five times as
// long as here.
type recent struct {
	number uint64
	next   int32
}

const recentNumbers = 2048

// number returns the index of a number, and whether the dictionary had the number already.
func (d *dictionary) number(v uint64, as format.Type) (i int32, had bool) {
	r := d.place(v)
	if r.number == v && r.next > 0 {
		return r.next - 1, true
	}
	i, had = d.find(v, as)
	*r = recent{v, i + 1}
	return i, had
}

// place returns where a number is if it was looked up lately.
func (d *dictionary) place(v uint64) *recent {
	const golden = 0x9e37_79b9_7f4a_7c15 // spreads numbers over the upper bits
	return &d.recent[v*golden>>53%recentNumbers]
}

func (d *dictionary) find(v uint64, as format.Type) (i int32, had bool) {
	if i, had = d.numbers[v]; had {
		return i, true
	}
	if d.numbers == nil {
		d.numbers = map[uint64]int32{}
	}
	i = int32(d.count)
	d.numbers[v] = i
	d.count++
	d.data = appendNumber(d.data, v, as)
	return i, false
}

// text returns the index of a text, and whether the dictionary had the text already.
func (d *dictionary) text(v []byte) (i int32, had bool) {
	if i, had = d.texts[string(v)]; had {
		return i, true
	}
	if d.texts == nil {
		d.texts = map[string]int32{}
	}
	i = int32(d.count)
	d.texts[string(v)] = i
	d.count++
	d.data = appendText(d.data, v)
	return i, false
}
