package dem

import (
	"io"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/dem/internal/entity"
	"github.com/replayd/replayd/decoders/dem/internal/pb"
	"github.com/replayd/replayd/decoders/dem/internal/record"
	"github.com/replayd/replayd/decoders/dem/internal/schema"
	"github.com/replayd/replayd/decoders/dem/internal/stringtable"
	"github.com/replayd/replayd/decoders/dem/internal/usercmd"
)

// Decoder decodes a demo. It is not safe for concurrent use.
type Decoder struct {
	opts   Options
	stats  Stats
	in     record.Reader // the records of the file
	out    delivery      // which events are delivered, and where they are
	match  match         // the game
	tables tables
	world  world // classes and entities
	snaps  snapshots

	players players
	facts   conclusions

	// The stage that Next continues with, and the state of each stage.
	stage    stage
	inflated []byte // contents of the record
	packet   packet
	typed    pb.Reader // the message of an event of a kind of its own
	chunks   chunkReader
	list     listReader
	ents     entityReader

	spare *spare // the memory that it has borrowed
}

// match holds what is known about the game.
type match struct {
	game     game
	build    int     // of the game; 0 when it is unknown
	interval float32 // of a tick, in seconds
	speed    float64 // ticks per second
	clock    clock
	roster   roster
	rounds   rounds
	wards    []ward
	draft    draft
	past     Past
	events   map[int32]*eventType // kinds of game events
	commands usercmd.Baselines    // of players, if user commands are selected
	messages []knownMessage       // of the game, by number
}

// tables holds the string tables, and the readers of their entries.
type tables struct {
	list     []*stringtable.Table // by number
	stored   int                  // bytes in list
	reader   stringtable.Reader
	unpacked []byte // the entries of a compressed one
	dump     dumpReader
	thing    pendingThing
}

// world holds the classes and entities.
type world struct {
	schema     *schema.Schema
	classes    []*entity.Class // by id; nil where the file names none, or where listed has it
	listed     *classList      // classes that are made when they are first met; nil if there are none
	list       schema.Key      // identifies the classes; zero if they are not those of one list
	classBits  int
	maxClasses int
	tree       *entity.Tree
	store      entity.Store
	baseIndex  map[int32]int // entries of the table instancebaseline, by class
	learn      learner
	update     entity.Update
	lost       bool // updates were lost, so the entities must be taken from the next key frame
	undecoded  bool // entities are not decoded, and a fault has reported that
	watched    int  // the highest slot of the entities of Dota's clock and players

	meanings meanings
	narrowed bool // see Narrowed
	floats   []float32
	merged   []entity.Change
}

var _ decoders.Decoder[Event] = (*Decoder)(nil)

// stage is the stage that Next continues with.
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
	stageCombatLogs                // the next entry of the combat log of a message
	stageOldCombatLog              // a game event that contains an entry of the combat log
)

// New returns a decoder of the demo that src reads from its first byte. It reads nothing yet. A src that returns 0, io.EOF
// has no more bytes for now; see decoders.Window.
func New(src io.Reader, opts Options) *Decoder {
	d := &Decoder{
		opts:  opts,
		in:    record.NewReader(src),
		out:   newDelivery(&opts),
		match: match{rounds: newRounds(), events: map[int32]*eventType{}},
		world: world{
			tree: entity.NewTree(opts.Fields), baseIndex: map[int32]int{}, learn: newLearner(),
		},
	}
	d.out.unknown.Met = d.out.metUnknown
	d.facts = newConclusions(&d.out.kinds)
	d.match.setInterval(1.0 / 30)
	d.match.setGame(gameUnknown)
	d.borrow()
	d.world.update.Tree = d.world.tree
	return d
}

// Next decodes the next event into ev. The memory that ev refers to is valid until the next call. Package decoders describes
// the errors that Next returns. It can also return ErrYield.
func (d *Decoder) Next(ev *Event) error {
	if d.in.Err != nil {
		return d.in.Err
	}
	if d.out.kept {
		d.out.kept, d.out.arrived = false, false
		*ev = d.out.unseen
		return nil
	}
	// Nearly all events are updates of entities, one after another.
	if d.stage == stageEntities && d.ents.updates() && len(d.out.faults) == 0 && d.updateKnown(ev) {
		d.delivered(ev)
		return nil
	}
	for {
		if ok, err := d.step(ev); ok || err != nil {
			return err
		}
	}
}

// step advances to the next place that may have an event. It returns whether it filled ev.
func (d *Decoder) step(ev *Event) (ok bool, err error) {
	if d.facts.pending() {
		d.nextFact(ev)
		d.delivered(ev)
		return true, nil
	}
	if len(d.out.faults) > 0 {
		d.out.emitFault(ev)
		d.in.Work = 0
		return true, nil
	}
	switch d.stage {
	case stageFrame:
		if d.in.Win.Offset() > d.out.from.Offset {
			d.out.arrived = false // no event was behind the place in its record
		}
		if d.opts.Yield > 0 && d.in.Work > d.opts.Yield {
			d.in.Work = 0
			return false, ErrYield
		}
		if d.opts.Record != nil && d.opts.Record() {
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
	case stageCombatLogs:
		ok = d.nextCombatLog(ev)
	case stageOldCombatLog:
		ok = d.oldCombatLogEntry(ev)
	}
	if ok {
		d.delivered(ev)
	}
	return ok, nil
}

// delivered completes a filled event.
func (d *Decoder) delivered(ev *Event) {
	ev.AtTick = d.in.Head.Tick
	d.out.deliver(d.out.at)
	d.in.Work = 0
}

// Close ends decoding when the source has no more bytes. It returns nil when the demo is complete, and an error that wraps
// decoders.ErrTruncated when it was cut.
func (d *Decoder) Close() error {
	return d.in.Close()
}

// Stats returns the counts so far.
func (d *Decoder) Stats() Stats {
	s := d.stats
	s.Faults = d.out.counted
	return s
}

// Tick returns the tick of the record that the last event came from, -1 before the first tick.
func (d *Decoder) Tick() int32 {
	if !d.in.Begun {
		return -1
	}
	return d.in.Head.Tick
}

// Offset returns how far the file was read, in bytes.
func (d *Decoder) Offset() int64 { return d.in.Win.Offset() }

// Name returns the text of a name, given the number in an event's `class` or `field`. The decoder assigns these numbers, and
// they stay the same for its life.
func (d *Decoder) Name(id uint32) string { return d.world.tree.Name(id) }
