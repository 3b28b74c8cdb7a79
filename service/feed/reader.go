package feed

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"time"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/filter"
)

// Reader reads a live replay for one subscriber, from the feed where possible and from the file otherwise. It implements
// codec.Reader.
type Reader struct {
	// The fields that Fill uses come first, to take up as few cache lines as possible. With a hundred followers, each one's
	// fields are fetched from memory anew at each tick.
	feed     *Feed
	own      codec.Reader // reads the file; nil while the feed serves
	last     codec.Reader // with Options.StateAgain: own at the place where the feed began to serve again; nil from the next Fill on
	filter   *filter.Filter
	position decoders.Position
	filtered uint64
	tick     int32
	sum      decoders.Sum // at position
	told     bool         // own has read the header
	ready    bool         // own has moved to where it starts
	served   bool         // the feed has served at least once
	heavy    bool         // filtering in the feed's goroutine would delay the other subscribers
	picks    bool         // events are delivered one by one, by the segments' marks
	writer   writer       // whose names the batch has; with a selector
	selector codec.Selector
	sieve    codec.Sieve

	sub     *Subscription
	open    func(codec.Options) (codec.Reader, error)
	options codec.Options
}

// writer is who has filled a batch. With names, a batch has one writer, because each numbers the names of a batch in its own way.
type writer uint8

const (
	byOwn writer = iota
	byCopy
	byShare
)

var (
	_ codec.Reader = (*Reader)(nil)
	_ codec.Pusher = (*Reader)(nil)

	_ codec.Presenter = (*Reader)(nil)
)

// Open returns a new Reader. The function open opens the format's reader of the same file. It is called again whenever the
// Reader falls behind. For an earlier Reader of the Subscription no more marks are kept.
func (s *Subscription) Open(open func(codec.Options) (codec.Reader, error), o codec.Options) (*Reader, error) {
	own, err := open(o)
	if err != nil {
		return nil, err
	}
	s.feed.mu.Lock()
	s.unpick()
	s.feed.mu.Unlock()
	r := &s.first
	if r.feed != nil {
		r = new(Reader)
	}
	*r = Reader{
		feed: s.feed, sub: s, open: open, options: o, filter: o.Filter, own: own, heavy: o.Filter.Clauses() > maxClauses || o.Where != nil,
		sieve: codec.NewSieve(o.Where),
	}
	if selector := s.feed.c.Selector; selector != nil {
		r.selector = selector(o.Filter)
	}
	return r, nil
}

// Header implements codec.Reader.
func (r *Reader) Header(replay *replaydv1.Replay) error {
	err := r.own.Header(replay)
	r.told = err == nil
	r.sieve.TicksPerSecond = replay.GetTicksPerSecond()
	return err
}

// Seek implements codec.Reader.
func (r *Reader) Seek() error {
	err := r.own.Seek()
	r.follow()
	// For a start at the present end: do not wait here if the present bytes end before it.
	if errors.Is(err, decoders.ErrMore) && r.options.Start.Now {
		err = nil
	}
	r.ready = r.ready || err == nil
	return err
}

// maxClauses is the largest number of clauses of a filter that the feed's goroutine applies. A where it never applies. That many cost about 0.1 us for
// each event, as much as sending the event. A longer filter would delay all other subscribers.
const maxClauses = 16

// Push implements codec.Pusher. It has an effect only while the feed serves the Reader.
func (r *Reader) Push(delay time.Duration, f func() bool) bool {
	if r.own != nil || r.heavy {
		return false
	}
	r.sub.leave(delay, f)
	return true
}

// Recall implements codec.Pusher.
func (r *Reader) Recall() { r.sub.leave(0, nil) }

// Lagging reports whether the feed has served the subscriber, but the subscriber has fallen behind the segments that the feed
// keeps. It then reads the file until it has caught up.
func (r *Reader) Lagging() bool { return r.served && r.own != nil }

// Fill implements codec.Reader.
func (r *Reader) Fill(b *codec.Batch) error {
	if f := r.filter; f.Nothing() || r.ready && r.tick > f.MaxTick() {
		return codec.ErrDone
	}
	if !r.picks && r.picksFor(b) {
		r.picks = true
		r.sub.pick()
	}
	b.Own()
	v := r.feed.view()
	if r.own != nil {
		if !r.ready || !r.attach(&v) {
			if r.mixes(b, byOwn) {
				return nil
			}
			err := r.fillOwn(b)
			if errors.Is(err, decoders.ErrMore) && v.failed() {
				return v.ended // no notification of more events would arrive
			}
			return err
		}
		if r.last != nil {
			return codec.ErrYield // so that the caller can request the state here
		}
	} else if r.last != nil {
		leave(r.last)
		r.last = nil
	}
	if len(v.segments) > 0 && r.position.Before(v.segments[0].start) {
		return r.detach()
	}
	if r.mixes(b, byCopy) {
		return nil
	}
	return r.copy(&v, b)
}

// picksFor reports whether a reader may take a part of a segment for a batch.
func (r *Reader) picksFor(b *codec.Batch) bool {
	return r.filter != nil || r.selector != nil || r.sieve.Sifts() || b.KeepMarks || b.MaxEvents < wholeEvents || b.MaxBytes < segmentBytes
}

// mixes reports whether the batch has events of another writer, so that it is full, and otherwise notes who fills it.
func (r *Reader) mixes(b *codec.Batch, by writer) bool {
	if r.selector != nil && b.Count > 0 && r.writer != by {
		return true
	}
	r.writer = by
	return false
}

// Present implements codec.Presenter. With Options.StateAgain it may also be called when Lagging has just become false, before
// the next Fill.
func (r *Reader) Present(b *codec.Batch) error {
	from := r.own
	if from == nil {
		from = r.last
	}
	if p, ok := from.(codec.Presenter); ok {
		r.writer = byOwn
		return p.Present(b)
	}
	return io.EOF
}

// fillOwn fills a batch from the file.
func (r *Reader) fillOwn(b *codec.Batch) error {
	if !r.ready {
		if err := r.reopen(); err != nil {
			return err
		}
	}
	err := r.own.Fill(b)
	r.follow()
	return err
}

// follow copies the position, tick and sum of the own reader.
func (r *Reader) follow() {
	r.position, r.tick, r.sum = r.own.Position(), r.own.Tick(), r.own.Sum()
}

// reopen moves a reader that detach opened to its start, or one whose start was not there yet.
func (r *Reader) reopen() error {
	if !r.told { // a header can be read before the events alone
		if err := r.own.Header(new(replaydv1.Replay)); err != nil {
			return err
		}
		r.told = true
	}
	if err := r.own.Seek(); err != nil {
		return err
	}
	r.ready = true
	return nil
}

// detach returns to reading the file.
func (r *Reader) detach() error {
	o := r.options
	o.Start = codec.Start{Position: r.position}
	own, err := r.open(o)
	if err != nil {
		return err
	}
	r.own, r.told, r.ready = own, false, false
	return codec.ErrYield // so that the caller sees Lagging before more events
}

// attach switches to the feed if the feed has the next event. It reports whether it did.
func (r *Reader) attach(v *view) bool {
	at := r.own.Position()
	if !v.started || v.head.Before(at) {
		return false
	}
	if at != v.head && (len(v.segments) == 0 || at.Before(v.segments[0].start)) || !v.marked(at, r.picks) {
		return false
	}
	r.filtered += r.own.Filtered()
	r.follow()
	if r.served && r.options.StateAgain {
		r.last = r.own
	} else {
		leave(r.own)
	}
	r.own, r.served = nil, true
	return true
}

// leave tells a reader that it is no longer used.
func leave(r codec.Reader) {
	if l, ok := r.(codec.Leaver); ok {
		l.Leave()
	}
}

// failed reports whether the feed ended for a reason other than the end of the replay or errLost.
func (v *view) failed() bool {
	return v.ended != nil && !errors.Is(v.ended, errLost) && !errors.Is(v.ended, io.EOF)
}

// find returns the index of the segment that contains the event at or after a position, and the event's index in the segment.
// The latter may be one past the segment's last event.
func (v *view) find(at decoders.Position) (seg, event int) {
	seg = sort.Search(len(v.segments), func(i int) bool { return at.Before(v.segments[i].end) })
	if seg == len(v.segments) {
		return seg, 0
	}
	marks := v.segments[seg].marks
	return seg, sort.Search(len(marks), func(i int) bool { return !marks[i].At.Before(at) })
}

// marked reports whether the segments from a position on have marks where a reader needs them: those that picks everywhere, others where
// they begin in the middle of a segment.
func (v *view) marked(at decoders.Position, picks bool) bool {
	seg, _ := v.find(at)
	return !slices.ContainsFunc(v.segments[seg:], func(s *segment) bool { return s.marks == nil && (picks || s.start.Before(at)) })
}

// copy fills a batch with events of the feed.
func (r *Reader) copy(v *view, b *codec.Batch) error {
	seg, event := v.find(r.position)
	for ; seg < len(v.segments); seg, event = seg+1, 0 {
		s := v.segments[seg]
		if s.marks == nil && (r.picks || s.start.Before(r.position)) { // it was decoded before the feed knew that this one picks
			r.served = false
			return r.detach()
		}
		if seg == len(v.segments)-1 && r.share(s, event, b) {
			break
		}
		if s.marks == nil {
			if b.Count > 0 && (b.Count+s.count > b.MaxEvents || len(b.Events)+len(s.wire) > b.MaxBytes) {
				return nil
			}
			r.whole(s, b)
			continue
		}
		if r.selector != nil {
			r.selector.From(s.names)
			r.sieve.Names, r.sieve.TicksPerSecond = s.names.At, s.speed
		}
		for ; event < len(s.marks); event++ {
			if b.Full() {
				return nil
			}
			if err := r.sieve.Stop(); err != nil {
				return err
			}
			m := &s.marks[event]
			if m.Tick > r.filter.MaxTick() {
				r.tick = m.Tick
				return codec.ErrDone
			}
			r.position, r.tick, r.sum = m.Next, m.Tick, m.Sum
			if !r.pick(b, m, s.events[s.begin(event):m.End]) {
				r.filtered++
				continue
			}
			b.Place(m.At)
			b.Mark(&m.Event, m.At, r)
		}
		r.tick = s.tick
	}
	switch {
	case b.Full():
		return nil
	case v.failed() || errors.Is(v.ended, io.EOF):
		return v.ended
	}
	return decoders.ErrMore
}

// pick appends an event to a batch if the filter matches it and it passes the sieve, and reports whether it was.
func (r *Reader) pick(b *codec.Batch, m *codec.Mark, entry []byte) bool {
	if r.selector == nil {
		if !r.filter.Match(&m.Event) || r.sieve.Sifts() && !r.sieve.Passes(m.Kind, m.Tick, m.At, entry) {
			return false
		}
		b.Events = append(b.Events, entry...)
		b.Count++
		return true
	}
	part, ok := r.selector.Match(&m.Event, entry)
	if !ok || r.sieve.Sifts() && !r.sieve.Passes(m.Kind, m.Tick, m.At, part) {
		return false
	}
	r.selector.Append(b, &m.Event, part)
	return true
}

// whole appends a segment without marks.
func (r *Reader) whole(s *segment, b *codec.Batch) {
	b.Events = append(b.Events, s.events...)
	b.Count += s.count
	places := s.places.Reader()
	for offset, index, ok := places.Next(); ok; offset, index, ok = places.Next() {
		b.Places.Add(offset, index)
	}
	r.position, r.tick, r.sum = s.end, s.tick, s.sum
}

// share fills an empty batch with the rest of the newest segment, without a copy. It serves subscribers that follow live
// without a filter. In all other cases it does nothing and returns false.
func (r *Reader) share(s *segment, event int, b *codec.Batch) bool {
	n, from := s.count-event, s.begin(event)
	if r.selector != nil && event > 0 { // all names of the segment would be sent
		return false
	}
	if r.filter != nil || r.sieve.Sifts() || b.KeepMarks || b.Count > 0 || n == 0 || n > b.MaxEvents || len(s.events)-from > b.MaxBytes {
		return false
	}
	r.writer = byShare
	if event == 0 {
		b.ShareAll(s.wire, s.places, n)
	} else { // the first position is encoded differently
		b.Share(s.events[from:], n)
		for i := range s.marks[event:] {
			b.Place(s.marks[event+i].At)
		}
	}
	r.position, r.tick, r.sum = s.end, s.tick, s.sum
	return true
}

// Close implements codec.Reader.
func (r *Reader) Close() error {
	if r.own != nil {
		return r.own.Close()
	}
	r.feed.mu.Lock()
	defer r.feed.mu.Unlock()
	if r.feed.ended == nil {
		return errLeft
	}
	return r.feed.torn
}

// errLeft is the error of a replay that a subscriber leaves while it may still grow.
var errLeft = fmt.Errorf("%w: it has no end yet, and was left for another one", decoders.ErrTruncated)

// Position implements codec.Reader.
func (r *Reader) Position() decoders.Position { return r.position }

// Sum implements codec.Reader.
func (r *Reader) Sum() decoders.Sum { return r.sum }

// Tick implements codec.Reader.
func (r *Reader) Tick() int32 { return r.tick }

// Filtered implements codec.Reader.
func (r *Reader) Filtered() uint64 {
	if r.own != nil {
		return r.filtered + r.own.Filtered()
	}
	return r.filtered
}

// Summarize implements codec.Reader.
func (r *Reader) Summarize(end *replaydv1.StreamEnd) {
	if r.own != nil {
		r.own.Summarize(end)
		return
	}
	r.feed.mu.Lock()
	defer r.feed.mu.Unlock()
	end.Summary = r.feed.summary.GetSummary()
}
