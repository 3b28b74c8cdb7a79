package dem

import (
	"bytes"
	"maps"
	"slices"

	"github.com/replayd/replayd/decoders/dem/internal/pb"
)

// eventType is a kind of game event, as the file describes it.
type eventType struct {
	name []byte
	keys []eventKey
}

type eventKey struct {
	name []byte
	typ  int32
}

// Types of the keys of game events.
const (
	keyText = iota + 1
	keyFloat
	keyLong
	keyShort
	keyByte
	keyBool
	keyUint64
	keyHandle // the handle of a pawn
	keyPlayer // slot of a player
)

// maxEventTypes bounds the kinds of game events, of which a game has some hundred, and maxKeys the keys of one.
const (
	maxEventTypes = 1 << 12
	maxKeys       = 1 << 8
)

// startEventTypes begins to read the list of game events.
func (d *Decoder) startEventTypes(b []byte) bool {
	d.list.items = d.messageParts(geGameEventList, b)
	d.stage = stageEventTypes
	return false
}

func (d *Decoder) nextEventType(ev *Event) bool {
	m := &d.list.items
	for m.Next() {
		if m.Num != 1 {
			continue
		}
		parseEventType(&ev.GameEventType, m.Message())
		d.keepEventType(&ev.GameEventType)
		d.out.place.nextElement()
		if d.out.want(KindGameEventType, slotEvent) {
			ev.Kind = KindGameEventType
			return true
		}
	}
	d.stage = stagePacket
	if m.Bad {
		d.out.fault(Fault{Kind: FaultKindMessage, MessageId: geGameEventList, Detail: []byte("message: cannot be read to its end")})
	}
	return false
}

func parseEventType(t *GameEventType, m pb.Reader) {
	t.Id, t.Name, t.Keys = 0, nil, t.Keys[:0]
	for m.Next() {
		switch m.Num {
		case 1:
			t.Id = m.Int32()
		case 2:
			t.Name = m.Raw
		case 3:
			var k GameEventTypeKey
			for q := m.Message(); q.Next(); {
				switch q.Num {
				case 1:
					k.Type = q.Int32()
				case 2:
					k.Name = q.Raw
				}
			}
			if len(t.Keys) < maxKeys {
				t.Keys = append(t.Keys, k)
			}
		}
	}
}

// keepEventType stores a kind of game event.
func (d *Decoder) keepEventType(described *GameEventType) {
	if _, known := d.match.events[described.Id]; !known && len(d.match.events) >= maxEventTypes {
		return
	}
	t := &eventType{name: bytes.Clone(described.Name)}
	for _, k := range described.Keys {
		t.keys = append(t.keys, eventKey{bytes.Clone(k.Name), k.Type})
	}
	d.match.events[described.Id] = t
	d.snaps.events = nil
}

// skipsGameEvent is like skipsType, for a game event.
func (d *Decoder) skipsGameEvent(b []byte) bool {
	if d.opts.Types == nil {
		return false
	}
	var name []byte
	var id int32
	m := pb.NewReader(b)
	for m.Next() {
		switch m.Num {
		case 1:
			name = m.Raw
		case 2:
			id = m.Int32()
		}
	}
	if t := d.match.events[id]; t != nil && len(t.name) > 0 {
		if name = t.name; string(name) == oldCombatLog {
			return false // it may become an entry of the combat log
		}
	}
	return !m.Bad && !d.opts.Types(KindGameEvent, id, name)
}

// gameEvent reads a game event.
func (d *Decoder) gameEvent(ev *Event, b []byte) bool {
	skip := d.skipsGameEvent(b)
	if skip && !d.facts.sources.has(KindGameEvent) {
		return false
	}
	g := &ev.GameEvent
	g.Id, g.Name, g.Keys = 0, nil, g.Keys[:0]
	var t *eventType
	m := d.message(geGameEvent, b)
	for m.Next() {
		switch m.Num {
		case 1:
			g.Name = m.Raw
		case 2:
			g.Id = m.Int32()
			t = d.match.events[g.Id]
		case 3:
			if len(g.Keys) < maxKeys {
				g.Keys = appendKey(g.Keys, m.Message())
			}
		}
	}
	if m.Bad {
		return d.badMessage(ev, geGameEvent, b)
	}
	if t != nil {
		if len(t.name) > 0 {
			g.Name = t.name
		}
		for i := range g.Keys[:min(len(g.Keys), len(t.keys))] {
			g.Keys[i].Name = t.keys[i].name
		}
	}
	d.namePlayers(g.Keys)
	d.nameKeys(string(g.Name), g.Keys)
	d.conclude(ev, KindGameEvent)
	emit := !skip && d.out.want(KindGameEvent, slotEvent)
	if t != nil && d.needsKind(KindCombatLog) && string(t.name) == oldCombatLog {
		d.list.items, d.list.event = pb.Read(b, d.match.message(geGameEvent).shape, nil), t
		d.stage = stageOldCombatLog
	}
	if emit {
		ev.Kind = KindGameEvent
	}
	return emit
}

// appendKey appends a key of a game event. The value is in the field that belongs to its type.
func appendKey(keys []GameEventKey, m pb.Reader) []GameEventKey {
	var k GameEventKey
	typ := int32(0)
	var text []byte
	var float float32
	var long, short, octet int64
	var truth bool
	var u64 uint64
	for m.Next() {
		switch m.Num {
		case 1:
			typ = m.Int32()
		case 2:
			text = m.Raw
		case 3:
			float = m.Float32()
		case 4:
			long = int64(m.Int32())
		case 5:
			short = int64(m.Int32())
		case 6:
			octet = int64(m.Int32())
		case 7:
			truth = m.Bool()
		case 8:
			u64 = m.Val
		}
	}
	k.ValueCase = caseOfKey(typ)
	switch typ {
	case keyText:
		k.Text = text
	case keyFloat:
		k.Float = float
	case keyLong:
		k.Int = long
	case keyShort:
		k.Int = short
	case keyByte:
		k.Int = octet
	case keyBool:
		k.Bool = truth
	case keyUint64:
		k.Uint = u64
	case keyHandle:
		k.Handle = uint32(long)
	case keyPlayer:
		k.Player = int32(int16(short)) // 65535 is no player, too
	}
	return append(keys, k)
}

// caseOfKey returns how a GameEventKey holds values of a type.
func caseOfKey(typ int32) GameEventKeyValueCase {
	switch typ {
	case keyText:
		return GameEventKeyValueText
	case keyFloat:
		return GameEventKeyValueFloat
	case keyLong, keyShort, keyByte:
		return GameEventKeyValueInt
	case keyBool:
		return GameEventKeyValueBool
	case keyUint64:
		return GameEventKeyValueUint
	case keyHandle:
		return GameEventKeyValueHandle
	case keyPlayer:
		return GameEventKeyValuePlayer
	}
	return GameEventKeyValueNone
}

// EventKey is what a demo says of a key of game events.
type EventKey struct {
	Name string
	// Case is how a GameEventKey holds the values. It is GameEventKeyValueNone for a type that the decoder does not know.
	Case GameEventKeyValueCase
	// Named is true if values may have a GameEventKey.ValueName.
	Named bool
}

// EventNames returns the names of the game events that the demo has described so far, sorted. They are there if Options select events of
// KindGameEvent.
func (d *Decoder) EventNames() (names []string) {
	for _, t := range d.match.events {
		if len(t.name) > 0 {
			names = append(names, string(t.name))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// EventKeys returns the keys of the game events with a name, as EventNames does: those of each description with the name, of which games have
// one.
func (d *Decoder) EventKeys(name string) (all [][]EventKey) {
	for _, id := range slices.Sorted(maps.Keys(d.match.events)) {
		t := d.match.events[id]
		if string(t.name) != name {
			continue
		}
		var keys []EventKey
		for _, k := range t.keys {
			c := caseOfKey(k.typ)
			_, named := d.valueNames(name, k.name)
			keys = append(keys, EventKey{Name: string(k.name), Case: c, Named: named && c == GameEventKeyValueInt})
		}
		all = append(all, keys)
	}
	return all
}
