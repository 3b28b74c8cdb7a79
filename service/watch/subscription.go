package watch

import (
	"fmt"
	"io/fs"
	"path/filepath"
)

// Subscription is a subscription to changes of one path.
type Subscription struct {
	// C receives when the file may have changed. For a directory it receives when entries may have been added, removed or
	// renamed, or when the first bytes may have been written to a new entry. It holds one value from the start, and never more
	// than one. So the receiver must check everything that may have changed since the last time, and may find no change.
	C <-chan struct{}

	c      chan struct{}
	w      *Watcher
	target *target
}

// Subscribe subscribes to changes of a file or a directory, which need not exist. In mode Inotify it returns an error
// when the directory cannot be watched. After Close it returns fs.ErrClosed.
func (w *Watcher) Subscribe(path string) (*Subscription, error) {
	return w.subscribe(path, make(chan struct{}, 1))
}

func (w *Watcher) subscribe(path string, c chan struct{}) (*Subscription, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	s := &Subscription{C: c, c: c, w: w}
	// Check the path before the target is added. Polling finds any change after this.
	seen := w.look(path)
	resolved := resolve(path)
	d, err := w.enter(s, path, seen, resolved)
	if err != nil {
		return nil, err
	}
	if err := w.ask(d, true, true); err != nil {
		s.Close()
		return nil, fmt.Errorf("watching by inotify: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.soon(s.target) // it may be new
	s.fire()
	return s, nil
}

// enter adds a subscription to the target of its path, and creates the target if necessary. It returns the directory that has
// to be watched for the target, or nil.
func (w *Watcher) enter(s *Subscription, path string, seen state, resolved string) (*directory, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, fs.ErrClosed
	}
	t := w.targets[path]
	if t == nil {
		t = &target{path: path, subs: make(map[*Subscription]struct{}), seen: seen, changed: w.since()}
		t.mount = mountOf(seen.id, filepath.Dir(path))
		if seen.dir {
			t.settled = t.changed + settling // earlier new entries were not reported
		}
		w.targets[path] = t
		w.attach(t, resolved, seen.dir)
	}
	t.subs[s] = struct{}{}
	s.target = t
	return t.dir, nil
}

// Wake makes C receive, as after a change.
func (s *Subscription) Wake() { s.fire() }

// Move changes the subscription's path, for a file or directory that was moved. C remains the same channel, and receives. Move
// must not be called at the same time as Close.
func (s *Subscription) Move(path string) error {
	moved, err := s.w.subscribe(path, s.c)
	if err != nil {
		return err
	}
	s.w.mu.Lock()
	delete(moved.target.subs, moved)
	moved.target.subs[s] = struct{}{}
	old := &Subscription{C: s.C, c: s.c, w: s.w, target: s.target}
	delete(old.target.subs, s)
	old.target.subs[old] = struct{}{}
	s.target = moved.target
	s.w.mu.Unlock()
	old.Close()
	return nil
}

// Close ends the subscription. It may be called more than once.
func (s *Subscription) Close() {
	w := s.w
	w.mu.Lock()
	var left *directory
	delete(s.target.subs, s)
	if len(s.target.subs) == 0 && w.targets[s.target.path] == s.target {
		delete(w.targets, s.target.path)
		w.agenda.remove(s.target)
		left = w.detach(s.target)
	}
	w.mu.Unlock()
	_ = w.ask(left, false, false)
}

func (s *Subscription) fire() {
	select {
	case s.c <- struct{}{}:
	default:
	}
}
