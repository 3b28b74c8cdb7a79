package index

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/internal/database"
	"github.com/replayd/replayd/replay/source"
)

// storeEvery is how often new entries are stored.
const storeEvery = 5 * time.Second

// storedVersion is the first byte of a stored entry. It changes with the encoding, and with what surveys find. Entries of other versions are
// ignored.
const storedVersion = 6

// fixedBit marks an entry as Fixed, in the byte with the compression.
const fixedBit = 0x80

var (
	bucketName = []byte("files")
	// metaName is the bucket for values about all entries. Facts that a survey found by the lineage of a replay, such as names of
	// players who came from the previous game, are used only while the same origins belong together.
	metaName, lineagesKey = []byte("meta"), []byte("lineages")
	// placePrefix and the alias of a root are the key of its place.
	placePrefix = "place "
)

// load reads the stored index. It is a cache: a stored entry is used only while device, inode, size and time are the same.
func (x *Index) load() (err error) {
	if x.Path == "" {
		return nil
	}
	var recalled []*Entry
	x.stored, err = database.Open(x.Path, func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists(bucketName)
		if err != nil {
			return err
		}
		meta, err := tx.CreateBucketIfNotExists(metaName)
		if err != nil {
			return err
		}
		same := string(meta.Get(lineagesKey)) == x.Lineages.key()
		if !same {
			if err := meta.Put(lineagesKey, []byte(x.Lineages.key())); err != nil {
				return err
			}
		}
		for alias, state := range x.roots {
			state.known = state.place != "" && string(meta.Get([]byte(placePrefix+alias))) == state.place
		}
		var p parsing
		defer p.wait()
		if err := b.ForEach(p.add); err != nil {
			return err
		}
		if err := x.numbers.load(tx, same); err != nil {
			return err
		}
		for e := range p.entries() {
			if e.Format != decoders.Unknown && x.Codec(e.Format) == nil {
				continue
			}
			if !same {
				e.Survey = nil
			} else if e.Survey != nil {
				x.seldom.keep(e.Survey)
			}
			x.intern(e)
			if x.recalls(e) {
				x.relateTexts(nil, e)
				recalled = append(recalled, e)
				continue
			}
			x.facts[e.Name] = e
			x.byID[hashOf(root(e.Name), e.ID)] = e
		}
		return nil
	})
	if damaged, ok := errors.AsType[*database.DamagedError](err); ok {
		return fmt.Errorf("index %q is damaged, and may be deleted: %v", x.Path, damaged.Reason)
	}
	if err != nil {
		return fmt.Errorf("index %q: %w", x.Path, err)
	}
	x.recall(recalled)
	return nil
}

func (x *Index) close() error {
	if x.stored == nil {
		return nil
	}
	return errors.Join(x.store(), x.stored.Close())
}

// storing stores new entries every storeEvery.
func (x *Index) storing() {
	tick := time.NewTicker(storeEvery)
	defer tick.Stop()
	for {
		select {
		case <-x.ctx.Done():
			return
		case <-tick.C:
			if err := x.store(); err != nil {
				x.Log.Warn("the index cannot be stored", "path", x.Path, "error", err)
			}
		}
	}
}

// store stores new entries.
func (x *Index) store() error {
	type change struct {
		name  string
		entry *Entry
	}
	var list []change
	x.mu.Lock()
	for name := range x.dirty {
		switch e, _ := x.files.Get(name); {
		case e == nil:
			list = append(list, change{name, nil})
		case e.Identified:
			list = append(list, change{name, e})
		}
	}
	x.dirty = map[string]bool{} // a map that was emptied keeps its size: that of all files, after they were met
	places := x.places
	x.places = nil
	x.mu.Unlock()
	if len(list) == 0 && len(places) == 0 {
		return nil
	}
	err := x.stored.Update(func(tx *bbolt.Tx) error {
		b, meta := tx.Bucket(bucketName), tx.Bucket(metaName)
		for alias, place := range places {
			if err := meta.Put([]byte(placePrefix+alias), []byte(place)); err != nil {
				return err
			}
		}
		for _, c := range list {
			var err error
			if c.entry == nil {
				err = b.Delete([]byte(c.name))
			} else {
				err = b.Put([]byte(c.name), c.entry.encoded())
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil { // try again later: space may be freed on a full disk
		x.mu.Lock()
		defer x.mu.Unlock()
		for _, c := range list {
			x.dirty[c.name] = true
		}
		x.places = places
	}
	return err
}

// encoded returns the stored form of an entry.
func (e *Entry) encoded() []byte {
	packed := byte(e.Compression)
	if e.Fixed {
		packed |= fixedBit
	}
	b := []byte{storedVersion, byte(e.Format), packed}
	b = binary.AppendUvarint(b, e.ID.Device)
	b = binary.AppendUvarint(b, e.ID.Inode)
	b = binary.AppendVarint(b, e.Size)
	b = binary.AppendVarint(b, e.Modified.UnixNano())
	for _, text := range []string{e.Identity, e.Previous, e.Server, e.MapName} {
		b = appendText(b, text)
	}
	started := int64(math.MinInt64)
	if !e.Started.IsZero() {
		started = e.Started.UnixNano()
	}
	b = binary.AppendVarint(b, started)
	b = binary.AppendUvarint(b, math.Float64bits(e.TicksPerSecond))
	b = binary.AppendVarint(b, int64(e.LastTick))
	b = binary.AppendVarint(b, int64(e.Length))
	b = appendText(appendTexts(b, e.Players()), e.Lineup())
	if e.Survey == nil {
		return append(b, 0)
	}
	s := e.Survey
	b = append(b, 1, bits(s.Ended, s.Broken, s.Continues))
	b = binary.AppendVarint(b, s.Offset)
	b = binary.AppendVarint(b, int64(s.LastTick))
	return append(appendTexts(b, s.Names()), s.rest()...)
}

func bits(flags ...bool) (b byte) {
	for i, f := range flags {
		if f {
			b |= 1 << i
		}
	}
	return b
}

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

func appendTexts(b []byte, list []string) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, text := range list {
		b = appendText(b, text)
	}
	return b
}

// parsing parses stored entries on all processors. It copies their bytes first: only the goroutine that reads the database survives its
// damage.
type parsing struct {
	batches []*batch
	wg      sync.WaitGroup
}

// batch is a number of entries in the order of their names.
type batch struct {
	bytes  []byte
	stored []struct{ name, value int } // where each ends
	parsed []*Entry
}

// perBatch is how many bytes a batch has at least, but for the last one.
const perBatch = 1 << 20

func (p *parsing) add(name, value []byte) error {
	if len(p.batches) == 0 || len(p.batches[len(p.batches)-1].bytes) >= perBatch {
		p.parse()
		p.batches = append(p.batches, &batch{bytes: make([]byte, 0, perBatch+1<<10)})
	}
	b := p.batches[len(p.batches)-1]
	b.bytes = append(b.bytes, name...)
	at := len(b.bytes)
	b.bytes = append(b.bytes, value...)
	b.stored = append(b.stored, struct{ name, value int }{at, len(b.bytes)})
	return nil
}

// parse begins to parse the last batch.
func (p *parsing) parse() {
	if len(p.batches) == 0 {
		return
	}
	b := p.batches[len(p.batches)-1]
	p.wg.Go(func() {
		b.parsed = make([]*Entry, 0, len(b.stored))
		from := 0
		for _, to := range b.stored {
			if e := parse(string(b.bytes[from:to.name]), b.bytes[to.name:to.value]); e != nil {
				b.parsed = append(b.parsed, e)
			}
			from = to.value
		}
		b.bytes, b.stored = nil, nil
	})
}

func (p *parsing) wait() { p.wg.Wait() }

// entries returns the entries that could be parsed, in the order in which they were added.
func (p *parsing) entries() iter.Seq[*Entry] {
	p.parse()
	p.wait()
	return func(yield func(*Entry) bool) {
		for _, b := range p.batches {
			for _, e := range b.parsed {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// parse is the reverse of encoded. It returns nil for bytes that it cannot parse.
func parse(name string, value []byte) *Entry {
	r := stored{b: value}
	if r.byte() != storedVersion {
		return nil
	}
	e := &Entry{Identified: true}
	format, packed := r.byte(), r.byte()
	e.Info = source.Info{
		Name: name, Format: decoders.Format(format), Compression: source.Compression(packed &^ fixedBit), Fixed: packed&fixedBit != 0,
		ID: source.ID{Device: r.uint(), Inode: r.uint()}, Size: r.int(), Modified: time.Unix(0, r.int()),
	}
	e.Identity, e.Previous, e.Server, e.MapName = r.text(), r.text(), r.text(), r.text()
	if started := r.int(); started != math.MinInt64 {
		e.Started = time.Unix(0, started)
	}
	e.TicksPerSecond = math.Float64frombits(r.uint())
	e.LastTick, e.Length, e.cast = int32(r.int()), time.Duration(r.int()), castOf(r.texts(), r.text())
	if r.byte() == 1 {
		flags := r.byte()
		e.Survey = &Survey{Ended: flags&1 != 0, Broken: flags&2 != 0, Continues: flags&4 != 0}
		e.Survey.Offset, e.Survey.LastTick, e.Survey.names = r.int(), int32(r.int()), shared(r.texts())
		e.Survey.in = &block{bytes: bytes.Clone(r.b)}
		e.Survey.hasRoster = len(r.bytes(r.uint())) > 0
		for range seldomTexts - 1 {
			r.bytes(r.uint())
		}
	}
	if r.bad || len(r.b) > 0 || !slices.Contains(source.Compressions(), e.Compression) {
		return nil
	}
	return e
}

// stored reads a stored entry. Values that are read after the first failure are meaningless.
type stored struct {
	b   []byte
	bad bool
}

func (r *stored) bytes(n uint64) []byte {
	if r.bad || n > uint64(len(r.b)) {
		r.bad = true
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *stored) byte() byte {
	if b := r.bytes(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

func (r *stored) uint() uint64 {
	v, n := binary.Uvarint(r.b)
	if r.bytes(uint64(max(n, 0))); n <= 0 {
		r.bad = true
	}
	return v
}

func (r *stored) int() int64 {
	v, n := binary.Varint(r.b)
	if r.bytes(uint64(max(n, 0))); n <= 0 {
		r.bad = true
	}
	return v
}

func (r *stored) text() string { return string(r.bytes(r.uint())) }

func (r *stored) texts() (list []string) {
	for n := r.uint(); n > 0 && !r.bad; n-- {
		list = append(list, r.text())
	}
	return list
}
