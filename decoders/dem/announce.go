package dem

import "github.com/replayd/replayd/decoders/dem/internal/facts"

// deeds holds what players do with runes, by announcements of Dota 2.
var deeds = map[string]RuneDeed{
	"CHAT_MESSAGE_RUNE_PICKUP": RuneDeedTaken, "CHAT_MESSAGE_RUNE_BOTTLE": RuneDeedBottled, "CHAT_MESSAGE_RUNE_DENY": RuneDeedDenied,
}

// aegis holds what happens to the Aegis, by announcements of Dota 2.
var aegis = map[string]ObjectiveType{
	"CHAT_MESSAGE_AEGIS": ObjectiveTypeAegisTaken, "CHAT_MESSAGE_AEGIS_STOLEN": ObjectiveTypeAegisStolen, "CHAT_MESSAGE_DENIED_AEGIS": ObjectiveTypeAegisDenied,
}

// concludeAnnouncement concludes the facts of an announcement of Dota 2.
func (d *Decoder) concludeAnnouncement(e *ChatEvent) {
	player := -1
	if len(e.Players) > 0 {
		player = int(e.Players[0])
	}
	if deed := deeds[string(e.TypeName)]; deed != RuneDeedUnspecified {
		if fact := d.add(KindFactRune); fact != nil {
			f := &fact.rune
			*f = FactRune{Deed: deed, RuneType: int32(e.Value), RuneName: facts.Runes.Name(int64(e.Value)), HasPlayer: player >= 0}
			if f.HasPlayer {
				d.actor(&f.Player, player)
			}
		}
	}
	if typ := aegis[string(e.TypeName)]; typ != ObjectiveTypeUnspecified {
		if fact := d.prepare(KindFactObjective); fact != nil {
			f := &fact.objective
			*f = FactObjective{Type: typ, HasActor: player >= 0}
			if f.HasActor {
				d.actor(&f.Actor, player)
			}
			d.rememberObjective(f)
		}
	}
}

const smoke = "modifier_smoke_of_deceit"

// concludeSmoke concludes that a hero was hidden by a smoke.
func (d *Decoder) concludeSmoke(by, of logged) {
	if fact := d.add(KindFactSmoke); fact != nil {
		f := &fact.smoke
		*f = FactSmoke{}
		f.HasActor = d.loggedActor(&f.Actor, by)
		f.HasPlayer = d.loggedActor(&f.Player, of)
	}
}

// concludeBuyback concludes that a player bought a hero back to life.
func (d *Decoder) concludeBuyback(player uint32) {
	if fact := d.add(KindFactBuyback); fact != nil {
		f := &fact.buyback
		*f = FactBuyback{HasPlayer: player < MaxPlayers}
		if f.HasPlayer {
			d.actor(&f.Player, int(player))
		}
	}
}
