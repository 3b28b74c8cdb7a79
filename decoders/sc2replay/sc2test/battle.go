package sc2test

import (
	"maps"
	"math/rand/v2"
)

// Battle makes a game whose tracker has hundreds of units: they are born and built, change type, place and owner, die,
// also while they are built, and leave their place to others. Some events are about units that are not there.
func Battle() *Replay {
	r := Sample(80949)
	w := war{random: rand.New(rand.NewPCG(3, 5))}
	r.Tracker = sampleTracker(true)[:2]
	for loop := 0; len(r.Tracker) < 600; {
		if w.random.IntN(3) > 0 {
			loop += w.random.IntN(12)
		}
		name, value := w.event()
		r.Tracker = append(r.Tracker, Event{loop, 16, name, value})
	}
	return r
}

// war makes up the events of a tracker.
type war struct {
	random  *rand.Rand
	recycle [60]int
}

func (w *war) event() (name string, value S) {
	n := w.random.IntN
	one := func(names ...string) string { return names[n(len(names))] }
	player := n(3)
	index := n(len(w.recycle))
	unit := S{"unitTagIndex": index, "unitTagRecycle": max(w.recycle[index]-n(8)/7, 1)}
	named := S{"unitTypeName": one("SCV", "Marine", "Larva", "Egg", "Drone", "Barracks", "ZergEggCocoon")}
	owned := S{"controlPlayerId": player, "upkeepPlayerId": max(player-n(2), 0)}
	place := S{"x": n(200), "y": n(176)}
	switch n(12) {
	case 0, 1, 2, 3:
		w.recycle[index]++
		unit["unitTagRecycle"] = w.recycle[index]
		creator := S{}
		if made := n(len(w.recycle)); n(2) == 0 {
			creator = S{"creatorUnitTagIndex": made, "creatorUnitTagRecycle": w.recycle[made], "creatorAbilityName": "LarvaTrain"}
		}
		return "UnitBorn", joined(unit, named, owned, place, creator)
	case 4:
		w.recycle[index]++
		unit["unitTagRecycle"] = w.recycle[index]
		return "UnitInit", joined(unit, named, owned, place)
	case 5:
		return "UnitDone", unit
	case 6, 7:
		return "UnitDied", joined(unit, place)
	case 8:
		return "UnitTypeChange", joined(unit, named)
	case 9:
		return "UnitOwnerChange", joined(unit, owned)
	case 10:
		var items []any
		for range 1 + n(6) {
			items = append(items, n(9), n(200), n(176))
		}
		return "UnitPositions", S{"firstUnitIndex": n(len(w.recycle) / 2), "items": items}
	}
	if n(2) == 0 {
		upgrade := one("TerranInfantryWeaponsLevel1", "Stimpack", "SprayZerg")
		return "Upgrade", S{"playerId": 1 + n(2), "upgradeTypeName": upgrade, "count": n(4) - 1}
	}
	return "PlayerStats", S{"playerId": 1 + n(2), "stats": S{"scoreValueMineralsCurrent": n(2000), "scoreValueFoodUsed": n(200) * 4096}}
}

// joined returns all fields of some values.
func joined(parts ...S) S {
	all := S{}
	for _, p := range parts {
		maps.Copy(all, p)
	}
	return all
}
