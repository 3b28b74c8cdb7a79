package record

import (
	"errors"
	"fmt"

	"github.com/golang/snappy"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/dem/internal/pb"
	"github.com/replayd/replayd/decoders/dem/internal/unpack"
)

// resync is the state of the search for records after damage. The reader accepts a head that looks usual, or whose record is
// followed by one that looks usual. If it accepts no head, it skips bytes up to a chain of records.
type resync struct {
	lost     bool  // the place of the next record is unknown
	skipped  int64 // bytes so far, since the last record
	searched int   // the number of bytes present when the last search began
	what     string
}

const (
	// chainLength is the number of consecutive records that prove a place in the middle of bytes.
	chainLength = 4
	// maxChained bounds a record of a chain.
	maxChained = 4 << 20
	// usualStep is the largest distance between ticks of consecutive records in a recording that nobody stopped, and maxStep the
	// largest in a chain.
	usualStep = 64
	maxStep   = 1 << 10
	// maxBack is how far the first tick of a chain may lie before the last one, which may have been wrong.
	maxBack = 1 << 12
)

// usual reports whether a head looks like one that games write. last is the tick of the previous record.
func (f *Head) usual(last int32) bool {
	return f.Command < uint32(len(commandNames)) && f.near(last)
}

// maxTried is the maximum number of fields of a payload that are looked at.
const maxTried = 16

// fits reports whether a payload may belong to the record: all payloads are protobuf messages.
func (f *Head) fits(payload []byte) bool {
	if f.Compressed {
		n, err := snappy.DecodedLen(payload)
		return err == nil && n <= MaxSize && n <= unpack.MaxRatio*len(payload) && n >= len(payload)/2
	}
	m := pb.NewReader(payload)
	for range maxTried {
		if !m.Next() {
			break
		}
		if m.Num > 64 || f.Command == CmdPacket && (m.Num != 3 || m.Type != pb.Bytes) {
			return false
		}
	}
	return !m.Bad
}

// near reports whether a head's tick may follow another tick.
func (f *Head) near(last int32) bool {
	return f.Tick == -1 || f.Tick >= last && f.Tick-last <= usualStep
}

// verdict says whether a record begins at a place.
type verdict uint8

const (
	notRecord verdict = iota
	isRecord
	needMore
)

// chained reports whether a chain of records begins at b. Its first record may have any tick from last on. The end of a recording
// is a chain, too.
func chained(b []byte, last int32) verdict {
	stopped := false
	for i := range chainLength {
		f, n, size, what := ParseHead(b)
		switch {
		case what != "" || size > maxChained:
			return notRecord
		case n == 0:
			return needMore
		case f.Command == CmdFileHeader || f.Command >= uint32(len(commandNames)):
			return notRecord
		case stopped && f.Command == CmdStop, // so that zeros are no chain
			stopped && f.Command != CmdFileInfo && CommandName(f.Command) != "DEM_SpawnGroups":
			return notRecord
		case size == 0 && (f.Command == CmdPacket || f.Command == CmdFullPacket):
			return notRecord
		}
		if i == 0 && f.Tick >= last-maxBack {
			last = f.Tick
		}
		if f.Tick != -1 && (f.Tick < last || f.Tick-last > maxStep) {
			return notRecord
		}
		last = max(last, f.Tick)
		stopped = stopped || f.Command == CmdStop
		if f.Command == CmdFileInfo && stopped && len(b) == n+size {
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

// align makes sure that a record begins where the window does, and otherwise skips bytes. When there are too few bytes to decide,
// it returns the error for Next.
func (r *Reader) align() error {
	at := &r.resync
	for {
		b := r.Win.Bytes()
		var v verdict
		if at.lost {
			v = r.search(b)
			b = r.Win.Bytes()
		} else {
			v, at.what = r.believe(b)
		}
		switch v {
		case isRecord:
			return nil
		case notRecord:
			at.lost = true
			continue
		}
		err := r.fill()
		switch {
		case err == nil:
		case errors.Is(err, decoders.ErrWindow) && at.lost:
			r.skip(1) // a record that may begin here is too large
		case errors.Is(err, decoders.ErrWindow):
			at.lost = true
		case errors.Is(err, decoders.ErrMore) && !at.lost && r.believeAtEnd(b):
			return nil
		case errors.Is(err, decoders.ErrMore) && at.lost && r.surely():
			return nil
		default:
			return err
		}
	}
}

// believe judges the head at b.
func (r *Reader) believe(b []byte) (v verdict, what string) {
	f, n, size, what := ParseHead(b)
	switch {
	case what != "":
		return notRecord, what + " longer than 5 bytes"
	case n == 0:
		return needMore, ""
	case size > MaxSize:
		return notRecord, fmt.Sprintf("a record of %d bytes", size)
	case r.Header.Alpha() || f.usual(r.signOn.tick) || !r.signOn.over && f.Command < uint32(len(commandNames)):
		return isRecord, ""
	case len(b) < n+size:
		return needMore, ""
	}
	// For a new kind of record, or a distant tick, the contents and the next record decide.
	known := f.Command < uint32(len(commandNames))
	if known && !f.fits(b[n:n+size]) {
		return notRecord, "a head with a tick far off"
	}
	next, n, nextSize, what := ParseHead(b[n+size:])
	switch {
	case what != "" || nextSize > MaxSize:
		return notRecord, "a record of an unknown kind, behind which none follows"
	case n == 0:
		return needMore, ""
	case next.Command >= cmdCompressed || next.Command == CmdStop && f.Command == CmdStop || !next.near(r.signOn.tick) && !next.near(f.Tick):
		return notRecord, "a record of an unknown kind, behind which none follows"
	}
	return isRecord, ""
}

// believeAtEnd judges a head at the end of the present bytes.
func (r *Reader) believeAtEnd(b []byte) bool {
	_, n, size, what := ParseHead(b)
	return what == "" && n > 0 && len(b) == n+size
}

// astray reports whether something that looks like a head is none: the record cannot have the announced contents, and no other
// head follows.
func (r *Reader) astray(f *Head, payload, rest []byte) bool {
	if r.Header.Alpha() || f.Command >= uint32(len(commandNames)) || f.fits(payload) {
		return false
	}
	next, n, size, what := ParseHead(rest)
	return what != "" || n > 0 && (size > MaxSize || !next.usual(r.signOn.tick) && !next.usual(f.Tick))
}

// search skips bytes that begin no chain of records.
func (r *Reader) search(b []byte) verdict {
	for i := range b {
		switch v := chained(b[i:], r.signOn.tick); v {
		case isRecord, needMore:
			r.skip(i)
			return v
		}
	}
	r.skip(len(b))
	return needMore
}

// surely skips to a place where a chain of records certainly begins, past bytes that more data might turn into one.
func (r *Reader) surely() bool {
	b := r.Win.Bytes()
	if len(b) < r.resync.searched+r.resync.searched/4+1 {
		return false // hardly more than before
	}
	r.resync.searched = len(b)
	for i := range b {
		if chained(b[i:], r.signOn.tick) == isRecord {
			r.skip(i)
			return true
		}
	}
	return false
}

func (r *Reader) skip(n int) {
	r.Win.Advance(n)
	r.resync.skipped += int64(n)
	r.Work += int64(n)
}

// passOver looks for records after the one at the start of the window, which is larger than the present bytes: its size may be
// damaged. It reports whether there are some; align then leads to them.
func (r *Reader) passOver(size int) bool {
	at := &r.resync
	b := r.Win.Bytes()
	if size <= maxChained || !r.signOn.over {
		return false // such records exist, and more of this one may come
	}
	if len(b) < at.searched+at.searched/4+64 {
		return false // hardly more than before
	}
	at.searched = len(b)
	for i := 1; i < len(b); i++ {
		if chained(b[i:], r.signOn.tick) == isRecord {
			at.lost, at.what = true, "a record that is larger than the file"
			r.skip(i)
			return true
		}
	}
	return false
}
