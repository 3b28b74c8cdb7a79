package watch

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/replayd/replayd/service/source"
)

// Mode is how a Watcher learns of changes.
type Mode uint8

// The modes.
const (
	// Auto is Inotify where that works and Poll where it does not.
	Auto Mode = iota
	// Inotify asks the operating system to be told (on Linux by inotify), and looks itself now and then, for safety. What
	// cannot be watched in this way is an error.
	Inotify
	// Poll looks itself.
	Poll
)

var modeNames = [...]string{"auto", "inotify", "poll"}

// String returns the mode's name: "auto", "inotify" or "poll".
func (m Mode) String() string {
	if int(m) < len(modeNames) {
		return modeNames[m]
	}
	return "unknown"
}

// UnmarshalText makes a Mode of its name.
func (m *Mode) UnmarshalText(text []byte) error {
	for i, name := range modeNames {
		if name == string(text) {
			*m = Mode(i)
			return nil
		}
	}
	return fmt.Errorf("%q is none of %s", text, strings.Join(modeNames[:], ", "))
}

// Options are a Watcher's settings.
type Options struct {
	Mode Mode
	// Interval is how often files are looked at, for safety, and where nothing else is possible. Default 500 ms. Where
	// the operating system tells of changes, a file that has been idle for a minute is looked at every 15 to 20 s, or every
	// 2 s if a link leads to it: nobody tells when that leads elsewhere.
	Interval time.Duration
	// Quick is how often a file that changed in the last few seconds is looked at when the operating system does not
	// tell. Default 15 ms.
	Quick time.Duration
	// Log is told when watching does not work as asked for. Nil means nobody is.
	Log *slog.Logger
}

const (
	// hot is how long after a change a file is looked at often.
	hot = 5 * time.Second
	// warm is how long after that a file is looked at each Interval even when the operating system tells of changes.
	warm = time.Minute
	// settling is how long after a change of its entries, and after it was first subscribed to, a directory is reported at
	// each Interval: an entry that is new may be empty and so not a replay yet.
	settling = 5 * time.Second
	// rewatch is how often a directory that the operating system does not watch is tried again, and how often a link is
	// looked at.
	rewatch = 2 * time.Second
	// safety is how often, at least, everything else is looked at: files that have long been idle, and whether the
	// directories are still what is watched.
	safety = 20 * time.Second
	// patience is how long, at least, a look may take before others do not wait for it any more.
	patience = time.Second
	// maxStuck is how many looks may be waited for at once without that others wait for them.
	maxStuck = 32
	// maxYoung is how many new files of a directory are waited for to get their first bytes.
	maxYoung = 1024
)

// Watcher tells when files and directories may have changed. There is one for the whole daemon, for the operating system
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

// system is what a Watcher needs of the operating system; tests put faults there.
type system struct {
	stat     func(path string) (fs.FileInfo, error)
	remote   func(path string) bool // whether the file system is one whose changes by others are not told
	notifier func() (notifier, error)
}

// notifier tells of changes in directories. It is an *fsnotify.Watcher, or a fake of one.
type notifier interface {
	Add(dir string) error
	Remove(dir string) error
	Close() error
	channels() (<-chan fsnotify.Event, <-chan error)
}

type fsNotifier struct{ *fsnotify.Watcher }

func (n fsNotifier) channels() (<-chan fsnotify.Event, <-chan error) { return n.Events, n.Errors }

func realSystem() system {
	return system{
		stat:   os.Stat,
		remote: remote,
		notifier: func() (notifier, error) {
			w, err := fsnotify.NewWatcher()
			if err != nil {
				return nil, err
			}
			return fsNotifier{w}, nil
		},
	}
}

// target is a path that is subscribed to.
type target struct {
	path string
	subs map[*Subscription]struct{}
	// resolved is the path with links resolved, by which the notifier reports it; dir is the directory that is watched for
	// it. Both are guarded by Watcher.mu.
	resolved string
	dir      *directory
	isDir    bool

	// The polling goroutine's, and guarded by Watcher.mu but for seen.
	appointment
	seen     state
	changed  time.Duration // when it was last seen to have changed; all times are since the Watcher's start
	reported time.Duration // when that, or a directory's settling, was last told
	settled  time.Duration // until when a directory settles
}

// state is what polling compares.
type state struct {
	id       source.ID
	size     int64
	modified int64
	dir      bool
	failed   bool // it could not be looked at, or is not there
}

// directory is one that the notifier watches, or ought to.
type directory struct {
	appointment
	path   string
	refs   int
	active bool          // the notifier watches it
	stale  bool          // the notifier may watch what lay there before
	asking chan struct{} // closed when the notifier has been asked to watch it, or not to; nil while nobody asks
	id     source.ID
	young  map[string]time.Time // new entries that got no bytes yet, by when to forget them
}

// New starts a watcher. It returns an error when mode Inotify is asked for and not to be had.
func New(o Options) (*Watcher, error) { return newWatcher(o, realSystem()) }

func newWatcher(o Options, sys system) (*Watcher, error) {
	if o.Interval <= 0 {
		o.Interval = 500 * time.Millisecond
	}
	if o.Quick <= 0 {
		o.Quick = 15 * time.Millisecond
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
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

// Subscription is the wish to be told of changes.
type Subscription struct {
	// C receives when the file may have changed, or, for a directory, when entries may have been added, removed or
	// renamed, or a new one may have got its first bytes. It holds one value from the start, and never more than one: who
	// receives looks at everything that may have changed since the last time. That nothing has is possible.
	C <-chan struct{}

	c      chan struct{}
	w      *Watcher
	target *target
}

// Subscribe asks to be told of changes of a file or a directory. What is subscribed to need not exist. It returns an error
// in mode Inotify when the directory cannot be watched, and fs.ErrClosed after Close.
func (w *Watcher) Subscribe(path string) (*Subscription, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	c := make(chan struct{}, 1)
	s := &Subscription{C: c, c: c, w: w}
	// Looked at before it is announced: a change after this is seen by polling.
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
	w.soon(s.target) // where it is new
	s.fire()
	return s, nil
}

// enter makes a target of a path, unless it is one, and returns the directory that is to be watched for it, or nil.
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
			t.settled = t.changed + settling // nobody has told of what is new in it
		}
		w.targets[path] = t
		w.attach(t, resolved, seen.dir)
	}
	t.subs[s] = struct{}{}
	s.target = t
	return t.dir, nil
}

// Wake makes C receive, as a change does.
func (s *Subscription) Wake() { s.fire() }

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

func (t *target) fire() {
	for s := range t.subs {
		s.fire()
	}
}

func (t *target) notified() bool { return t.dir != nil && t.dir.active }

// resolve resolves links as far as there is something.
func resolve(path string) string {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path))
	}
	return path
}

// look looks at a path.
func (w *Watcher) look(path string) state {
	stat, err := w.sys.stat(path)
	if err != nil {
		return state{failed: true}
	}
	return state{id: source.Identify(stat), size: stat.Size(), modified: stat.ModTime().UnixNano(), dir: stat.IsDir()}
}

// attach gives a target the directory that is to be watched for it. To ask for that is left to the caller, who must not hold
// w.mu then.
func (w *Watcher) attach(t *target, resolved string, isDir bool) {
	t.resolved, t.isDir = resolved, isDir
	named := w.names[resolved]
	if named == nil {
		named = make(map[*target]struct{})
		w.names[resolved] = named
	}
	named[t] = struct{}{}
	if w.note == nil {
		return
	}
	path := resolved
	if !isDir {
		path = filepath.Dir(resolved)
	}
	d := w.dirs[path]
	if d == nil {
		d = &directory{path: path}
		d.mount = mountOf(source.ID{}, path)
		w.dirs[path] = d
	}
	d.refs++
	t.dir = d
}

// detach undoes attach. It returns the directory, which may have to be watched no more, or nil.
func (w *Watcher) detach(t *target) *directory {
	delete(w.names[t.resolved], t)
	if len(w.names[t.resolved]) == 0 {
		delete(w.names, t.resolved)
	}
	d := t.dir
	if d == nil {
		return nil
	}
	t.dir = nil
	d.refs--
	if d.refs == 0 {
		w.agenda.remove(d)
	}
	return d
}

// ask asks the notifier to watch a directory that is wanted, when add is set, and not to watch one that is not wanted any
// more or lies elsewhere now. The operating system may not answer for long, so w.mu must not be held; of several callers
// one asks, and does what the others want too, and only who says so waits for it. The error is nil but in mode Inotify.
func (w *Watcher) ask(d *directory, add, wait bool) error {
	if d == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for d.asking != nil {
		if !wait {
			return nil
		}
		asked := d.asking
		w.mu.Unlock()
		<-asked
		w.mu.Lock()
	}
	var err error
	for tried := false; ; tried = true {
		begin := add && !tried && !d.active && d.refs > 0 && !w.closed
		end := d.stale || d.active && d.refs == 0
		if !begin && !end {
			break
		}
		d.asking, d.active, d.stale = make(chan struct{}), false, false
		w.mu.Unlock()
		var id source.ID
		var active bool
		if end {
			_ = w.note.Remove(d.path) // it may be gone already, and the watch with it
		}
		if begin {
			id, active, err = w.watch(d.path)
		}
		w.mu.Lock()
		d.id, d.active = id, active
		close(d.asking)
		d.asking = nil
	}
	switch {
	case d.refs > 0:
		w.soon(d)
	case w.dirs[d.path] == d:
		delete(w.dirs, d.path)
	}
	if w.o.Mode == Inotify {
		return err
	}
	if !w.warned && (errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENOMEM)) {
		w.warned = true
		w.o.Log.Warn("some files are polled: the limit on watches is reached (see fs.inotify.max_user_watches)", "error", err)
	}
	return nil
}

// watch has the notifier watch what lies at a path, where that is of use, and returns what that was.
func (w *Watcher) watch(path string) (id source.ID, active bool, err error) {
	if w.o.Mode == Auto && w.sys.remote(path) {
		return source.ID{}, false, nil
	}
	id = w.look(path).id
	err = w.note.Add(path)
	return id, err == nil, err
}

// listen hands on what the notifier tells.
func (w *Watcher) listen() {
	events, errs := w.note.channels()
	for events != nil || errs != nil {
		select {
		case e, ok := <-events:
			if !ok {
				events = nil
				continue
			}
			w.told(e)
		case err, ok := <-errs:
			if !ok {
				errs = nil
				continue
			}
			w.lost(err)
		}
	}
}

// told handles an event.
func (w *Watcher) told(e fsnotify.Event) {
	if e.Name == "" {
		return // of a watch that is gone
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for t := range w.names[e.Name] {
		t.fire()
	}
	if d := w.dirs[e.Name]; d != nil && e.Has(fsnotify.Remove|fsnotify.Rename) {
		// The directory itself is gone, and its watch too. Polling finds it when it is there again.
		d.active, d.stale = false, true
		w.soon(d)
		w.fireBelow(d)
		return
	}
	d := w.dirs[filepath.Dir(e.Name)]
	if d == nil {
		return
	}
	switch _, young := d.young[e.Name]; {
	case e.Has(fsnotify.Create):
		if d.young == nil {
			d.young = make(map[string]time.Time)
		}
		if len(d.young) < maxYoung {
			d.young[e.Name] = time.Now().Add(settling)
		}
	case e.Has(fsnotify.Remove | fsnotify.Rename):
		delete(d.young, e.Name)
	case e.Has(fsnotify.Write) && young:
		delete(d.young, e.Name)
	default:
		return
	}
	for t := range w.names[d.path] {
		t.fire()
	}
}

// fireBelow fires for a directory and what is watched in it, and lets polling follow whether the notifier does.
func (w *Watcher) fireBelow(d *directory) {
	for _, t := range w.targets {
		if t.dir == d {
			w.soon(t)
			t.fire()
		}
	}
}

// lost handles a failure of the notifier: nobody knows what has changed, so everything may have.
func (w *Watcher) lost(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if errors.Is(err, fsnotify.ErrEventOverflow) {
		w.overflows++
	}
	w.o.Log.Warn("changes of files may have been missed; all are looked at", "error", err)
	for _, t := range w.targets {
		t.fire()
	}
}
