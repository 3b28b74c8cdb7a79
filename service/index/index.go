package index

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidwall/btree"
	"go.etcd.io/bbolt"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/codec"
	"github.com/replayd/replayd/service/source"
	"github.com/replayd/replayd/service/watch"
)

// Files is what an index asks of what lies below: directories of the file system, or what can be read like them.
// catalog.Catalog documents the methods.
type Files interface {
	Roots() []catalog.Root
	ReadDir(ctx context.Context, dir string) (catalog.Dir, error)
	Look(name string) (file catalog.File, dir bool, err error)
	Open(name string) (*source.File, error)
	Locate(name string) (string, error)
}

// Config is what an Index knows and how.
type Config struct {
	// Files is what lies below. Required.
	Files Files
	// Watcher reports changes of directories. Without one they are looked at only on request.
	Watcher *watch.Watcher
	// Log gets what goes wrong. Required.
	Log *slog.Logger
	// Codec returns a format's codec, nil where there is none. Required.
	Codec func(decoders.Format) *codec.Codec
	// Describe reads the header of an open file. Required.
	Describe func(ctx context.Context, file *source.File) (*replaydv1.Replay, error)
	// Path is the file in which what is known outlives the process; empty keeps it in memory alone.
	Path string
	// Depth is how many directories deep roots are read; 0 means 32.
	Depth int
	// Budget is which share of one processor decoding in the background may take, 0 to 1. With 0 nothing is decoded.
	Budget float64
}

// Index knows what lies below the roots.
type Index struct {
	Config
	ctx  context.Context //nolint:containedctx // what runs in the background lives as long as the index
	stop context.CancelFunc
	wg   sync.WaitGroup

	roots map[string]*rootState // by alias; never changed

	mu         sync.RWMutex
	dirs       map[string]*directory
	files      btree.Map[string, *Entry] // by name
	byID       map[source.ID]*Entry
	byReplay   map[string][]string // names by identity
	bySucceeds map[string][]string // names by the identity of the replay before
	names      map[string]string   // texts that repeat, each kept once
	waiting    queue               // what is to be identified, and then surveyed
	changes    changes
	interests  map[string]map[*Interest]struct{}

	stored *bbolt.DB // nil without Path
	dirty  map[string]bool
	facts  map[string]*Entry // what was stored, of files that were not seen yet
}

// rootState is how far a root is known. A root that does not answer delays no other.
type rootState struct {
	reading sync.Mutex    // one look at it, or at one of its directories, is made and noted at a time: a later one is newer
	reads   atomic.Uint64 // how often one of its directories was read; it changes with the index locked
	settled chan struct{} // closed when all of it was read once
}

// directory is one that is known.
type directory struct {
	name     string
	id       source.ID // as of when it was read
	modified time.Time // likewise
	read     time.Time
	files    map[string]*Entry
	dirs     map[string]bool
	ctx      context.Context //nolint:containedctx // what watches it lives as long as it
	stop     context.CancelFunc
}

// Open starts an index. It returns the error of a stored index that another process has open, or that is damaged; Close
// ends it.
func Open(c Config) (*Index, error) {
	x := &Index{
		Config: c, dirs: map[string]*directory{}, byID: map[source.ID]*Entry{}, byReplay: map[string][]string{},
		bySucceeds: map[string][]string{}, names: map[string]string{}, roots: map[string]*rootState{},
		interests: map[string]map[*Interest]struct{}{},
		dirty:     map[string]bool{}, facts: map[string]*Entry{},
	}
	if x.Depth <= 0 {
		x.Depth = maxDepth
	}
	x.waiting.wake = make(chan struct{}, 1)
	x.changes.wake = make(chan struct{})
	x.ctx, x.stop = context.WithCancel(context.Background())
	if err := x.load(); err != nil {
		x.stop()
		return nil, err
	}
	for _, r := range c.Files.Roots() {
		state := &rootState{settled: make(chan struct{})}
		x.roots[r.Alias] = state
	}
	for alias, state := range x.roots {
		x.wg.Go(func() {
			x.enter(alias)
			close(state.settled)
		})
	}
	x.wg.Go(x.work)
	x.wg.Go(x.settle)
	if x.stored != nil {
		x.wg.Go(x.storing)
	}
	return x, nil
}

// settle forgets what was stored of files that are gone, once everything was read. A root that is not there may come back.
func (x *Index) settle() {
	if x.Ready(x.ctx) != nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for name := range x.facts {
		e, _ := x.files.Get(name)
		if d := x.dirs[root(name)]; e == nil && (d == nil || !d.modified.IsZero()) {
			x.changed(name)
		}
	}
	x.facts = map[string]*Entry{}
}

// Close ends the index, and writes what is not stored yet.
func (x *Index) Close() error {
	x.mu.Lock() // nothing begins after this
	x.stop()
	x.mu.Unlock()
	x.wg.Wait()
	return x.close()
}

// ready waits until the root of a name, or with an empty one every root that may be seen, was read once.
func (x *Index) ready(ctx context.Context, name string, scope Scope) error {
	for alias, state := range x.roots {
		if name != "" && alias != root(name) || !scope.has(alias) {
			continue
		}
		select {
		case <-state.settled:
		case <-ctx.Done():
			return ctx.Err()
		case <-x.ctx.Done():
			return x.ctx.Err()
		}
	}
	return nil
}

// Ready waits until everything was read once.
func (x *Index) Ready(ctx context.Context) error { return x.ready(ctx, "", nil) }

// get returns what is known of a name, or nil.
func (x *Index) get(name string) *Entry {
	x.mu.RLock()
	defer x.mu.RUnlock()
	e, _ := x.files.Get(name)
	return e
}

// put replaces what is known of a file, unless that has changed since old was read. The index must be locked.
func (x *Index) put(old, e *Entry) bool {
	if now, _ := x.files.Get(e.Name); now != old {
		return false
	}
	x.files.Set(e.Name, e)
	x.relate(old, e)
	return true
}

// relate keeps the other ways to find an entry. Either may be nil.
func (x *Index) relate(old, e *Entry) {
	if old == nil || e == nil || old.Identity != e.Identity || old.Identified != e.Identified || old.ID != e.ID || (old.Survey == nil) != (e.Survey == nil) {
		x.notify(old)
		x.notify(e)
	}
	if old != nil && (e == nil || old.Identity != e.Identity || old.Previous != e.Previous) {
		drop(x.byReplay, old.Identity, old.Name)
		drop(x.bySucceeds, old.Previous, old.Name)
	}
	if e != nil && (old == nil || old.Identity != e.Identity || old.Previous != e.Previous) {
		add(x.byReplay, e.Identity, e.Name)
		add(x.bySucceeds, e.Previous, e.Name)
	}
	if e != nil {
		x.byID[e.ID] = e
		if d := x.dirs[dirOf(e.Name)]; d != nil {
			d.files[e.Name] = e
		}
		x.changed(e.Name)
		return
	}
	x.changed(old.Name)
	if len(x.byID) > 2*x.files.Len()+10_000 { // those that are gone are known for a while, for they may have moved
		x.byID = make(map[source.ID]*Entry, x.files.Len())
		x.files.Scan(func(_ string, e *Entry) bool {
			x.byID[e.ID] = e
			return true
		})
	}
}

// changed notes that a file is to be stored anew. The index must be locked.
func (x *Index) changed(name string) {
	if x.stored != nil {
		x.dirty[name] = true
	}
}

func add(m map[string][]string, key, name string) {
	if key != "" {
		m[key] = append(slices.Clip(m[key]), name)
	}
}

func drop(m map[string][]string, key, name string) {
	names := slices.DeleteFunc(slices.Clone(m[key]), func(n string) bool { return n == name })
	if len(names) == 0 {
		delete(m, key)
		return
	}
	m[key] = names
}

// Figures are an index' sizes.
type Figures struct {
	Files      int // all that are known
	Identified int // of them
	Surveyed   int // of them
}

// Figures returns the present ones.
func (x *Index) Figures() Figures {
	x.mu.RLock()
	defer x.mu.RUnlock()
	f := Figures{Files: x.files.Len()}
	x.files.Scan(func(_ string, e *Entry) bool {
		if e.Identified {
			f.Identified++
		}
		if e.Survey != nil {
			f.Surveyed++
		}
		return true
	})
	return f
}
