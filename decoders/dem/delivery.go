package dem

import (
	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/dem/internal/pb"
)

// The place of an event within its record depends only on the position of its bytes. So it does not depend on which other
// events are delivered, or decoded at all. It has three parts:
//
//	ordinal  the message within the record, in the order in which messages are delivered; 0 is the record itself
//	element  the part of the message that becomes events of its own: an entity, an entry of a string table, a piece
//	slot     the event of that element: first the main event, then its faults
//
// A record has 32 MiB at most, a packet 65,536 messages, and an element a byte at least, so the parts fit.
const (
	slotBits    = 3
	elementBits = 26
)

// The slots of an element.
const (
	slotEvent  = 0 // the event, for elements that have exactly one
	slotBefore = 0 // of an entity: the deletion of the slot's former tenant
	slotAfter  = 1 // of an entity: its event; of an entry: the modifier that the entry is
	slotFields = 3 // a fault that names unknown fields
	slotFault  = 4 // and higher ones: other faults
	slotEnd    = 1 << slotBits
)

// place is the place of the decoder within a record.
type place struct {
	ordinal int64
	element int64
	faults  int  // of the element, so far
	changed bool // one of them reports a field with another wire type

	message uint32 // the number of the message, or of the record
}

func (p *place) startRecord(command uint32)            { *p = place{message: command} }
func (p *place) startMessage(id uint32, ordinal int64) { *p = place{ordinal: ordinal, message: id} }
func (p *place) nextElement()                          { p.element, p.faults, p.changed = p.element+1, 0, false }

// index returns the Index of the event in a slot of the present element.
func (p *place) index(slot int) int64 {
	return ((p.ordinal<<elementBits|p.element)<<slotBits | int64(slot)) * decoders.Room
}

// delivery decides which events are delivered, and keeps track of their positions.
type delivery struct {
	kinds  kindSet // the wanted kinds
	fields bool    // faults report unknown fields

	entities, clock, clockTicks, roster bool  // kinds of such sets are wanted
	players                             bool  // samples of players, or facts, are wanted
	offset                              int64 // of the record
	tick                                int32 // of the record
	place                               place // of the element that is being decoded
	at                                  int64 // index of the last event that was found to be wanted

	faults  []pendingFault
	counted int64            // all faults, delivered or not
	ofClass map[uint32]int64 // faults of entities, by class
	unknown pb.Log           // unknown fields of messages

	last    decoders.Position // of the last event
	reached int64             // the index after the last event and its facts

	// Where delivery starts.
	from    decoders.Position
	quiet   bool  // events of the record may lie before that
	unseen  Event // decoded on the way there
	hold    bool  // entities must not change after that
	kept    bool  // unseen is the next event
	arrived bool  // no event was delivered since
}

func newDelivery(opts *Options) delivery {
	o := delivery{ofClass: map[uint32]int64{}, fields: opts.UnknownFields}
	for k := range Kind(KindCount) {
		if k != KindNone && (opts.Kinds == nil && !factKinds.has(k) || opts.Kinds != nil && opts.Kinds(k)) {
			o.kinds.add(k)
		}
	}
	o.entities, o.roster = o.kinds.meets(&entityKinds), o.kinds.meets(&rosterKinds) || o.kinds.meets(&factKinds)
	o.clock, o.clockTicks = o.kinds.meets(&clockKinds) || o.kinds.meets(&factKinds), o.kinds.meets(&clockTicks)
	o.players = o.kinds.has(KindSamplePlayer) || o.kinds.meets(&factKinds)
	return o
}

// startRecord begins the events of a record.
func (o *delivery) startRecord(offset int64, tick int32, command uint32) {
	o.offset, o.tick = offset, tick
	o.arrived = false
	o.place.startRecord(command)
	o.quiet = offset <= o.from.Offset
}

// want reports whether to deliver the event in a slot of the present element, of kind k.
func (o *delivery) want(k Kind, slot int) bool {
	if !o.kinds.has(k) {
		return false
	}
	at := o.place.index(slot)
	if o.quiet && o.before(at) {
		return false
	}
	o.at = at
	return true
}

// has reports whether Options select events of kind k.
func (o *delivery) has(k Kind) bool { return o.kinds.has(k) }

// reads reports whether to read a message or a record that becomes an event of kind k: for that event, for a fault if it cannot
// be read, and for the event of kind raw that then delivers it undecoded.
func (o *delivery) reads(k, raw Kind) bool { return o.has(k) || o.has(raw) || o.has(KindFault) }

// before reports whether an event of the record lies before the position where delivery starts.
func (o *delivery) before(index int64) bool {
	return decoders.Position{Offset: o.offset, Index: index}.Before(o.from)
}

// holds reports whether the next deletion, or with slotAfter the rest of the present element, must not be read yet.
func (o *delivery) holds(slot int) bool {
	if !o.hold {
		return false
	}
	next := o.place
	if slot == slotBefore {
		next.nextElement()
	}
	o.hold = o.before(next.index(slot))
	return !o.hold
}

// wantsEntities reports whether Options select any event of entities.
func (o *delivery) wantsEntities() bool { return o.entities }

var entityKinds = setOf(KindEntityUpdated, KindEntityCreated, KindEntityEntered, KindEntityLeft, KindEntityDeleted)

// pendingFault is a fault that has not been delivered yet.
type pendingFault struct {
	Fault
	index int64 // of the event within the record
}

// fault records that a part of the present element could not be decoded. Only the first few faults of an element are
// delivered, but all are counted.
func (o *delivery) fault(f Fault) {
	o.counted++
	if f.HasClass {
		o.ofClass[f.Class]++
	}
	f.Offset = o.offset
	slot := slotFault + o.place.faults
	if slot >= slotEnd {
		return
	}
	o.place.faults++
	at := o.at
	if o.want(KindFault, slot) {
		o.faults = append(o.faults, pendingFault{f, o.at})
	}
	o.at = at
}

// emitFault delivers the oldest fault.
func (o *delivery) emitFault(ev *Event) {
	f := o.faults[0]
	copy(o.faults, o.faults[1:])
	o.faults = o.faults[:len(o.faults)-1]
	ev.AtTick, ev.Kind, ev.Fault = o.tick, KindFault, f.Fault
	o.deliver(f.index)
}

// deliver records the position of a delivered event.
func (o *delivery) deliver(index int64) {
	o.last = decoders.Position{Offset: o.offset, Index: index}
	o.reached = o.last.Own().Index + decoders.Room
	o.arrived = false
}
