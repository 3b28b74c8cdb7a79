package teehistorian

import (
	"bytes"
	"math"

	"github.com/replayd/replayd/decoders"
)

// damage holds the known damage of a file, up to a position.
type damage struct {
	from, to int64 // the first damage; to is 0 if there is none
	count    int32
	reason   []byte
}

func (s *State) damaged() bool { return s.damage.to != 0 }

// add adds damage after the earlier damage.
func (m *damage) add(from, to int64, reason []byte) {
	if m.count == 0 {
		m.from, m.to, m.reason = from, to, reason
	}
	m.count = min(m.count, math.MaxInt32-1) + 1
}

// error returns the error with which a damaged file of a number of bytes ends.
func (m *damage) error(size int64, tick int32) error {
	return decoders.Errorf(decoders.Teehistorian, m.from, tick, "records", decoders.ErrCorrupt,
		"those in bytes %d to %d of %d are none that a server writes: %s (damaged places: %d)", m.from, m.to, size, m.reason, m.count)
}

// seam is the search, after a record that no server writes, for the next place at which records start.
//
// Records do not have a mark at their start. But a decoder that starts inside a record soon gets into step with those that started
// elsewhere, if the bytes are records: all chains of records that go on for long meet. So the search follows the chains from all
// bytes of a short run, and takes the first place behind the run that all chains pass which do not break a rule within the next
// syncBytes. Everything before that is left out, with the records that chains which began inside a record have read on their way.
//
// The result depends on the file's bytes alone, not on how they arrive.
type seam struct {
	open   bool
	again  bool // the search continues after reported damage
	from   int64
	sum    decoders.Sum // of the bytes before from
	reason []byte
	ends   int64 // the end of the next bytes to examine

	// By place, from the offset start on: the length of the record there, if it breaks no rule; whether the chain from there goes on to
	// the end; and how many of the chains from the run pass there.
	start   int64
	known   int // the number of known lengths
	lengths [searchSpan]uint16
	alive   [searchSpan + 1]bool
	chains  [searchSpan + 1]uint16
	scratch Event
}

const (
	// syncBytes is the number of bytes for which records must follow one another without breaking a rule.
	syncBytes = 1 << 10
	// runBytes is the length of the run from which the chains start: longer than nearly all records.
	runBytes = 64
	// searchSpan is the number of bytes that are examined at once, and searchStep the distance between two spans.
	searchSpan = 4 << 10
	searchStep = 1 << 10
	// maxDamage is the approximate number of bytes in one event of damage. Larger damage makes several events, one after another,
	// so that a long search is bounded and need not be repeated.
	maxDamage = 1 << 20

	lengthCut = math.MaxUint16 // the record is cut
)

// searching reports whether the decoder has met a record that no server writes, and does not know yet where the next one starts.
func (d *Decoder) searching() bool { return d.seam != nil && d.seam.open }

// Withheld returns how many present bytes are held back although they may never become an event: bytes from a record on that no
// server writes, or a part of a record that ends in a zero. In a growing file, zeros may be changed later: a decoder that was
// restored from a snapshot taken now reads them again.
func (d *Decoder) Withheld() int64 {
	b := d.w.Bytes()
	switch {
	case d.searching():
		return d.w.Offset() + int64(len(b)) - d.seam.from
	case len(b) > 0 && b[len(b)-1] == 0:
		return int64(len(b))
	}
	return 0
}

// goesOn is the reason of damage directly after other damage.
var goesOn = []byte("the damage before goes on")

// tear begins the search at the record at the window's front.
func (d *Decoder) tear(reason []byte) {
	if d.seam == nil {
		d.seam = new(seam)
	}
	m := d.seam
	m.open, m.from, m.sum, m.reason = true, d.w.Offset(), d.w.Sum(), reason
	m.again = bytes.Equal(reason, goesOn)
	m.ends, m.start, m.known = m.from+2*searchStep, m.from+1, 0
	d.fast = false
}

// search looks for the next place at which records start. It returns false when it needs more bytes, and true with the event of the
// damage.
func (d *Decoder) search(ev *Event) (bool, error) {
	m := d.seam
	for {
		m.slide(max(m.from+1, m.ends-searchSpan))
		if skip := m.start - d.w.Offset(); skip > 0 {
			have := min(skip, int64(len(d.w.Bytes())))
			if d.w.Advance(int(have)); have < skip {
				return false, nil
			}
		}
		b := d.w.Bytes()
		if int64(len(b)) < m.ends-m.start {
			return false, nil
		}
		switch at, ok := d.meet(b[:m.ends-m.start]); {
		case ok:
			d.mend(ev, at)
			return true, nil
		case m.start-m.from >= maxDamage:
			d.mend(ev, 0)
			d.tear(goesOn)
			return true, nil
		}
		m.ends += searchStep
	}
}

// slide moves the first examined place to an offset, and keeps the results for later places.
func (m *seam) slide(start int64) {
	by := int(start - m.start)
	m.known = max(m.known-by, 0)
	copy(m.lengths[:m.known], m.lengths[min(by, searchSpan):])
	m.start = start
}

// meet returns the place where the chains in b meet.
func (d *Decoder) meet(b []byte) (at int, ok bool) {
	m := d.seam
	m.alive[len(b)], m.chains[len(b)] = true, 0
	for i := len(b) - 1; i >= 0; i-- {
		if i >= m.known || m.lengths[i] == lengthCut {
			m.lengths[i] = d.length(b[i:])
		}
		n := int(m.lengths[i])
		m.chains[i], m.alive[i] = 0, n == lengthCut || n > 0 && m.alive[i+n]
	}
	m.known = len(b)
	first, started := -1, uint16(0)
	for i := range len(b) - syncBytes {
		if !m.alive[i] {
			continue
		}
		if first < 0 {
			first = i
		}
		if i < first+runBytes {
			m.chains[i]++
			started++
		} else if m.chains[i] == started {
			return i, true
		}
		m.chains[min(i+int(m.lengths[i]), len(b))] += m.chains[i]
	}
	return 0, false
}

// length returns the length of the record at the start of b: 0 if it breaks a rule, lengthCut if it is cut. A long cut record
// counts as none: it may be a record, but nothing shows its end.
func (d *Decoder) length(b []byte) uint16 {
	switch first := b[0]; {
	case first&0x40 != 0 && first > 0x40-1-idEx: // its id is below all of them
		return 0
	case first&0xc0 == 0 && len(b) > MoveBytes && b[1]|b[2] < 0x80: // most bytes begin a small move, or are zeros
		if b[1]|b[2] == 0 {
			return 0
		}
		return MoveBytes
	}
	c := cursor{b: b}
	r := &d.read
	r.read(&c)
	switch {
	case c.cut && !r.tooLong && len(b) > syncBytes:
		return 0
	case c.cut && !r.tooLong:
		return lengthCut
	case r.id == idEx:
		d.contents(r, &d.seam.scratch)
	case r.id == idFinish:
		return 0 // other bytes follow
	}
	if !d.plausible(r) {
		return 0
	}
	return uint16(c.p)
}

// mend ends the search at a place after the window's front, and sets ev to the event of the damage.
func (d *Decoder) mend(ev *Event, at int) {
	m, s := d.seam, &d.state
	d.stamp(ev, KindDamage)
	d.w.Advance(at)
	d.index = 0
	m.open = false
	ev.Damage = Damage{From: m.from, To: d.w.Offset(), Reason: m.reason}
	s.damage.add(m.from, d.w.Offset(), m.reason)
	s.lose()
}

// lose forgets everything except the tick and the settings, because records that changed it are lost.
func (s *State) lose() {
	s.prev = -1
	clear(s.clients)
	clear(s.practice)
	s.reclaim = reclaim{}
}
