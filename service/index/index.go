package index

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidwall/btree"
	"go.etcd.io/bbolt"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/watch"
)

// Files is the catalogue that an index reads: directories of the file system, or anything that can be read like them.
// catalog.Catalog documents the methods.
type Files interface {
	Roots() []catalog.Root
	ReadDir(ctx context.Context, dir string) (catalog.Dir, error)
	Look(name string) (file catalog.File, dir bool, err error)
	OpenContext(ctx context.Context, name string) (*source.File, error)
	Locate(name string) (string, error)
	Previous(ctx context.Context, name string) string
}

// Config holds an Index's settings.
type Config struct {
	// Files is the catalogue to index. Required.
	Files Files
	// Watcher reports changes of directories. Without one directories are checked only on request.
	Watcher *watch.Watcher
	// Log receives warnings. Required.
	Log *slog.Logger
	// Codec returns a format's codec, or nil if there is none. Required.
	Codec func(decoders.Format) *codec.Codec
	// Describe reads the header of an open file. Required.
	Describe func(ctx context.Context, file *source.File) (*replaydv1.Replay, error)
	// Lineages are the origins that belong together.
	Lineages Lineages
	// Path is the file in which the index outlives the process. If it is empty, the index is kept in memory only.
	Path string
	// Depth is how many levels of directories are read below a root; 0 means 32.
	Depth int
	// Budget is the share of one processor that decoding in the background may take, 0 to 1. With 0 nothing is decoded.
	Budget float64
}

// Index holds an entry for each file below the roots.
type Index struct {
	Config
	ctx  context.Context //nolint:containedctx // background goroutines run as long as the index is open
	stop context.CancelFunc
	wg   sync.WaitGroup

	roots map[string]*rootState // by alias; never changed
	local queue                 // files to identify and then to survey, of all directories of the file system

	mu         sync.RWMutex
	dirs       map[string]*directory
	files      *btree.Map[string, *Entry] // by name
	byID       map[uint64]*Entry          // by the hash of a place: see at
	byReplay   lookup                     // by identity
	bySucceeds lookup                     // by the identity of the previous replay
	byMapSize  lookup                     // maps by their size: see mapSize
	names      map[string]string          // repeated texts, each kept once
	changes    changes
	puts       uint64 // how many entries there were
	packed     uint64 // how many there were when files was packed
	numbers    numbers
	interests  map[string]map[*Interest]struct{}

	stored *bbolt.DB // nil without Path
	seldom seldom    // what surveys found that is seldom asked for
	dirty  map[string]bool
	places map[string]string // by alias: the places to store together with what is dirty, so that what is stored of a root is of its place
	facts  map[string]*Entry // the stored entries of files that were not seen yet
}

// rootState is the state of reading a root. Each root has its own, so that one that does not answer delays no other.
type rootState struct {
	reading sync.Mutex    // held during each check in the root and until its result is recorded, so that results stay in order
	reads   atomic.Uint64 // how often one of its directories was read; it changes with the index locked
	usable  chan struct{} // closed when requests need not wait: the root is settled, or is listed and known from an earlier run
	settled chan struct{} // closed when the whole root was read once
	waiting queue         // with every: files to identify and then to survey

	// every is the interval at which the root is listed again. It is 0 for a root whose changes are noticed.
	every time.Duration
	// place is where the files of a listed root lie, and known reports whether what is stored of the root is of that place.
	place string
	known bool
	// sources is true if each directory of the root is an origin of its own.
	sources bool
	// failed is the error of the last listing of the root, or nil. It is guarded by Index.mu.
	failed error
}

// of returns the state of the root of a name.
func (x *Index) of(name string) *rootState { return x.roots[root(name)] }

// listed reports whether a name is below a root that is listed, not watched.
func (x *Index) listed(name string) bool {
	state := x.of(name)
	return state != nil && state.every > 0
}

// directory is a known directory.
type directory struct {
	name     string
	id       source.ID // at the time of read
	modified time.Time // likewise
	read     time.Time
	dirs     map[string]bool
	ctx      context.Context //nolint:containedctx // its watching goroutine runs as long as the directory is known
	stop     context.CancelFunc
}

// Open starts an index. It returns an error if the stored index is damaged or another process has it open. Call Close to end
// the index.
func Open(c Config) (*Index, error) {
	x := &Index{
		Config: c, dirs: map[string]*directory{}, files: new(btree.Map[string, *Entry]), byID: map[uint64]*Entry{},
		byReplay:   newLookup(func(e *Entry) string { return e.Identity }),
		bySucceeds: newLookup(func(e *Entry) string { return e.Previous }),
		byMapSize:  newLookup(mapSize),
		names:      map[string]string{}, roots: map[string]*rootState{}, interests: map[string]map[*Interest]struct{}{},
		dirty: map[string]bool{}, facts: map[string]*Entry{}, numbers: newNumbers(),
	}
	if x.Depth <= 0 {
		x.Depth = maxDepth
	}
	x.changes.wake = make(chan struct{})
	x.local.wake = make(chan struct{}, 1)
	x.ctx, x.stop = context.WithCancel(context.Background())
	for _, r := range c.Files.Roots() {
		state := &rootState{usable: make(chan struct{}), settled: make(chan struct{}), every: r.Every(), place: r.Place(), sources: r.Sources()}
		state.waiting.wake = make(chan struct{}, 1)
		x.roots[r.Alias] = state
	}
	if err := x.load(); err != nil {
		x.stop()
		return nil, err
	}
	for alias, state := range x.roots {
		x.wg.Go(func() {
			x.enter(alias, state)
			close(state.settled)
			if state.every > 0 {
				x.list(alias, state)
			}
		})
		if state.every > 0 { // a store that is slow delays no other root
			x.wg.Go(func() { x.work(&state.waiting, x.listing(state)) })
		}
	}
	x.wg.Go(func() { x.work(&x.local, x.letRead) })
	x.wg.Go(x.settle)
	if x.stored != nil {
		x.wg.Go(x.storing)
		x.wg.Go(x.numbering)
	}
	return x, nil
}

// settle removes the stored entries of files that are gone, once all roots were read. It keeps the entries below a missing
// root, which may come back.
func (x *Index) settle() {
	for _, state := range x.roots {
		select {
		case <-state.settled:
		case <-x.ctx.Done():
			select {
			case <-state.settled: // before the index was closed
			default:
				return
			}
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for name := range x.facts {
		e, _ := x.files.Get(name)
		if d := x.dirs[root(name)]; e == nil && (d == nil || !d.modified.IsZero() || x.listed(name) && !d.read.IsZero()) {
			x.changed(name)
		}
	}
	x.places = map[string]string{}
	for alias, state := range x.roots {
		if d := x.dirs[alias]; state.place != "" && d != nil && !d.read.IsZero() {
			x.places[alias] = state.place
		}
	}
	x.facts = map[string]*Entry{}
}

// Close ends the index, and stores new entries.
func (x *Index) Close() error {
	x.mu.Lock() // nothing begins after this
	x.stop()
	x.mu.Unlock()
	x.wg.Wait()
	return x.close()
}

// ready waits until the root of a name was read once, or is known from an earlier run. With an empty name it waits for every root in the
// scope.
func (x *Index) ready(ctx context.Context, name string, scope Scope) error {
	for alias, state := range x.roots {
		if name != "" && alias != root(name) || !scope.has(alias) {
			continue
		}
		select {
		case <-state.usable:
		case <-ctx.Done():
			return ctx.Err()
		case <-x.ctx.Done():
			return x.ctx.Err()
		}
	}
	return nil
}

// Ready waits until all roots were read once, or are known from an earlier run.
func (x *Index) Ready(ctx context.Context) error { return x.ready(ctx, "", Everything()) }

// get returns the entry of a name, or nil.
func (x *Index) get(name string) *Entry {
	x.mu.RLock()
	defer x.mu.RUnlock()
	e, _ := x.files.Get(name)
	return e
}

// Known returns the index's entry of an open file, without reading anything. identity identifies the replay in the file. For a
// file that the index does not have yet, the entry lacks the facts that decoding finds.
func (x *Index) Known(info source.Info, identity string) *Entry {
	known := Entry{Info: info, Facts: Facts{Identity: identity, LastTick: -1}}
	if e := x.get(info.Name); e != nil && e.ID == info.ID && e.Identity == identity {
		known = *e
		known.Info = info
	}
	return &known
}

// put replaces a file's entry, unless the entry has changed since old was read. The index must be locked.
func (x *Index) put(old, e *Entry) bool {
	if now, _ := x.files.Get(e.Name); now != old {
		return false
	}
	x.puts++
	e.number = x.puts
	x.files.Set(e.Name, e)
	x.relate(old, e)
	x.changed(e.Name)
	if x.puts-x.packed > uint64(x.files.Len())/4+1_000 {
		x.pack()
	}
	return true
}

// pack copies the tree of files. Where a node was split, both halves keep the whole node, and with it entries that were replaced.
func (x *Index) pack() {
	files := x.files.Copy()
	files.ScanMut(func(string, *Entry) bool { return true }) // which copies each node, as long as it is
	x.files, x.packed = files, x.puts
}

// relate updates the other maps by which an entry is found. Either argument may be nil, but not both.
func (x *Index) relate(old, e *Entry) {
	if old == nil || e == nil || old.Identity != e.Identity || old.Identified != e.Identified || old.ID != e.ID || (old.Survey == nil) != (e.Survey == nil) {
		x.notify(old)
		x.notify(e)
	}
	x.relateTexts(old, e)
	if e != nil {
		if old == nil || old.Identity != e.Identity {
			x.number(e)
		}
		x.byID[hashOf(root(e.Name), e.ID)] = e
		return
	}
	if len(x.byID) > 2*x.files.Len()+10_000 { // removed files are kept for a while, because they may have moved
		x.byID = make(map[uint64]*Entry, x.files.Len())
		x.files.Scan(func(_ string, e *Entry) bool {
			x.byID[hashOf(root(e.Name), e.ID)] = e
			return true
		})
	}
}

func (x *Index) relateTexts(old, e *Entry) {
	for _, by := range []*lookup{&x.byReplay, &x.bySucceeds, &x.byMapSize} {
		by.replace(old, e)
	}
}

// changed notes that a file's entry must be stored again. The index must be locked.
func (x *Index) changed(name string) {
	if x.stored != nil {
		x.dirty[name] = true
	}
}

// Figures are the sizes of an index.
type Figures struct {
	Files      int // all known files
	Identified int // the files whose beginning was read
	Surveyed   int // the files that were decoded
}

// Figures returns the present sizes.
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
