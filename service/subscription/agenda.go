package subscription

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/codes"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/index"
)

// fileOf returns the file of a replay, nil if none is known.
func (s *subscription) fileOf(r *replay) *index.Entry {
	if list, _ := s.Selection.Files(r.of, true); len(list) > 0 {
		return list[0]
	}
	return nil
}

// isLive reports whether a game may be played now.
func (s *subscription) isLive(e *index.Entry) bool {
	return s.Selection.MayGrow(e) && time.Since(e.Modified) < Quiet
}

// leave leaves a replay that is silent, if it was sent up to its present end.
func (s *subscription) leave(r *replay) {
	if e := s.fileOf(r); r.running && r.caught && e != nil && time.Since(e.Modified) >= Quiet && !r.leaving.Load() {
		r.left = e
		r.leaving.Store(true)
		r.cancel()
	}
}

// isPaused reports whether a replay was left because it cannot be read now.
func (r *replay) isPaused() bool { return !r.again.IsZero() }

// goOn begins a replay again that was left, if its file has changed since.
func (s *subscription) goOn(r *replay) {
	e := s.fileOf(r)
	if e == nil || r.left == nil || e.Size != r.left.Size || e.Compression != r.left.Compression || ended(e) != ended(r.left) {
		s.want(r, e)
	}
}

// ended reports whether it is known that no more of the replay follows.
func ended(e *index.Entry) bool { return e.Survey != nil && e.Survey.Ended }

// want lets a replay wait until it can be begun. e is its file, or nil.
func (s *subscription) want(r *replay, e *index.Entry) {
	if r.running {
		return
	}
	if e != nil && s.isLive(e) {
		if !r.hurries {
			r.root.live = append(r.root.live, r)
		}
		r.hurries = true
	} else if !r.queued {
		r.root.waiting = append(r.root.waiting, r)
	}
	r.queued = true
}

// consider decides what becomes of a number of the selection.
func (s *subscription) consider(r *root, number uint64) {
	at, isOpen := r.at.find(number)
	if r.at.passed.has(number) && !isOpen {
		return
	}
	n, ok := s.Selection.At(r.alias, number)
	if !ok {
		return
	}
	list, known := s.Selection.Files(n, isOpen)
	switch {
	case len(list) > 0:
		delete(r.unmet, number)
		one := s.replays[id{r.alias, number}]
		if one == nil {
			one = &replay{of: n, root: r, room: make(chan struct{}, 1)}
			if isOpen {
				one.begun, one.reached = true, r.at.open[at].at
				one.at = one.reached
			}
			s.replays[id{r.alias, number}] = one
		}
		s.want(one, list[0])
	case known && !isOpen: // it does not match, or has left the directory
		delete(r.unmet, number)
		r.at.close(number)
	default:
		r.unmet[number] = true
	}
}

// news looks at what is new in the index, and begins replays.
func (s *subscription) news() error {
	for {
		list, next, more, err := s.Index.Since(s.from, atOnce)
		if errors.Is(err, index.ErrBehind) { // the client did not read for long
			s.from = s.Index.Now()
			s.lookAtAll()
			continue
		}
		if err != nil {
			return err
		}
		s.from, s.changed = next, more
		for _, c := range list {
			s.notice(c)
		}
		if len(list) < atOnce {
			break
		}
	}
	for _, r := range s.roots {
		for {
			list, last, more := s.Selection.Next(r.alias, r.scanned)
			s.numbered = more
			if last == r.scanned {
				break
			}
			next := r.scanned + 1
			for _, n := range list {
				r.at.leave(span{next, n.Number - 1}) // of other directories
				next = n.Number + 1
				s.consider(r, n.Number)
			}
			r.at.leave(span{next, last})
			r.scanned = last
		}
	}
	return s.begin()
}

// notice notes a change of a file.
func (s *subscription) notice(c index.Change) {
	n, ok := s.Selection.Of(c.Entry)
	if !ok {
		return
	}
	r := s.replays[id{n.Root, n.Number}]
	switch {
	case r != nil && r.queued && s.isLive(c.Entry):
		s.want(r, c.Entry)
	case r != nil && !r.queued && !r.running && c.Kind != index.Quiet:
		s.goOn(r)
	case r == nil:
		for _, at := range s.roots {
			if at.alias == n.Root && at.unmet[n.Number] {
				s.consider(at, n.Number)
			}
		}
	}
}

// lookAtAll looks at everything whose change was missed.
func (s *subscription) lookAtAll() {
	for _, r := range s.replays {
		if !r.running && !r.queued {
			s.goOn(r)
		}
	}
	for _, r := range s.roots {
		for number := range r.unmet {
			s.consider(r, number)
		}
	}
}

// look looks for what no change tells.
func (s *subscription) look() error {
	if s.held {
		return s.recheck()
	}
	silent := map[*root][]string{}
	for _, r := range s.replays {
		switch s.leave(r); {
		case r.running || r.queued:
		case r.isPaused() && !time.Now().Before(r.again):
			s.want(r, s.fileOf(r))
		case r.left != nil:
			silent[r.root] = append(silent[r.root], r.left.Name)
		}
	}
	for _, r := range s.roots {
		s.ask(r, silent[r])
		if len(r.unmet) == 0 || !s.Selection.Gone(r.alias) {
			r.looks = 0
			continue
		}
		if r.looks++; r.looks < sureLooks {
			continue
		}
		for number := range r.unmet {
			s.consider(r, number)
			if !r.unmet[number] {
				continue
			}
			delete(r.unmet, number)
			if _, isOpen := r.at.find(number); !isOpen {
				r.at.close(number)
				continue
			}
			gone := &replay{root: r, of: index.Numbered{Root: r.alias, Number: number}}
			if err := s.fail(gone, &replaydv1.SubscriptionFailure{
				Code: int32(codes.NotFound), Reason: replaydv1.ErrorReason_ERROR_REASON_REPLAY_NOT_FOUND,
				Message: "a replay that had begun was removed while nobody watched",
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// ask checks files that are silent, in a goroutine, because their root may not answer. The index itself checks them once a minute, and
// tells what has changed.
func (s *subscription) ask(r *root, names []string) {
	if len(names) == 0 || !r.asking.CompareAndSwap(false, true) {
		return
	}
	s.streams.Go(func() {
		defer r.asking.Store(false)
		for _, name := range names {
			if _, err := s.Selection.Look(s.ctx, name); err != nil && s.ctx.Err() != nil {
				return
			}
		}
	})
}

// What a replay takes of a token: at most when it begins, and by which it may grow later.
const (
	tokenShare  = 30
	tokenGrowth = 6
)

// hasRoom reports whether a token has room for another replay.
func (s *subscription) hasRoom() bool {
	if s.Named != nil { // its token has only what has changed
		return true
	}
	open := 0
	for _, r := range s.roots {
		open += len(r.at.open)
	}
	return s.tokenLen+tokenGrowth*open+tokenShare*(s.beginning+1) < MaxToken-tokenShare
}

// begin begins replays for which there is room.
func (s *subscription) begin() error {
	for _, r := range s.roots {
		for _, list := range []*[]*replay{&r.live, &r.waiting} {
			for len(*list) > 0 && (list == &r.live || r.running < s.Parallel) {
				next := (*list)[0]
				if next.queued && !next.begun && !s.hasRoom() {
					if s.behind == 0 {
						return ErrFull
					}
					break
				}
				(*list)[0] = nil
				*list = (*list)[1:]
				if next.queued {
					s.start(next, list == &r.waiting)
				}
			}
		}
	}
	return nil
}

// start starts the goroutine of a replay.
func (s *subscription) start(r *replay, slot bool) {
	r.queued, r.hurries, r.running, r.caught, r.left, r.again, r.slot = false, false, true, false, nil, time.Time{}, slot
	r.leaving.Store(false)
	r.over, r.drained = false, false
	if slot {
		r.root.running++
	}
	if _, isOpen := r.root.at.find(r.of.Number); !isOpen {
		r.fresh = true
		s.beginning++
	}
	s.behind++
	var ctx context.Context
	ctx, r.cancel = context.WithCancel(s.ctx)
	s.streams.Go(func() {
		how := s.stream(ctx, r)
		_ = s.queue.put(s.ctx, item{of: r, result: &how})
	})
}
