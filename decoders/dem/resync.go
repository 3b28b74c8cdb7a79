package dem

import (
	"errors"
	"fmt"

	"github.com/golang/snappy"

	"github.com/replayd/replayd/decoders"
)

// resync is how a decoder finds records again behind damage. A head is believed when it looks like one of the records that
// there are, or when one that does follows its record. Where none is, bytes are skipped up to a chain of records.
type resync struct {
	lost     bool  // the place of the next record is not known
	skipped  int64 // bytes so far, since the last record
	searched int   // bytes that were present when the last search began
	what     string
}

const (
	// chainLength is how many records must follow one another for a place in the middle of bytes to be believed.
	chainLength = 4
	// maxChained bounds a record of a chain.
	maxChained = 4 << 20
	// usualStep is how far ticks of records that follow one another are apart at most in recordings that nobody stopped, and
	// maxStep how far they may be in a chain.
	usualStep = 64
	maxStep   = 1 << 10
	// maxBack is how far the first tick of a chain may be before the last one, which may have been wrong.
	maxBack = 1 << 12
)

// usual reports whether a head looks like one of a record as games write them. last is the tick of the record before.
func (f *frame) usual(last int32) bool {
	return f.command < uint32(len(commandNames)) && f.near(last)
}

// maxTried bounds how many fields of a payload are looked at.
const maxTried = 16

// fits reports whether a payload may be one of the record: all are messages of protobuf.
func (f *frame) fits(payload []byte) bool {
	if f.compressed {
		n, err := snappy.DecodedLen(payload)
		return err == nil && n <= maxRecord && n <= maxRatio*len(payload) && n >= len(payload)/2
	}
	m := wire{buf: payload}
	for range maxTried {
		if !m.next() {
			break
		}
		if m.num > 64 || f.command == cmdPacket && (m.num != 3 || m.typ != wireBytes) {
			return false
		}
	}
	return !m.bad
}

// near reports whether a head has a tick that may follow another one.
func (f *frame) near(last int32) bool {
	return f.tick == -1 || f.tick >= last && f.tick-last <= usualStep
}

// verdict is what is known of whether a record begins somewhere.
type verdict uint8

const (
	notRecord verdict = iota
	isRecord
	needMore
)

// chained reports whether a chain of records begins at b, the first of which may have any tick from last on. The end of a
// recording is a chain, too.
func chained(b []byte, last int32) verdict {
	stopped := false
	for i := range chainLength {
		f, n, size, what := parseFrame(b)
		switch {
		case what != "" || size > maxChained:
			return notRecord
		case n == 0:
			return needMore
		case f.command == cmdFileHeader || f.command >= uint32(len(commandNames)):
			return notRecord
		case stopped && f.command == cmdStop, // so that zeros are none
			stopped && f.command != cmdFileInfo && commandName(f.command) != "DEM_SpawnGroups":
			return notRecord
		case size == 0 && (f.command == cmdPacket || f.command == cmdFullPacket):
			return notRecord
		}
		if i == 0 && f.tick >= last-maxBack {
			last = f.tick
		}
		if f.tick != -1 && (f.tick < last || f.tick-last > maxStep) {
			return notRecord
		}
		last = max(last, f.tick)
		stopped = stopped || f.command == cmdStop
		if f.command == cmdFileInfo && stopped && len(b) == n+size {
			return isRecord
		}
		if len(b) < n+size {
			return needMore
		}
		if !f.fits(b[n : n+size]) {
			return notRecord
		}
		b = b[n+size:]
	}
	return isRecord
}

// align makes sure that a record begins where the window does, and skips bytes where none does. It returns what Next returns
// when there are too few bytes to tell.
func (d *Decoder) align() error {
	r := &d.resync
	for {
		b := d.win.Bytes()
		var v verdict
		if r.lost {
			v = d.search(b)
			b = d.win.Bytes()
		} else {
			v, r.what = d.believe(b)
		}
		switch v {
		case isRecord:
			return nil
		case notRecord:
			r.lost = true
			continue
		}
		err := d.win.Fill()
		switch {
		case err == nil:
		case errors.Is(err, decoders.ErrWindow) && r.lost:
			d.skip(1) // what may begin here is too large
		case errors.Is(err, decoders.ErrWindow):
			r.lost = true
		case errors.Is(err, decoders.ErrMore) && !r.lost && d.believeAtEnd(b):
			return nil
		case errors.Is(err, decoders.ErrMore) && r.lost && d.surely():
			return nil
		default:
			return err
		}
	}
}

// believe judges the head at b.
func (d *Decoder) believe(b []byte) (v verdict, what string) {
	f, n, size, what := parseFrame(b)
	switch {
	case what != "":
		return notRecord, what + " longer than 5 bytes"
	case n == 0:
		return needMore, ""
	case size > maxRecord:
		return notRecord, fmt.Sprintf("a record of %d bytes", size)
	case d.header.size == headerSize2014 || f.usual(d.signOn.tick) || !d.signOn.over && f.command < uint32(len(commandNames)):
		return isRecord, ""
	case len(b) < n+size:
		return needMore, ""
	}
	// A record of a kind that is new, or a tick far off: what is in it tells, and what follows.
	known := f.command < uint32(len(commandNames))
	if known && !f.fits(b[n:n+size]) {
		return notRecord, "a head with a tick far off"
	}
	next, n, nextSize, what := parseFrame(b[n+size:])
	switch {
	case what != "" || nextSize > maxRecord:
		return notRecord, "a record of an unknown kind, behind which none follows"
	case n == 0:
		return needMore, ""
	case next.command >= cmdCompressed || next.command == cmdStop && f.command == cmdStop || !next.near(d.signOn.tick) && !next.near(f.tick):
		return notRecord, "a record of an unknown kind, behind which none follows"
	}
	return isRecord, ""
}

// believeAtEnd judges a head behind which nothing more is there for now.
func (d *Decoder) believeAtEnd(b []byte) bool {
	_, n, size, what := parseFrame(b)
	return what == "" && n > 0 && len(b) == n+size
}

// astray reports whether a head, which looks like one, is none after all: what it announces cannot be in the record, and no
// other head follows.
func (d *Decoder) astray(f *frame, payload, rest []byte) bool {
	if d.header.size == headerSize2014 || f.command >= uint32(len(commandNames)) || f.fits(payload) {
		return false
	}
	next, n, size, what := parseFrame(rest)
	return what != "" || n > 0 && (size > maxRecord || !next.usual(d.signOn.tick) && !next.usual(f.tick))
}

// search skips what begins no chain of records.
func (d *Decoder) search(b []byte) verdict {
	for i := range b {
		switch v := chained(b[i:], d.signOn.tick); v {
		case isRecord, needMore:
			d.skip(i)
			return v
		}
	}
	d.skip(len(b))
	return needMore
}

// surely skips to where a chain of records begins for certain, over what might be one if more came.
func (d *Decoder) surely() bool {
	b := d.win.Bytes()
	if len(b) < d.resync.searched+d.resync.searched/4+1 {
		return false // there is hardly more than before
	}
	d.resync.searched = len(b)
	for i := range b {
		if chained(b[i:], d.signOn.tick) == isRecord {
			d.skip(i)
			return true
		}
	}
	return false
}

func (d *Decoder) skip(n int) {
	d.win.Advance(n)
	d.resync.skipped += int64(n)
	d.work += int64(n)
}

// passOver looks for records behind the one that begins where the window does, which is larger than what is there: its size
// may be damaged. It reports whether there are some, to which align leads then.
func (d *Decoder) passOver(size int) bool {
	r := &d.resync
	b := d.win.Bytes()
	if size <= maxChained || !d.signOn.over {
		return false // such there are, and more of it may come
	}
	if len(b) < r.searched+r.searched/4+64 {
		return false // there is hardly more than before
	}
	r.searched = len(b)
	for i := 1; i < len(b); i++ {
		if chained(b[i:], d.signOn.tick) == isRecord {
			r.lost, r.what = true, "a record that is larger than the file"
			d.skip(i)
			return true
		}
	}
	return false
}

// tellSkipped reports the bytes that were skipped before the present record.
func (d *Decoder) tellSkipped() {
	r := &d.resync
	n := r.skipped
	what := r.what
	*r = resync{}
	if n == 0 {
		return
	}
	d.loseAll()
	d.fault(Fault{Kind: FaultKindRecord, MessageId: d.frame.command, BytesSkipped: n,
		Detail: fmt.Appendf(nil, "%d bytes are no records and were skipped: %s", n, what)})
}
