package dem_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/decoders/dem/demtest"
)

// wantRound returns the facts of a round, from what happened in it.
func wantRound(r *demtest.PlayedRound) (facts []string) {
	name := map[int32]string{2: "Terrorist", 3: "CounterTerrorist"}
	reason := map[int32]string{7: "BombDefused", 8: "CTsWin", 9: "TerroristsWin"}
	var players [demtest.RoundPlayers]dem.FactPlayerRound
	for i := range players {
		players[i].Number, players[i].Won = r.Number, r.Sides[i] == r.Winner
		players[i].EquipmentValue, players[i].MoneySpent = r.Equipment[i], r.Spent[i]
	}
	health := map[int32]int32{}
	living := func(side int32) (n int32, one int) {
		for i := range players {
			if r.Sides[i] == side && !players[i].Died {
				n, one = n+1, i
			}
		}
		return n, one
	}
	opened := false
	for i, h := range r.Hits {
		before, hurt := health[h.Victim]
		if !hurt {
			before = 100
		}
		health[h.Victim] = h.Left
		enemies := h.Attacker >= 0 && r.Sides[h.Attacker] != r.Sides[h.Victim]
		if enemies {
			players[h.Attacker].Damage += before - h.Left
			if h.Weapon == "hegrenade" {
				players[h.Attacker].UtilityDamage += before - h.Left
			}
		}
		if h.Left > 0 {
			continue
		}
		players[h.Victim].Died = true
		if h.Assister >= 0 && r.Sides[h.Assister] != r.Sides[h.Victim] {
			if h.Flash {
				players[h.Assister].FlashAssists++
			} else {
				players[h.Assister].Assists++
			}
		}
		if enemies {
			k := &players[h.Attacker]
			k.Kills++
			if h.Headshot {
				k.Headshots++
			}
			if !opened {
				opened, k.OpeningKill, players[h.Victim].OpeningDeath = true, true, true
			}
			traded := false
			for _, old := range r.Hits[:i] {
				if old.Left == 0 && old.Attacker == h.Victim && r.Sides[old.Victim] == r.Sides[h.Attacker] && h.Tick-old.Tick <= 5*64 {
					players[old.Victim].Traded, traded = true, true
				}
			}
			if traded {
				k.Trades++
			}
		}
		if n, last := living(r.Sides[h.Victim]); n == 1 && players[last].Clutch == 0 {
			players[last].Clutch, _ = living(5 - r.Sides[h.Victim])
		}
	}
	for _, g := range r.Grenades {
		switch {
		case g.Event == "player_blind":
			if r.Sides[g.By] != r.Sides[g.Blinded] {
				players[g.By].Blinded++
				players[g.By].BlindedSeconds += g.Seconds
			}
		case g.Event == "decoy_started", strings.HasSuffix(g.Event, "_detonate") && g.Event != "decoy_detonate":
			players[g.By].Grenades++
		}
	}
	text := fmt.Sprintf("%d round %d from %d, %d, planted %d, won by %s by %d %s", r.Ended, r.Number, r.Began, r.FreezeEnd, r.Planted, name[r.Winner], r.Reason, reason[r.Reason])
	for _, side := range []int32{2, 3} {
		var worth, spent int32
		for i := range players {
			if r.Sides[i] == side {
				worth, spent = worth+r.Equipment[i], spent+r.Spent[i]
			}
		}
		alive, _ := living(side)
		buy := "eco"
		switch {
		case worth >= 20000:
			buy = "full_buy"
		case worth >= 10000:
			buy = "semi_buy"
		case worth >= 5000:
			buy = "semi_eco"
		}
		text += fmt.Sprintf("; %s %d of %d, %d, %d %s", name[side], alive, demtest.RoundPlayers/2, worth, spent, buy)
	}
	facts = append(facts, text)
	for i := range players {
		p := &players[i]
		p.Kast = p.Kills+p.Assists+p.FlashAssists > 0 || !p.Died || p.Traded
		p.HasEquipmentValue, p.HasMoneySpent = true, true
		facts = append(facts, fmt.Sprintf("%d %s of %d: %+v", r.Ended, r.Names[i], r.Sides[i], *p))
	}
	return facts
}

// TestRounds: the facts of rounds are what happened in demos of our own, however these tell rounds.
func TestRounds(t *testing.T) {
	for seed := range uint64(40) {
		data, played := demtest.Rounds(seed, 1+int(seed), demtest.Telling(1+seed%3))
		checkRounds(t, data, played)
	}
}

// checkRounds compares the facts of rounds with what happened.
func checkRounds(t *testing.T, data []byte, played []demtest.PlayedRound) {
	t.Helper()
	var want, got []string
	for i := range played {
		want = append(want, wantRound(&played[i])...)
	}
	kinds := func(k dem.Kind) bool { return k == dem.KindFactRound || k == dem.KindFactPlayerRound }
	_ = run(dem.New(bytes.NewReader(data), dem.Options{Kinds: kinds}), func(ev *dem.Event) {
		switch ev.Kind {
		case dem.KindFactRound:
			f := &ev.FactRound
			text := fmt.Sprintf("%d round %d from %d, %d, planted %d, won by %s by %d %s", ev.AtTick, f.Number, f.BeganTick, f.FreezeEndTick, f.PlantedTick, f.WinnerName, f.Reason, f.ReasonName)
			for _, s := range f.Sides {
				text += fmt.Sprintf("; %s %d of %d, %d, %d %s", s.TeamName, s.Alive, s.Players, s.EquipmentValue, s.MoneySpent, s.Buy)
			}
			got = append(got, text)
		case dem.KindFactPlayerRound:
			rest := ev.FactPlayerRound
			rest.Player, rest.HasPlayer = dem.Actor{}, false
			got = append(got, fmt.Sprintf("%d %s of %d: %+v", ev.AtTick, ev.FactPlayerRound.Player.Name, ev.FactPlayerRound.Player.Team, rest))
		}
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%d rounds (-want +got):\n%s", len(played), diff)
	}
}
