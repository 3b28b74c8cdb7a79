package dem

// combatName returns the name that an entry of the combat log gives by its number. 0 is nobody.
func (d *Decoder) combatName(index uint64) []byte {
	if index == 0 {
		return nil
	}
	for _, t := range d.tables.list {
		if t.role == roleCombatLogNames {
			if index < uint64(len(t.entries)) {
				return t.entries[index].key
			}
			break
		}
	}
	return nil
}

// parseCombatLog reads CMsgDOTACombatLogEntry.
func (d *Decoder) parseCombatLog(c *CombatLog, b []byte) bool {
	*c = CombatLog{AssistPlayers: c.AssistPlayers[:0]}
	m := newWire(b)
	for m.next() {
		switch m.num {
		case 1:
			c.Type = CombatLogType(m.int32() + 1)
		case 2:
			c.TargetName = d.combatName(m.val)
		case 3:
			c.TargetSourceName = d.combatName(m.val)
		case 4:
			c.AttackerName = d.combatName(m.val)
		case 5:
			c.DamageSourceName = d.combatName(m.val)
		case 6:
			c.InflictorName = d.combatName(m.val)
		case 7:
			c.IsAttackerIllusion = m.bool()
		case 8:
			c.IsAttackerHero = m.bool()
		case 9:
			c.IsTargetIllusion = m.bool()
		case 10:
			c.IsTargetHero = m.bool()
		case 11:
			c.IsVisibleRadiant = m.bool()
		case 12:
			c.IsVisibleDire = m.bool()
		case 13:
			c.Value = m.uint32()
		case 14:
			c.Health = m.int32()
		case 15:
			c.Timestamp = m.float32()
		case 16:
			c.StunDuration = m.float32()
		case 17:
			c.SlowDuration = m.float32()
		case 18:
			c.IsAbilityToggleOn = m.bool()
		case 19:
			c.IsAbilityToggleOff = m.bool()
		case 20:
			c.AbilityLevel = m.uint32()
		case 21:
			c.LocationX = m.float32()
		case 22:
			c.LocationY = m.float32()
		case 23:
			c.GoldReason = m.uint32()
		case 24:
			c.TimestampRaw = m.float32()
		case 25:
			c.ModifierDuration = m.float32()
		case 26:
			c.XpReason = m.uint32()
		case 27:
			c.LastHits = m.uint32()
		case 28:
			c.AttackerTeam = m.uint32()
		case 29:
			c.TargetTeam = m.uint32()
		case 30:
			c.ObsWardsPlaced = m.uint32()
		case 31:
			c.AssistPlayer0 = m.uint32()
		case 32:
			c.AssistPlayer1 = m.uint32()
		case 33:
			c.AssistPlayer2 = m.uint32()
		case 34:
			c.AssistPlayer3 = m.uint32()
		case 35:
			c.StackCount = m.uint32()
		case 36:
			c.HiddenModifier = m.bool()
		case 37:
			c.IsTargetBuilding = m.bool()
		case 38:
			c.NeutralCampType = m.uint32()
		case 39:
			c.RuneType = m.uint32()
		case 40:
			c.AssistPlayers = m.appendInt32s(c.AssistPlayers)
		case 41:
			c.IsHealSave = m.bool()
		case 42:
			c.IsUltimateAbility = m.bool()
		case 43:
			c.AttackerHeroLevel = m.uint32()
		case 44:
			c.TargetHeroLevel = m.uint32()
		case 45:
			c.Xpm = m.uint32()
		case 46:
			c.Gpm = m.uint32()
		case 47:
			c.EventLocation = m.uint32()
		case 48:
			c.TargetIsSelf = m.bool()
		case 49:
			c.DamageType = m.uint32()
		case 50:
			c.InvisibilityModifier = m.bool()
		case 51:
			c.DamageCategory = m.uint32()
		case 52:
			c.Networth = m.uint32()
		case 53:
			c.BuildingType = m.uint32()
		case 54:
			c.ModifierElapsedDuration = m.float32()
		case 55:
			c.SilenceModifier = m.bool()
		case 56:
			c.HealFromLifesteal = m.bool()
		case 57:
			c.ModifierPurged = m.bool()
		case 58:
			c.SpellEvaded = m.bool()
		case 59:
			c.MotionControllerModifier = m.bool()
		case 60:
			c.LongRangeKill = m.bool()
		case 61:
			c.ModifierPurgeAbility = d.combatName(m.val)
		case 62:
			c.ModifierPurgeNpc = d.combatName(m.val)
		case 63:
			c.RootModifier = m.bool()
		case 64:
			c.TotalUnitDeathCount = m.uint32()
		case 65:
			c.AuraModifier = m.bool()
		case 66:
			c.ArmorDebuffModifier = m.bool()
		case 67:
			c.NoPhysicalDamageModifier = m.bool()
		case 68:
			c.ModifierAbility = d.combatName(m.val)
		case 69:
			c.ModifierHidden = m.bool()
		case 70:
			c.InflictorIsStolenAbility = m.bool()
		case 71:
			c.KillEaterEvent = m.uint32()
		case 72:
			c.UnitStatusLabel = m.uint32()
		case 73:
			c.SpellGeneratedAttack = m.bool()
		case 74:
			c.AtNightTime = m.bool()
		case 75:
			c.AttackerHasScepter = m.bool()
		case 76:
			c.NeutralCampTeam = m.uint32()
		case 77:
			c.RegeneratedHealth = m.float32()
		case 78:
			c.WillReincarnate = m.bool()
		case 79:
			c.UsesCharges = m.bool()
		case 80:
			c.TrackedStatId = m.uint32()
		case 81:
			c.ModifierPurgedDuration = m.float32()
		case 82:
			c.HealFromRegen = m.bool()
		}
	}
	if c.Type == CombatLogTypePurchase {
		c.ValueName = d.combatName(uint64(c.Value))
	}
	return !m.bad
}

// oldCombatLog is the game event that carried the combat log until September 2015.
const oldCombatLog = "dota_combatlog"

// oldCombatLogEntry delivers the entry of the combat log that a game event is. Its keys are told apart by their names.
func (d *Decoder) oldCombatLogEntry(ev *Event) bool {
	d.stage = stagePacket
	d.out.place.nextElement()
	if !d.out.want(KindCombatLog, slotEvent) {
		return false
	}
	c := &ev.CombatLog
	*c = CombatLog{AssistPlayers: c.AssistPlayers[:0]}
	keys := d.list.event.keys
	for m := &d.list.items; m.next(); {
		if m.num != 3 || len(keys) == 0 {
			continue
		}
		value := &appendKey(nil, m.raw)[0]
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
	d.match.clock.dateCombatLog(c)
	ev.Kind = KindCombatLog
	return true
}
