package watch

import (
	"fmt"
	"sync"
	"time"
)

// Watcher reports when files and directories may have changed. There is one for the whole daemon, for the operating system
// has few to give (128 for a user, on Linux). It costs two goroutines and, for each thing that is subscribed to, a look now and
// then. A file system that does not answer, as of a network whose server is gone, costs another one for as long as it does
// not, and holds back only what lies on it.
type Watcher struct {
	o     Options
	sys   system
	note  notifier // nil when there is none
	start time.Time

	mu        sync.Mutex
	agenda    agenda
	targets   map[string]*target
	dirs      map[string]*directory
	names     map[string]map[*target]struct{} // by the name under which the notifier reports them
	overflows uint64
	warned    bool
	closed    bool

	// The polling: see poll.
	poller  *poller        // the goroutine that polls
	due     []visited      // what it is to look at now,
	next    int            // and from where on it has not yet
	looking visited        // what it is looking at
	looks   uint64         // how often it looked
	checked uint64         // looks when guard was set
	guard   *time.Timer    // fires when a look takes long
	stuck   map[mount]bool // what does not answer

	kick chan struct{} // a target was added
	done chan struct{}
	wg   sync.WaitGroup
}

// New starts a watcher. It returns an error when mode Inotify is asked for and not to be had.
func New(o Options) (*Watcher, error) { return newWatcher(o, realSystem()) }

func newWatcher(o Options, sys system) (*Watcher, error) {
	o = o.withDefaults()
	w := &Watcher{
		o: o, sys: sys, start: time.Now(),
		targets: make(map[string]*target),
		dirs:    make(map[string]*directory),
		names:   make(map[string]map[*target]struct{}),
		poller:  new(poller),
		stuck:   make(map[mount]bool),
		kick:    make(chan struct{}, 1),
		done:    make(chan struct{}),
	}
	if o.Mode != Poll {
		note, err := sys.notifier()
		switch {
		case err == nil:
			w.note = note
			w.wg.Go(w.listen)
		case o.Mode == Inotify:
			return nil, fmt.Errorf("watching by inotify: %w", err)
		default:
			o.Log.Warn("files are polled: the operating system gives no watcher", "error", err)
		}
	}
	w.guard = time.AfterFunc(time.Hour, w.relieve)
	w.guard.Stop()
	w.wg.Add(1)
	go w.poll(w.poller)
	return w, nil
}

// Close ends all subscriptions: nothing fires any more. It returns when the watcher's goroutines have ended, except for
// those that wait for a file system which does not answer: they end when it does.
func (w *Watcher) Close() error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return nil
	}
	w.closed = true
	w.mu.Unlock()
	close(w.done)
	var err error
	if w.note != nil {
		err = w.note.Close()
	}
	w.wg.Wait()
	return err
}

// Stats are a Watcher's figures.
type Stats struct {
	Targets     int    // paths that are subscribed to
	Polled      int    // those of them whose changes are only seen by polling
	Directories int    // directories that the operating system watches
	Overflows   uint64 // how often the operating system lost events
}

// Stats returns the present figures.
func (w *Watcher) Stats() Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := Stats{Targets: len(w.targets), Overflows: w.overflows}
	for _, t := range w.targets {
		if !t.notified() {
			s.Polled++
		}
	}
	for _, d := range w.dirs {
		if d.active {
			s.Directories++
		}
	}
	return s
}
