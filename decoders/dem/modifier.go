package dem

import (
	"github.com/replayd/replayd/decoders/dem/internal/lexicon"
	"github.com/replayd/replayd/decoders/dem/internal/pb"
	"github.com/replayd/replayd/decoders/dem/internal/stringtable"
)

// noHandle is the handle of no entity.
const noHandle = 1<<24 - 1

// pendingThing is the modifier or the player in a table's last entry that was not delivered yet.
type pendingThing struct {
	role  stringtable.Role // None when there is none
	slot  int
	value []byte
}

// emitThing delivers the modifier or the player in the last entry.
func (d *Decoder) emitThing(ev *Event) bool {
	t := d.tables.thing
	d.tables.thing.role = stringtable.None
	if t.role == stringtable.Players {
		return d.playerInfo(ev, t.slot, t.value)
	}
	return d.modifier(ev, t.slot, t.value)
}

// playerInfo delivers an entry of the table userinfo. The entry of a slot without a player has no bytes.
func (d *Decoder) playerInfo(ev *Event, slot int, b []byte) bool {
	if !d.out.reads(KindPlayerInfo, KindPlayerInfo) || len(b) == 0 {
		return false
	}
	if !parsePlayerInfo(&ev.PlayerInfo, slot, b, &d.out.unknown) {
		d.out.fault(Fault{Kind: FaultKindMessage, MessageId: svcUpdateStringTable, Detail: []byte("userinfo: not the message that it should be")})
		return false
	}
	ev.Kind = KindPlayerInfo
	return d.out.want(KindPlayerInfo, slotAfter)
}

// modifier delivers an entry of the table ActiveModifiers.
func (d *Decoder) modifier(ev *Event, slot int, b []byte) bool {
	if !d.out.has(KindModifier) && !d.out.has(KindFault) || len(b) == 0 || !d.match.game.has(KindModifier) {
		return false
	}
	o, class, ok := parseModifier(b, &d.out.unknown)
	if !ok {
		d.out.fault(Fault{Kind: FaultKindMessage, MessageId: svcUpdateStringTable, Detail: []byte("modifier: not the message that it should be")})
		return false
	}
	o.Slot = uint32(slot)
	if class >= 0 && len(o.Name) == 0 {
		for _, t := range d.tables.list {
			if t.Role == stringtable.ModifierNames {
				o.Name = t.Key(int(class))
			}
		}
	}
	ev.Kind, ev.Modifier = KindModifier, o
	return d.out.want(KindModifier, slotAfter)
}

// parseModifier reads CDOTAModifierBuffTableEntry. It has a name only if it is a script's modifier; otherwise class is its
// number. -1 means none.
func parseModifier(b []byte, log *pb.Log) (o Modifier, class int32, ok bool) {
	o = Modifier{
		State: ModifierStateActive, Raw: b, Duration: -1,
		Parent: noHandle, Caster: noHandle, Ability: noHandle, AuraOwner: noHandle,
	}
	class = -1
	m := pb.Read(b, lexicon.Type("CDOTAModifierBuffTableEntry"), log)
	for m.Next() {
		switch m.Num {
		case 1:
			o.State = ModifierState(m.Int32())
		case 2:
			o.Parent = m.Uint32()
		case 3:
			o.Index = m.Int32()
		case 4:
			o.Serial = m.Int32()
		case 5:
			class = m.Int32()
		case 6:
			o.AbilityLevel = m.Int32()
		case 7:
			o.StackCount = m.Int32()
		case 8:
			o.CreationTime = m.Float32()
		case 9:
			o.Duration = m.Float32()
		case 10:
			o.Caster = m.Uint32()
		case 11:
			o.Ability = m.Uint32()
		case 14:
			o.Subtle = m.Bool()
		case 23:
			o.Aura = m.Bool()
		case 32:
			o.Name = m.Raw
		case 34:
			o.AuraOwner = m.Uint32()
		}
	}
	return o, class, !m.Bad
}
