package dem

import "github.com/replayd/replayd/decoders/dem/internal/facts"

// maxDrafted is the greatest number of bans, and of picks, that are followed.
const maxDrafted = 32

// draft is what is known of a draft of Dota 2. Snapshots copy it.
type draft struct {
	rules  int                  // the slot of the entity of the game's rules
	over   bool                 // the heroes are on the map
	lists  [2][maxDrafted]int32 // the heroes that were banned, and those that were picked
	heroes [MaxPlayers]int32    // of the players
}

// concludeDraft concludes what a whole message of entities tells of the draft. What a message of all entities tells happened before it.
func (d *Decoder) concludeDraft() {
	t := &d.match.draft
	if t.over {
		return
	}
	for list, deed := range [...]DraftDeed{DraftDeedBanned, DraftDeedPicked} {
		for i := range t.lists[list] {
			hero, there := d.drafted(list, i)
			if !there {
				break
			}
			d.setHero(&t.lists[list][i], hero, FactDraft{Deed: deed, Number: int32(i) + 1}, -1)
		}
	}
	for i := range MaxPlayers {
		if d.meet(i) {
			hero, _ := d.number(playerHero)
			d.setHero(&t.heroes[i], hero, FactDraft{Deed: DraftDeedChosen}, i)
		}
	}
	phase := d.match.clock.phase
	t.over = phase >= GamePhasePreGame && phase <= GamePhaseDisconnect
}

// drafted returns a hero of the game's list of bans or of picks. It reports whether the list has that element.
func (d *Decoder) drafted(list, i int) (hero int32, there bool) {
	ent := d.world.store.Slots[d.match.draft.rules]
	if ent == nil || !ent.Class.Rules || !ent.Decoded {
		return 0, false
	}
	d.players.of[holderRules], d.players.number[holderRules] = ent, i
	return d.number([...]playerFact{draftBanned, draftPicked}[list])
}

// setHero notes the hero of a place of the draft, and concludes the fact if it is another one than before.
func (d *Decoder) setHero(to *int32, hero int32, fact FactDraft, player int) {
	if hero <= 0 || hero == *to {
		return
	}
	*to = hero
	if !d.ents.delta {
		return
	}
	if c := d.add(KindFactDraft); c != nil {
		fact.HeroId, fact.HeroName = hero, facts.Heroes.Name(int64(hero))
		if fact.HasPlayer = player >= 0; fact.HasPlayer {
			d.actor(&fact.Player, player)
		}
		c.draft = fact
	}
}
