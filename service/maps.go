package service

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/scope"
)

const (
	// mapPatience is how long a request waits for the checksums of files that may be its map, from the first request for them on.
	// Local files take a few milliseconds. A later request finds the checksums that have arrived meanwhile.
	mapPatience = 50 * time.Millisecond
	// mapLongPatience is how long a request waits that cannot do without.
	mapLongPatience = 10 * time.Second
	// maxMapsOfSize is the maximum number of files of a map's size that are compared.
	maxMapsOfSize = 64
	// maxSums is the maximum number of files whose checksums are kept.
	maxSums = 100_000
)

// maps finds the maps of games among the files that the index knows. It is safe for concurrent use. Each root has a goroutine that
// reads its files while there are any to read, so that a root that does not answer delays no other.
type maps struct {
	catalog *catalog.Catalog
	index   *index.Index
	ctx     context.Context //nolint:containedctx // the goroutines outlive calls
	stop    context.CancelFunc
	wg      sync.WaitGroup

	mu      sync.Mutex
	sums    map[mapKey]*mapSum
	waiting map[string][]*mapSum // files to read, by root; a root has an entry while a goroutine reads its files
}

// mapKey identifies the contents of a file.
type mapKey struct {
	id       source.ID
	name     string
	size     int64
	modified time.Time
}

// mapSum holds the checksums by which games identify their maps, in hexadecimal digits.
type mapSum struct {
	key   mapKey
	asked time.Time
	done  chan struct{} // closed once the checksums are known, or known to be unreadable and therefore empty

	sha256, crc string
}

func newMaps(c *catalog.Catalog, x *index.Index) *maps {
	m := &maps{catalog: c, index: x, sums: map[mapKey]*mapSum{}, waiting: map[string][]*mapSum{}}
	m.ctx, m.stop = context.WithCancel(context.Background())
	return m
}

// close ends the reading of files, and waits.
func (m *maps) close() {
	m.mu.Lock() // no reading begins after this
	m.stop()
	m.mu.Unlock()
	m.wg.Wait()
}

// find returns the name of the file that is known to be the map of a game now, or an empty string. Maps are identified by their
// SHA-256, in all roots that the caller may see; headers written before DDNet 11.2 have only size and CRC-32.
func (m *maps) find(ctx context.Context, r *replaydv1.Replay) string {
	if sum := m.within(ctx, r, mapPatience); sum != nil {
		return sum.key.name
	}
	return ""
}

// use calls a function with the map of a game. It waits longer for checksums, and for the index to know all files.
func (m *maps) use(ctx context.Context, r *replaydv1.Replay, with func(file io.ReaderAt, size int64) error) error {
	patient, cancel := context.WithTimeout(ctx, mapLongPatience)
	defer cancel()
	_ = m.index.Ready(patient)
	sum := m.within(patient, r, mapLongPatience)
	if sum == nil {
		return cmp.Or(ctx.Err(), codec.ErrNoMap)
	}
	return m.open(ctx, &sum.key, with)
}

// within returns the checksums of the map of a game, nil if they are not known so long after they were first asked for.
func (m *maps) within(ctx context.Context, r *replaydv1.Replay, patience time.Duration) *mapSum {
	game := r.GetTeehistorian()
	if game == nil || game.GetMapSize() <= 0 || !access.Of(ctx).Sees(decoders.Datafile) {
		return nil
	}
	is := func(sum *mapSum) bool {
		want := game.GetMapSha256()
		return want != "" && want == sum.sha256 || want == "" && cmp.Or(game.GetMapCrc(), "-") == sum.crc
	}
	files := m.index.Maps(game.GetMapSize(), r.GetName(), scope.Of(ctx))
	sums := m.ask(files[:min(len(files), maxMapsOfSize)])
	for _, sum := range sums {
		if known(sum) && is(sum) {
			return sum
		}
	}
	for _, sum := range sums {
		timer := time.NewTimer(time.Until(sum.asked.Add(patience)))
		select {
		case <-sum.done:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		if known(sum) && is(sum) {
			return sum
		}
	}
	return nil
}

// known reports whether the checksums are known.
func known(s *mapSum) bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// ask returns the checksums of files, in the same order. It requests unknown ones.
func (m *maps) ask(files []*index.Entry) []*mapSum {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.sums) > maxSums {
		clear(m.sums) // needed ones are read again
	}
	list := make([]*mapSum, 0, len(files))
	for _, e := range files {
		key := mapKey{e.ID, e.Name, e.Size, e.Modified}
		sum := m.sums[key]
		if sum == nil {
			sum = &mapSum{key: key, asked: time.Now(), done: make(chan struct{})}
			m.sums[key] = sum
			m.read(sum)
		}
		list = append(list, sum)
	}
	return list
}

// read makes the goroutine of a file's root read the file. m must be locked.
func (m *maps) read(sum *mapSum) {
	alias, _, _ := strings.Cut(sum.key.name, "/")
	_, reading := m.waiting[alias]
	m.waiting[alias] = append(m.waiting[alias], sum)
	if reading || m.ctx.Err() != nil {
		return
	}
	m.wg.Go(func() {
		for next := m.next(alias); next != nil; next = m.next(alias) {
			m.sum(next)
		}
	})
}

// next returns the next file to read in a root, or nil.
func (m *maps) next(alias string) *mapSum {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.waiting[alias]
	if len(list) == 0 || m.ctx.Err() != nil {
		delete(m.waiting, alias)
		return nil
	}
	m.waiting[alias] = list[1:]
	return list[0]
}

// sum reads a file. A file that cannot be read is tried again by a later request.
func (m *maps) sum(s *mapSum) {
	defer close(s.done)
	sha, crc := sha256.New(), crc32.NewIEEE()
	err := m.copy(io.MultiWriter(sha, crc), &s.key)
	if err == nil {
		s.sha256, s.crc = hex.EncodeToString(sha.Sum(nil)), fmt.Sprintf("%08x", crc.Sum32())
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sums[s.key] == s {
		delete(m.sums, s.key)
	}
}

// copy copies a file.
func (m *maps) copy(to io.Writer, key *mapKey) error {
	return m.open(m.ctx, key, func(file io.ReaderAt, size int64) error {
		_, err := io.Copy(to, io.NewSectionReader(file, 0, size))
		return err
	})
}

// open opens a file for a function.
func (m *maps) open(ctx context.Context, key *mapKey, with func(file io.ReaderAt, size int64) error) error {
	file, err := m.catalog.OpenContext(ctx, key.name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	if info := file.Info(); info.ID != key.id || info.Size != key.size {
		return source.ErrReplaced
	}
	return with(file.Input().At, key.size)
}
