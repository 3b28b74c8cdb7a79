package dem

import "bytes"

// thrown holds the types of grenades by the names of weapons.
var thrown = map[string]GrenadeType{
	"hegrenade": GrenadeTypeHighExplosive, "flashbang": GrenadeTypeFlashbang, "smokegrenade": GrenadeTypeSmoke, "molotov": GrenadeTypeFire,
	"incgrenade": GrenadeTypeFire, "decoy": GrenadeTypeDecoy,
}

// grenade is what a game event says of a grenade.
type grenade struct {
	state GrenadeState
	typ   GrenadeType
}

// grenades holds the game events of grenades.
var grenades = map[string]grenade{
	"grenade_thrown":        {GrenadeStateThrown, GrenadeTypeUnspecified},
	"hegrenade_detonate":    {GrenadeStateDetonated, GrenadeTypeHighExplosive},
	"flashbang_detonate":    {GrenadeStateDetonated, GrenadeTypeFlashbang},
	"smokegrenade_detonate": {GrenadeStateDetonated, GrenadeTypeSmoke},
	"smokegrenade_expired":  {GrenadeStateEnded, GrenadeTypeSmoke},
	"molotov_detonate":      {GrenadeStateDetonated, GrenadeTypeFire},
	"inferno_startburn":     {GrenadeStateBurning, GrenadeTypeFire},
	"inferno_expire":        {GrenadeStateEnded, GrenadeTypeFire},
	"inferno_extinguish":    {GrenadeStateExtinguished, GrenadeTypeFire},
	"decoy_started":         {GrenadeStateDetonated, GrenadeTypeDecoy},
	"decoy_detonate":        {GrenadeStateEnded, GrenadeTypeDecoy},
}

// concludeGrenade concludes what became of a grenade.
func (d *Decoder) concludeGrenade(e *GameEvent) {
	g, ok := grenades[string(e.Name)]
	if !ok {
		return
	}
	fact := d.add(KindFactGrenade)
	if fact == nil {
		return
	}
	f := &fact.grenade
	*f = FactGrenade{State: g.state, Type: g.typ, Index: -1}
	for i := range e.Keys {
		switch k := &e.Keys[i]; string(k.Name) {
		case "userid":
			f.HasPlayer = d.keyActor(&f.Player, k)
		case "userid_pawn": // decoy_started has no userid
			if !f.HasPlayer && k.ValueCase == GameEventKeyValueHandle && k.Handle != noHandle {
				f.HasPlayer = d.entityActor(&f.Player, int32(k.Handle&(MaxEntities-1)))
			}
		case "entityid":
			f.Index = int32(k.Int)
		case "weapon":
			f.Type = thrown[string(bytes.TrimPrefix(k.Text, []byte("weapon_")))]
		case "x":
			f.Place.X, f.HasPlace = k.Float, true
		case "y":
			f.Place.Y, f.HasPlace = k.Float, true
		case "z":
			f.Place.Z, f.HasPlace = k.Float, true
		}
	}
}

// concludeBlind concludes that a player was blinded.
func (d *Decoder) concludeBlind(e *GameEvent) {
	fact := d.add(KindFactBlind)
	if fact == nil {
		return
	}
	f := &fact.blind
	*f = FactBlind{Index: -1}
	for i := range e.Keys {
		switch k := &e.Keys[i]; string(k.Name) {
		case "attacker":
			f.HasAttacker = d.keyActor(&f.Attacker, k)
		case "userid":
			f.HasVictim = d.keyActor(&f.Victim, k)
		case "entityid":
			f.Index = int32(k.Int)
		case "blind_duration":
			f.Seconds = k.Float
		}
	}
}
