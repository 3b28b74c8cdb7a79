package dem

import (
	"slices"

	"github.com/replayd/replayd/decoders/dem/internal/entity"
)

// ward is a ward of Dota 2 that stands. Snapshots hold lists of wards, which therefore never change.
type ward struct {
	slot     int32
	serial   uint32
	typ      WardType
	placed   int32 // the tick, or -1
	player   int32 // who placed it, or -1
	team     int32
	place    Vector
	hasPlace bool
}

// maxWards limits the wards that are followed, to several times what a match has at once.
const maxWards = 256

// wardTypes holds the types of wards by the classes of their entities.
var wardTypes = map[string]WardType{"CDOTA_NPC_Observer_Ward": WardTypeObserver, "CDOTA_NPC_Observer_Ward_TrueSight": WardTypeSentry}

// stands reports whether a ward is still there.
func (d *Decoder) stands(w *ward) bool {
	ent := d.world.store.Slots[w.slot]
	return ent != nil && ent.Class.Ward && ent.Serial == w.serial
}

// concludeWards concludes which wards a whole message of entities has placed, and which are gone.
func (d *Decoder) concludeWards() {
	fallen := func(w ward) bool { return !d.stands(&w) }
	if len(d.ents.wards) == 0 && !slices.ContainsFunc(d.match.wards, fallen) {
		return
	}
	var standing []ward
	for i := range d.match.wards {
		if w := &d.match.wards[i]; d.stands(w) {
			standing = append(standing, *w)
		} else {
			d.tellWard(w, WardStateGone)
		}
	}
	for _, slot := range d.ents.wards {
		known := func(w ward) bool { return w.slot == slot }
		ent := d.world.store.Slots[slot]
		if ent == nil || !ent.Class.Ward || len(standing) >= maxWards || slices.ContainsFunc(standing, known) {
			continue
		}
		w := d.wardOf(ent, slot)
		if standing = append(standing, w); w.placed >= 0 {
			d.tellWard(&w, WardStatePlaced)
		}
	}
	d.match.wards = standing
}

// wardOf returns a ward that a message of entities has brought. A message that brings all entities does not place them.
func (d *Decoder) wardOf(ent *entity.Entity, slot int32) ward {
	w := ward{slot: slot, serial: ent.Serial, typ: wardTypes[d.Name(ent.Class.Name)], placed: -1, player: d.ownerOf(ent)}
	if d.ents.delta {
		w.placed = d.out.tick
	}
	d.players.of[holderUnit] = ent
	if team, _ := d.number(unitTeam); sided(team) {
		w.team = team
	}
	w.place, w.hasPlace = d.knownPlace(ent)
	return w
}

// ownerOf returns the player to whom a unit of Dota 2 belongs, or -1. Its owner is a hero, or the entity of a player who has one.
func (d *Decoder) ownerOf(unit *entity.Entity) int32 {
	p := &d.players
	p.of[holderUnit] = unit
	owner, hero := d.referred(unitOwner, 0)
	if owner == nil {
		return -1
	}
	p.of[holderUnit] = owner
	if assigned, slot := d.referred(unitHero, 0); assigned != nil {
		hero = slot
	}
	for i := range MaxPlayers {
		if !d.meet(i) {
			continue
		}
		if _, body := d.referred(playerBody, i); body == hero {
			return int32(i)
		}
	}
	return -1
}

// tellWard concludes the fact of a ward.
func (d *Decoder) tellWard(w *ward, state WardState) {
	fact := d.prepare(KindFactWard)
	if fact == nil {
		return
	}
	f := &fact.ward
	*f = FactWard{State: state, Type: w.typ, Team: w.team, Index: uint32(w.slot), Place: w.place, HasPlace: w.hasPlace, PlacedTick: -1}
	if w.player >= 0 {
		d.actor(&f.Player, int(w.player))
	} else {
		f.Player = noActor
		f.Player.Team = w.team
	}
	f.HasPlayer = w.player >= 0 || w.team != 0
	if state == WardStateGone {
		f.PlacedTick = w.placed
		return
	}
	d.rememberWard(f)
}
