package sc2replay

import (
	"errors"
	"math"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/sc2replay/mpq"
	"github.com/replayd/replayd/decoders/sc2replay/protocol"
	"github.com/replayd/replayd/decoders/sc2replay/wire"
)

// stream is one of the three event streams. It reads the gameloop of the next event ahead, because the gameloops
// determine which stream is next.
type stream struct {
	id     protocol.Stream
	name   string
	plans  []*eventPlan
	idBits uint
	users  uint // number of bits of the user id of an event

	packed    wire.Packed
	versioned wire.Versioned // of the tracker

	ready  bool // an event is next, at tick
	start  int  // where it begins
	tick   int64
	clock  uint32 // of the tracker: the gameloop as stored, which goes back in saved games
	events int64
	last   int32 // the tick of the last event that was read
	state  PartState
	err    *decoders.Error
	tree   tree

	layouts layouts
	doubt   *doubt // nil if the table fits, as far as is known
}

// open begins to read a stream.
func (s *stream) open(id protocol.Stream, name string, table *protocol.Table, from *contents, layouts layouts) {
	*s = stream{id: id, name: name, plans: plansOf(table, id), state: PartStateComplete, layouts: layouts, doubt: from.doubt}
	switch {
	case !from.found:
		s.state = PartStateAbsent
		if from.err != nil {
			s.err = asError(from.err, name)
		}
		return
	case from.err != nil:
		s.state = PartStateUnreadable
		if len(from.data) > 0 {
			s.state = PartStatePartial
		}
		s.err = asError(from.err, name)
	}
	s.idBits = uint(table.IDBits[id])
	s.users = uint(minBits(table.User))
	if id == protocol.Tracker {
		s.versioned = wire.NewVersioned(from.data)
	} else {
		s.packed = wire.NewPacked(from.data)
	}
	s.step()
}

// asError returns err as an *Error. It wraps err if necessary.
func asError(err error, what string) *decoders.Error {
	if e, ok := errors.AsType[*decoders.Error](err); ok {
		return e
	}
	return &decoders.Error{Format: decoders.SC2Replay, Tick: decoders.NoTick, What: what, Err: err}
}

func (s *stream) offset() int {
	if s.id == protocol.Tracker {
		return s.versioned.Offset()
	}
	return s.packed.Offset()
}

func (s *stream) size() int {
	if s.id == protocol.Tracker {
		return s.versioned.Len()
	}
	return s.packed.Len()
}

// step reads the gameloop of the next event.
func (s *stream) step() {
	s.ready = false
	s.start = s.offset()
	if s.start >= s.size() {
		return
	}
	if s.doubt != nil && s.start >= s.doubt.from && s.doubt.err != nil {
		s.stop()
		s.err = s.doubt.err
		return
	}
	var delta uint32
	if s.id == protocol.Tracker {
		d, ok := trackerDelta(&s.versioned)
		if !ok || s.versioned.Failed() {
			s.fail(decoders.ErrCorrupt, "gameloop")
			return
		}
		s.clock += d // wraps around in games that were saved and continued
		if int64(s.clock) <= s.tick {
			s.ready = true
			return
		}
		delta = uint32(int64(s.clock) - s.tick)
	} else if delta = s.packed.Delta(); s.packed.Failed() {
		s.fail(decoders.ErrTruncated, "gameloop")
		return
	}
	if s.tick += int64(delta); s.tick > math.MaxInt32 {
		s.fail(decoders.ErrCorrupt, "gameloop beyond all games")
		return
	}
	s.ready = true
}

// trackerDelta reads the number of gameloops since the last event. It is a choice of numbers of different widths, of
// which only the value matters.
func trackerDelta(r *wire.Versioned) (uint32, bool) {
	if r.Tag() != wire.TagChoice {
		return 0, false
	}
	r.Int()
	v, ok := r.Number()
	return uint32(v), ok && v >= 0 && v <= math.MaxUint32
}

// fail stores that the stream cannot be read beyond the start of the current event.
func (s *stream) fail(kind error, detail string, args ...any) {
	s.stop()
	if s.err != nil { // of damaged data nothing else can be said
		kind = decoders.ErrCorrupt
	}
	if s.layouts.text != "" {
		detail, args = detail+" (%s)", append(args, s.layouts.text)
	}
	if s.err == nil || errors.Is(s.err, mpq.ErrChecksum) { // the new error is more specific
		s.err = decoders.Errorf(decoders.SC2Replay, int64(s.start), int32(min(s.tick, math.MaxInt32)), s.name, kind, detail, args...)
	}
}

// stop ends the stream at the current event.
func (s *stream) stop() {
	s.ready = false
	s.state = PartStatePartial
	if s.events == 0 {
		s.state = PartStateUnreadable
	}
}

// read reads the event that is ready and the id of the user who caused it. If the event cannot be read, it returns
// false and the stream ends.
func (s *stream) read(ev *Event) (user uint32, ok bool) {
	ev.AtTick = int32(s.tick)
	if s.id == protocol.Tracker {
		ok = s.readTracker(ev)
	} else {
		user, ok = s.readPacked(ev)
	}
	ev.Unproven, ev.HasUnproven = s.doubt != nil, s.doubt != nil
	if ok {
		s.events++
		s.last = ev.AtTick
		s.step()
	}
	return user, ok
}

func (s *stream) readPacked(ev *Event) (user uint32, ok bool) {
	r := &s.packed
	user = uint32(r.Bits(s.users))
	id := r.Bits(s.idBits)
	if id >= uint64(len(s.plans)) || s.plans[id] == nil {
		s.fail(s.layouts.strange(decoders.ErrUnsupported), "no event has number %d", id)
		return 0, false
	}
	p := s.plans[id]
	ev.Kind = p.kind
	switch {
	case p.plan != nil:
		p.plan.fillPacked(r, p.message(ev))
	case p.kind == KindTriggerUi:
		t := &ev.TriggerUi
		t.Name, t.Fields = p.name, s.tree.packed(r, p.event.Type, t.Fields[:0])
		t.conclude()
	default:
		o := &ev.Other
		o.Stream, o.Id, o.Name = EventStream(s.id)+EventStreamGame, uint32(id), p.name
		o.Fields = s.tree.packed(r, p.event.Type, o.Fields[:0])
	}
	if r.Failed() {
		s.fail(decoders.ErrCorrupt, "%s does not fit", p.event.Name)
		return 0, false
	}
	if p.finish != nil {
		p.finish(ev)
	}
	r.Align()
	return user, true
}

// maxRecord is the largest size of a tracker event, in bytes. It keeps the resulting message within its size limit. For
// the other streams, the lengths of the bit-packed encoding have that effect. The largest real event, 1,023 numbers of
// positions, has about 4 KB.
const maxRecord = 32 << 10

func (s *stream) readTracker(ev *Event) bool {
	r := &s.versioned
	id, ok := r.Number()
	if !ok || r.Failed() || id < 0 || id > math.MaxInt32 {
		s.fail(decoders.ErrCorrupt, "number of an event")
		return false
	}
	var p *eventPlan
	if id < int64(len(s.plans)) {
		p = s.plans[id]
	}
	if p != nil && p.plan != nil {
		ev.Kind = p.kind
		p.plan.fillVersioned(r, p.message(ev))
	} else {
		// Values contain their tags, so an event that no table knows can be read, too.
		o := &ev.Other
		ev.Kind = KindOther
		o.Stream, o.Id, o.Name = EventStreamTracker, uint32(id), nil
		var typ *protocol.Type
		if p != nil {
			o.Name, typ = p.name, p.event.Type
		}
		o.Fields = s.tree.versioned(r, typ, o.Fields[:0])
	}
	if r.Failed() {
		s.fail(decoders.ErrCorrupt, "event %d does not fit", id)
		return false
	}
	if n := r.Offset() - s.start; n > maxRecord {
		s.fail(s.layouts.strange(decoders.ErrLimit), "event %d has %d bytes", id, n)
		return false
	}
	if p != nil && p.finish != nil {
		p.finish(ev)
	}
	if ev.Kind == KindPlayerSetup {
		ev.PlayerSetup.Resumed = int64(s.clock) < s.tick
	}
	return true
}

// status returns how far the stream was read.
func (s *stream) status() PartStatus {
	st := PartStatus{
		Name: []byte(s.name), State: s.state, Size: int64(s.size()), BytesRead: int64(s.start), Events: s.events, LastTick: s.last,
	}
	if s.err != nil {
		st.Error = []byte(s.err.Error())
	}
	return st
}
