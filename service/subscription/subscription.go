package subscription

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/cursor"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/frame"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/stream"
)

// Defaults and bounds of what a request may ask for.
const (
	DefaultParallel = 2
	MaxParallel     = 16
)

// Quiet is how long nothing was written to a game without an end before it is left at its present end, until it goes on.
const Quiet = 10 * time.Minute

// Config configures a subscription. All fields but Token and Named are required.
type Config struct {
	Index *index.Index
	// Selection has the replays.
	Selection index.Selection
	// Tag identifies the conditions by which they are selected.
	Tag Tag
	// Token is where the subscription resumes; empty is the beginning. It is not used for a named one.
	Token []byte
	// Named is the subscription that is kept, nil for none.
	Named *Named
	// Options is the request for the stream of a replay, without the replay's name and the start.
	Options *replaydv1.StreamEventsRequest
	// Parallel is how many replays are streamed at once in each root, besides live games.
	Parallel int
	// Heartbeat is the time between heartbeats.
	Heartbeat time.Duration
	// Drain is closed when the server shuts down.
	Drain <-chan struct{}
	// Stream streams one replay.
	Stream func(ctx context.Context, req *replaydv1.StreamEventsRequest, send stream.Send) error
	// Reserve takes the memory of n streams, or gives it back if n is negative.
	Reserve func(n int) error
	// Explain describes the error of a stream to the client. Of no error it returns nil.
	Explain func(err error, replay string) *replaydv1.SubscriptionFailure
	// Panicked returns the error for a panic of a stream.
	Panicked func(p any, replay string) error
	// Resolves reports whether the events of a format can be resolved; see StreamEventsRequest.resolve_players.
	Resolves func(decoders.Format) bool
}

// ErrFull means that so many replays are open that a token has no room for more.
var ErrFull = fmt.Errorf("more games without an end are open than a token of %d bytes has room for: "+
	"name the subscription, or subscribe to fewer, by directory, formats, or filter.earliest_start_time", MaxToken)

// Run streams until ctx ends, the server shuts down, or sending fails. It returns ErrToken, ErrOther, ErrFull, [stream.ErrDraining], errors
// of a named subscription, of ctx, of sending and of a client that reads too slowly.
func Run(ctx context.Context, c Config, send stream.Send) error {
	at, head := places{}, headOf(c.Index.Generation(), c.Tag)
	if c.Named != nil {
		at = c.Named.begin
	} else if len(c.Token) > 0 {
		var err error
		if at, err = parseToken(c.Token, c.Index.Generation(), c.Tag); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &subscription{
		Config: c, ctx: ctx, sender: send, head: head, places: at, since: places{}, replays: map[id]*replay{},
		queue: queue{more: make(chan struct{}, 1)},
	}
	defer s.end(cancel)
	if err := s.enter(); err != nil {
		return err
	}
	return s.run()
}

// subscription is a running call. Its goroutine owns everything but the queue.
type subscription struct {
	Config
	ctx     context.Context //nolint:containedctx // a subscription lives as long as the call of Run
	sender  stream.Send
	head    []byte // of a token, without a name
	places  places
	since   places // of a named subscription: what has changed since the checkpoint
	held    bool   // nothing more is sent until something is acknowledged
	aliases []string
	roots   []*root
	replays map[id]*replay
	queue   queue
	streams sync.WaitGroup

	from      uint64          // the number of the index's next change
	changed   <-chan struct{} // closed when there are further changes
	numbered  <-chan struct{} // closed when there are further numbers
	last      uint32          // the last number given to a replay for the client
	token     []byte          // memory for the token
	tokenLen  int             // of the last token
	beginning int             // replays that run and are in no token yet
	behind    int             // replays that run and were not sent up to their present end yet
}

// id identifies a replay.
type id struct {
	alias  string
	number uint64
}

// root is one root of the selection.
type root struct {
	alias   string
	at      *place
	scanned uint64 // the last number that was looked at
	waiting []*replay
	live    []*replay       // that wait, too, but for room in the token alone
	unmet   map[uint64]bool // numbers of replays of which no file is known, or not yet
	looks   int             // how often nothing was found of those, one after another
	running int             // replays that take a place
	asking  atomic.Bool     // its silent files are checked now
}

// enter begins where the token stands.
func (s *subscription) enter() error {
	for _, alias := range s.Selection.Roots() {
		if s.places[alias] == nil {
			s.places[alias] = &place{}
		}
		r := &root{alias: alias, at: s.places[alias], unmet: map[uint64]bool{}}
		r.scanned = r.at.passed.all
		last := r.scanned
		if n := len(r.at.passed.spans); n > 0 {
			last = r.at.passed.spans[n-1].to
		}
		if last > s.Selection.Last(alias) { // the index is an older copy
			return ErrOther
		}
		s.roots = append(s.roots, r)
	}
	s.note()
	s.from = s.Index.Now() // before the first look at the replays
	for _, r := range s.roots {
		for _, o := range slices.Clone(r.at.open) {
			s.consider(r, o.number)
		}
	}
	return nil
}

// note begins to note what a token has: all roots, also those that are missing now, and of a named subscription what changes.
func (s *subscription) note() {
	s.aliases = s.places.aliases()
	if s.Named == nil {
		return
	}
	for alias, at := range s.places {
		at.since = &place{}
		s.since[alias] = at.since
	}
}

// end ends all streams and waits for them.
func (s *subscription) end(cancel func()) {
	cancel()
	s.streams.Wait()
	for {
		i, ok := s.queue.take()
		if !ok {
			return
		}
		if i.frame != nil {
			i.frame.Free()
		}
	}
}

const (
	// atOnce is how many responses are sent before the index is asked for news.
	atOnce = 64
	// lookEvery is the interval at which is checked what no change tells: silence, and files that are certainly gone.
	lookEvery = time.Second
)

func (s *subscription) run() error {
	if err := s.heartbeat(); err != nil {
		return err
	}
	beat, look := time.NewTicker(s.Heartbeat), time.NewTicker(lookEvery)
	defer beat.Stop()
	defer look.Stop()
	var taken <-chan struct{}
	if s.Named != nil {
		taken = s.Named.taken
	}
	for {
		idle := true
		var changed, numbered <-chan struct{}
		if !s.held {
			var err error
			if idle, err = s.sendSome(); err == nil {
				err = s.news()
			}
			if err != nil {
				return err
			}
			changed, numbered = s.changed, s.numbered
		}
		var now chan struct{} // if there is more to do, nothing is waited for
		if !idle {
			now = make(chan struct{})
			close(now)
		}
		select {
		case <-s.ctx.Done():
			return s.ctx.Err()
		case <-s.Drain:
			return stream.ErrDraining
		case <-beat.C:
			if err := s.heartbeat(); err != nil {
				return err
			}
		case <-look.C:
			if err := s.look(); err != nil {
				return err
			}
		case <-taken:
			return ErrTaken
		case <-s.queue.more:
		case <-changed:
		case <-numbered:
		case <-now:
		}
	}
}

// sendSome sends what the replays have to tell, and reports whether that was all.
func (s *subscription) sendSome() (all bool, err error) {
	for range atOnce {
		if s.held {
			return true, nil
		}
		i, ok := s.queue.take()
		if !ok {
			return true, nil
		}
		switch {
		case i.frame != nil:
			err = s.frame(i.of, i.frame)
		case i.failure != nil:
			err = s.fail(i.of, i.failure)
		default:
			err = s.ended(i.of, i.result)
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

// frame sends a response of a replay's stream.
func (s *subscription) frame(r *replay, f *frame.Frame) error {
	response := f.Response()
	if response.GetEnd() != nil {
		r.root.at.close(r.of.Number)
	} else if len(f.Cursor()) > 0 {
		at, err := cursor.Parse(f.Cursor())
		if err != nil {
			f.Free()
			return err
		}
		r.at = at
		r.root.at.reach(r.of.Number, at)
		s.inToken(r)
	}
	if r.short == 0 {
		s.last++
		r.short = s.last
	}
	if response.GetHeartbeat() != nil { // its progress is in the next token, and in the next heartbeat of all
		f.Free()
		return nil
	}
	token, err := s.tokenOf()
	if err != nil {
		f.Free()
		return err
	}
	f.Subscribed(r.short, token)
	if err := s.sender(f); err != nil {
		return err
	}
	if response.GetFollowStatus().GetState() == replaydv1.FollowState_FOLLOW_STATE_CAUGHT_UP && !r.caught {
		r.caught = true
		s.behind--
		s.vacate(r)
		s.leave(r)
	}
	return nil
}

// longToken is the length of a named subscription's token, in bytes, from which it gets a new checkpoint. A response that comes while there
// is no space for one makes it little longer.
const longToken = MaxToken / 2

// tokenOf returns the present token. It is valid until the next call.
func (s *subscription) tokenOf() ([]byte, error) {
	if s.Named == nil {
		s.token = s.places.append(s.token[:0], s.head, s.aliases)
	} else if s.token = s.since.append(s.token[:0], s.Named.head(), s.aliases); len(s.token) > longToken {
		switch err := s.Named.keep(s.places); {
		case err == nil:
			s.held = false
			for _, d := range s.since {
				*d = place{}
			}
			s.token = s.since.append(s.token[:0], s.Named.head(), s.aliases)
		case errors.Is(err, ErrUnacknowledged) && len(s.token) <= MaxToken:
			s.held = true
		default:
			return nil, err
		}
	}
	if s.tokenLen = len(s.token); s.tokenLen > MaxToken {
		return nil, ErrFull
	}
	return s.token, nil
}

// recheck goes on if nothing more is sent and there is space again.
func (s *subscription) recheck() error {
	if !s.held {
		return nil
	}
	_, err := s.tokenOf()
	return err
}

// respond sends a response that is of no stream.
func (s *subscription) respond(response *replaydv1.SubscribeEventsResponse) error {
	var err error
	if response.Token, err = s.tokenOf(); err != nil {
		return err
	}
	f, err := frame.OfSubscription(response)
	if err != nil {
		return err
	}
	return s.sender(f)
}

// fail sends why a replay cannot be streamed.
func (s *subscription) fail(r *replay, failure *replaydv1.SubscriptionFailure) error {
	if !failure.GetRetried() {
		r.root.at.close(r.of.Number)
	}
	if r.short == 0 {
		s.last++
		r.short = s.last
	}
	return s.respond(&replaydv1.SubscribeEventsResponse{
		Replay: r.short, Response: &replaydv1.SubscribeEventsResponse_Failure{Failure: failure},
	})
}

// ended is called when the goroutine of a replay has ended.
func (s *subscription) ended(r *replay, how *result) error {
	if how.fatal != nil {
		return how.fatal
	}
	s.vacate(r)
	r.cancel()
	r.running = false
	if s.inToken(r); !r.caught {
		s.behind--
	}
	switch how.what {
	case skipped:
		r.root.at.close(r.of.Number)
		delete(s.replays, id{r.root.alias, r.of.Number})
	case over:
		delete(s.replays, id{r.root.alias, r.of.Number})
	case silent:
		s.goOn(r)
	case paused:
		r.again = how.again
	case stopped: // the subscription ends, too
	}
	return nil
}

// inToken notes that a replay is in the token, or needs no room in it any more.
func (s *subscription) inToken(r *replay) {
	if r.fresh {
		r.fresh = false
		s.beginning--
	}
}

// vacate gives the place of a replay to others of its root.
func (s *subscription) vacate(r *replay) {
	if r.slot {
		r.slot = false
		r.root.running--
	}
}

// heartbeat sends the progress.
func (s *subscription) heartbeat() error {
	if err := s.recheck(); err != nil {
		return err
	}
	beat := &replaydv1.SubscriptionHeartbeat{Unacknowledged: s.held}
	for _, r := range s.replays {
		switch {
		case r.running && r.short != 0:
			p := &replaydv1.ReplayProgress{Replay: r.short, BytesSent: r.at.Position.Offset, Tick: r.at.Tick}
			if e := s.fileOf(r); e != nil {
				if p.Name = e.Name; e.Compression == source.Plain {
					p.BytesPresent = new(e.Size)
				}
			}
			beat.Replays = append(beat.Replays, p)
		case !r.running && !r.queued && !r.isPaused():
			beat.Silent++
		default:
			beat.Waiting++
		}
	}
	for _, r := range s.roots {
		beat.Waiting += uint32(len(r.unmet))
	}
	slices.SortFunc(beat.Replays, func(a, b *replaydv1.ReplayProgress) int { return int(a.GetReplay()) - int(b.GetReplay()) })
	return s.respond(&replaydv1.SubscribeEventsResponse{Response: &replaydv1.SubscribeEventsResponse_Heartbeat{Heartbeat: beat}})
}
