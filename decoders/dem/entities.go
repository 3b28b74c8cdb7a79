package dem

import (
	"cmp"
	"errors"
	"maps"
	"math"
	"slices"

	"github.com/replayd/replayd/decoders/bits"
)

// maxState bounds the states of all entities together, in bytes. The largest games use a fifth of it.
const maxState = 64 << 20

// ownBaseline is the state that an entity is to be created from instead of its class's, in recordings of clients.
type ownBaseline struct {
	class *class
	state state
	held  int // bytes that it is counted with
}

// entityReader walks over the entities of CSVCMsg_PacketEntities (docs/formats/dem.md, Entities).
type entityReader struct {
	bits   bits.Reader
	left   int
	index  int
	delta  bool
	visual bool   // updates carry visibility bits
	sizes  []byte // of the payloads to come, as varints
	sized  bool   // the list of sizes is there
	slot   int    // of the own baselines
	store  bool   // created entities become own baselines
	alt    []alternate
	phase  entityPhase

	pending pendingCreate
}

// alternate says that an entity is created from another entry of the table instancebaseline than its class's.
type alternate struct{ entity, entry int32 }

// alternates keeps the states that entries are for classes, within what all states together may take.
type alternates struct {
	states map[alternateKey]*state
	held   int
}

type alternateKey struct {
	entry int32
	class *class
}

// alternateSize is about what a kept state takes beside its fields.
const alternateSize = 128

type entityPhase uint8

const (
	phaseEntries   entityPhase = iota // creations, updates and so on
	phaseDeletions                    // the list of deletions behind them
	phaseForgotten                    // entities that a full update did not mention
)

var (
	errEntityIndex = errors.New("index of an entity out of range")
	errEntitySize  = errors.New("size of an update beyond the end")
	errEntityBits  = errors.New("update ended elsewhere than announced")
	errClass       = errors.New("no such class")
	errUnknown     = errors.New("update of an entity that was never created")
)

// wantsEntities tells whether any event of entities is wanted.
func (d *Decoder) wantsEntities() bool {
	const all = 1<<KindEntityUpdated | 1<<KindEntityCreated | 1<<KindEntityEntered | 1<<KindEntityLeft | 1<<KindEntityDeleted
	return d.kinds&all != 0
}

// walksEntities tells whether packets of entities are looked at: for their events, or for Dota's clock.
func (d *Decoder) walksEntities() bool {
	return d.wantsEntities() || d.game == gameDota && d.has(KindTick)
}

// startEntities begins with a message of entities.
func (d *Decoder) startEntities(ev *Event, b []byte) bool {
	if d.schema == nil || d.classBits == 0 {
		d.tellUndecoded("no schema came before them")
		return false
	}
	e := &d.ents
	*e = entityReader{index: -1, alt: e.alt[:0]}
	var data []byte
	m := wire{buf: b}
	for m.next() {
		switch m.num {
		case 2:
			e.left = int(m.int32())
		case 3:
			e.delta = m.bool()
		case 4:
			e.store = m.bool()
		case 5:
			e.slot = int(m.val & 1)
		case 7:
			data = m.raw
		case 13:
			e.sizes, e.sized = m.raw, true
		case 15:
			var a alternate
			for q := (wire{buf: m.raw}); q.next(); {
				switch q.num {
				case 1:
					a.entity = q.int32()
				case 2:
					a.entry = q.int32()
				}
			}
			if len(e.alt) < maxEntities {
				e.alt = append(e.alt, a)
			}
		case 16:
			e.visual = m.bool()
		}
	}
	if m.bad {
		return d.badMessage(ev, svcPacketEntities, b)
	}
	e.bits.Reset(data)
	d.update.tick = d.interval
	if !e.delta {
		for _, old := range d.entities {
			if old != nil {
				old.seen = false
			}
		}
	}
	// The first one of an entity counts.
	slices.SortStableFunc(e.alt, compareAlternates)
	if e.store {
		d.switchBaselines(e.slot)
	}
	d.stage = stageEntities
	return false
}

// nextEntity goes on with the next entity. Each has two places for events: what happened to it, and a fault.
func (d *Decoder) nextEntity(ev *Event) bool {
	e := &d.ents
	for {
		switch e.phase {
		case phaseEntries:
			if e.pending.set {
				p := e.pending
				e.pending.set = false
				return d.fillEntity(ev, p.class, p.serial, p.group, p.size)
			}
			if e.left > 0 {
				e.left--
				if ok := d.readEntity(ev); ok || len(d.faults) > 0 {
					return ok
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
			if e.left <= 0 || e.bits.Overrun() {
				d.stage = stagePacket
				return false
			}
			e.left--
			e.index += int(e.bits.UBitVar())
			if e.bits.Overrun() || uint(e.index) >= maxEntities {
				e.left = 0
				continue
			}
			if d.deleteEntity(ev, e.index) {
				return true
			}
		case phaseForgotten:
			for e.index++; e.index < maxEntities; e.index++ {
				if old := d.entities[e.index]; old != nil && !old.seen {
					break
				}
			}
			if e.index >= maxEntities {
				d.stage = stagePacket
				return false
			}
			if d.deleteEntity(ev, e.index) {
				return true
			}
		}
	}
}

// lose gives up the rest of a message of entities.
func (d *Decoder) lose(index int, c *class, err error) {
	d.lost = true
	d.ents.left = 0
	d.ents.bits.Skip(d.ents.bits.Len())
	f := Fault{Kind: FaultKindEntity, MessageId: svcPacketEntities, EntityIndex: uint32(index), Detail: []byte(err.Error() + ": the rest of the packet is skipped")}
	if c != nil {
		f.Class, f.HasClass = c.name, true
	}
	d.fault(f)
	d.ents.phase, d.ents.delta = phaseDeletions, true
}

// readEntity reads one entry of the message.
func (d *Decoder) readEntity(ev *Event) bool {
	e := &d.ents
	r := &e.bits
	e.index += int(r.UBitVar()) + 1
	cmd := r.Bits(2)
	if r.Overrun() || uint(e.index) >= maxEntities {
		d.lose(e.index&(maxEntities-1), nil, errEntityIndex)
		return false
	}
	switch cmd {
	case 0:
		if ent := d.entities[e.index]; ent != nil && !ent.decoded && !e.visual && d.skipEntity(ent) {
			return false
		}
		return d.updateEntity(ev)
	case 2:
		return d.createEntity(ev)
	case 1:
		old := d.entities[e.index]
		told := d.want(KindEntityLeft)
		if old == nil {
			return false
		}
		old.active = false
		if old.seen = true; !told || !old.class.wanted {
			return false
		}
		ev.Kind = KindEntityLeft
		ev.EntityLeft = EntityLeft{Index: uint32(e.index), Class: old.class.name, Serial: old.serial}
		return true
	default:
		return d.deleteEntity(ev, e.index)
	}
}

// skipEntity skips an update of an entity that nobody asked for, if its size is told.
func (d *Decoder) skipEntity(ent *entity) bool {
	e := &d.ents
	if len(e.sizes) == 0 {
		return false
	}
	size := e.size()
	if size < 0 || size > e.bits.Len() {
		d.lose(e.index, ent.class, errEntitySize)
		return true
	}
	d.item++
	ent.seen = true
	e.bits.Skip(size)
	d.stats.EntitySkips++
	return true
}

// size returns the announced size of the next payload in bits, or -1.
func (e *entityReader) size() int {
	if len(e.sizes) == 0 {
		return -1
	}
	v, n := uvarint(e.sizes)
	if n <= 0 || v > uint64(e.bits.Len()) {
		// Worse than none.
		e.sizes = nil
		if n > 0 {
			return e.bits.Len() + 1
		}
		return -1
	}
	e.sizes = e.sizes[n:]
	return int(v)
}

func (d *Decoder) deleteEntity(ev *Event, index int) bool {
	told := d.want(KindEntityDeleted)
	old := d.entities[index]
	if old == nil {
		return false
	}
	told = told && old.class.wanted
	if told {
		ev.Kind = KindEntityDeleted
		ev.EntityDeleted = EntityDeleted{Index: uint32(index), Class: old.class.name, Serial: old.serial}
	}
	d.release(index)
	return told
}

// Memory of entities that are no more is used again, up to so many of them that are no larger than that.
const (
	maxSpare      = 1 << 10
	maxSpareCells = 1 << 10
	maxSpareBytes = 32 << 10
)

// release forgets an entity.
func (d *Decoder) release(index int) {
	old := d.entities[index]
	d.entities[index] = nil
	d.held -= old.held
	small := cap(old.cells) <= maxSpareCells && old.size() <= maxSpareBytes
	old.held = 0
	old.reset()
	old.class = nil
	if small && len(d.free) < maxSpare {
		d.free = append(d.free, old)
	}
}

func (d *Decoder) newEntity() *entity {
	if n := len(d.free); n > 0 {
		e := d.free[n-1]
		d.free = d.free[:n-1]
		return e
	}
	return &entity{}
}

// createEntity reads the creation of an entity, or its being sent once more in full.
func (d *Decoder) createEntity(ev *Event) bool {
	e := &d.ents
	r := &e.bits
	id := int(r.Bits(d.classBits))
	serial := uint32(r.Bits(serialBits))
	group := r.Varuint32()
	size := e.size()
	var c *class
	if id < len(d.classes) {
		c = d.classes[id]
	}
	if r.Overrun() || size > r.Len() || c == nil {
		err := errClass
		if size > r.Len() {
			err = errEntitySize
		}
		told := false
		if c == nil && !r.Overrun() && d.entities[e.index] != nil {
			// Whoever was in the slot is gone.
			told = d.deleteEntity(ev, e.index)
		}
		if c == nil && size >= 0 && size <= r.Len() && !r.Overrun() {
			r.Skip(size)
			d.fault(Fault{Kind: FaultKindEntity, MessageId: svcPacketEntities, EntityIndex: uint32(e.index), BitsAnnounced: uint32(size), Detail: []byte(err.Error())})
			return told
		}
		d.lose(e.index, c, err)
		return told
	}
	old := d.entities[e.index]
	again := old != nil && old.class == c && old.serial == serial
	if old != nil && !again {
		// The slot has a new tenant.
		if d.deleteEntity(ev, e.index) {
			e.pending = pendingCreate{set: true, class: c, serial: serial, group: group, size: size}
			return true
		}
	}
	return d.fillEntity(ev, c, serial, group, size)
}

// pendingCreate is a creation whose slot's old tenant had to be told of first.
type pendingCreate struct {
	set           bool
	class         *class
	serial, group uint32
	size          int
}

// fillEntity reads the payload of a creation.
func (d *Decoder) fillEntity(ev *Event, c *class, serial, group uint32, size int) bool {
	e := &d.ents
	r := &e.bits
	ent := d.entities[e.index]
	again := ent != nil
	if !again {
		ent = d.newEntity()
		d.entities[e.index] = ent
	}
	ent.class, ent.serial, ent.active, ent.seen = c, serial, true, true
	kind := KindEntityCreated
	if again {
		kind = KindEntityEntered
	}
	told := d.want(kind)
	if !c.wanted && !c.rules && size >= 0 {
		r.Skip(size)
		ent.decoded = false
		d.stats.EntitySkips++
		return false
	}
	ent.decoded = true
	d.startFrom(ent, d.startState(c))
	d.readUpdate(ent, c, size)
	if e.store {
		d.storeBaseline(e.index, 1-e.slot, ent)
	}
	if c.rules {
		d.clock.update(d, ent)
	}
	if !told || !c.wanted {
		return false
	}
	// What could not be read of it is missing, and a fault says so.
	d.merged = d.merged[:0]
	if c.root != nil {
		d.merged = ent.appendFields(d.merged, c.root)
	}
	d.floats = d.floats[:0]
	ev.Kind = kind
	if again {
		f := ev.EntityEntered.Fields
		ev.EntityEntered = EntityEntered{Index: uint32(e.index), Class: c.name, Serial: serial, Full: true, Fields: d.fillState(f, &ent.state)}
		return true
	}
	f := ev.EntityCreated.Fields
	ev.EntityCreated = EntityCreated{Index: uint32(e.index), Class: c.name, Serial: serial, SpawnGroup: group, Fields: d.fillState(f, &ent.state)}
	return true
}

// startFrom gives an entity the state that its creation changes, or none when there is no room.
func (d *Decoder) startFrom(ent *entity, from *state) {
	need := from.size()
	if d.held+need > maxState {
		d.held -= ent.held
		ent.state, ent.held = state{}, 0
	}
	if need > 0 && d.held+need > maxState {
		d.noRoom(ent.class)
		return
	}
	ent.copyFrom(from)
	d.count(ent)
}

// count notes how much memory the state of an entity takes now.
func (d *Decoder) count(ent *entity) {
	if size := ent.size(); size != ent.held {
		d.held += size - ent.held
		ent.held = size
	}
}

// noRoom reports that the states of all entities together became too large.
func (d *Decoder) noRoom(c *class) {
	d.fault(Fault{Kind: FaultKindLimit, MessageId: svcPacketEntities, EntityIndex: uint32(d.ents.index), Class: c.name, HasClass: true,
		Detail: []byte(errState.Error())})
}

// fillState fills fields with d.merged, whose bytes lie in s.
func (d *Decoder) fillState(fields []FieldValue, s *state) []FieldValue {
	fields = sized(fields, len(d.merged))
	for i := range d.merged {
		ch := &d.merged[i]
		fields[i].Field = ch.node.name
		ch.cell.fill(&fields[i], s.data(&ch.cell), &d.floats)
	}
	return fields
}

// sized returns fields with length n, reusing its memory.
func sized(fields []FieldValue, n int) []FieldValue {
	if cap(fields) >= n {
		return fields[:n]
	}
	return append(fields[:cap(fields)], make([]FieldValue, n-cap(fields))...)
}

// startState returns the state that an entity's creation changes: its own baseline, the alternate that the packet names
// for it, or the class's.
func (d *Decoder) startState(c *class) *state {
	index := int32(d.ents.index)
	alt := d.ents.alt
	if i, ok := slices.BinarySearchFunc(alt, alternate{entity: index}, compareAlternates); ok {
		return d.alternateState(c, alt[i].entry)
	}
	if d.ents.delta {
		if own := d.baseOwn[d.ents.slot][index]; own != nil && own.class == c {
			return &own.state
		}
	}
	b := &c.baseline
	if !b.made {
		b.made = true
		b.reset()
		value, ok := d.classBaseline(c.id)
		if !ok {
			d.stats.BaselinesMissing++
		}
		d.readBaseline(&b.state, c, value)
	}
	return &b.state
}

func compareAlternates(a, b alternate) int { return cmp.Compare(a.entity, b.entity) }

// alternateState returns the state that an entry of the table instancebaseline is for a class.
func (d *Decoder) alternateState(c *class, entry int32) *state {
	key := alternateKey{entry, c}
	if s := d.alternates.states[key]; s != nil {
		return s
	}
	s := new(state)
	d.readBaseline(s, c, d.baselineEntry(int(entry)))
	if d.held+s.size() > maxState {
		d.noRoom(c)
		s = new(state)
	}
	if d.alternates.states == nil {
		d.alternates.states = map[alternateKey]*state{}
	}
	d.alternates.states[key] = s
	d.alternates.held += alternateSize + s.size()
	d.held += alternateSize + s.size()
	return s
}

// dropAlternates forgets what entries of the table instancebaseline are: they have changed.
func (d *Decoder) dropAlternates() {
	d.held -= d.alternates.held
	d.alternates = alternates{}
}

// classBaseline returns the defaults of a class as the table instancebaseline has them.
func (d *Decoder) classBaseline(id int32) ([]byte, bool) {
	entry, ok := d.baseIndex[id]
	if !ok {
		return nil, false
	}
	for _, t := range d.tables {
		if t.role != roleBaselines {
			continue
		}
		// A dump may have given the entry to another class.
		if got, isClass := parseTableKey(t.key(entry)); !isClass || got != id {
			return nil, false
		}
	}
	return d.baselineEntry(entry), true
}

// baselineEntry returns the value of an entry of the table instancebaseline.
func (d *Decoder) baselineEntry(i int) []byte {
	for _, t := range d.tables {
		if t.role == roleBaselines {
			if uint(i) < uint(len(t.entries)) {
				return t.entries[i].value
			}
			return nil
		}
	}
	return nil
}

// readBaseline reads the defaults of a class into s. When they cannot be read to the end, what comes before the first
// field of unknown type is kept.
func (d *Decoder) readBaseline(s *state, c *class, value []byte) {
	if len(value) == 0 {
		return
	}
	r := bits.New(value)
	u := &d.update
	// Defaults are bounded by the nodes of all classes and by the string tables.
	u.room = math.MaxInt
	err := u.read(&r, c, s)
	if err == nil && r.Len() >= 8 {
		err = errEntityBits
	}
	if err == nil {
		u.confirm()
		u.apply(c, s, len(u.changes))
		return
	}
	n, worst := u.suspects()
	f := Fault{Kind: FaultKindBaseline, MessageId: svcCreateStringTable, EntityIndex: uint32(d.ents.index), Class: c.name, HasClass: true,
		BitsAnnounced: uint32(8 * len(value)), BitsRead: uint32(r.Pos()), Detail: []byte(err.Error())}
	if worst >= 0 {
		f.Field, f.HasField = u.changes[worst].node.name, true
	}
	u.apply(c, s, n)
	d.fault(f)
}

// readUpdate reads an update of an entity and applies it. size is its announced size, or -1. What was applied is in
// d.update.changes then: nothing, when nothing of the update is of use. It returns whether something was.
func (d *Decoder) readUpdate(ent *entity, c *class, size int) bool {
	e := &d.ents
	r := &e.bits
	u := &d.update
	start := r.Pos()
	d.stats.EntityUpdates++
	u.room = max(0, maxState-d.held)
	err := u.read(r, c, &ent.state)
	used := r.Pos() - start
	if err == nil && size >= 0 && used != size {
		err = errEntityBits
	}
	switch {
	case err == nil:
		u.confirm()
		return d.applyUpdate(ent)
	case size < 0:
		// Where the next one starts is not known.
		u.changes = u.changes[:0]
		d.lose(e.index, c, err)
		d.count(ent)
		return false
	}
	r.Seek(start + size)
	if errors.Is(err, errState) {
		u.changes = u.changes[:0]
		d.noRoom(c)
		d.count(ent)
		return false
	}
	d.stats.EntityMismatches++
	f := Fault{Kind: FaultKindEntity, MessageId: svcPacketEntities, EntityIndex: uint32(e.index), Class: c.name, HasClass: true,
		BitsAnnounced: uint32(size), BitsRead: uint32(used), Detail: []byte(err.Error())}
	n, worst := u.suspects()
	if worst >= 0 {
		f.Field, f.HasField = u.changes[worst].node.name, true
	}
	u.changes = u.changes[:n]
	d.fault(f)
	return d.applyUpdate(ent) && n > 0
}

// applyUpdate applies the changes of the update to an entity. It drops them and returns false when there is no room.
func (d *Decoder) applyUpdate(ent *entity) bool {
	u := &d.update
	fits := u.fits(ent.class, &ent.state)
	if !fits {
		u.changes = u.changes[:0]
		d.noRoom(ent.class)
	}
	u.apply(ent.class, &ent.state, len(u.changes))
	d.count(ent)
	return fits
}

// updateEntity reads an update of an entity.
func (d *Decoder) updateEntity(ev *Event) bool {
	e := &d.ents
	r := &e.bits
	ent := d.entities[e.index]
	entered := false
	if e.visual {
		p := r.Bits(2)
		if ent != nil {
			active := p&2 != 0
			entered = active && !ent.active
			left := !active && ent.active
			ent.active, ent.seen = active, true
			if p&1 != 0 {
				return d.tellVisibility(ev, ent, entered, left)
			}
		}
		if p&1 != 0 {
			d.item++
			return false
		}
	}
	size := e.size()
	if size > r.Len() {
		d.lose(e.index, nil, errEntitySize)
		return false
	}
	kind := KindEntityUpdated
	if entered {
		kind = KindEntityEntered
	}
	told := d.want(kind)
	if ent == nil {
		d.stats.EntityUnknown++
		if size < 0 {
			d.lose(e.index, nil, errUnknown)
			return false
		}
		r.Skip(size)
		return false
	}
	ent.seen = true
	c := ent.class
	if !ent.decoded && size >= 0 {
		r.Skip(size)
		d.stats.EntitySkips++
		return false
	}
	read := d.readUpdate(ent, c, size)
	if c.rules {
		d.clock.update(d, ent)
	}
	if !told || !c.wanted {
		return false
	}
	if kind == KindEntityEntered {
		// It did, even when its news could not be read.
		fields, _ := d.fillChanges(ev.EntityEntered.Fields)
		ev.Kind = kind
		ev.EntityEntered = EntityEntered{Index: uint32(e.index), Class: c.name, Serial: ent.serial, Fields: fields}
		return true
	}
	if !read {
		return false
	}
	out := &ev.EntityUpdated
	var some bool
	if out.Fields, some = d.fillChanges(out.Fields); !some {
		return false
	}
	out.Index, out.Class, out.Serial = uint32(e.index), c.name, ent.serial
	ev.Kind = kind
	return true
}

// tellVisibility delivers that an entity left or entered the recorder's view without other news.
func (d *Decoder) tellVisibility(ev *Event, ent *entity, entered, left bool) bool {
	kind := KindEntityLeft
	if entered {
		kind = KindEntityEntered
	}
	if told := d.want(kind); !told || !entered && !left || !ent.class.wanted {
		return false
	}
	ev.Kind = kind
	if entered {
		ev.EntityEntered = EntityEntered{Index: uint32(d.ents.index), Class: ent.class.name, Serial: ent.serial, Fields: ev.EntityEntered.Fields[:0]}
		return true
	}
	ev.EntityLeft = EntityLeft{Index: uint32(d.ents.index), Class: ent.class.name, Serial: ent.serial}
	return true
}

// fillChanges fills fields with the wanted changes of the update. some is false when there were changes but none was
// wanted.
func (d *Decoder) fillChanges(fields []FieldValue) (_ []FieldValue, some bool) {
	u := &d.update
	d.floats = d.floats[:0]
	fields = sized(fields, len(u.changes))
	n := 0
	for i := range u.changes {
		ch := &u.changes[i]
		if !ch.node.wanted {
			continue
		}
		fields[n].Field = ch.node.name
		ch.cell.fill(&fields[n], u.data(&ch.cell), &d.floats)
		n++
	}
	return fields[:n], n > 0 || len(u.changes) == 0 && d.opts.Fields == nil
}

// switchBaselines makes the own baselines of a slot those of the other one too.
func (d *Decoder) switchBaselines(slot int) {
	for i, b := range d.baseOwn[1-slot] {
		if d.baseOwn[slot][i] != b {
			d.held -= b.held
		}
	}
	d.baseOwn[1-slot] = maps.Clone(d.baseOwn[slot])
}

func (d *Decoder) storeBaseline(index, slot int, ent *entity) {
	if d.baseOwn[slot] == nil {
		d.baseOwn[slot] = map[int32]*ownBaseline{}
	}
	old := d.baseOwn[slot][int32(index)]
	if old != nil && d.baseOwn[1-slot][int32(index)] != old {
		d.held -= old.held
	}
	delete(d.baseOwn[slot], int32(index))
	b := &ownBaseline{class: ent.class, held: ent.size()}
	if d.held+b.held > maxState {
		return
	}
	d.held += b.held
	b.state.copyFrom(&ent.state)
	d.baseOwn[slot][int32(index)] = b
}

// Entity is a look at the present state of an entity.
type Entity struct {
	Index  int
	Serial uint32
	Class  string
	// Active tells whether it is within the recorder's view.
	Active bool
	// Fields are all present fields, as in EntityCreated. Their bytes are valid until the next call of Next.
	Fields []FieldValue
}

// Entity returns the state of the entity in a slot. ok is false when there is none, or when its class is not decoded.
func (d *Decoder) Entity(index int) (e Entity, ok bool) {
	if uint(index) >= maxEntities || d.entities[index] == nil || !d.entities[index].decoded {
		return Entity{}, false
	}
	ent := d.entities[index]
	e = Entity{Index: index, Serial: ent.serial, Class: d.Name(ent.class.name), Active: ent.active}
	var floats []float32
	if ent.class.root != nil {
		for _, ch := range ent.appendFields(nil, ent.class.root) {
			f := FieldValue{Field: ch.node.name}
			ch.cell.fill(&f, ent.data(&ch.cell), &floats)
			e.Fields = append(e.Fields, f)
		}
	}
	return e, true
}

// MaxEntities is how many slots for entities there are.
const MaxEntities = maxEntities

// Present fills ev with an EntityEntered that tells the whole present state of the entity in a slot, for somebody who
// comes late. ok is false when there is none, when it is out of view, and when nobody asked for its class. It is no event
// of the demo: the position does not move.
func (d *Decoder) Present(index int, ev *Event) (ok bool) {
	if uint(index) >= maxEntities {
		return false
	}
	ent := d.entities[index]
	if ent == nil || !ent.decoded || !ent.active || !ent.class.wanted {
		return false
	}
	d.merged = d.merged[:0]
	if ent.class.root != nil {
		d.merged = ent.appendFields(d.merged, ent.class.root)
	}
	d.floats = d.floats[:0]
	fields := d.fillState(ev.EntityEntered.Fields, &ent.state)
	ev.AtTick, ev.Kind = d.Tick(), KindEntityEntered
	ev.EntityEntered = EntityEntered{
		Index: uint32(index), Class: ent.class.name, Serial: ent.serial, Full: true, Fields: fields,
	}
	return true
}

// clock is Dota's clock, as the entity of the game's rules tells it.
type clock struct {
	fields [clockFields]*node
	cells  int // of the class, when the fields were looked up
	known  bool
	paused bool
	start  float32 // in seconds
	legacy bool    // the time itself is told
	time   float32
	ticks  int64 // paused so far
	pause  int64 // tick of the pause
}

const (
	clockStart = iota
	clockPaused
	clockPausedTicks
	clockPauseTick
	clockTime
	clockFields
)

var clockNames = [clockFields]string{
	"m_pGameRules.m_flGameStartTime", "m_pGameRules.m_bGamePaused", "m_pGameRules.m_nTotalPausedTicks",
	"m_pGameRules.m_nPauseStartTick", "m_pGameRules.m_fGameTime",
}

func (k *clock) update(d *Decoder, ent *entity) {
	c := ent.class
	if k.cells != c.cells && c.root != nil {
		k.cells = c.cells
		for i, name := range clockNames {
			if id, ok := d.tree.byName[name]; ok {
				k.fields[i] = find(c.root, id, 3)
			}
		}
	}
	get := func(i int) (uint64, bool) {
		n := k.fields[i]
		if n == nil || n.cell < 0 || int(n.cell) >= len(ent.cells) || ent.cells[n.cell].kind == valueNone {
			return 0, false
		}
		return ent.cells[n.cell].word, true
	}
	start, ok := get(clockStart)
	k.start = math.Float32frombits(uint32(start))
	time, old := get(clockTime)
	k.legacy, k.time = old, math.Float32frombits(uint32(time))
	k.known = old || ok && k.start > 0
	paused, _ := get(clockPaused)
	k.paused = paused != 0
	ticks, _ := get(clockPausedTicks)
	k.ticks = int64(int32(ticks))
	pause, _ := get(clockPauseTick)
	k.pause = int64(int32(pause))
}

// at returns the game's time at a tick of the server.
func (k *clock) at(tick uint32, interval float32) float32 {
	if k.legacy {
		return k.time - k.start
	}
	now := int64(tick)
	if k.paused && k.pause > 0 {
		now = min(now, k.pause)
	}
	return float32(float64(now-k.ticks)*float64(interval) - float64(k.start))
}

// find returns the node of a name below n, at most depth levels deep.
func find(n *node, name uint32, depth int) *node {
	if n == nil || depth == 0 {
		return nil
	}
	if n.name == name {
		return n
	}
	if n.list {
		return nil
	}
	for _, k := range n.kids {
		if f := find(k, name, depth-1); f != nil {
			return f
		}
	}
	return nil
}
