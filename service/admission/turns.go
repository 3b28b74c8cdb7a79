package admission

import (
	"sync"
	"time"
)

// Turns shares the processors among streams that read files. No more of these streams run at once than there are processors but
// one. So they do not delay other work, such as following a live replay, answering a call or sending: while each processor has
// something to run, Go looks at the network only every 10 ms. Waiting callers get turns one after the other, however many streams
// each caller has.
type Turns struct {
	mu      sync.Mutex
	free    int // processors without a turn; spare turns are not counted
	kept    int // so many processors get no turn
	spare   int // running spare turns
	running map[*Turn]struct{}
	queues  map[string][]chan *Turn // by caller
	order   []string                // callers with a queue; the first is next
	watched bool                    // watch is going to be called
}

// Turn is the right to run for a while.
type Turn struct {
	began time.Time
	lost  bool // it took too long, and another turn runs in its place
}

// A turn that takes longer than longAfter, such as one that allocates the window of a compressed upload, leaves the kept
// processor to waiting streams. A turn that takes longer than stuckAfter is assumed to wait for a disk, not for a processor, and
// another one runs in its place. So a file system that does not respond blocks only the streams that read from it.
const (
	longAfter  = 5 * time.Millisecond
	stuckAfter = 100 * time.Millisecond
)

// NewTurns returns turns for a machine with that many processors.
func NewTurns(processors int) *Turns {
	return &Turns{free: processors, kept: min(1, processors-1), running: map[*Turn]struct{}{}, queues: map[string][]chan *Turn{}}
}

// Take waits for a turn of the caller. It returns nil if done or drain is closed first. Call Give with the turn after a millisecond
// or less.
func (t *Turns) Take(done, drain <-chan struct{}, caller string) *Turn {
	t.mu.Lock()
	if t.free > t.kept {
		turn := t.start()
		t.mu.Unlock()
		return turn
	}
	mine := make(chan *Turn, 1)
	if len(t.queues[caller]) == 0 {
		t.order = append(t.order, caller)
	}
	t.queues[caller] = append(t.queues[caller], mine)
	t.watch()
	t.mu.Unlock()
	select {
	case turn := <-mine:
		return turn
	case <-done:
	case <-drain:
	}
	t.withdraw(caller, mine)
	return nil
}

// Spare returns a function that ends a spare turn, if a processor is free, even the last one, and nobody waits for a turn.
// Otherwise it returns nil. Call the function after some milliseconds. Nobody waits for a spare turn: whoever takes a turn
// meanwhile runs beside it, such as the stream for which it reads ahead.
func (t *Turns) Spare() (give func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.free <= t.spare || len(t.order) > 0 {
		return nil
	}
	t.spare++
	return t.giveSpare
}

func (t *Turns) giveSpare() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spare--
}

// start starts a turn. There must be a free processor.
func (t *Turns) start() *Turn {
	t.free--
	turn := &Turn{began: time.Now()}
	t.running[turn] = struct{}{}
	return turn
}

// Give returns a turn.
func (t *Turns) Give(turn *Turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.running, turn)
	if !turn.lost {
		t.free++
		t.next()
	}
}

// next starts turns of waiting streams while more processors are free than are kept.
func (t *Turns) next() {
	for t.free > t.kept && len(t.order) > 0 {
		caller := t.order[0]
		queue := t.queues[caller]
		t.order = t.order[1:]
		if len(queue) > 1 {
			t.queues[caller] = queue[1:]
			t.order = append(t.order, caller)
		} else {
			delete(t.queues, caller)
		}
		queue[0] <- t.start()
	}
}

// withdraw removes a waiting stream from the queue. If the stream has got its turn meanwhile, withdraw returns the turn.
func (t *Turns) withdraw(caller string, mine chan *Turn) {
	t.mu.Lock()
	queue := t.queues[caller]
	for i, c := range queue {
		if c != mine {
			continue
		}
		t.queues[caller] = append(queue[:i:i], queue[i+1:]...)
		if len(queue) == 1 {
			delete(t.queues, caller)
			for j, name := range t.order {
				if name == caller {
					t.order = append(t.order[:j:j], t.order[j+1:]...)
					break
				}
			}
		}
		t.mu.Unlock()
		return
	}
	t.mu.Unlock()
	t.Give(<-mine)
}

// watch makes sure that replaceStuck is called while streams wait. The lock must be held.
func (t *Turns) watch() {
	if t.watched || len(t.order) == 0 {
		return
	}
	t.watched = true
	time.AfterFunc(longAfter, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.watched = false
		t.replaceStuck(time.Now())
		t.watch()
	})
}

// replaceStuck starts other turns in place of turns that have taken too long.
func (t *Turns) replaceStuck(now time.Time) {
	lost := 0
	for turn := range t.running {
		if turn.lost {
			lost++
		}
	}
	for turn := range t.running {
		limit := stuckAfter
		if lost < t.kept {
			limit = longAfter
		}
		if !turn.lost && now.Sub(turn.began) >= limit {
			turn.lost = true
			lost++
			t.free++
		}
	}
	t.next()
}
