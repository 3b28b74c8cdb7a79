package watch

import (
	"fmt"
	"sync"
	"time"
)

// Watcher reports when files and directories may have changed. There is one for the whole daemon, because the operating system
// limits their number (128 for each user, on Linux). A Watcher uses two goroutines, and checks each subscribed path now and
// then. A file system that does not answer, such as a network share whose server is gone, takes one more goroutine until it
// answers. It delays only the files on it.
type Watcher struct {
	o     Options
	sys   system
	note  notifier // nil when there is none
	start time.Time

	mu        sync.Mutex
	agenda    agenda
	targets   map[string]*target
	dirs      map[string]*directory
	names     map[string]map[*target]struct{} // by the path that the notifier reports
	overflows uint64
	warned    bool
	closed    bool

	// The polling: see poll.
	poller  *poller        // the goroutine that polls
	due     []visited      // the visits of this round
	next    int            // the index in due of the next visit
	looking visited        // the visit under way
	looks   uint64         // the number of visits made
	checked uint64         // looks when guard was set
	guard   *time.Timer    // fires when a visit takes long
	stuck   map[mount]bool // mounts that do not answer

	kick chan struct{} // a target was added
	done chan struct{}
	wg   sync.WaitGroup
}

// New starts a watcher. It returns an error when mode Inotify is set but not available.
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

// Close ends all subscriptions, so that none fires any more. It returns when the watcher's goroutines have ended. It does not
// wait for a goroutine on a file system that does not answer, which ends when the file system answers.
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
	Polled      int    // targets whose changes are detected only by polling
	Directories int    // directories that the operating system watches
	Overflows   uint64 // how often the operating system dropped events
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
