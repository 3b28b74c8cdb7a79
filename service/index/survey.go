package index

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"time"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// manyFiles is after how many files the memory is given back that the system can have.
const manyFiles = 10_000

// work identifies the files in a queue, and then surveys them, unless that was done before, until the index is closed. It begins
// when ready returns.
func (x *Index) work(waiting *queue, ready func()) {
	var surveys queue
	surveys.wake = make(chan struct{}, 1)
	late, delay := map[string]bool{}, lateFirst // files whose header is incomplete
	again := time.NewTimer(delay)
	defer again.Stop()
	ready()
	for done := 0; x.ctx.Err() == nil; done++ {
		if name, ok := waiting.pop(); ok {
			switch e := x.get(name); {
			case e == nil:
			case e.Identified:
				if x.wanted(e) {
					surveys.push(e)
				}
			default:
				if e = x.identify(x.ctx, e); e == nil || !e.Identified {
					late[name] = true
					again.Reset(lateFirst)
					delay = lateFirst
				} else if x.wanted(e) {
					surveys.push(e)
				}
			}
			continue
		}
		if name, ok := surveys.pop(); ok {
			if e := x.get(name); e != nil && x.wanted(e) {
				pause := x.throttle(e)
				var interrupted bool
				if e, interrupted = x.survey(x.ctx, e, pause); interrupted {
					surveys.push(e)
				}
				_ = pause() // many short files cost as much as a long one
			}
			continue
		}
		if done > manyFiles { // as much memory as the files take is garbage now, and may not be needed again
			debug.FreeOSMemory()
		}
		done = 0
		select {
		case <-x.ctx.Done():
		case <-waiting.wake:
		case <-again.C:
			x.tryLate(late, &surveys)
			last := lateLast
			if waiting != &x.local {
				last = lateListed
			}
			delay = min(2*delay, last)
			if len(late) > 0 {
				again.Reset(delay)
			}
		}
	}
}

// maxLate is the maximum number of incomplete headers that are read again at once.
const maxLate = 1000

// tryLate reads incomplete headers again. It removes files whose header is complete now, and files that are gone.
func (x *Index) tryLate(late map[string]bool, surveys *queue) {
	tried := 0
	for name := range late {
		if tried++; tried > maxLate {
			return
		}
		e := x.get(name)
		if e != nil && !e.Identified {
			e = x.identify(x.ctx, e)
		}
		if e == nil || e.Identified {
			delete(late, name)
		}
		if e != nil && e.Identified && x.wanted(e) {
			surveys.push(e)
		}
	}
}

// letRead waits until all directories of the file system were read once, because background work would slow that down. It waits
// for at most 10 s, because a root may not answer. Other stores have their own workers.
func (x *Index) letRead() {
	ctx, cancel := context.WithTimeout(x.ctx, 10*time.Second)
	defer cancel()
	for alias, state := range x.roots {
		if state.every == 0 && x.ready(ctx, alias, Everything()) != nil {
			return
		}
	}
}

// lateFirst and lateLast are the shortest and the longest delay before an incomplete header is read again. The delay is short
// at first, because most headers arrive in a few writes. It doubles each time.
const (
	lateFirst = 5 * time.Millisecond
	lateLast  = 2 * time.Second
	// lateListed is lateLast below a root that is listed: its files never change, so that only the store may be at fault.
	lateListed = time.Minute
)

// wanted reports whether decoding a file would find something new.
func (x *Index) wanted(e *Entry) bool {
	codec := x.Codec(e.Format)
	return x.Budget > 0 && codec != nil && codec.Survey != nil && e.Identity != "" &&
		(e.Survey == nil || e.Survey.Continues && e.Survey.Offset < e.Size && e.Growable())
}

// surveyed returns the offset up to which a file was decoded.
func (e *Entry) surveyed() int64 {
	if e.Survey == nil {
		return 0
	}
	return e.Survey.Offset
}

// errLater means that a survey was interrupted for more urgent work.
var errLater = errors.New("later")

// throttle returns a pause function that keeps decoding within the budget. The function returns errLater when new files are
// waiting and the survey can be continued later.
func (x *Index) throttle(e *Entry) func() error {
	began := time.Now()
	return func() error {
		rest := time.Duration(float64(time.Since(began)) * (1/x.Budget - 1))
		timer := time.NewTimer(min(rest, time.Second))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-x.ctx.Done():
			return x.ctx.Err()
		}
		began = time.Now()
		if e.Growable() && !x.local.empty() {
			return errLater
		}
		return nil
	}
}

// survey decodes a file from where its last survey ended, and returns the new entry. It reports whether pause interrupted it for more
// urgent work.
func (x *Index) survey(ctx context.Context, e *Entry, pause func() error) (now *Entry, interrupted bool) {
	codec := x.Codec(e.Format)
	if codec == nil || codec.Survey == nil {
		return e, false
	}
	file, err := x.Files.OpenContext(ctx, e.Name)
	if err != nil {
		return e, false
	}
	defer func() { _ = file.Close() }()
	if info := file.Info(); info.ID != e.ID {
		return e, false
	}
	roster := func(r *replaydv1.Replay) []byte {
		return x.Family(e.Name, Everything()).roster(codec.Lineage(r).Previous) // all who see a replay see its lineage
	}
	s, err := codec.Survey(file.Input(), e.Survey.Whole(), roster, pause)
	if s == nil && e.Survey != nil && x.ctx.Err() == nil { // the stored state of the last survey is unusable, so start over
		s, err = codec.Survey(file.Input(), nil, roster, pause)
	}
	interrupted = errors.Is(err, errLater)
	if s == nil || err != nil && !interrupted {
		return e, interrupted
	}
	if !e.Growable() {
		s.State = nil
	}
	if e.Growable() && s.Offset > e.Size { // it grew meanwhile: report that first, because nothing grows after its end
		_, _, _ = x.look(e.Name)
	}
	header := e.Facts
	if s.Ended && codec.CarryRoster == nil && len(header.Players()) == 0 { // a demo may name its players at its end
		if r, err := x.Describe(ctx, file); err == nil {
			header = factsOf(r)
		}
	}
	if len(header.Players()) == 0 {
		r := new(replaydv1.Replay)
		codec.AddPlayers(r, s)
		header.cast = castOf(nil, r.GetLineup())
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	now, _ = x.files.Get(e.Name)
	if now == nil || now.ID != e.ID || now.Identity != e.Identity || now.Survey != e.Survey && now.Survey != nil && now.Survey.Offset > s.Offset {
		return e, interrupted
	}
	known := *now // it may have grown meanwhile
	known.Survey, known.cast = newSurvey(s), header.cast
	if known.TicksPerSecond == 0 {
		known.TicksPerSecond = s.TicksPerSecond
	}
	if known.Length == 0 {
		known.Length = s.Length
	}
	x.seldom.keep(known.Survey)
	x.put(now, &known)
	if s.Ended || s.Broken {
		x.changes.add(Change{Kind: Ended, Entry: &known})
	}
	return &known, interrupted
}

// maxChain is the number of earlier games in which a player's name is searched.
const maxChain = 64

// roster returns the known players at the end of a replay, with names from earlier games.
func (f Family) roster(identity string) []byte {
	type game struct {
		carry  func(roster, earlier []byte) ([]byte, bool)
		roster []byte
	}
	var games []game
	for range maxChain {
		e := f.surveyed(identity)
		if e == nil {
			break
		}
		g := game{f.x.Codec(e.Format).CarryRoster, e.Survey.Whole().Roster}
		games = append(games, g)
		if _, complete := g.carry(g.roster, nil); complete {
			break
		}
		identity = e.Previous
	}
	var roster []byte
	for _, g := range slices.Backward(games) {
		roster, _ = g.carry(g.roster, roster)
	}
	return roster
}

// surveyed returns a file of a replay that was surveyed and has a roster, or nil.
func (f Family) surveyed(identity string) *Entry {
	if identity == "" {
		return nil
	}
	for _, e := range f.Copies(identity) {
		if e.Survey != nil && e.Survey.hasRoster {
			return e
		}
	}
	return nil
}

// rosterWork is the largest number of bytes that are decoded for a roster while a request waits for it, and rosterTime is how long
// that may take.
const (
	rosterWork = 64 << 20
	rosterTime = 2 * time.Second
)

// Roster returns the players at the end of a replay, which the file of the next game of the same server process leaves out. It
// decodes new files, up to a limit, so that even a daemon that was just started knows the players' names. In roots other than the
// family's it uses only what the index knows.
func (f Family) Roster(ctx context.Context, identity string) []byte {
	if identity == "" || f.x == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, rosterTime)
	defer cancel()
	left := int64(rosterWork)
	for at, n := identity, 0; at != "" && n < maxChain && ctx.Err() == nil; n++ {
		e := f.entryOf(at)
		if e == nil {
			break
		}
		if root(e.Name) == f.alias {
			e = f.decoded(ctx, e, &left)
		}
		if e.Survey == nil || !e.Survey.hasRoster {
			break
		}
		if _, complete := f.x.Codec(e.Format).CarryRoster(e.Survey.Whole().Roster, nil); complete {
			break
		}
		at = e.Previous
	}
	return f.roster(identity)
}

// decoded returns the entry of a file after decoding its new bytes, if they are no more than left.
func (f Family) decoded(ctx context.Context, e *Entry, left *int64) *Entry {
	if _, _, err := f.x.look(e.Name); err == nil { // it may have grown a moment ago
		if now := f.x.get(e.Name); now != nil && now.Identity == e.Identity {
			e = now
		}
	}
	if e.Survey != nil && (!e.Survey.Continues || e.Survey.Offset >= e.Size) {
		return e
	}
	if *left -= e.Size; *left < 0 {
		return e
	}
	e, _ = f.x.survey(ctx, e, ctx.Err)
	return e
}

// entryOf returns a file of a replay, or nil. It prefers a file in the family's root.
func (f Family) entryOf(identity string) *Entry {
	var found *Entry
	for _, e := range f.Copies(identity) {
		if root(e.Name) == f.alias {
			return e
		}
		if found == nil {
			found = e
		}
	}
	return found
}

// refreshWork is the maximum number of bytes that Refresh decodes while a request waits.
const refreshWork = 8 << 20

// Refresh decodes the new bytes of a replay and returns the new entry. If there are too many, it has them decoded in the
// background, and returns the present entry.
func (x *Index) Refresh(ctx context.Context, e *Entry) *Entry {
	if e.Growable() && e.Size-e.surveyed() > refreshWork || !e.Growable() && e.Size > refreshWork/8 {
		x.queueOf(e.Name).push(e)
		return e
	}
	if x.wanted(e) {
		e, _ = x.survey(ctx, e, ctx.Err)
	}
	return e
}
