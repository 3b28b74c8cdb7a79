package dem

import (
	"io"

	"github.com/replayd/replayd/decoders"
)

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
	signOn   signOn
	stopped  bool  // DEM_Stop was read
	finished bool  // the last record was read
	work     int64 // bytes since the last event

	// The record being decoded.
	frame    frame
	resync   resync
	inflated []byte
	stage    stage
	place    place // of the element that is being decoded
	at       int64 // index of the event that was last found to be wanted
	faults   []pendingFault
	faultsOf map[uint32]int64  // how many there were, by class
	last     decoders.Position // of the last event
	reached  int64             // the index behind the last event

	// Where delivery starts.
	from    decoders.Position
	quiet   bool  // events of the record may lie before that
	unseen  Event // what is decoded on the way there
	hold    bool  // entities must not change behind that
	kept    bool  // unseen is the next event
	arrived bool  // no event was delivered since

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
	learn      learner
	update     updateReader
	entities   []*entity // by index
	free       []*entity
	held       int // bytes of the states of all entities together
	baseIndex  map[int32]int
	baseOwn    [2]map[int32]*ownBaseline
	alternates alternates
	lost       bool // updates were lost: the next key frame has the entities anew
	narrowed   bool // see Narrowed
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
	stageCvars                     // the next variable of the console
	stageChunks                    // the next piece of a large record or message
	stageOldCombatLog              // a game event as the entry of the combat log that it is
)

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
		learn:    newLearner(),
		faultsOf: map[uint32]int64{},
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

// Next decodes the next event into ev. What ev refers to is valid until the next call. See package decoders for what it
// returns otherwise; there is also ErrYield.
func (d *Decoder) Next(ev *Event) error {
	if d.err != nil {
		return d.err
	}
	if d.kept {
		d.kept, d.arrived = false, false
		*ev = d.unseen
		return nil
	}
	for {
		if ok, err := d.step(ev); ok || err != nil {
			return err
		}
	}
}

// step goes on to the next place where there may be an event. It returns whether ev was filled.
func (d *Decoder) step(ev *Event) (ok bool, err error) {
	if len(d.faults) > 0 {
		d.tellFault(ev)
		return true, nil
	}
	switch d.stage {
	case stageFrame:
		if d.opts.Yield > 0 && d.work > d.opts.Yield {
			d.work = 0
			return false, ErrYield
		}
		if ok, err = d.nextFrame(ev); err != nil {
			return false, err
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
	case stageCvars:
		ok = d.nextCvar(ev)
	case stageChunks:
		ok = d.nextChunk(ev)
	case stageOldCombatLog:
		ok = d.oldCombatLogEntry(ev)
	}
	if ok {
		ev.AtTick = d.frame.tick
		d.deliver(d.at)
	}
	return ok, nil
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
	case d.resync.lost:
		return d.fail("record", decoders.ErrCorrupt, "%s; no other follows", d.resync.what)
	case len(d.win.Bytes()) > 0:
		return d.fail("record", decoders.ErrTruncated, "%d bytes of it are there", len(d.win.Bytes()))
	case !d.stopped:
		return d.fail("recording", decoders.ErrTruncated, "it has no end")
	case d.header.fileInfo >= d.win.Offset():
		return d.fail("file information", decoders.ErrTruncated, "announced at byte %d", d.header.fileInfo)
	}
	return nil
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

// fail makes an error final.
func (d *Decoder) fail(what string, kind error, detail string, args ...any) error {
	tick := int32(decoders.NoTick)
	if d.stats.Records > 0 {
		tick = d.frame.tick
	}
	d.err = decoders.Errorf(decoders.Dem, d.win.Offset(), tick, what, kind, detail, args...)
	return d.err
}
