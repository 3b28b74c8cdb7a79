package dem

import (
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/proto/position"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
)

// frontReader is the codec.Reader of a demo. It delivers the events of one reader or, if the demo has checkpoints and processors
// are idle, of several readers that read at once.
type frontReader struct {
	*reader
	begun bool   // delivery has begun
	ahead *ahead // nil if only one reader reads
}

// Fill implements codec.Reader.
func (f *frontReader) Fill(b *codec.Batch) error {
	if !f.begun {
		f.begun = true
		if !f.samples.Wanted() { // those of a tick are before the record of another one
			f.ahead = newAhead(f.reader)
		}
	}
	if f.ahead != nil {
		return f.ahead.fill(b)
	}
	return f.fill(b)
}

// present returns the reader of the section that delivery has reached.
func (f *frontReader) present() *reader {
	if f.ahead != nil {
		return f.ahead.now
	}
	return f.reader
}

func (f *frontReader) place() place {
	if f.ahead != nil {
		return f.ahead.at
	}
	return placeOf(f.reader)
}

func (f *frontReader) Position() decoders.Position { return f.place().position }

func (f *frontReader) Sum() decoders.Sum { return f.place().sum }

func (f *frontReader) Tick() int32 { return f.place().tick }

func (f *frontReader) Filtered() uint64 { return f.place().skipped }

func (f *frontReader) Close() error { return f.present().d.Close() }

// Held implements codec.Holder. Memory for reading ahead is not included: it was asked for.
func (f *frontReader) Held() int64 { return f.present().held() }

// TicksPerSecond implements codec.Clocked.
func (f *frontReader) TicksPerSecond() float64 { return f.present().d.TicksPerSecond() }

// Leave implements codec.Leaver.
func (f *frontReader) Leave() {
	if f.ahead != nil {
		f.ahead.end()
	} else {
		f.d.Leave()
	}
}

func (f *frontReader) Summarize(end *replaydv1.StreamEnd) {
	d := f.present().d
	end.Summary = summary(d.Stats(), d.Health())
}

// ahead reads several parts of a demo, between checkpoints, at once. The caller's goroutine decodes the part that is delivered
// next. Helpers decode later parts while processors are idle, and keep the batches. When the caller reaches a part that a helper
// has begun, it delivers the kept batches and goes on from there itself. So the caller waits for a helper for no longer than one
// batch takes.
type ahead struct {
	// Of the caller.
	first  *reader // whose demo it is
	now    *reader // of the present part
	at     place   // after the last delivered event
	before uint64  // events that the filter did not match in earlier parts

	mu      sync.Mutex
	parts   []*part // the present part and later ones
	kept    int     // bytes of all blocks in use, and of batches outside blocks
	helpers int
	called  time.Time   // time of the caller's last call
	like    codec.Batch // the settings of the caller's batches
	spare   []*block
	places  []position.List // memory for the positions of batches
	charged int64           // memory that was asked for; -1 after a refusal
}

// place is the place of a reader in the demo.
type place struct {
	position decoders.Position
	sum      decoders.Sum
	tick     int32
	skipped  uint64
}

func placeOf(r *reader) place {
	return place{r.Position(), r.d.Sum(), r.d.Tick(), r.skipped}
}

// part is a run of sections, read from a checkpoint. The first part begins where delivery begins, and the last one ends with the
// demo.
type part struct {
	from *codec.Checkpoint // nil for the first part
	end  int64             // 0 for the last part

	mu    sync.Mutex // held while it is decoded
	r     *reader    // nil until it is begun
	ready []*kept
	open  *kept  // the batch that a helper fills; nil if there is none
	block *block // memory for further batches; nil if there is none
	tail  []byte // memory for the tail of the next batch
	err   error  // how it ended
	panic any    // a helper's panic

	// Guarded by ahead.mu.
	taken bool // no other helper may work on it
}

// kept is a batch that a helper fills, or has filled.
type kept struct {
	codec.Batch
	in     *block
	beside int   // bytes outside the block
	at     place // after its last event, once it is full
}

// block is memory for consecutive batches. If each had its own memory, all would grow to the size of the longest.
type block struct {
	data    []byte // up to the end of the last full batch
	holders int    // batches that were not taken yet, and the part that appends batches
}

const (
	// maxPart is the largest length of a part, in bytes of the demo. Beginning a part takes about 3 ms of a processor, as long as
	// decoding 200 KB.
	maxPart = 6 << 20
	// maxHelpers is the largest number of helpers of a stream.
	maxHelpers = 3
	// patience is how long helpers go on after the caller's last call.
	patience = 50 * time.Millisecond
)

// Variables for tests: maxKept limits the bytes of a stream's kept batches (with 16 MiB, helpers waited in parts of maxPart),
// blockBytes is the size of a block, stretch is how long a helper keeps a processor.
var (
	maxKept    = 24 << 20
	blockBytes = 1 << 20
	stretch    = 4 * time.Millisecond
)

// newAhead returns an ahead for a reader that begins to deliver, or nil where there is nothing to read at once. Tables are
// filled by one reader, which numbers their values.
func newAhead(r *reader) *ahead {
	if r.keeper.checkpoints == nil || r.Ahead == nil || r.StateAgain || r.Tables != nil || r.Filter.Nothing() || runtime.GOMAXPROCS(0) < 2 {
		return nil
	}
	next := r.boundary(r.d.Offset())
	if next == nil {
		return nil
	}
	r.section.end = next.Position.Offset
	return &ahead{first: r, now: r, at: placeOf(r), parts: []*part{{r: r, end: r.section.end, taken: true}, {from: next}}}
}

// workers returns how many goroutines may decode, the caller's among them.
func workers() int { return min(runtime.GOMAXPROCS(0), 1+maxHelpers) }

// boundary returns the checkpoint at which a part that begins at an offset ends, or nil. Towards the last checkpoint, parts get
// shorter, down to one section, so that all workers stay busy until the end.
func (r *reader) boundary(offset int64) *codec.Checkpoint {
	last, ok := r.keeper.checkpoints.Last(func(*codec.Checkpoint) bool { return true })
	if !ok {
		return nil
	}
	length := min((last.Position.Offset-offset)/int64(workers()), maxPart)
	return r.sectionAfter(offset + max(length-sectionBytes, 0))
}

// sectionAfter returns the first checkpoint after an offset at which a section begins. Its bytes were compared with the present
// ones.
func (r *reader) sectionAfter(offset int64) *codec.Checkpoint {
	for {
		c, ok := r.keeper.checkpoints.After(offset)
		if !ok || !r.keeper.checkpoints.Proven(&c) {
			return nil
		}
		offset = c.Position.Offset
		if c.Shared.(*dem.Snapshot).Previous()/sectionBytes < offset/sectionBytes {
			return &c
		}
	}
}

// ends reports whether the end of the part at an index of a.parts is known. For the last part, it looks for it.
func (a *ahead) ends(i int) bool {
	p := a.parts[i]
	if p.end > 0 || i < len(a.parts)-1 || p.taken {
		return p.end > 0
	}
	next := a.first.boundary(p.from.Position.Offset)
	if next == nil {
		return false
	}
	p.end = next.Position.Offset
	a.parts = append(a.parts, &part{from: next})
	return true
}

// begin makes the part's reader, unless it has one.
func (a *ahead) begin(p *part) {
	if p.r != nil || p.err != nil {
		return
	}
	r := newReader(a.first.in, a.first.Options, a.first.opts.Schemas)
	r.keeper.checkpoints = a.first.keeper.checkpoints
	if r.d, p.err = r.decoder(r.opts, p.from); p.err == nil {
		r.section = section{number: p.from.Position.Offset / sectionBytes, end: p.end}
		p.r = r
	}
}

// fill implements codec.Reader.Fill.
func (a *ahead) fill(b *codec.Batch) error {
	a.call(b)
	for {
		a.mu.Lock()
		p := a.parts[0]
		a.mu.Unlock()
		err := a.fillFrom(p, b)
		if !errors.Is(err, errSection) {
			return err
		}
		a.pass()
	}
}

// fillFrom fills a batch from the present part. At the end of the part it returns errSection and an empty batch.
func (a *ahead) fillFrom(p *part, b *codec.Batch) error {
	p.mu.Lock()
	defer p.mu.Unlock() // also if a decoder panics, because a helper may be waiting
	if p.panic != nil {
		panic(p.panic) //nolint:forbidigo // a helper's panic goes on in the caller's goroutine
	}
	if b.Count > 0 && (len(p.ready) > 0 || p.open != nil) {
		return nil
	}
	if len(p.ready) > 0 {
		next := p.ready[0]
		p.ready[0] = nil // free its memory outside the block
		p.ready = p.ready[1:]
		a.take(next, b)
		a.now, a.at = p.r, next.at
		a.at.skipped += a.before
		return nil
	}
	if p.open != nil {
		a.take(p.open, b)
		p.open = nil
	}
	a.close(p)
	if a.begin(p); p.err != nil {
		return p.err
	}
	err := p.r.fill(b)
	a.now, a.at = p.r, placeOf(p.r)
	a.at.skipped += a.before
	return err
}

// take copies a kept batch to the caller's empty one.
func (a *ahead) take(k *kept, b *codec.Batch) {
	b.Events, b.Tail = append(b.Events, k.Events...), append(b.Tail, k.Tail...)
	b.Marks, b.Count = append(b.Marks, k.Marks...), k.Count
	b.Places, k.Places = k.Places, b.Places
	a.mu.Lock()
	defer a.mu.Unlock()
	a.places = append(a.places, k.Places)
	a.kept -= k.beside
	a.release(k.in)
}

// close gives back a part's block.
func (a *ahead) close(p *part) {
	if p.block == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.release(p.block)
	p.block, p.tail = nil, nil
}

// pass goes on to the next part.
func (a *ahead) pass() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.before += a.parts[0].r.skipped
	a.parts = a.parts[1:]
	a.ends(0)
	a.parts[0].taken = true
}

// call notes that the caller wants a batch, and starts helpers.
func (a *ahead) call(b *codec.Batch) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.called = time.Now()
	a.like = codec.Batch{MaxEvents: b.MaxEvents, MaxBytes: b.MaxBytes, KeepMarks: b.KeepMarks}
	most := workers() - 1
	for a.helpers < most && a.pick() >= 0 && a.charge(most) {
		a.helpers++
		a.first.Ahead(a.help, a.leave)
	}
	if len(a.parts) == 1 && a.helpers == 0 && a.charged > 0 {
		_ = a.first.in.Memory(-a.charged) // nothing more can be read at once
		a.charged, a.spare, a.places = 0, nil, nil
	}
}

// end makes helpers end, and gives back their memory.
func (a *ahead) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.called = time.Time{}
	if a.charged > 0 {
		_ = a.first.in.Memory(-a.charged)
	}
	a.charged = -1
}

// charge asks for the helpers' memory, once.
func (a *ahead) charge(helpers int) bool {
	if a.charged == 0 {
		n := int64(maxKept) + int64(helpers)*(a.now.held()+1<<20)
		if a.charged = n; a.first.in.Memory(n) != nil {
			a.charged = -1
		}
	}
	return a.charged > 0
}

// pick returns the index of the part for the next helper, -1 if there is none.
func (a *ahead) pick() int {
	if a.kept >= maxKept || time.Since(a.called) > patience {
		return -1
	}
	for i := 1; i < len(a.parts) && i <= maxHelpers; i++ {
		if p := a.parts[i]; !p.taken && a.ends(i) {
			return i
		}
	}
	return -1
}

// help reads ahead for a while. It returns false when nothing is left to do.
func (a *ahead) help() (more bool) {
	a.mu.Lock()
	i := a.pick()
	if i < 0 {
		a.mu.Unlock()
		return false
	}
	p := a.parts[i]
	p.taken = true
	a.mu.Unlock()
	began := time.Now()
	over, wait := a.step(p)
	for !over && !wait && time.Since(began) < stretch {
		over, wait = a.step(p)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	p.taken = over || a.parts[0] == p
	return true
}

// leave notes that a helper ended.
func (a *ahead) leave() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.helpers--
}

// step decodes some of a part, and keeps the batch if it is full. over means that helpers are done with the part, wait that too
// much is kept.
func (a *ahead) step(p *part) (over, wait bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer func() {
		if v := recover(); v != nil {
			p.panic, over = v, true // the caller panics with the same value
		}
	}()
	a.mu.Lock()
	over = a.parts[0] == p || p.err != nil
	if !over && p.open == nil {
		a.openIn(p)
	}
	a.mu.Unlock()
	if over || p.open == nil {
		return over, true
	}
	if a.begin(p); p.err != nil {
		return true, false
	}
	err := p.r.fill(&p.open.Batch)
	if errors.Is(err, codec.ErrYield) {
		return false, false
	}
	if p.open.Count > 0 {
		a.keep(p)
	}
	p.err = err
	return err != nil, false
}

// openIn opens an empty batch in a part, unless too much is kept. a.mu is locked, too.
func (a *ahead) openIn(p *part) {
	if a.kept >= maxKept {
		return
	}
	if p.block != nil && cap(p.block.data)-len(p.block.data) < a.like.MaxBytes {
		a.release(p.block)
		p.block = nil
	}
	if p.block == nil {
		p.block = a.newBlock()
	}
	p.block.holders++
	p.open = &kept{Batch: a.like, in: p.block}
	p.open.Events, p.open.Tail = p.block.data[len(p.block.data):], p.tail
	if n := len(a.places); n > 0 {
		p.open.Places, a.places = a.places[n-1], a.places[:n-1]
		p.open.Places.Reset()
	}
}

// keep keeps the part's open batch, which is full.
func (a *ahead) keep(p *part) {
	k := p.open
	k.at = placeOf(p.r)
	data, n := k.in.data, len(k.in.data)
	if cap(k.Events) == cap(data)-n { // they still lie in the block
		data = data[:n+len(k.Events)]
	} else {
		k.beside += cap(k.Events)
	}
	if n = len(data); len(k.Tail) <= cap(data)-n {
		p.tail = k.Tail[:0]
		data = append(data, k.Tail...)
		k.Tail = data[n:]
	} else {
		p.tail = nil
		k.beside += cap(k.Tail)
	}
	k.in.data = data
	k.beside += 128*cap(k.Marks) + k.Places.Held()
	p.ready, p.open = append(p.ready, k), nil
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kept += k.beside
}

// newBlock returns an empty block with one holder. a.mu is locked.
func (a *ahead) newBlock() *block {
	a.kept += blockBytes
	if n := len(a.spare); n > 0 {
		b := a.spare[n-1]
		a.spare = a.spare[:n-1]
		b.data, b.holders = b.data[:0], 1
		return b
	}
	return &block{data: make([]byte, 0, blockBytes), holders: 1}
}

// release takes one holder off a block, whose memory is used again when none is left. The caller holds a.mu.
func (a *ahead) release(b *block) {
	if b.holders--; b.holders == 0 {
		a.kept -= blockBytes
		a.spare = append(a.spare, b)
	}
}
