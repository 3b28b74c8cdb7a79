package dem

import (
	"io"
	"maps"
	"slices"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/dem/internal/entity"
	"github.com/replayd/replayd/decoders/dem/internal/infer"
	"github.com/replayd/replayd/decoders/dem/internal/pb"
	"github.com/replayd/replayd/decoders/dem/internal/record"
	"github.com/replayd/replayd/decoders/dem/internal/schema"
	"github.com/replayd/replayd/decoders/dem/internal/share"
	"github.com/replayd/replayd/decoders/dem/internal/stringtable"
	"github.com/replayd/replayd/decoders/dem/internal/usercmd"
)

// Snapshot is the whole knowledge of a decoder between two records, so that another decoder can continue there: see
// [Decoder.Snapshot] and [Resume]. It is immutable, and safe for concurrent use. Snapshots of one decoder share the parts that
// did not change between them.
type Snapshot struct {
	place   record.Place
	stats   Stats
	faults  map[string]int64 // of entities, by the name of the class
	unknown pb.Log           // unknown fields of messages

	game     game
	build    int
	interval float32
	clock    clock
	roster   roster // without fields
	rounds   rounds
	wards    []ward
	draft    draft
	past     *share.Value[Past]
	events   *share.Value[map[int32]*eventType]
	commands *usercmd.Frozen

	tables []*stringtable.Frozen
	stored int

	schema     *schema.Schema
	classes    *share.Value[[]frozenClass] // by id
	classBits  int
	maxClasses int
	grown      *entity.Grown
	entities   *entity.Frozen
	learnt     *share.Value[learnt]
	lost       bool
	undecoded  bool
	watched    int
}

// frozenClass is a class of entities, or none.
type frozenClass struct {
	serializer *schema.Serializer // nil if it has none
	name       uint32
	there      bool
}

// learnt is a decoder's knowledge about unknown types and default states.
type learnt struct {
	baseIndex map[int32]int
	known     map[int32]uint32
	changed   []int32
	left      int
	begun     bool
	refuted   bool
	guesses   []infer.Guess
}

// snapshotSize is the approximate memory of a snapshot besides its parts.
const snapshotSize = 6 << 10

// Position returns the position of the snapshot, which is before the first event of a record.
func (s *Snapshot) Position() decoders.Position { return decoders.Position{Offset: s.place.Offset} }

// Previous returns the offset of the record before the snapshot, in bytes.
func (s *Snapshot) Previous() int64 { return s.place.Head.Offset }

// Tick returns the tick of the record before the snapshot. All records before the snapshot have that tick or a lower one.
func (s *Snapshot) Tick() int32 { return s.place.Head.Tick }

// Sum returns the checksum of the bytes before the Position's offset.
func (s *Snapshot) Sum() decoders.Sum { return s.place.Sum }

// Hold counts a holder of the snapshot. It returns how many bytes the snapshot takes that no other held snapshot takes.
func (s *Snapshot) Hold() int {
	n := s.size()
	s.parts(func(p share.Part) { n += p.Hold() })
	return n
}

// Release undoes Hold. It returns how many bytes no held snapshot takes any more.
func (s *Snapshot) Release() int {
	n := s.size()
	s.parts(func(p share.Part) { n += p.Release() })
	return n
}

func (s *Snapshot) size() int {
	return snapshotSize + 8*len(s.tables) + 64*len(s.wards) + s.commands.Size() + s.entities.Size()
}

func (s *Snapshot) parts(f func(share.Part)) {
	for _, t := range s.tables {
		t.Parts(f)
	}
	s.grown.Parts(f)
	s.entities.Parts(f)
	f(s.past)
	f(s.events)
	f(s.classes)
	f(s.learnt)
}

// snapshots keeps parts for a decoder's next snapshot. A nil part does not exist yet, or is outdated.
type snapshots struct {
	imager  entity.Imager
	past    *share.Value[Past]
	events  *share.Value[map[int32]*eventType]
	classes *share.Value[[]frozenClass]
	learnt  *share.Value[learnt]
	grown   *entity.Grown
}

// Snapshot returns the decoder's whole knowledge, or nil if that is impossible: inside a record, before the first and after the
// last one, where bytes of the file were skipped, and when Options leave out kinds or classes, because the decoder then does not
// know everything. Call it from Options.Record. Snapshots share the parts that did not change, so frequent ones take little
// memory.
func (d *Decoder) Snapshot() *Snapshot {
	if !d.whole() || d.stage != stageFrame || len(d.out.faults) > 0 {
		return nil
	}
	place, ok := d.in.Place()
	if !ok || place.Header.Alpha() {
		return nil
	}
	w := &d.world
	entities, ok := w.store.Freeze(&d.snaps.imager, w.classes)
	if !ok {
		return nil
	}
	d.snaps.grown = w.tree.Share(w.classes, d.snaps.grown)
	s := &Snapshot{
		place: place, stats: d.Stats(),
		game: d.match.game, build: d.match.build, interval: d.match.interval, clock: d.match.clock, roster: d.match.roster,
		rounds: d.match.rounds, wards: d.match.wards, draft: d.match.draft,
		commands: d.match.commands.Freeze(), stored: d.tables.stored,
		schema: w.schema, classBits: w.classBits, maxClasses: w.maxClasses, grown: d.snaps.grown, entities: entities,
		lost: w.lost, undecoded: w.undecoded, watched: w.watched,
	}
	s.clock.fields, s.clock.cells = [clockFields]*entity.Node{}, -1
	s.roster.fields = [rosterFields]rosterField{}
	for _, t := range d.tables.list {
		s.tables = append(s.tables, t.Freeze())
	}
	s.unknown = d.out.unknown.Copy()
	if len(d.out.ofClass) > 0 {
		s.faults = map[string]int64{}
		for class, n := range d.out.ofClass {
			s.faults[d.Name(class)] = n
		}
	}
	s.past, s.events, s.classes, s.learnt = d.frozenPast(), d.frozenEvents(), d.frozenClasses(), d.frozenLearnt()
	return s
}

// whole reports whether Options leave out nothing that the decoder may have to know.
func (d *Decoder) whole() bool { return d.out.kinds.covers(&ownKinds) && d.opts.Classes == nil }

func (d *Decoder) frozenEvents() *share.Value[map[int32]*eventType] {
	if d.snaps.events == nil {
		size := 0
		for _, t := range d.match.events {
			size += 128 + len(t.name)
			for _, k := range t.keys {
				size += 48 + len(k.name)
			}
		}
		d.snaps.events = share.NewValue(maps.Clone(d.match.events), size)
	}
	return d.snaps.events
}

func (d *Decoder) frozenClasses() *share.Value[[]frozenClass] {
	if d.snaps.classes == nil {
		all := make([]frozenClass, len(d.world.classes))
		for i, c := range d.world.classes {
			if c == nil {
				continue
			}
			if all[i] = (frozenClass{name: c.Name, there: true}); c.Root != nil {
				all[i].serializer = c.Root.Object
			}
		}
		d.snaps.classes = share.NewValue(all, 16*len(all))
	}
	return d.snaps.classes
}

func (d *Decoder) frozenLearnt() *share.Value[learnt] {
	l, types := &d.world.learn, &d.world.tree.Types
	if d.snaps.learnt == nil || len(d.snaps.learnt.Of.guesses) < types.Len() {
		of := learnt{
			baseIndex: maps.Clone(d.world.baseIndex), known: maps.Clone(l.known), changed: slices.Clone(l.changed),
			left: l.left, begun: l.begun, refuted: l.refuted, guesses: types.Copy(),
		}
		d.snaps.learnt = share.NewValue(of, 32*(len(of.baseIndex)+len(of.known))+4*len(of.changed)+64*len(of.guesses))
	}
	return d.snaps.learnt
}

// Resume returns a decoder that continues where a snapshot was taken, as if it had read everything before. src reads the file
// from the offset of the snapshot's Position on. The caller must make sure that the bytes before are those from which the
// snapshot was made. Options need not be those of the decoder that made it. The counts in Stats continue those of that decoder,
// even for data that these Options would skip. Seek must not be called with a position before the snapshot's, nor SeekTick with a
// tick up to its Tick.
func Resume(src io.Reader, opts Options, s *Snapshot) *Decoder {
	d := New(src, opts)
	d.in = record.ReaderAt(src, s.place)
	d.stats, d.out.counted = s.stats, s.stats.Faults
	d.match.setGame(s.game)
	d.match.build = s.build
	d.match.setInterval(s.interval)
	d.match.roster, d.match.rounds, d.match.wards, d.match.draft = s.roster, s.rounds, s.wards, s.draft
	d.resumePast(s.past)
	d.match.events = maps.Clone(s.events.Of)
	d.match.commands.Thaw(s.commands)
	d.resumeTables(s)
	d.resumeWorld(s)
	d.match.clock = s.clock // after the tables: making them must not change it
	unknown := s.unknown.Copy()
	d.out.unknown.Counts, d.out.unknown.More = unknown.Counts, unknown.More
	for class, n := range s.faults {
		d.out.ofClass[d.world.tree.Intern([]byte(class))] = n
	}
	d.snaps.past, d.snaps.events, d.snaps.classes, d.snaps.learnt, d.snaps.grown = s.past, s.events, s.classes, s.learnt, s.grown
	return d
}

func (d *Decoder) resumeTables(s *Snapshot) {
	for _, f := range s.tables {
		t := f.Thaw(&d.tables.stored, d.keeps)
		d.tables.list = append(d.tables.list, t)
		if t.Role == stringtable.EntityNames {
			d.world.meanings.names = t
		}
	}
	if d.whole() {
		d.tables.stored = s.stored
	}
}

func (d *Decoder) resumeWorld(s *Snapshot) {
	w := &d.world
	l := &s.learnt.Of
	w.schema, w.classBits, w.maxClasses = s.schema, s.classBits, s.maxClasses
	w.lost, w.undecoded, w.watched = s.lost, s.undecoded, s.watched
	w.meanings.game = s.game
	w.baseIndex = maps.Clone(l.baseIndex)
	w.learn.known, w.learn.changed = maps.Clone(l.known), slices.Clone(l.changed)
	w.learn.left, w.learn.begun, w.learn.refuted = l.left, l.begun, l.refuted
	w.tree.Types.Put(l.guesses)
	w.tree.GoOn(s.grown)
	w.classes = make([]*entity.Class, len(s.classes.Of))
	all := make([]entity.Class, len(s.classes.Of))
	for id, from := range s.classes.Of {
		if from.there {
			d.makeClass(&all[id], id, from)
		}
	}
	w.tree.Adopt(s.grown, w.classes)
	w.store.Thaw(s.entities, w.classes)
}
