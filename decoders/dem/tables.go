package dem

import (
	"bytes"
	"slices"

	"github.com/replayd/replayd/decoders/dem/internal/lexicon"
	"github.com/replayd/replayd/decoders/dem/internal/pb"
	"github.com/replayd/replayd/decoders/dem/internal/record"
	"github.com/replayd/replayd/decoders/dem/internal/stringtable"
	"github.com/replayd/replayd/decoders/dem/internal/unpack"
)

// createTable reads CSVCMsg_CreateStringTable and begins to read its entries.
func (d *Decoder) createTable(ev *Event, b []byte) bool {
	t := &stringtable.Table{Stored: &d.tables.stored}
	var data []byte
	var entries int32
	fixed, compressed := false, false
	bitsOfValue := int32(0)
	m := d.message(svcCreateStringTable, b)
	for m.Next() {
		switch m.Num {
		case 1:
			t.Name = append([]byte(nil), m.Raw...)
		case 2:
			entries = m.Int32()
		case 3:
			fixed = m.Bool()
		case 5:
			bitsOfValue = m.Int32()
		case 6:
			t.Flags = m.Int32()
		case 7:
			data = m.Raw
		case 9:
			compressed = m.Bool()
		case 10:
			t.Varint = m.Bool()
		}
	}
	if m.Bad || len(d.tables.list) >= stringtable.MaxTables {
		// The table takes a number all the same.
		if len(d.tables.list) < stringtable.MaxTables {
			d.tables.list = append(d.tables.list, t)
		}
		return d.badMessage(ev, svcCreateStringTable, b)
	}
	if fixed && bitsOfValue > 0 && bitsOfValue <= 8*stringtable.MaxValue {
		t.FixedBits = int(bitsOfValue)
	}
	t.Role = stringtable.RoleOf(t.Name)
	t.Kept = d.keeps(t.Role)
	id := len(d.tables.list)
	d.tables.list = append(d.tables.list, t)
	if t.Role == stringtable.EntityNames {
		d.world.meanings.names = t
	}
	tell := d.out.want(KindStringTable, slotEvent)
	if tell {
		ev.Kind = KindStringTable
		ev.StringTable = StringTable{Id: uint32(id), Name: t.Name, Entries: uint32(max(entries, 0)), Flags: t.Flags}
	}
	if !t.Kept || len(data) == 0 {
		return tell
	}
	if compressed {
		var err error
		if data, err = d.unpackTable(data); err != nil {
			d.tableFault(t, err)
			return tell
		}
	}
	d.tables.reader.Start(t, id, data, int(entries))
	d.stage = stageTable
	return tell
}

// unpackTable decompresses the entries of a table.
func (d *Decoder) unpackTable(data []byte) (_ []byte, err error) {
	if unpack.IsLZSS(data) {
		return unpack.LZSS(data, record.MaxSize)
	}
	d.tables.unpacked, err = unpack.Snappy(d.tables.unpacked, data, record.MaxSize)
	return d.tables.unpacked, err
}

// keeps reports whether a table's entries are needed.
func (d *Decoder) keeps(role stringtable.Role) bool {
	if d.out.has(KindStringTableEntry) || d.out.has(KindFault) {
		return true
	}
	switch role {
	case stringtable.Baselines:
		return d.walksEntities()
	case stringtable.Modifiers, stringtable.ModifierNames:
		return d.out.has(KindModifier)
	case stringtable.CombatLogNames:
		return d.needsKind(KindCombatLog)
	case stringtable.EntityNames:
		return d.out.wantsEntities() || d.out.players
	case stringtable.Players:
		return d.needsKind(KindGameEvent) || d.out.has(KindPlayerInfo)
	}
	return false
}

// updateTable reads CSVCMsg_UpdateStringTable and begins to read its entries.
func (d *Decoder) updateTable(ev *Event, b []byte) bool {
	var id, entries int32
	var data []byte
	m := d.message(svcUpdateStringTable, b)
	for m.Next() {
		switch m.Num {
		case 1:
			id = m.Int32()
		case 2:
			entries = m.Int32()
		case 3:
			data = m.Raw
		}
	}
	if m.Bad || uint32(id) >= uint32(len(d.tables.list)) {
		return d.badMessage(ev, svcUpdateStringTable, b)
	}
	if t := d.tables.list[id]; t.Kept {
		d.tables.reader.Start(t, int(id), data, int(entries))
		d.stage = stageTable
	}
	return false
}

// clearTables drops all tables, and the data that was derived from them.
func (d *Decoder) clearTables() {
	d.tables.list, d.tables.stored, d.world.meanings.names = nil, 0, nil
	clear(d.world.baseIndex)
	d.snaps.learnt = nil
	d.world.store.DropAlternates()
	for _, c := range d.world.classes {
		if c != nil {
			c.Baseline.Made = false
		}
	}
}

// markAllLost marks entities, tables and user commands as lost, because any data may have been in the lost parts of the file.
func (d *Decoder) markAllLost() {
	d.world.lost = true
	d.match.commands.Lose()
	for _, t := range d.tables.list {
		t.Lost = true
	}
}

// lostTables reports whether entries of a table were lost.
func (d *Decoder) lostTables() bool {
	return slices.ContainsFunc(d.tables.list, func(t *stringtable.Table) bool { return t.Lost })
}

// tableFault reports entries that cannot be read. The next key frame has them again.
func (d *Decoder) tableFault(t *stringtable.Table, err error) {
	t.Lost = true
	if t.Role == stringtable.Baselines {
		d.world.lost = true
	}
	d.out.fault(Fault{Kind: FaultKindStringTable, MessageId: svcUpdateStringTable, Detail: []byte("string table " + string(t.Name) + ": " + err.Error())})
}

// nextTableEntry reads an entry of a string table.
func (d *Decoder) nextTableEntry(ev *Event) bool {
	if d.tables.thing.role != stringtable.None {
		return d.emitThing(ev)
	}
	t := &d.tables.reader
	var c stringtable.Change
	d.out.place.nextElement()
	if !t.Next(&c) {
		d.stage = stagePacket
		if t.Err != nil {
			d.tableFault(t.Table, t.Err)
		}
		return false
	}
	return d.emitEntryAndThing(ev, t.Id, t.Table, &c)
}

// emitEntryAndThing delivers a changed entry, and the modifier or player in it.
func (d *Decoder) emitEntryAndThing(ev *Event, id int, t *stringtable.Table, c *stringtable.Change) bool {
	d.entryChanged(t, c.Index, c.Key)
	emit := d.out.want(KindStringTableEntry, slotEvent)
	if emit {
		d.emitEntry(ev, id, t, c)
	}
	if t.Role != stringtable.Modifiers && t.Role != stringtable.Players {
		return emit
	}
	d.tables.thing = pendingThing{t.Role, c.Index, c.Value}
	return emit || d.emitThing(ev)
}

func (d *Decoder) emitEntry(ev *Event, id int, t *stringtable.Table, c *stringtable.Change) {
	ev.Kind = KindStringTableEntry
	ev.StringTableEntry = StringTableEntry{
		TableId: uint32(id), Table: t.Name, Index: uint32(c.Index), Key: c.Key, Value: c.Value, HasValue: c.HasValue,
	}
}

// entryChanged notes that an entry has changed, for everything that depends on it.
func (d *Decoder) entryChanged(t *stringtable.Table, index int, key []byte) {
	if t.Role != stringtable.Baselines {
		return
	}
	d.world.store.DropAlternates()
	d.snaps.learnt = nil
	if key == nil {
		key = t.Key(index)
	}
	if id, ok := stringtable.ParseClass(key); ok {
		d.world.baseIndex[id] = index
		if len(d.world.learn.changed) < maxClassID {
			d.world.learn.changed = append(d.world.learn.changed, id)
		}
		if int(id) < len(d.world.classes) && d.world.classes[id] != nil {
			d.world.classes[id].Baseline.Made = false
		}
	}
}

// dumpReader walks over a dump of all string tables (CDemoStringTables).
type dumpReader struct {
	tables pb.Reader
	all    bool // fill all tables, not only those that lost entries
	items  pb.Reader
	table  *stringtable.Table
	id     int
	index  int
	packet []byte // the key frame's packet, to decode after the dump
	then   bool
}

// startDump begins to apply a dump to all tables, or only to tables that lost entries. A packet may follow it.
func (d *Decoder) startDump(tables, packet []byte, all bool) {
	d.tables.dump = dumpReader{tables: pb.ReadParts(tables, lexicon.Type("CDemoStringTables"), &d.out.unknown), all: all, packet: packet, then: packet != nil}
	d.stage = stageDump
}

// nextDumpEntry applies entries of the dump up to one that changes something.
func (d *Decoder) nextDumpEntry(ev *Event) bool {
	if d.tables.thing.role != stringtable.None {
		return d.emitThing(ev)
	}
	u := &d.tables.dump
	for {
		for u.table != nil && u.items.Next() {
			if u.items.Num != 2 {
				continue
			}
			c := stringtable.Change{Index: u.index}
			u.index++
			for m := u.items.Message(); m.Next(); {
				switch m.Num {
				case 1:
					c.Key = m.Raw
				case 2:
					c.Value, c.HasValue = m.Raw, true
				}
			}
			d.out.place.nextElement()
			if d.applyDumped(&c) && d.emitEntryAndThing(ev, u.id, u.table, &c) {
				return true
			}
			if len(d.out.faults) > 0 {
				return false
			}
		}
		u.table = nil
		if !u.tables.Next() {
			break
		}
		if u.tables.Num == 1 {
			d.openDumped()
		}
	}
	d.stage = stageFrame
	if u.then {
		u.then = false
		d.startPacket(u.packet)
	}
	return false
}

// openDumped looks up the table of the present part of the dump.
func (d *Decoder) openDumped() {
	u := &d.tables.dump
	for m := u.tables.Message(); m.Next(); {
		if m.Num != 1 {
			continue
		}
		for id, t := range d.tables.list {
			if !bytes.Equal(t.Name, m.Raw) || !u.all && !t.Lost {
				continue
			}
			t.Lost = false
			if t.Kept {
				u.table, u.id, u.index, u.items = t, id, 0, u.tables.Message()
				return
			}
		}
	}
}

// applyDumped applies an entry of a dump, and reports whether it changed something.
func (d *Decoder) applyDumped(c *stringtable.Change) bool {
	t := d.tables.dump.table
	if c.Index > len(t.Entries) || c.Index >= stringtable.MaxEntries {
		return false
	}
	if c.Index < len(t.Entries) {
		e := &t.Entries[c.Index]
		if bytes.Equal(e.Key, c.Key) && (!c.HasValue || e.HasValue && bytes.Equal(e.Value, c.Value)) {
			return false
		}
	}
	return t.Store(c, true)
}
