package table

import "github.com/replayd/replayd/replay/codec/protoappend"

// Names is a dictionary of texts. Each batch has dictionaries of its own, which hold only the texts of the batch, so that a
// replay with many different texts cannot make them grow.
type Names struct {
	// Data holds the texts. Offsets holds the beginnings of the texts and the end of the last.
	Data    []byte
	Offsets []int32

	places  map[string]int32
	batch   uint32    // the number of the batch, from 1
	numbers [64]place // places of enums' names, by small numbers
	refs    []place   // places of references, by number
	valid   []byte    // memory
}

// place is the place of a text in the dictionary of a batch.
type place struct {
	batch uint32
	index int32
}

// nameBytes is the size of a text's place in the dictionary.
const nameBytes = 4

func newNames() *Names {
	return &Names{Offsets: []int32{0}, places: map[string]int32{}, batch: 1}
}

// Len returns the number of texts.
func (d *Names) Len() int { return len(d.Offsets) - 1 }

func (d *Names) reset() {
	d.Data, d.Offsets = keep(d.Data), d.Offsets[:1]
	d.batch++
	if len(d.places) > keptNames {
		d.places = map[string]int32{}
		return
	}
	clear(d.places)
}

// keptNames is the number of places whose memory is kept.
const keptNames = 5 << 10

// of returns the place of a text, which it adds if it is new. It makes an invalid text valid UTF-8.
func (d *Names) of(v []byte, size *int) int32 {
	if i, ok := d.places[string(v)]; ok {
		return i
	}
	d.valid = protoappend.Text(d.valid[:0], v)
	return d.add(string(d.valid), size)
}

func (d *Names) ofString(v string, size *int) int32 {
	if i, ok := d.places[v]; ok {
		return i
	}
	return d.add(v, size)
}

func (d *Names) add(v string, size *int) int32 {
	i, ok := d.places[v]
	if ok {
		return i
	}
	i = int32(d.Len())
	d.places[v] = i
	d.Data = append(d.Data, v...)
	d.Offsets = append(d.Offsets, int32(len(d.Data)))
	*size += len(v) + nameBytes
	return i
}

func (d *Names) number(v int32) (int32, bool) {
	if uint32(v) >= uint32(len(d.numbers)) {
		return 0, false
	}
	p := d.numbers[v]
	return p.index, p.batch == d.batch
}

func (d *Names) setNumber(v, i int32) {
	if uint32(v) < uint32(len(d.numbers)) {
		d.numbers[v] = place{d.batch, i}
	}
}

// maxRefs limits the numbers whose places are kept. Texts of larger numbers are looked up.
const maxRefs = 1 << 16

func (d *Names) ref(id uint32) (int32, bool) {
	if int(id) >= len(d.refs) {
		return 0, false
	}
	p := d.refs[id]
	return p.index, p.batch == d.batch
}

func (d *Names) setRef(id uint32, i int32) {
	if id >= maxRefs {
		return
	}
	for int(id) >= len(d.refs) {
		d.refs = append(d.refs, place{})
	}
	d.refs[id] = place{d.batch, i}
}
