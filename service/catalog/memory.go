package catalog

import (
	"container/list"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/service/source"
)

// memory remembers what files are, the most recently used ones. A file that changed is another file to it.
type memory struct {
	mu    sync.Mutex
	limit int
	order *list.List // of *memo, the last used first
	memos map[memoKey]*list.Element
}

// memoKey is a file, unchanged.
type memoKey struct {
	name     string
	id       source.ID
	size     int64
	modified int64 // nanoseconds since 1970
}

type memo struct {
	key         memoKey
	format      decoders.Format
	compression source.Compression
}

func newMemory(limit int) *memory {
	return &memory{limit: limit, order: list.New(), memos: make(map[memoKey]*list.Element)}
}

func (m *memory) get(key memoKey) (memo, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.memos[key]
	if !ok {
		return memo{}, false
	}
	m.order.MoveToFront(e)
	return *e.Value.(*memo), true //nolint:forcetypeassert // nothing else is put in
}

func (m *memory) put(v memo) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.memos[v.key]; ok {
		return
	}
	m.memos[v.key] = m.order.PushFront(&v)
	if m.order.Len() > m.limit {
		last := m.order.Back()
		m.order.Remove(last)
		delete(m.memos, last.Value.(*memo).key) //nolint:forcetypeassert // nothing else is put in
	}
}

// identify tells what a file is, from memory where it did not change. A compressed file that cannot be unpacked is of no
// known format.
func (c *Catalog) identify(root *os.Root, rel, name string) (source.Info, error) {
	stat, err := root.Stat(rel)
	switch {
	case err != nil:
		return source.Info{}, err
	case stat.IsDir():
		return source.Info{}, source.ErrDirectory
	case !stat.Mode().IsRegular():
		return source.Info{}, source.ErrIrregular
	}
	info := source.Info{Name: name, Size: stat.Size(), Modified: stat.ModTime(), ID: source.Identify(stat)}
	key := memoKey{name, info.ID, info.Size, info.Modified.UnixNano()}
	if v, ok := c.seen.get(key); ok {
		info.Format, info.Compression = v.format, v.compression
		return info, nil
	}
	file, err := open(root, rel)
	if err != nil {
		return source.Info{}, err
	}
	f, err := source.New(file, source.Origin{Name: name}, c.limits)
	var broken *decoders.Error
	switch {
	case errors.As(err, &broken):
		c.seen.put(memo{key: key})
		return info, nil
	case err != nil:
		return source.Info{}, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	info = f.Info()
	// A file that was written to in this very moment may be written to again without that its time shows it.
	if time.Since(info.Modified) > 2*time.Second {
		c.seen.put(memo{memoKey{name, info.ID, info.Size, info.Modified.UnixNano()}, info.Format, info.Compression})
	}
	return info, nil
}
