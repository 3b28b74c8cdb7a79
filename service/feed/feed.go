package feed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"sync"
	"time"
	"unsafe"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/proto/position"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/filter"
	"github.com/replayd/replayd/replay/source"
)

// keepBytes is the number of bytes of a live replay kept in memory, marks included. For a full server that is about 15 s.
const keepBytes = 4 << 20

// Bounds of a segment.
const (
	segmentEvents = 1024
	segmentBytes  = 64 << 10
)

// wholeEvents is the largest number of events of a segment without marks.
const wholeEvents = 256

// markBytes is the memory that an event takes in a segment besides its bytes. segmentOverhead is the memory that a segment
// takes besides its events. It matters because a quiet server yields many small segments.
const (
	markBytes       = int(unsafe.Sizeof(codec.Mark{}))
	segmentOverhead = 256
)

// Config holds a Feed's settings.
type Config struct {
	// Open opens a reader of the file for the feed's own use.
	Open func(codec.Options) (codec.Reader, error)
	// Options are passed to Open. The feed sets Start itself. Filter must select every event that a subscriber's filter selects:
	// it is nil, or selects all events and facts.
	Options codec.Options
	// Selector is the codec's. With one, the feed decodes only from the second subscriber on: a lone one selects for less than what the
	// segments cost.
	Selector func(*filter.Filter) codec.Selector
	// Changed receives when the file may have changed.
	Changed <-chan struct{}
	// Look returns the size of the file in bytes, and an error when the file will not grow any more.
	Look func() (int64, error)
	// Close is called when the feed ends. It may be nil.
	Close func()
}

// Feed decodes one live replay for all its subscribers. It is safe for concurrent use.
type Feed struct {
	c     Config
	stop  context.CancelFunc
	done  chan struct{}
	sync  chan chan struct{} // requests to read the bytes present now
	joins chan struct{}      // receives when there may be another subscriber
	asked chan struct{}      // closed once the request was served; used by the feed's goroutine only
	timer *time.Timer        // fires when a subscriber's events have waited long enough; used by the feed's goroutine only
	names codec.Naming       // used by the feed's goroutine only

	mu       sync.Mutex
	segments []*segment // oldest first; a published segment never changes
	bytes    int
	head     decoders.Position // after the last event
	headTick int32
	started  bool  // head is known
	ended    error // why reading ended: io.EOF, errLost or an error of the reader
	torn     error // with errLost: the error with which the reader was closed
	present  int64
	lost     error // why the file will not grow any more
	summary  *replaydv1.StreamEnd
	subs     []*Subscription // never changed in place
	pickers  int             // the subscribers that read marks
}

// segment holds consecutive events that were read together.
type segment struct {
	start, end decoders.Position
	tick       int32        // at end
	sum        decoders.Sum // at end
	count      int
	wire       []byte // events and the names to which they refer, followed by the fields of their positions
	events     []byte
	places     *position.List
	// marks are those of the events. There are none while no subscriber reads them: then the events are delivered all or not at all, and
	// they were decoded many at once.
	marks []codec.Mark

	// With Config.Selector.
	names *codec.Names
	speed float64 // of the clock, in ticks per second
}

// newSegment returns a segment with the events of a batch that the reader r has filled from start on.
func (f *Feed) newSegment(b *codec.Batch, start decoders.Position, r codec.Reader) *segment {
	s := &segment{start: start, end: r.Position(), tick: r.Tick(), sum: r.Sum(), count: b.Count, places: b.Places.Clone()}
	if b.KeepMarks {
		s.marks = slices.Clone(b.Marks)
	}
	n := len(b.Events)
	s.wire = append(append(make([]byte, 0, n+len(b.Tail)+b.Places.Size()), b.Events...), b.Tail...)
	s.wire = b.Places.Append(s.wire)
	s.events = s.wire[:n:n]
	if f.c.Selector != nil {
		s.names = f.names.Read(b.Tail)
		if c, ok := r.(codec.Clocked); ok {
			s.speed = c.TicksPerSecond()
		}
	}
	return s
}

// begin returns the index in events at which an event's bytes begin.
func (s *segment) begin(event int) int {
	if event == 0 {
		return 0
	}
	return s.marks[event-1].End
}

func (s *segment) size() int {
	n := segmentOverhead + len(s.wire) + s.places.Held() + len(s.marks)*markBytes
	if s.names != nil {
		n += s.names.Held()
	}
	return n
}

// Start starts a feed that decodes from the present end of the file on. Call Stop to end it.
func Start(c Config) *Feed {
	ctx, stop := context.WithCancel(context.Background())
	f := &Feed{c: c, stop: stop, done: make(chan struct{}), sync: make(chan chan struct{}), joins: make(chan struct{}, 1), timer: time.NewTimer(0)}
	go func() {
		defer close(f.done)
		defer f.timer.Stop()
		if c.Close != nil {
			defer c.Close()
		}
		err := f.run(ctx)
		f.mu.Lock()
		defer f.mu.Unlock()
		f.ended = err
		f.notify()
	}()
	return f
}

// Stop ends the feed and waits for it.
func (f *Feed) Stop() {
	f.stop()
	<-f.done
}

// run reads until the replay ends and returns the reason. If the decoder panics, only this feed ends.
func (f *Feed) run(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic while a live replay was read: %v\n%s", p, debug.Stack())
		}
	}()
	if err := f.look(); err != nil {
		return err
	}
	if err := f.idle(ctx); err != nil {
		return err
	}
	options := f.c.Options
	options.Start = codec.Start{Now: true}
	r, err := f.c.Open(options)
	if err != nil {
		return err
	}
	return f.read(ctx, r)
}

// idle waits until there are two subscribers, if a lone one is better off by itself, and wakes it when the file may have grown.
func (f *Feed) idle(ctx context.Context) error {
	for f.c.Selector != nil {
		f.mu.Lock()
		several := len(f.subs) > 1
		f.mu.Unlock()
		if several {
			return nil
		}
		if err := f.wait(ctx); err != nil {
			return err
		}
		f.Wake()
	}
	return nil
}

// look checks the file and records its size and error. It returns errLost when nothing is left to read.
func (f *Feed) look() error {
	present, err := f.c.Look()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lost = err
	if errors.Is(err, source.ErrShrunk) {
		return errLost // and subscribers do not read the present bytes
	}
	f.present = present
	return nil
}

func (f *Feed) read(ctx context.Context, r codec.Reader) error {
	// The header only has to be present; its contents do not matter.
	if err := f.until(ctx, func() error { return r.Header(new(replaydv1.Replay)) }, true); err != nil {
		return err
	}
	if err := f.until(ctx, r.Seek, false); err != nil {
		return err
	}
	f.mu.Lock()
	f.head, f.headTick, f.started = r.Position(), r.Tick(), true
	f.notify()
	f.mu.Unlock()
	batch := codec.Batch{MaxBytes: segmentBytes}
	for {
		if batch.KeepMarks, batch.MaxEvents = f.picked(), wholeEvents; batch.KeepMarks {
			batch.MaxEvents = segmentEvents
		}
		start := r.Position()
		err := r.Fill(&batch)
		if batch.Count > 0 {
			f.publish(f.newSegment(&batch, start, r))
			batch.Reset()
		}
		switch {
		case err == nil, errors.Is(err, codec.ErrYield):
			if ctx.Err() != nil {
				return ctx.Err()
			}
		case errors.Is(err, decoders.ErrMore):
			f.summarize(r)
			if err := f.wait(ctx); err != nil {
				f.mu.Lock()
				f.torn = r.Close()
				f.mu.Unlock()
				return err
			}
		default:
			f.summarize(r)
			return err
		}
	}
}

// summarize keeps the reader's summary for subscribers that end. A subscriber's own reader has read the same.
func (f *Feed) summarize(r codec.Reader) {
	end := new(replaydv1.StreamEnd)
	r.Summarize(end)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.summary = end
}

// picked reports whether marks are read.
func (f *Feed) picked() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pickers > 0 || f.c.Selector != nil
}

// until calls a function of the reader until it succeeds. When the bytes present do not suffice, it waits for the file to
// grow if grow is set, and returns nil otherwise. At the end of the replay it returns io.EOF.
func (f *Feed) until(ctx context.Context, step func() error, grow bool) error {
	for {
		switch err := step(); {
		case err == nil:
			return nil
		case errors.Is(err, codec.ErrYield):
			if ctx.Err() != nil {
				return ctx.Err()
			}
		case errors.Is(err, decoders.ErrMore) && grow:
			if err := f.wait(ctx); err != nil {
				return err
			}
		case errors.Is(err, decoders.ErrMore):
			return nil
		default:
			return err
		}
	}
}

// errLost means that the file was read to its end and will not grow any more.
var errLost = errors.New("nothing more will come")

// wait waits until the file may have grown.
func (f *Feed) wait(ctx context.Context) error {
	f.mu.Lock()
	lost := f.lost != nil
	f.mu.Unlock()
	if lost { // and the reader has found nothing since then
		return errLost
	}
	if f.asked != nil {
		close(f.asked)
		f.asked = nil
	}
	for {
		select {
		case f.asked = <-f.sync:
		case <-f.joins:
		case <-ctx.Done():
			return ctx.Err()
		case <-f.c.Changed:
		case <-f.timer.C:
			f.mu.Lock()
			subs := f.subs
			f.mu.Unlock()
			f.push(subs, false)
			continue
		}
		return f.look()
	}
}

// publish adds a segment, drops old ones, and notifies the subscribers.
func (f *Feed) publish(s *segment) { f.push(f.add(s), true) }

// push pushes to the subscribers that are due, and sets the timer for the others. fresh says that there are new events.
func (f *Feed) push(subs []*Subscription, fresh bool) {
	now := time.Now()
	var next time.Time
	for _, sub := range subs {
		if due := sub.push(now, fresh); !due.IsZero() && (next.IsZero() || due.Before(next)) {
			next = due
		}
	}
	if !next.IsZero() {
		f.timer.Reset(next.Sub(now))
	}
}

// add adds a segment and drops old ones. It returns the subscribers.
func (f *Feed) add(s *segment) []*Subscription {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bytes += s.size()
	for len(f.segments) > 0 && f.bytes > keepBytes {
		f.bytes -= f.segments[0].size()
		f.segments = f.segments[1:]
	}
	// Subscribers read their slices without a lock. That is safe because append writes only beyond the end of those slices.
	// Removed segments are freed when append moves the rest.
	f.segments = append(f.segments, s)
	f.head, f.headTick = s.end, s.tick
	return f.subs
}

// notify wakes all subscribers. The feed must be locked.
func (f *Feed) notify() {
	for _, s := range f.subs {
		s.wake()
	}
}

// Wake wakes all subscribers for a reason other than new events.
func (f *Feed) Wake() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.notify()
}

// view is a snapshot of the feed for a subscriber.
type view struct {
	segments []*segment
	head     decoders.Position
	tick     int32
	started  bool
	ended    error
}

func (f *Feed) view() view {
	f.mu.Lock()
	defer f.mu.Unlock()
	return view{f.segments, f.head, f.headTick, f.started, f.ended}
}

// Subscription is one subscriber's connection to a feed.
type Subscription struct {
	feed    *Feed
	changed chan struct{}
	picks   bool // it is one of the feed's pickers

	mu     sync.Mutex
	pushed func() bool   // called instead of waking the subscriber; nil while it is awake
	delay  time.Duration // the least average time between calls of pushed; 0 for none
	next   time.Time     // when pushed may be called again
	due    time.Time     // when waiting events must be pushed; zero while none wait

	first Reader // what Open returns first: it lies beside what push uses, so that they are fetched from memory together
}

// Subscribe adds a subscriber.
func (f *Feed) Subscribe() *Subscription {
	s := &Subscription{feed: f, changed: make(chan struct{}, 1)}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.subs = append(slices.Clone(f.subs), s)
	select {
	case f.joins <- struct{}{}:
	default:
	}
	s.wake()
	return s
}

// Sync waits until all bytes now in the file were read, or the feed has ended.
func (s *Subscription) Sync(ctx context.Context) {
	read := make(chan struct{})
	select {
	case s.feed.sync <- read:
	case <-s.feed.done:
		return
	case <-ctx.Done():
		return
	}
	select {
	case <-read:
	case <-s.feed.done:
	case <-ctx.Done():
	}
}

// Close removes the subscriber.
func (s *Subscription) Close() {
	f := s.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	f.subs = slices.DeleteFunc(slices.Clone(f.subs), func(other *Subscription) bool { return other == s })
	s.unpick()
}

// unpick undoes pick. The feed must be locked.
func (s *Subscription) unpick() {
	if s.picks {
		s.picks = false
		s.feed.pickers--
	}
}

// pick makes the feed keep marks of the events that it decodes from now on.
func (s *Subscription) pick() {
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	s.unpick() // an earlier reader may have picked
	s.picks = true
	s.feed.pickers++
}

// Wake wakes the subscriber.
func (s *Subscription) Wake() { s.wake() }

// wake makes Changed receive.
func (s *Subscription) wake() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// push calls the function that the subscriber registered, if events wait and its time has come. Without a function, or when it
// returns false, push wakes the subscriber. fresh says that there are new events. It returns when the events that still wait
// must be pushed.
//
// The time counts from one call to the next, so that events of a game are sent when every second or third tick arrives, and not
// some time after one. A tick that is early by a quarter of the delay does not wait for the one after it.
func (s *Subscription) push(now time.Time, fresh bool) (due time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.due.IsZero() && fresh {
		s.due = now.Add(s.delay)
	}
	if s.due.IsZero() || s.due.After(now) && (!fresh || now.Before(s.next.Add(-s.delay/4))) {
		return s.due
	}
	s.due = time.Time{}
	if s.next.Before(now) {
		s.next = now
	}
	s.next = s.next.Add(s.delay)
	if s.pushed == nil || !s.pushed() {
		s.pushed = nil
		s.wake()
	}
	return time.Time{}
}

// leave registers the function that push calls, and the time between its calls. Nil removes it.
func (s *Subscription) leave(delay time.Duration, f func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pushed, s.delay = f, delay
}

// Changed returns a channel that receives when there may be something new.
func (s *Subscription) Changed() <-chan struct{} { return s.changed }

// Look returns the size of the file in bytes, and an error when the file will not grow any more and the feed has read it
// to its end. It does not access the file: it returns the result of the feed's last check.
func (s *Subscription) Look() (int64, error) {
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	if s.feed.ended == nil {
		return s.feed.present, nil
	}
	return s.feed.present, s.feed.lost
}

// Stale reports whether a new subscriber needs another feed. That is so when the file's contents are no longer those that this
// feed has read, or when this feed has lost the file, whatever lies at its path now.
func (f *Feed) Stale() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, lost := range []error{source.ErrShrunk, source.ErrRemoved, source.ErrReplaced, source.ErrIO} {
		if errors.Is(f.lost, lost) {
			return true
		}
	}
	return f.ended != nil && !errors.Is(f.ended, io.EOF) && !errors.Is(f.ended, errLost)
}
