package admission

import (
	"sync"
	"time"
)

// Turns shares the processors among streams that read files. No more of these streams run at once than there are processors. So
// they do not delay other work, such as following a live replay or answering a call. Waiting callers get turns one after the
// other, however many streams each caller has.
type Turns struct {
	mu      sync.Mutex
	free    int
	running map[*Turn]struct{}
	queues  map[string][]chan *Turn // by caller
	order   []string                // callers with a queue; the first is next
}

// Turn is the right to run for a while.
type Turn struct {
	began time.Time
	lost  bool // it took too long, and another turn runs in its place
}

// stuckAfter is how long a turn may take until it is assumed to wait for a disk, not for a processor. Then another turn runs in
// its place. So a file system that does not respond blocks only the streams that read from it.
const stuckAfter = 100 * time.Millisecond

// NewTurns returns turns for that many processors.
func NewTurns(processors int) *Turns {
	return &Turns{free: processors, running: map[*Turn]struct{}{}, queues: map[string][]chan *Turn{}}
}

// Take waits for a turn of the caller. It returns nil if done or drain is closed first. Call Give with the turn after some
// milliseconds.
func (t *Turns) Take(done, drain <-chan struct{}, caller string) *Turn {
	t.mu.Lock()
	if t.free > 0 {
		turn := t.start()
		t.mu.Unlock()
		return turn
	}
	mine := make(chan *Turn, 1)
	if len(t.queues[caller]) == 0 {
		t.order = append(t.order, caller)
	}
	t.queues[caller] = append(t.queues[caller], mine)
	t.mu.Unlock()
	timer := time.NewTimer(stuckAfter)
	defer timer.Stop()
	for {
		select {
		case turn := <-mine:
			return turn
		case <-done:
			t.withdraw(caller, mine)
			return nil
		case <-drain:
			t.withdraw(caller, mine)
			return nil
		case <-timer.C:
			t.replaceStuck(time.Now())
			timer.Reset(stuckAfter)
		}
	}
}

// Spare returns a turn if a processor is free and nobody waits for one, and nil otherwise. Call Give with the turn after some
// milliseconds.
func (t *Turns) Spare() *Turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.free <= 0 {
		return nil
	}
	return t.start()
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

// next starts turns of waiting streams while processors are free.
func (t *Turns) next() {
	for t.free > 0 && len(t.order) > 0 {
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

// replaceStuck starts other turns in place of turns that have taken too long.
func (t *Turns) replaceStuck(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for turn := range t.running {
		if !turn.lost && now.Sub(turn.began) > stuckAfter {
			turn.lost = true
			t.free++
		}
	}
	t.next()
}
