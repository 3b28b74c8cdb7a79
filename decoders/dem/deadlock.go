package dem

import "github.com/replayd/replayd/decoders/dem/internal/pb"

// tellsObjective reports whether facts of objectives are concluded from a message without an event of its own kind.
func (d *Decoder) tellsObjective(id uint32) bool {
	return d.match.game == gameDeadlock && d.facts.objectives && (id == citadelBossKilled || id == citadelMidBossSpawned)
}

// concludeBoss concludes that a boss of Deadlock came, or was killed.
func (d *Decoder) concludeBoss(id uint32, b []byte) {
	d.facts.begin(d.out.place.index(slotEvent))
	d.players.setGame(d.match.game)
	team, killed, killer := int32(0), int32(-1), int32(-1)
	m := pb.Read(b, d.match.message(id).shape, nil) // the message itself may be an event, which counts its unknown fields
	for m.Next() {
		switch {
		case id == citadelMidBossSpawned:
		case m.Num == 1:
			team = m.Int32()
		case m.Num == 3:
			killed = slotOf(m.Int32())
		case m.Num == 5:
			killer = slotOf(m.Int32())
		}
	}
	if m.Bad {
		return
	}
	fact := d.prepare(KindFactObjective)
	if fact == nil {
		return
	}
	f := &fact.objective
	*f = FactObjective{Type: ObjectiveTypeMidBossSpawned}
	if id == citadelBossKilled {
		f.Type, f.Team = ObjectiveTypeBoss, team
		f.HasActor = d.entityActor(&f.Actor, killer)
		var boss Actor
		if d.entityActor(&boss, killed) {
			f.Name = boss.UnitName
		}
	}
	d.rememberObjective(f)
}

// concludeKill concludes the fact of a kill in Deadlock.
func (d *Decoder) concludeKill(e *Kill) {
	fact := d.prepare(KindFactKill)
	if fact == nil {
		return
	}
	k := &fact.kill
	*k = FactKill{Assists: k.Assists[:0], HitGroup: noHitGroup}
	scorer := e.ScorerIndex
	if scorer < 0 {
		scorer = e.AttackerIndex
	}
	k.HasKiller = d.entityActor(&k.Killer, scorer)
	k.HasVictim = d.entityActor(&k.Victim, e.VictimIndex)
	for _, index := range e.AssisterIndexes {
		var a Actor
		if d.entityActor(&a, index) {
			k.Assists = append(k.Assists, a)
		}
	}
	d.rememberKill(k)
}

// concludeDamage concludes the fact of a damage in Deadlock.
func (d *Decoder) concludeDamage(e *Damage) {
	fact := d.add(KindFactDamage)
	if fact == nil {
		return
	}
	f := &fact.damage
	*f = FactDamage{
		Damage: e.Damage, Health: e.VictimHealth, HasHealth: true, MaxHealth: e.VictimHealthMax, HasMaxHealth: true,
		HitGroup: e.HitGroup, Type: e.Type, CitadelType: e.CitadelType, HasCitadelType: true, CritDamage: e.CritDamage, HasCritDamage: true,
		Absorbed: e.Absorbed, HasAbsorbed: true,
	}
	if f.PreDamage, f.HasPreDamage = e.PreDamage, e.PreDamage != 0; e.HasPreDamageWhole {
		f.PreDamage, f.HasPreDamage = float32(e.PreDamageWhole), true
	}
	if e.HasAbsorbedWhole {
		f.Absorbed = float32(e.AbsorbedWhole)
	}
	f.HasAttacker = d.entityActor(&f.Attacker, e.AttackerIndex)
	f.HasVictim = d.entityActor(&f.Victim, e.VictimIndex)
	if slot := e.AbilityIndex; slot > 0 && slot < MaxEntities {
		f.Weapon = d.itemIn(slot)
	}
	if f.Weapon == nil {
		f.Weapon = d.facts.tokens.name(d.world.meanings.names, e.AbilityId)
	}
}

// concludePurchase concludes the fact of a purchase in Deadlock.
func (d *Decoder) concludePurchase(e *AbilityChange) {
	if e.Type != AbilityChangeTypePurchased {
		return
	}
	if fact := d.add(KindFactPurchase); fact != nil {
		f := &fact.purchase
		*f = FactPurchase{Item: d.facts.tokens.name(d.world.meanings.names, e.AbilityId)}
		if f.HasBuyer = e.PlayerSlot >= 0; f.HasBuyer {
			d.actor(&f.Buyer, int(e.PlayerSlot))
		}
	}
}

// itemIn returns the name of the item or the ability in a slot, or nil.
func (d *Decoder) itemIn(slot int32) []byte {
	item := d.world.store.Slots[slot]
	if item == nil || !item.Decoded {
		return nil
	}
	d.players.of[holderItem] = item
	return d.named(itemName)
}
