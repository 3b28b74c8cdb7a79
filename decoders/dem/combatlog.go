package dem

import (
	"github.com/replayd/replayd/decoders/dem/internal/pb"
	"github.com/replayd/replayd/decoders/dem/internal/stringtable"
)

// combatName returns the name that an entry of the combat log gives by its number. 0 is no name.
func (d *Decoder) combatName(index uint64) []byte {
	if index == 0 {
		return nil
	}
	for _, t := range d.tables.list {
		if t.Role == stringtable.CombatLogNames {
			if index < uint64(len(t.Entries)) {
				return t.Entries[index].Key
			}
			break
		}
	}
	return nil
}

// readCombatLog reads CMsgDOTACombatLogEntry.
func readCombatLog(d *Decoder, ev *Event, m *pb.Reader) {
	c := &ev.CombatLog
	*c = CombatLog{AssistPlayers: c.AssistPlayers[:0]}
	for m.Next() {
		switch m.Num {
		case 1:
			c.Type = CombatLogType(m.Int32() + 1)
		case 2:
			c.TargetName = d.combatName(m.Val)
		case 3:
			c.TargetSourceName = d.combatName(m.Val)
		case 4:
			c.AttackerName = d.combatName(m.Val)
		case 5:
			c.DamageSourceName = d.combatName(m.Val)
		case 6:
			c.InflictorName = d.combatName(m.Val)
		case 7:
			c.IsAttackerIllusion = m.Bool()
		case 8:
			c.IsAttackerHero = m.Bool()
		case 9:
			c.IsTargetIllusion = m.Bool()
		case 10:
			c.IsTargetHero = m.Bool()
		case 11:
			c.IsVisibleRadiant = m.Bool()
		case 12:
			c.IsVisibleDire = m.Bool()
		case 13:
			c.Value = m.Uint32()
		case 14:
			c.Health = m.Int32()
		case 15:
			c.Timestamp = m.Float32()
		case 16:
			c.StunDuration = m.Float32()
		case 17:
			c.SlowDuration = m.Float32()
		case 18:
			c.IsAbilityToggleOn = m.Bool()
		case 19:
			c.IsAbilityToggleOff = m.Bool()
		case 20:
			c.AbilityLevel = m.Uint32()
		case 21:
			c.LocationX = m.Float32()
		case 22:
			c.LocationY = m.Float32()
		case 23:
			c.GoldReason = m.Uint32()
		case 24:
			c.TimestampRaw = m.Float32()
		case 25:
			c.ModifierDuration = m.Float32()
		case 26:
			c.XpReason = m.Uint32()
		case 27:
			c.LastHits = m.Uint32()
		case 28:
			c.AttackerTeam = m.Uint32()
		case 29:
			c.TargetTeam = m.Uint32()
		case 30:
			c.ObsWardsPlaced = m.Uint32()
		case 31:
			c.AssistPlayer0 = m.Uint32()
		case 32:
			c.AssistPlayer1 = m.Uint32()
		case 33:
			c.AssistPlayer2 = m.Uint32()
		case 34:
			c.AssistPlayer3 = m.Uint32()
		case 35:
			c.StackCount = m.Uint32()
		case 36:
			c.HiddenModifier = m.Bool()
		case 37:
			c.IsTargetBuilding = m.Bool()
		case 38:
			c.NeutralCampType = m.Uint32()
		case 39:
			c.RuneType = m.Uint32()
		case 40:
			c.AssistPlayers = m.AppendInt32s(c.AssistPlayers)
		case 41:
			c.IsHealSave = m.Bool()
		case 42:
			c.IsUltimateAbility = m.Bool()
		case 43:
			c.AttackerHeroLevel = m.Uint32()
		case 44:
			c.TargetHeroLevel = m.Uint32()
		case 45:
			c.Xpm = m.Uint32()
		case 46:
			c.Gpm = m.Uint32()
		case 47:
			c.EventLocation = m.Uint32()
		case 48:
			c.TargetIsSelf = m.Bool()
		case 49:
			c.DamageType = m.Uint32()
		case 50:
			c.InvisibilityModifier = m.Bool()
		case 51:
			c.DamageCategory = m.Uint32()
		case 52:
			c.Networth = m.Uint32()
		case 53:
			c.BuildingType = m.Uint32()
		case 54:
			c.ModifierElapsedDuration = m.Float32()
		case 55:
			c.SilenceModifier = m.Bool()
		case 56:
			c.HealFromLifesteal = m.Bool()
		case 57:
			c.ModifierPurged = m.Bool()
		case 58:
			c.SpellEvaded = m.Bool()
		case 59:
			c.MotionControllerModifier = m.Bool()
		case 60:
			c.LongRangeKill = m.Bool()
		case 61:
			c.ModifierPurgeAbility = d.combatName(m.Val)
		case 62:
			c.ModifierPurgeNpc = d.combatName(m.Val)
		case 63:
			c.RootModifier = m.Bool()
		case 64:
			c.TotalUnitDeathCount = m.Uint32()
		case 65:
			c.AuraModifier = m.Bool()
		case 66:
			c.ArmorDebuffModifier = m.Bool()
		case 67:
			c.NoPhysicalDamageModifier = m.Bool()
		case 68:
			c.ModifierAbility = d.combatName(m.Val)
		case 69:
			c.ModifierHidden = m.Bool()
		case 70:
			c.InflictorIsStolenAbility = m.Bool()
		case 71:
			c.KillEaterEvent = m.Uint32()
		case 72:
			c.UnitStatusLabel = m.Uint32()
		case 73:
			c.SpellGeneratedAttack = m.Bool()
		case 74:
			c.AtNightTime = m.Bool()
		case 75:
			c.AttackerHasScepter = m.Bool()
		case 76:
			c.NeutralCampTeam = m.Uint32()
		case 77:
			c.RegeneratedHealth = m.Float32()
		case 78:
			c.WillReincarnate = m.Bool()
		case 79:
			c.UsesCharges = m.Bool()
		case 80:
			c.TrackedStatId = m.Uint32()
		case 81:
			c.ModifierPurgedDuration = m.Float32()
		case 82:
			c.HealFromRegen = m.Bool()
		}
	}
	if c.Type == CombatLogTypePurchase {
		c.ValueName = d.combatName(uint64(c.Value))
	}
}

// startCombatLogs begins to read CDOTAUserMsg_CombatLogBulkData, which has several entries.
func (d *Decoder) startCombatLogs(b []byte) bool {
	d.list.items = d.messageParts(dotaCombatBulk, b)
	d.stage = stageCombatLogs
	return false
}

func (d *Decoder) nextCombatLog(ev *Event) bool {
	m := &d.list.items
	for m.Next() {
		if m.Num != 1 {
			continue
		}
		d.out.place.nextElement()
		skip := !d.out.reads(KindCombatLog, KindCombatLog) || d.skipsType(KindCombatLog, dotaCombatLog, m.Raw)
		if skip && !d.facts.sources.has(KindCombatLog) {
			continue
		}
		q := m.Message()
		readCombatLog(d, ev, &q)
		if q.Bad {
			d.out.fault(Fault{Kind: FaultKindMessage, MessageId: dotaCombatBulk, Detail: []byte("message: an entry of it cannot be read")})
			return false
		}
		d.complete(ev, KindCombatLog)
		d.conclude(ev, KindCombatLog)
		if !skip && d.out.want(KindCombatLog, slotEvent) {
			return true
		}
		if d.facts.pending() {
			return false
		}
	}
	d.stage = stagePacket
	if m.Bad {
		d.out.fault(Fault{Kind: FaultKindMessage, MessageId: dotaCombatBulk, Detail: []byte("message: cannot be read to its end")})
	}
	return false
}

// oldCombatLog is the game event that carried the combat log until September 2015.
const oldCombatLog = "dota_combatlog"

// oldCombatLogEntry delivers a game event as an entry of the combat log. It recognizes the event's keys by their names.
func (d *Decoder) oldCombatLogEntry(ev *Event) bool {
	d.stage = stagePacket
	d.out.place.nextElement()
	want := d.out.want(KindCombatLog, slotEvent)
	if !want && !d.facts.sources.has(KindCombatLog) {
		return false
	}
	c := &ev.CombatLog
	*c = CombatLog{AssistPlayers: c.AssistPlayers[:0]}
	keys := d.list.event.keys
	for m := &d.list.items; m.Next(); {
		if m.Num != 3 || len(keys) == 0 {
			continue
		}
		value := &appendKey(nil, m.Message())[0]
		n, truth := uint64(uint32(value.Int)), value.Bool || value.Int != 0
		switch string(keys[0].name) {
		case "type":
			c.Type = CombatLogType(value.Int + 1)
		case "targetname":
			c.TargetName = d.combatName(n)
		case "targetsourcename":
			c.TargetSourceName = d.combatName(n)
		case "attackername":
			c.AttackerName = d.combatName(n)
		case "sourcename":
			c.DamageSourceName = d.combatName(n)
		case "inflictorname":
			c.InflictorName = d.combatName(n)
		case "attackerillusion":
			c.IsAttackerIllusion = truth
		case "targetillusion":
			c.IsTargetIllusion = truth
		case "attackerhero":
			c.IsAttackerHero = truth
		case "targethero":
			c.IsTargetHero = truth
		case "value":
			c.Value = uint32(n)
		case "health":
			c.Health = int32(value.Int)
		case "timestamp":
			c.Timestamp = value.Float
		case "timestampraw":
			c.TimestampRaw = value.Float
		case "ability_toggle_on":
			c.IsAbilityToggleOn = truth
		case "ability_toggle_off":
			c.IsAbilityToggleOff = truth
		case "ability_level":
			c.AbilityLevel = uint32(n)
		case "gold_reason":
			c.GoldReason = uint32(n)
		case "xp_reason":
			c.XpReason = uint32(n)
		}
		keys = keys[1:]
	}
	if c.Type == CombatLogTypePurchase {
		c.ValueName = d.combatName(uint64(c.Value))
	}
	d.complete(ev, KindCombatLog)
	d.conclude(ev, KindCombatLog)
	return want
}
