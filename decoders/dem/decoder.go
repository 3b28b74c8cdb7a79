package dem

import (
	"crypto/sha256"
	"errors"
	"io"

	"github.com/replayd/replayd/decoders"
)

// Options say what a decoder delivers. The zero value delivers everything from the beginning.
type Options struct {
	// Kinds tells which kinds of events are delivered; nil means all. It is asked once for each kind. What no wanted kind
	// needs is not decoded: without the kinds of entities and without ticks, no entity is.
	Kinds func(Kind) bool
	// Classes tells of which classes entities are decoded and delivered, by name; nil means of all. It is asked once for
	// each class. The others' updates are skipped without looking at them where the file tells their sizes.
	Classes func(class string) bool
	// Fields tells which fields of entities are delivered; nil means all. It is asked once for each field of each class.
	// An update without any wanted field is not delivered.
	Fields func(class, field string) bool
	// From is where delivery starts: the Position of another decoder of the same file with the same options. What comes
	// before is decoded as far as it is needed, and not delivered.
	From decoders.Position
	// FromTick, when not nil, is the first tick whose events are delivered.
	FromTick *int32
	// At, when not nil, reads the same file anywhere. With FromTick, decoding then starts at the last key frame before
	// that tick instead of at the beginning.
	At io.ReaderAt
	// Schemas is where compiled schemas are kept for other decoders; nil means nowhere.
	Schemas *Schemas
	// Yield, when not 0, makes Next return ErrYield after about so many bytes of the file without an event.
	Yield int64
}

// ErrYield says that Next read as much as Options.Yield allows without an event. Call it again.
var ErrYield = errors.New("no event yet")

// Stats are figures of what a decoder did so far.
type Stats struct {
	// Records is how many records of the file were read.
	Records int64
	// Messages is how many messages the packets had, those that were skipped included.
	Messages int64
	// EntityUpdates is how many creations and updates of entities were decoded, and EntitySkips how many were skipped
	// because nobody asked for the class.
	EntityUpdates, EntitySkips int64
	// EntityMismatches is how many updates ended elsewhere than announced. It is 0 for a file whose types are all known,
	// and so tells the health of a decoding.
	EntityMismatches int64
	// EntityUnknown is how many updates concern an entity that was never created, as after a gap.
	EntityUnknown int64
	// BaselinesMissing is how many entities were created of a class without defaults.
	BaselinesMissing int64
	// Faults is how many faults there were, delivered or not.
	Faults int64
}

// Decoder decodes a demo. It is not safe for concurrent use.
type Decoder struct {
	opts  Options
	kinds uint64 // bit set of wanted kinds
	win   *decoders.Window
	err   error // final
	stats Stats

	// The file.
	header   fileHeader
	begun    bool
	jump     int64 // after the sign-on part, go on at this key frame; 0 for none
	signOn   signOn
	stopped  bool  // DEM_Stop was read
	finished bool  // the last record was read
	work     int64 // bytes since the last event

	// The record being decoded.
	frame    frame
	inflated []byte
	stage    stage
	ordinal  int32 // of the message within the record
	item     int32 // of the event within the message
	at       int32 // index of the event that was last found to be wanted
	quiet    bool  // events of the record may lie before the start
	faults   []pendingFault
	last     decoders.Position // where the last event starts

	packet  packet
	chunks  chunkReader
	dump    dumpReader
	strings tableReader
	buff    pendingModifier
	ents    entityReader
	list    listReader

	// The game.
	game     game
	build    int
	interval float32
	clock    clock

	// What was learnt.
	tables       []*stringTable
	stored       int // bytes in tables
	events       map[int32]*eventType
	messageNames map[uint32][]byte
	schema       *schema
	classes      []*class // by id; nil where the file names none
	classBits    int
	maxClasses   int
	told         bool // that entities are not decoded

	// Entities.
	tree       *classTree
	update     updateReader
	entities   []*entity // by index
	free       []*entity
	held       int // bytes of the states of all entities together
	baseIndex  map[int32]int
	baseOwn    [2]map[int32]*ownBaseline
	alternates alternates
	lost       bool // updates were lost: the next key frame helps
	floats     []float32
	merged     []change
}

// stage is what Next goes on with.
type stage uint8

const (
	stageFrame        stage = iota // the next record
	stagePacket                    // the next message of a packet
	stageEntities                  // the next entity of a message
	stageTable                     // the next entry of a string table
	stageDump                      // the next entry of a dump of all string tables
	stageClasses                   // the next class
	stageSerializers               // the next serializer
	stageEventTypes                // the next kind of game events
	stageCommands                  // the next command of a player
	stageChunks                    // the next piece of a large record or message
	stageOldCombatLog              // a game event as the entry of the combat log that it is
)

type pendingFault struct {
	Fault
	index int32 // of the event within the record
}

// New returns a decoder of the demo that src reads from its first byte. It reads nothing yet. A src that returns 0, io.EOF
// is taken to be dry for now; see decoders.Window.
func New(src io.Reader, opts Options) *Decoder {
	d := &Decoder{
		opts:     opts,
		win:      decoders.NewWindow(src, 0, maxRecord+64),
		interval: 1.0 / 30,
		events:   map[int32]*eventType{},
		entities: make([]*entity, maxEntities),
		tree:     newClassTree(opts.Fields),
	}
	d.baseIndex = map[int32]int{}
	d.messageNames = map[uint32][]byte{}
	d.update.tree = d.tree
	for k := range Kind(KindCount) {
		if k != KindNone && (opts.Kinds == nil || opts.Kinds(k)) {
			d.kinds |= 1 << k
		}
	}
	return d
}

// Stats returns the figures so far.
func (d *Decoder) Stats() Stats { return d.stats }

// Tick returns the tick of the record that the last event came from, -1 before the first tick.
func (d *Decoder) Tick() int32 {
	if !d.begun {
		return -1
	}
	return d.frame.tick
}

// Offset returns how far the file was read, in bytes.
func (d *Decoder) Offset() int64 { return d.win.Offset() }

// Name returns the name that an event's `class` or `field` is the number of: the decoder's own number, which stays the
// same for its life.
func (d *Decoder) Name(id uint32) string {
	if int(id) < len(d.tree.names) {
		return d.tree.names[id]
	}
	return ""
}

// StartHere begins delivery with the next record, whatever Options.From and Options.FromTick say.
func (d *Decoder) StartHere() { d.opts.From, d.opts.FromTick = decoders.Position{}, nil }

// Position returns where the next event starts, as Options.From takes it. Index counts differently from other formats:
// it is opaque, and grows within a record.
func (d *Decoder) Position() decoders.Position {
	switch {
	case len(d.faults) > 0:
		return decoders.Position{Offset: d.frame.offset, Index: d.faults[0].index}
	case d.stage == stageFrame:
		return decoders.Position{Offset: d.win.Offset()}
	}
	return decoders.Position{Offset: d.frame.offset, Index: d.index(d.item)}
}

// EventPosition returns where the last event started: a decoder that starts there delivers it again.
func (d *Decoder) EventPosition() decoders.Position { return d.last }

const itemBits = 17

// index is the place of an event within its record.
func (d *Decoder) index(item int32) int32 {
	return min(d.ordinal, 1<<(31-itemBits)-1)<<itemBits | min(item, 1<<itemBits-1)
}

// want tells whether the next event, of kind k, is to be delivered. It is called exactly once for each event that there
// may be, wanted or not, so that positions do not depend on what is wanted.
func (d *Decoder) want(k Kind) bool {
	item := d.item
	d.item++
	if d.kinds&(1<<k) == 0 || d.quiet && d.before(item) {
		return false
	}
	d.at = item
	return true
}

// has tells whether events of kind k are wanted at all.
func (d *Decoder) has(k Kind) bool { return d.kinds&(1<<k) != 0 }

// before tells whether an event of the record lies before the start.
func (d *Decoder) before(item int32) bool {
	if d.opts.FromTick != nil && d.frame.tick < *d.opts.FromTick {
		return true
	}
	from := d.opts.From
	return d.frame.offset < from.Offset || d.frame.offset == from.Offset && d.index(item) < from.Index
}

// fault notes that something could not be decoded.
func (d *Decoder) fault(f Fault) {
	d.stats.Faults++
	f.Offset = d.frame.offset
	at := d.at
	if d.want(KindFault) {
		d.faults = append(d.faults, pendingFault{f, d.index(d.at)})
	}
	d.at = at
}

// fail makes an error final.
func (d *Decoder) fail(what string, kind error, detail string, args ...any) error {
	tick := int32(decoders.NoTick)
	if d.stats.Records > 0 {
		tick = d.frame.tick
	}
	d.err = decoders.Errorf(decoders.Dem, d.win.Offset(), tick, what, kind, detail, args...)
	return d.err
}

// Next decodes the next event into ev. What ev refers to is valid until the next call. See package decoders for what it
// returns otherwise; there is also ErrYield.
func (d *Decoder) Next(ev *Event) error {
	if d.err != nil {
		return d.err
	}
	for {
		if len(d.faults) > 0 {
			f := d.faults[0].Fault
			d.last = decoders.Position{Offset: d.frame.offset, Index: d.faults[0].index}
			copy(d.faults, d.faults[1:])
			d.faults = d.faults[:len(d.faults)-1]
			ev.AtTick, ev.Kind, ev.Fault = d.frame.tick, KindFault, f
			d.work = 0
			return nil
		}
		var ok bool
		switch d.stage {
		case stageFrame:
			if d.opts.Yield > 0 && d.work > d.opts.Yield {
				d.work = 0
				return ErrYield
			}
			var err error
			if ok, err = d.nextFrame(ev); err != nil {
				return err
			}
		case stagePacket:
			ok = d.nextMessage(ev)
		case stageEntities:
			ok = d.nextEntity(ev)
		case stageTable:
			ok = d.nextTableEntry(ev)
		case stageDump:
			ok = d.nextDumpEntry(ev)
		case stageClasses:
			ok = d.nextClass(ev)
		case stageSerializers:
			ok = d.nextSerializer(ev)
		case stageEventTypes:
			ok = d.nextEventType(ev)
		case stageCommands:
			ok = d.nextUserCmd(ev)
		case stageChunks:
			ok = d.nextChunk(ev)
		case stageOldCombatLog:
			ok = d.oldCombatLogEntry(ev)
		}
		if ok {
			d.last = decoders.Position{Offset: d.frame.offset, Index: d.index(d.at)}
			ev.AtTick = d.frame.tick
			d.work = 0
			return nil
		}
	}
}

// Header waits until the beginning of the file is there, and returns its header without consuming it: Next delivers it
// as an event of its own. identity tells the file from others: a hash of its first two records, which stay as they are
// while the file grows. It returns what Next returns.
func (d *Decoder) Header() (h FileHeader, identity [sha256.Size]byte, err error) {
	if d.err != nil {
		return h, identity, d.err
	}
	if !d.begun {
		if err := d.begin(); err != nil {
			return h, identity, err
		}
	}
	if d.win.Offset() != d.header.size {
		return h, identity, errors.New("dem: Header is called before Next")
	}
	for {
		whole, err := d.peekHeader(&h, &identity)
		if whole || err != nil {
			return h, identity, err
		}
		if err := d.win.Fill(); err != nil {
			return h, identity, err
		}
	}
}

// peekHeader is Header on the bytes that are there; whole tells whether they suffice.
func (d *Decoder) peekHeader(h *FileHeader, identity *[sha256.Size]byte) (whole bool, err error) {
	b := d.win.Bytes()
	f, n, size, what := parseFrame(b)
	if what != "" || n > 0 && (f.command != cmdFileHeader || size > maxInfo) {
		return false, d.fail("file header", decoders.ErrCorrupt, "it is not the first record")
	}
	if n == 0 || len(b) < n+size {
		return false, nil
	}
	payload, rest := b[n:n+size], b[n+size:]
	_, n, size, what = parseFrame(rest)
	switch {
	case what != "" || size > maxRecord:
		rest = nil // Next will say what is wrong with it
	case n == 0 || len(rest) < n+size:
		return false, nil
	default:
		rest = rest[:n+size]
	}
	sum := sha256.New()
	sum.Write(payload)
	sum.Write(rest)
	sum.Sum(identity[:0])
	if f.compressed {
		if payload, err = inflate(nil, payload, maxInfo); err != nil {
			return false, d.fail("file header", decoders.ErrCorrupt, "%v", err)
		}
	}
	if !parseHeaderMessage(h, payload) {
		return false, d.fail("file header", decoders.ErrCorrupt, "not the message that it should be")
	}
	return true, nil
}

// nextFrame reads a record and begins to decode it.
func (d *Decoder) nextFrame(ev *Event) (bool, error) {
	if d.finished {
		return false, io.EOF
	}
	if !d.begun {
		if err := d.begin(); err != nil {
			return false, err
		}
	}
	payload, err := d.readFrame()
	if err != nil {
		return false, err
	}
	d.stats.Records++
	d.ordinal, d.item = 0, 0
	from := d.opts.From
	d.quiet = d.opts.FromTick != nil && d.frame.tick < *d.opts.FromTick || d.frame.offset <= from.Offset
	if d.frame.compressed {
		var ok bool
		if payload, ok = d.inflateRecord(payload); !ok {
			return false, nil
		}
	}
	return d.decodeFrame(ev, payload), nil
}

// inflateRecord decompresses the contents of a record. It reports those that cannot be.
func (d *Decoder) inflateRecord(payload []byte) ([]byte, bool) {
	var err error
	d.inflated, err = inflate(d.inflated, payload, maxRecord)
	if err != nil {
		d.lost = true
		d.fault(Fault{Kind: FaultKindRecord, MessageId: d.frame.command, Detail: []byte(err.Error())})
	}
	return d.inflated, err == nil
}

// begin reads the file's header.
func (d *Decoder) begin() error {
	for len(d.win.Bytes()) <= headerSize {
		if err := d.win.Fill(); err != nil {
			if errors.Is(err, decoders.ErrMore) && len(d.win.Bytes()) >= 8 {
				// The magic is there: a wrong one is worth telling at once.
				if _, err := parseFileHeader(d.win.Bytes()); errors.Is(err, decoders.ErrUnsupported) || errors.Is(err, decoders.ErrCorrupt) {
					d.err = err
					return err
				}
			}
			return err
		}
	}
	h, err := parseFileHeader(d.win.Bytes())
	if err != nil {
		d.err = err
		return err
	}
	if d.opts.FromTick != nil && d.opts.At != nil {
		d.jump = lastKeyFrame(d.opts.At, h.size, *d.opts.FromTick)
	}
	d.header = h
	d.begun = true
	d.frame.tick = -1
	d.win.Advance(int(h.size))
	return nil
}

// readFrame reads the head of a record and waits for its payload, which it consumes. The payload is valid until more is
// read.
func (d *Decoder) readFrame() ([]byte, error) {
	for {
		b := d.win.Bytes()
		f, n, size, what := parseFrame(b)
		switch {
		case what != "":
			return nil, d.fail(what, decoders.ErrCorrupt, "longer than 5 bytes")
		case n > 0 && size > maxRecord:
			return nil, d.fail("record", decoders.ErrLimit, "declares %d bytes", size)
		case n > 0 && len(b) >= n+size:
			f.offset = d.win.Offset()
			f.next = f.offset + int64(n+size)
			d.signOn.place(&f)
			d.frame = f
			d.win.Advance(n + size)
			d.work += int64(n + size)
			return b[n : n+size], nil
		}
		if err := d.win.Fill(); err != nil {
			if errors.Is(err, decoders.ErrWindow) {
				return nil, d.fail("record", decoders.ErrLimit, "%d bytes", size)
			}
			return nil, err
		}
	}
}

// Close is called when no more bytes will come. It returns nil when the demo ended as it should, and an error that wraps
// decoders.ErrTruncated when it was cut.
func (d *Decoder) Close() error {
	switch {
	case d.err != nil:
		return d.err
	case d.finished:
		return nil
	case !d.begun:
		if _, err := parseFileHeader(d.win.Bytes()); err != nil {
			return err
		}
		return d.fail("header", decoders.ErrTruncated, "no record follows")
	case len(d.win.Bytes()) > 0:
		return d.fail("record", decoders.ErrTruncated, "%d bytes of it are there", len(d.win.Bytes()))
	case !d.stopped:
		return d.fail("recording", decoders.ErrTruncated, "it has no end")
	case d.header.fileInfo >= d.win.Offset():
		return d.fail("file information", decoders.ErrTruncated, "announced at byte %d", d.header.fileInfo)
	}
	return nil
}
