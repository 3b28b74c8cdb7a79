package admission

import (
	"sync"
	"time"
)

// Turns hands the processors round among streams that read files, so that there are never more of them running than
// processors: whoever else has something to do, such as following a live replay or answering a call, is not kept waiting. Those
// who wait get their turns by caller, one after the other, however many streams each has.
type Turns struct {
	mu      sync.Mutex
	free    int
	running map[*Turn]struct{}
	queues  map[string][]chan *Turn // by caller
	order   []string                // of those with a queue; the first is next
}

// Turn is the right to run for a while.
type Turn struct {
	began time.Time
	lost  bool // it took too long, and another one runs in its place
}

// stuckAfter is after how long one that has its turn is taken to wait for a disk, not for a processor: another runs in its
// place, so that a file system that does not answer holds up only those who read it.
const stuckAfter = 100 * time.Millisecond

// NewTurns returns turns for so many processors.
func NewTurns(processors int) *Turns {
	return &Turns{free: processors, running: map[*Turn]struct{}{}, queues: map[string][]chan *Turn{}}
}

// Take waits for a caller's turn. It returns nil when one of the channels is closed first. The turn must be given back after some
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

// start starts a turn. There must be a free processor.
func (t *Turns) start() *Turn {
	t.free--
	turn := &Turn{began: time.Now()}
	t.running[turn] = struct{}{}
	return turn
}

// Give gives a turn back.
func (t *Turns) Give(turn *Turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.running, turn)
	if !turn.lost {
		t.free++
		t.next()
	}
}

// next lets those run for whom there is a processor.
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

// withdraw takes somebody who waits out of the queue, or gives the turn back that he has got meanwhile.
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

// replaceStuck lets others run in place of those that have had their turn for too long.
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
