package dem

import (
	"errors"
	"slices"

	"github.com/replayd/replayd/decoders/bits"
	"github.com/replayd/replayd/decoders/dem/internal/entity"
	"github.com/replayd/replayd/decoders/dem/internal/pb"
)

var (
	errEntityIndex = errors.New("index of an entity out of range")
	errEntitySize  = errors.New("size of an update beyond the end")
	errClass       = errors.New("no such class")
	errUnknown     = errors.New("update of an entity that was never created")
)

// entityReader walks over the entities of CSVCMsg_PacketEntities (docs/formats/dem.md, Entities).
type entityReader struct {
	bits   bits.Reader
	left   int
	index  int
	delta  bool
	visual bool   // updates carry visibility bits
	sizes  []byte // of the payloads, as varints
	sized  int    // the length of those that were read
	slot   int    // of the own baselines
	store  bool   // created entities become own baselines
	alt    []alternate
	wards  []int32 // slots with a ward that came, or came again
	phase  entityPhase

	pending pendingCreate
}

type entityPhase uint8

const (
	phaseEntries   entityPhase = iota // creations, updates and so on
	phaseDeletions                    // the list of deletions after the entries
	phaseForgotten                    // entities that a full update did not mention
)

// walksEntities reports whether packets of entities are read: for events, for faults, or for Dota's clock and players.
func (d *Decoder) walksEntities() bool {
	return d.out.wantsEntities() || d.out.has(KindFault) || d.out.players ||
		d.match.game == gameDota && (d.out.clockTicks || d.out.roster || d.out.has(KindCombatLog) && !d.match.clock.settled)
}

// startEntities begins to read a message of entities.
func (d *Decoder) startEntities(ev *Event, b []byte) bool {
	if d.world.schema == nil || d.world.classBits == 0 {
		d.reportUndecoded("no schema came before them")
		return false
	}
	e := &d.ents
	if !e.start(d.message(svcPacketEntities, b)) {
		return d.badMessage(ev, svcPacketEntities, b)
	}
	if !d.walksEntities() {
		return false
	}
	d.world.update.Tick = d.match.interval
	d.world.meanings.game = d.match.game
	d.learnTypes(b)
	if !e.delta {
		for _, old := range d.world.store.Slots {
			if old != nil {
				old.Seen = false
			}
		}
	}
	if e.store {
		d.world.store.SwitchOwn(e.slot)
	}
	d.stage = stageEntities
	return false
}

// start reads CSVCMsg_PacketEntities, up to the entries in it.
func (e *entityReader) start(m pb.Reader) bool {
	*e = entityReader{index: -1, alt: e.alt[:0], wards: e.wards[:0]}
	var data []byte
	for m.Next() {
		switch m.Num {
		case 2:
			e.left = int(m.Int32())
		case 3:
			e.delta = m.Bool()
		case 4:
			e.store = m.Bool()
		case 5:
			e.slot = int(m.Val & 1)
		case 7:
			data = m.Raw
		case 13:
			e.sizes = m.Raw
		case 15:
			if len(e.alt) < entity.MaxEntities {
				e.alt = append(e.alt, parseAlternate(m.Message()))
			}
		case 16:
			e.visual = m.Bool()
		}
	}
	if m.Bad {
		return false
	}
	e.bits.Reset(data)
	// Of several for one entity, the first counts.
	slices.SortStableFunc(e.alt, compareAlternates)
	return true
}

// nextEntity decodes the next entity.
func (d *Decoder) nextEntity(ev *Event) bool {
	e := &d.ents
	for {
		switch e.phase {
		case phaseEntries:
			if e.pending.set {
				if d.out.holds(slotAfter) {
					return false
				}
				p := e.pending
				e.pending.set = false
				return d.fillEntity(ev, p.class, p.serial, p.group, p.size)
			}
			if e.left > 0 {
				if emit, done := d.nextEntry(ev); emit || done {
					return emit
				}
				continue
			}
			e.phase, e.index = phaseForgotten, -1
			if e.delta {
				e.phase = phaseDeletions
				e.left = 0
				if e.bits.Len() >= 8 {
					e.left = int(e.bits.UBitVar())
				}
			}
		case phaseDeletions:
			if emit, done := d.nextDeletion(ev); emit || done {
				return emit
			}
		case phaseForgotten:
			if emit, done := d.nextForgotten(ev); emit || done {
				return emit
			}
		}
	}
}

// passedWatched reports whether the rest of the message is not needed: only entities of Dota's clock and players are, and they
// were passed. Entries are in the order of their slots.
func (d *Decoder) passedWatched() bool {
	w := &d.world
	if w.watched == 0 || d.ents.index < w.watched || d.out.wantsEntities() || d.out.has(KindFault) || d.out.players || w.learn.refuted {
		return false
	}
	return (!d.out.clock || d.match.clock.met) && (!d.out.roster || d.match.roster.met)
}

// nextEntry continues with the entries. done is true when there is an event or a fault, or the rest must wait.
func (d *Decoder) nextEntry(ev *Event) (emit, done bool) {
	e := &d.ents
	if !d.out.hold {
		if emit = d.updateKnown(ev); emit || len(d.out.faults) > 0 {
			return emit, true
		}
		if e.left == 0 {
			return false, false
		}
	}
	if d.holdsEntry() {
		return false, true
	}
	if d.passedWatched() {
		e.left = 0
		e.bits.Skip(e.bits.Len())
		return false, false
	}
	e.left--
	d.out.place.nextElement()
	emit = d.readEntity(ev)
	return emit, emit || len(d.out.faults) > 0
}

// nextDeletion continues with the list of deletions. done is true when the message is over, or its rest must wait.
func (d *Decoder) nextDeletion(ev *Event) (emit, done bool) {
	e := &d.ents
	if e.left <= 0 || e.bits.Overrun() {
		d.stage = stagePacket
		d.concludeEntities()
		return false, true
	}
	if d.out.holds(slotBefore) {
		return false, true
	}
	e.left--
	d.out.place.nextElement()
	e.index += int(e.bits.UBitVar())
	if e.bits.Overrun() || uint(e.index) >= entity.MaxEntities {
		e.left = 0
		return false, false
	}
	return d.deleteEntity(ev, e.index), false
}

// nextForgotten continues with the entities that a full update did not mention. done has the same meaning as in nextDeletion.
func (d *Decoder) nextForgotten(ev *Event) (emit, done bool) {
	e := &d.ents
	if d.out.holds(slotBefore) {
		return false, true
	}
	for e.index++; e.index < entity.MaxEntities; e.index++ {
		if old := d.world.store.Slots[e.index]; old != nil && !old.Seen {
			break
		}
	}
	if e.index >= entity.MaxEntities {
		d.stage = stagePacket
		d.concludeEntities()
		return false, true
	}
	d.out.place.nextElement()
	return d.deleteEntity(ev, e.index), false
}

// readEntity reads one entry of the message.
func (d *Decoder) readEntity(ev *Event) bool {
	e := &d.ents
	r := &e.bits
	e.index += int(r.UBitVar()) + 1
	cmd := r.Bits(2)
	if r.Overrun() || uint(e.index) >= entity.MaxEntities {
		d.skipPacket(e.index&(entity.MaxEntities-1), nil, errEntityIndex)
		return false
	}
	switch cmd {
	case 0:
		return d.updateEntity(ev)
	case 2:
		return d.createEntity(ev)
	case 1:
		old := d.world.store.Slots[e.index]
		if old != nil {
			old.Mention()
			old.Active = false
		}
		return d.emitVisibility(ev, old, false, true)
	default:
		return d.deleteEntity(ev, e.index)
	}
}

// updates reports whether updates of entities may follow.
func (e *entityReader) updates() bool { return e.phase == phaseEntries && !e.pending.set }

// updateKnown reads entries as long as they are of the most frequent form: updates of existing entities, with announced sizes,
// that neither enter nor leave the view. It stops before any other entry, and after one with an event or a fault. It returns
// whether it filled ev.
func (d *Decoder) updateKnown(ev *Event) bool {
	e := &d.ents
	r := &e.bits
	for e.left > 0 && e.sized < len(e.sizes) {
		w := r.Peek()
		v, n := bits.UBitVarOf(w)
		index := e.index + int(v) + 1
		if w>>n&3 != 0 || uint(index) >= entity.MaxEntities {
			return false
		}
		n += 2
		ent := d.world.store.Slots[index]
		if ent == nil {
			return false
		}
		if e.visual {
			if p := w >> n & 3; p&1 != 0 || p&2 != 0 != ent.Active {
				return false
			}
			n += 2
		}
		size, used := pb.Uvarint(e.sizes[e.sized:])
		if used <= 0 || size > uint64(max(r.Len()-n, 0)) || r.Len() < n {
			return false
		}
		e.left--
		e.index, e.sized = index, e.sized+used
		d.out.place.nextElement()
		r.Skip(n)
		ent.Mention()
		if !ent.Decoded {
			r.Skip(int(size))
			d.stats.EntitySkips++
			if watched := d.world.watched; watched > 0 && index >= watched && d.passedWatched() {
				return false
			}
			continue
		}
		if ok := d.updateSized(ev, ent, int(size)); ok || len(d.out.faults) > 0 {
			return ok
		}
	}
	return false
}

// size returns the announced size of the next payload in bits, or -1.
func (e *entityReader) size() int {
	if e.sized >= len(e.sizes) {
		return -1
	}
	v, n := pb.Uvarint(e.sizes[e.sized:])
	if n <= 0 || v > uint64(e.bits.Len()) {
		// Wrong sizes would be worse than none.
		e.sizes = nil
		if n > 0 {
			return e.bits.Len() + 1
		}
		return -1
	}
	e.sized += n
	return int(v)
}

func (d *Decoder) deleteEntity(ev *Event, index int) bool {
	emit := d.out.want(KindEntityDeleted, slotBefore)
	old := d.world.store.Slots[index]
	if old == nil {
		return false
	}
	emit = emit && old.Class.Wanted
	if emit {
		ev.Kind = KindEntityDeleted
		ev.EntityDeleted = EntityDeleted{Index: uint32(index), Class: old.Class.Name, Serial: old.Serial}
	}
	d.world.store.Release(index)
	return emit
}

// skipPacket skips the rest of a message after an entity that cannot be read, and reports the reason.
func (d *Decoder) skipPacket(index int, c *entity.Class, err error) {
	d.world.lost = true
	d.ents.left = 0
	d.ents.bits.Skip(d.ents.bits.Len())
	f := Fault{Kind: FaultKindEntity, MessageId: svcPacketEntities, EntityIndex: uint32(index), Detail: []byte(err.Error() + ": the rest of the packet is skipped")}
	if c != nil {
		f.Class, f.HasClass = c.Name, true
	}
	d.out.fault(f)
	d.ents.phase, d.ents.delta = phaseDeletions, true
}
