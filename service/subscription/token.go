package subscription

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"slices"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/replay/cursor"
	"github.com/replayd/replayd/service/index"
)

// MaxToken is the maximum length of a token, in bytes.
const MaxToken = 4096

// Tag identifies the conditions of a subscription.
type Tag [6]byte

// places is where a subscription stands in each root, by alias.
type places map[string]*place

// place is where a subscription stands in one root: which replays it has begun or left out, and where it stands in those that are not
// over.
type place struct {
	passed passed
	open   []openAt // ordered by number
	// since is what has changed since the last checkpoint of a named subscription: the numbers that were passed since, or are of replays of
	// which more was sent, and where those stand that are open. It is nil for others.
	since *place
}

// openAt is a replay that has begun. The cursor lacks the replay and its format.
type openAt struct {
	number uint64
	at     cursor.Cursor
}

func (p *place) find(number uint64) (int, bool) {
	return slices.BinarySearchFunc(p.open, number, func(o openAt, n uint64) int {
		switch {
		case o.number < n:
			return -1
		case o.number > n:
			return 1
		}
		return 0
	})
}

// reach notes how far a replay was sent.
func (p *place) reach(number uint64, at cursor.Cursor) {
	if p.since != nil {
		p.since.reach(number, at)
	}
	at.Format, at.Replay = 0, 0
	i, found := p.find(number)
	if !found {
		p.open = slices.Insert(p.open, i, openAt{number: number})
		p.passed.add(span{number, number})
	}
	p.open[i].at = at
}

// leave leaves numbers out that are of no replay of the selection.
func (p *place) leave(s span) {
	p.passed.add(s)
	if p.since == nil {
		return
	}
	i, _ := p.find(s.from)
	for ; i < len(p.open) && p.open[i].number <= s.to; i++ { // these stay as they are
		p.since.passed.add(span{s.from, p.open[i].number - 1})
		s.from = p.open[i].number + 1
	}
	p.since.passed.add(s)
}

// apply notes what has changed since.
func (p places) apply(since places) {
	for alias, d := range since {
		if p[alias] == nil {
			p[alias] = &place{}
		}
		p[alias].apply(d)
	}
}

func (p *place) apply(since *place) {
	p.open = slices.DeleteFunc(p.open, func(o openAt) bool { return since.passed.has(o.number) })
	p.passed.add(span{1, since.passed.all})
	for _, s := range since.passed.spans {
		p.passed.add(s)
	}
	for _, o := range since.open {
		p.reach(o.number, o.at)
	}
}

// aliases returns the roots, in order.
func (p places) aliases() []string { return slices.Sorted(maps.Keys(p)) }

// close notes that a replay is over, or left out.
func (p *place) close(number uint64) {
	if p.since != nil {
		p.since.close(number)
	}
	if i, found := p.find(number); found {
		p.open = slices.Delete(p.open, i, i+1)
	}
	p.passed.add(span{number, number})
}

const tokenVersion = 1

// What a replay in a token has.
const (
	hasState = 1 << iota // the state was not sent completely
	hasFacts             // the stream has facts
	hasIndex             // the index of the position is not a multiple of own
)

// own is the distance between the indexes of events that a file contains; see EventBatch.offsets.
const own = 128

// headOf returns how the tokens of conditions begin.
func headOf(generation index.Generation, tag Tag) []byte {
	return append(append([]byte{tokenVersion}, generation[:]...), tag[:]...)
}

// append appends the places behind a head to b. aliases are the roots, in order.
func (p places) append(b, head []byte, aliases []string) []byte {
	start := len(b)
	b = append(b, head...)
	for _, alias := range aliases {
		at := p[alias]
		if at == nil || at.passed.all == 0 && len(at.passed.spans) == 0 {
			continue
		}
		b = append(binary.AppendUvarint(b, uint64(len(alias))), alias...)
		b = at.append(b)
	}
	return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b[start:]))
}

func (p *place) append(b []byte) []byte {
	b = binary.AppendUvarint(b, p.passed.all)
	b = binary.AppendUvarint(b, uint64(len(p.passed.spans)))
	last := p.passed.all
	for _, s := range p.passed.spans {
		b = binary.AppendUvarint(binary.AppendUvarint(b, s.from-last), s.to-s.from)
		last = s.to
	}
	b = binary.AppendUvarint(b, uint64(len(p.open)))
	last = 0
	for _, o := range p.open {
		b = binary.AppendUvarint(b, o.number-last)
		last = o.number
		flags, place := byte(0), o.at.Position.Index/own
		if o.at.State {
			flags |= hasState
		}
		if o.at.Facts != 0 {
			flags |= hasFacts
		}
		if o.at.Position.Index%own != 0 {
			flags, place = flags|hasIndex, o.at.Position.Index
		}
		b = binary.LittleEndian.AppendUint32(append(b, flags), uint32(o.at.Sum))
		b = binary.AppendVarint(binary.AppendUvarint(b, uint64(o.at.Position.Offset)), place)
		b = binary.AppendVarint(binary.AppendUvarint(b, o.at.Sequence), int64(o.at.Tick))
		if o.at.Facts != 0 {
			b = binary.AppendUvarint(b, uint64(o.at.Facts))
		}
	}
	return b
}

// Errors of tokens.
var (
	// ErrToken means that bytes are no token, or damaged.
	ErrToken = errors.New("not a token, or damaged")
	// ErrOther means that a token is of another index, or of other conditions.
	ErrOther = errors.New("the token is of other conditions, or of an index that is lost: subscribe anew")
)

// parseToken reads a token of the index's generation and the conditions of a tag.
func parseToken(b []byte, generation index.Generation, tag Tag) (places, error) {
	const fixed = 1 + len(generation) + len(tag)
	switch {
	case len(b) > 0 && b[0] == namedVersion:
		return nil, fmt.Errorf("%w, or of a named subscription whose name is missing", ErrToken)
	case len(b) < fixed || b[0] != tokenVersion:
		return nil, ErrToken
	}
	p, err := parsePlaces(b, fixed, MaxToken)
	if err == nil && (index.Generation(b[1:]) != generation || Tag(b[1+len(generation):]) != tag) {
		err = ErrOther
	}
	return p, err
}

// parsePlaces reads the places behind a head. b may have most bytes.
func parsePlaces(b []byte, head, most int) (places, error) {
	if len(b) < head+4 || len(b) > most || crc32.ChecksumIEEE(b[:len(b)-4]) != binary.LittleEndian.Uint32(b[len(b)-4:]) {
		return nil, ErrToken
	}
	r, p := reader{b: b[head : len(b)-4]}, places{}
	for len(r.b) > 0 && !r.bad {
		alias := string(r.bytes(r.uint(MaxToken)))
		if p[alias] != nil || alias == "" {
			return nil, ErrToken
		}
		p[alias] = r.place()
	}
	if r.bad {
		return nil, ErrToken
	}
	return p, nil
}

// maxNumber limits the numbers in a token, so that their sums fit.
const maxNumber = 1 << 48

// reader reads the values of a token. What it returns after a failure means nothing.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) bytes(n uint64) []byte {
	if r.bad || n > uint64(len(r.b)) {
		r.bad = true
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) uint(most uint64) uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 || v > most {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) int(least, most int64) int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 || v < least || v > most {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) place() *place {
	p := &place{}
	p.passed.all = r.uint(maxNumber)
	last := p.passed.all
	for n := r.uint(maxNumber); n > 0 && !r.bad; n-- { // each takes bytes
		from := last + r.uint(maxNumber)
		s := span{from, from + r.uint(maxNumber)}
		if r.bad = r.bad || from < last+2; r.bad { // a gap is at least one number
			return p
		}
		p.passed.spans = append(p.passed.spans, s)
		last = s.to
	}
	last = 0
	for n := r.uint(maxNumber); n > 0 && !r.bad; n-- { // each takes bytes
		o := openAt{number: last + r.uint(maxNumber)}
		if r.bad = r.bad || o.number == last || !p.passed.has(o.number); r.bad {
			return p
		}
		last = o.number
		flags := r.bytes(1)
		sum := r.bytes(4)
		if r.bad || flags[0] >= hasIndex<<1 {
			r.bad = true
			return p
		}
		o.at.Sum = decoders.Sum(binary.LittleEndian.Uint32(sum))
		o.at.State = flags[0]&hasState != 0
		o.at.Position.Offset = int64(r.uint(math.MaxInt64))
		if flags[0]&hasIndex != 0 {
			o.at.Position.Index = r.int(math.MinInt64, math.MaxInt64)
		} else {
			o.at.Position.Index = r.int(math.MinInt64/own, math.MaxInt64/own) * own
		}
		o.at.Sequence, o.at.Tick = r.uint(math.MaxUint64), int32(r.int(math.MinInt32, math.MaxInt32))
		if flags[0]&hasFacts != 0 {
			o.at.Facts = uint32(r.uint(math.MaxUint32))
		}
		p.open = append(p.open, o)
	}
	return p
}
