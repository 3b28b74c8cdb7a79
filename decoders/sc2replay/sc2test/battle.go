package sc2test

import (
	"maps"
	"math/rand/v2"
)

// Battle returns a game whose tracker has events of hundreds of units. Units are born and built, change type, place and
// owner, and die, also while they are built. Their indices are reused. Some events are about units that do not exist.
func Battle() *Replay {
	r := Sample(80949)
	w := battle{random: rand.New(rand.NewPCG(3, 5))}
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

// battle generates random tracker events.
type battle struct {
	random  *rand.Rand
	recycle [60]int
}

func (w *battle) event() (name string, value S) {
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
		return "UnitBorn", merged(unit, named, owned, place, creator)
	case 4:
		w.recycle[index]++
		unit["unitTagRecycle"] = w.recycle[index]
		return "UnitInit", merged(unit, named, owned, place)
	case 5:
		return "UnitDone", unit
	case 6, 7:
		return "UnitDied", merged(unit, place)
	case 8:
		return "UnitTypeChange", merged(unit, named)
	case 9:
		return "UnitOwnerChange", merged(unit, owned)
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

// merged returns the fields of several values as one value.
func merged(parts ...S) S {
	all := S{}
	for _, p := range parts {
		maps.Copy(all, p)
	}
	return all
}
