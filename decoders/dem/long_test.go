package dem_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/decoders/dem/demtest"
)

var (
	minutes  = flag.Int("minutes", 1, "how long the matches of TestLongMatch and TestLongRounds are")
	longFile = flag.String("long", "", "where TestLongMatch and TestLongRounds write their demos, with the end .dota.dem or .cs2.dem")
)

// keep writes a long demo to a file, if that is wanted.
func keep(t *testing.T, data []byte, end string) {
	t.Helper()
	if *longFile == "" {
		return
	}
	if err := os.WriteFile(*longFile+end, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// dated is a text of something that happened, and its tick.
type dated struct {
	Tick int32
	Text string
}

// wantDeed returns the fact of a deed as a text.
func wantDeed(p *demtest.PlayedMatch, d *demtest.Deed) dated {
	who := func(i int32) string {
		if i < 0 {
			return ""
		}
		q := &p.Players[i]
		return fmt.Sprintf("%s as %s of %d", q.Name, q.Hero, q.Team)
	}
	by := who(d.By)
	if d.Unit != "" {
		by = fmt.Sprintf("%s of %d", d.Unit, 5-p.Players[d.Of].Team)
	}
	text := fmt.Sprintf("%s: %s", d.What, by)
	switch d.What {
	case demtest.DeedKill, demtest.DeedDamage:
		text += fmt.Sprintf(" to %s with %q", who(d.Of), d.With)
		for _, h := range d.Helpers {
			text += ", " + who(h)
		}
		if d.What == demtest.DeedDamage {
			text += fmt.Sprintf(" %d left %d", d.Amount, d.Left)
		}
	case demtest.DeedPurchase, demtest.DeedRune, demtest.DeedAegis, demtest.DeedBuyback:
		text += " " + d.With
	case demtest.DeedSmoke:
		text += " to " + who(d.Of)
	case demtest.DeedPlaced, demtest.DeedGone:
		text += fmt.Sprintf(" %s in %d of %d at %d, %d", d.With, d.Amount, p.Players[d.By].Team, d.Amount, d.Left)
	default:
		text += fmt.Sprintf(" %s of %d", d.With, d.Amount)
	}
	if d.Marked {
		text += "!"
	}
	return dated{d.Tick, text}
}

var aegisFates = map[dem.ObjectiveType]string{dem.ObjectiveTypeAegisTaken: "taken", dem.ObjectiveTypeAegisStolen: "stolen", dem.ObjectiveTypeAegisDenied: "denied"}

// deedOf returns the text of a fact, or "" for other events.
func deedOf(ev *dem.Event) (text string) {
	who := func(has bool, a *dem.Actor) string {
		switch {
		case !has:
			return ""
		case len(a.UnitName) > 0:
			return fmt.Sprintf("%s of %d", a.UnitName, a.Team)
		}
		return fmt.Sprintf("%s as %s of %d", a.Name, a.HeroName, a.Team)
	}
	marked := false
	switch ev.Kind {
	case dem.KindFactKill:
		f := &ev.FactKill
		text = fmt.Sprintf("kill: %s to %s with %q", who(f.HasKiller, &f.Killer), who(f.HasVictim, &f.Victim), f.Weapon)
		for i := range f.Assists {
			text += ", " + who(true, &f.Assists[i])
		}
		marked = f.Reincarnates
	case dem.KindFactDamage:
		f := &ev.FactDamage
		text = fmt.Sprintf("damage: %s to %s with %q %d left %d", who(f.HasAttacker, &f.Attacker), who(f.HasVictim, &f.Victim), f.Weapon, f.Damage, f.Health)
	case dem.KindFactPurchase:
		f := &ev.FactPurchase
		text, marked = fmt.Sprintf("purchase: %s %s", who(f.HasBuyer, &f.Buyer), f.Item), f.Starting
	case dem.KindFactObjective:
		f := &ev.FactObjective
		if fate, ok := aegisFates[f.Type]; ok {
			return fmt.Sprintf("aegis: %s %s", who(f.HasActor, &f.Actor), fate)
		}
		what := map[dem.ObjectiveType]demtest.Deeds{
			dem.ObjectiveTypeBuilding: demtest.DeedBuilding, dem.ObjectiveTypeRoshan: demtest.DeedRoshan, dem.ObjectiveTypeTormentor: demtest.DeedTormentor,
			dem.ObjectiveTypeWard: demtest.DeedWard, dem.ObjectiveTypeCourier: demtest.DeedCourier,
		}[f.Type]
		text, marked = fmt.Sprintf("%s: %s %s of %d", what, who(f.HasActor, &f.Actor), f.Name, f.Team), f.Denied
	case dem.KindFactRune:
		f := &ev.FactRune
		done := map[dem.RuneDeed]string{dem.RuneDeedTaken: "taken", dem.RuneDeedBottled: "bottled", dem.RuneDeedDenied: "denied"}
		text = fmt.Sprintf("rune: %s %s %s", who(f.HasPlayer, &f.Player), done[f.Deed], f.RuneName)
	case dem.KindFactBuyback:
		text = fmt.Sprintf("buyback: %s ", who(ev.FactBuyback.HasPlayer, &ev.FactBuyback.Player))
	case dem.KindFactSmoke:
		f := &ev.FactSmoke
		text = fmt.Sprintf("smoke: %s to %s", who(f.HasActor, &f.Actor), who(f.HasPlayer, &f.Player))
	case dem.KindFactWard:
		f := &ev.FactWard
		what := map[dem.WardState]demtest.Deeds{dem.WardStatePlaced: demtest.DeedPlaced, dem.WardStateGone: demtest.DeedGone}[f.State]
		typ := map[dem.WardType]string{dem.WardTypeObserver: "observer", dem.WardTypeSentry: "sentry"}[f.Type]
		text = fmt.Sprintf("%s: %s %s in %d of %d at %v, %d", what, who(f.HasPlayer, &f.Player), typ, f.Index, f.Team, f.Place.X, f.PlacedTick)
	case dem.KindFactDraft:
		f := &ev.FactDraft
		done := map[dem.DraftDeed]string{dem.DraftDeedBanned: "banned", dem.DraftDeedPicked: "picked", dem.DraftDeedChosen: "chosen"}
		text = fmt.Sprintf("draft: %s %s %s of %d", who(f.HasPlayer, &f.Player), done[f.Deed], f.HeroName, f.Number)
	}
	if marked {
		text += "!"
	}
	return text
}

// TestLongMatch: the facts of a long match of Dota 2 are what happened in it, from the beginning and from a tick in the middle. So are its
// wards, the players at its end, and the game's summary.
func TestLongMatch(t *testing.T) {
	data, played := demtest.LongMatch(1, *minutes)
	keep(t, data, ".dota.dem")
	var want []dated
	for i := range played.Deeds {
		want = append(want, wantDeed(played, &played.Deeds[i]))
	}
	kinds := []dem.Kind{dem.KindFactKill, dem.KindFactDamage, dem.KindFactPurchase, dem.KindFactObjective, dem.KindFactRune, dem.KindFactBuyback, dem.KindFactSmoke,
		dem.KindFactWard, dem.KindFactDraft}
	alone := dem.Options{Kinds: func(k dem.Kind) bool { return slices.Contains(kinds, k) }}
	facts := func(d *dem.Decoder) (all []dated) {
		_ = run(d, func(ev *dem.Event) {
			if text := deedOf(ev); text != "" {
				all = append(all, dated{ev.AtTick, text})
			}
		})
		return all
	}
	if diff := cmp.Diff(want, facts(dem.New(bytes.NewReader(data), alone))); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	for _, share := range []int32{3, 5, 9} {
		tick := played.Ended * share / 10
		from := slices.IndexFunc(want, func(d dated) bool { return d.Tick >= tick })
		d := dem.New(bytes.NewReader(data), alone)
		if err := d.SeekTick(tick); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want[from:], facts(d)); diff != "" {
			t.Fatalf("from tick %d (-want +got):\n%s", tick, diff)
		}
	}
	checkWards(t, data, played)
	checkPlayers(t, data, played)
	met := map[demtest.Deeds]int{}
	for i := range played.Deeds {
		met[played.Deeds[i].What]++
	}
	if len(met) < 10 || len(played.Wards) == 0 {
		t.Errorf("the match has only %v, and %d wards", met, len(played.Wards))
	}
	measure(t, data, fmt.Sprintf("%d minutes of Dota 2, %d deeds", *minutes, len(want)), alone)
}

// checkWards compares the wards of a match with the entities of a demo.
func checkWards(t *testing.T, data []byte, played *demtest.PlayedMatch) {
	t.Helper()
	var want, got []demtest.PlayedWard
	for _, w := range played.Wards {
		want = append(want, demtest.PlayedWard{Slot: w.Slot, Placed: w.Placed, Gone: w.Gone})
	}
	kinds := func(k dem.Kind) bool { return k == dem.KindEntityCreated || k == dem.KindEntityDeleted }
	decode(t, data, dem.Options{Kinds: kinds, Classes: func(name string) bool { return strings.HasPrefix(name, "CDOTA_NPC_Observer_Ward") }}, func(_ *dem.Decoder, ev *dem.Event) {
		switch ev.Kind {
		case dem.KindEntityCreated:
			got = append(got, demtest.PlayedWard{Slot: int(ev.EntityCreated.Index), Placed: ev.AtTick, Gone: -1})
		case dem.KindEntityDeleted:
			for i := range got {
				if got[i].Slot == int(ev.EntityDeleted.Index) && got[i].Gone < 0 {
					got[i].Gone = ev.AtTick
				}
			}
		}
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("wards (-want +got):\n%s", diff)
	}
}

// checkPlayers compares the players of a match with their samples at its end, and with the game's summary.
func checkPlayers(t *testing.T, data []byte, played *demtest.PlayedMatch) {
	t.Helper()
	var sampled, told []demtest.PlayedPlayer
	d := decode(t, data, dem.Options{}, func(_ *dem.Decoder, ev *dem.Event) {
		if ev.Kind != dem.KindMatchSummary {
			return
		}
		for i := range ev.MatchSummary.Players {
			p := &ev.MatchSummary.Players[i]
			told = append(told, demtest.PlayedPlayer{
				Name: string(p.Name), Hero: string(p.HeroName), Team: 2 + int32(i)/5, Kills: int64(p.Kills), Deaths: int64(p.Deaths), Assists: int64(p.Assists), NetWorth: int64(p.NetWorth),
			})
		}
	})
	var ev dem.Event
	for i := range dem.MaxPlayers {
		if d.SamplePlayer(played.Ended, i, &ev) {
			s := &ev.SamplePlayer
			sampled = append(sampled, demtest.PlayedPlayer{
				Name: string(s.Name), Hero: string(s.HeroName), Team: s.Team, Kills: int64(s.Kills), Deaths: int64(s.Deaths), Assists: int64(s.Assists), NetWorth: int64(s.NetWorth),
			})
		}
	}
	for _, got := range [][]demtest.PlayedPlayer{sampled, told} {
		if diff := cmp.Diff(played.Players[:], got); diff != "" {
			t.Errorf("players (-want +got):\n%s", diff)
		}
	}
}

var (
	grenadeStates = map[dem.GrenadeState]string{
		dem.GrenadeStateThrown: "throws", dem.GrenadeStateDetonated: "has", dem.GrenadeStateBurning: "burns", dem.GrenadeStateEnded: "lost", dem.GrenadeStateExtinguished: "quenched",
	}
	grenadeTypes = map[dem.GrenadeType]string{
		dem.GrenadeTypeHighExplosive: "hegrenade", dem.GrenadeTypeFlashbang: "flashbang", dem.GrenadeTypeSmoke: "smokegrenade", dem.GrenadeTypeFire: "molotov", dem.GrenadeTypeDecoy: "decoy",
	}
	toldGrenades = map[string]string{
		"hegrenade_detonate": "has hegrenade", "flashbang_detonate": "has flashbang", "smokegrenade_detonate": "has smokegrenade", "smokegrenade_expired": "lost smokegrenade",
		"molotov_detonate": "has molotov", "inferno_startburn": "burns molotov", "inferno_expire": "lost molotov", "inferno_extinguish": "quenched molotov",
		"decoy_started": "has decoy", "decoy_detonate": "lost decoy",
	}
)

// wantGrenade returns the fact of a grenade as a text.
func wantGrenade(g *demtest.PlayedGrenade, who func(int32) string) string {
	switch g.Event {
	case "player_blind":
		return fmt.Sprintf("%s is blinded by %d of %s for %v", who(g.Blinded), g.Index, who(g.By), g.Seconds)
	case "grenade_thrown":
		return fmt.Sprintf("%s: throws %s -1 at 0", who(g.By), g.Weapon)
	}
	return fmt.Sprintf("%s: %s %d at %d", who(g.By), toldGrenades[g.Event], g.Index, g.Index)
}

// TestLongRounds: the facts of a long game of Counter-Strike 2 are what happened in it.
func TestLongRounds(t *testing.T) {
	data, played := demtest.LongRounds(1, *minutes)
	keep(t, data, ".cs2.dem")
	checkRounds(t, data, played)
	kinds := []dem.Kind{dem.KindFactKill, dem.KindFactDamage, dem.KindFactObjective, dem.KindFactGrenade, dem.KindFactBlind}
	alone := dem.Options{Kinds: func(k dem.Kind) bool { return slices.Contains(kinds, k) }}
	var want, got []dated
	for i := range played {
		r := &played[i]
		who := func(i int32) string {
			if i < 0 {
				return ""
			}
			return r.Names[i]
		}
		for _, h := range r.Hits {
			want = append(want, dated{h.Tick, fmt.Sprintf("%s hits %s with %s for %d, left %d", who(h.Attacker), who(h.Victim), h.Weapon, h.Dealt, h.Left)})
			if h.Left == 0 {
				want = append(want, dated{h.Tick, fmt.Sprintf("%s kills %s with %s and %s, %v %v", who(h.Attacker), who(h.Victim), h.Weapon, who(h.Assister), h.Headshot, h.Flash)})
			}
		}
		if r.Planted >= 0 {
			want = append(want, dated{r.Planted, "planted by A"})
		}
		for i := range r.Grenades {
			want = append(want, dated{r.Grenades[i].Tick, wantGrenade(&r.Grenades[i], who)})
		}
	}
	slices.SortStableFunc(want, func(a, b dated) int { return int(a.Tick - b.Tick) })
	_ = run(dem.New(bytes.NewReader(data), alone), func(ev *dem.Event) {
		text := ""
		switch ev.Kind {
		case dem.KindFactDamage:
			f := &ev.FactDamage
			text = fmt.Sprintf("%s hits %s with %s for %d, left %d", f.Attacker.Name, f.Victim.Name, f.Weapon, f.Damage, f.Health)
		case dem.KindFactKill:
			f, helper := &ev.FactKill, ""
			if len(f.Assists) > 0 {
				helper = string(f.Assists[0].Name)
			}
			text = fmt.Sprintf("%s kills %s with %s and %s, %v %v", f.Killer.Name, f.Victim.Name, f.Weapon, helper, f.Headshot, f.FlashAssist)
		case dem.KindFactObjective:
			text = fmt.Sprintf("planted by %s", ev.FactObjective.Actor.Name)
		case dem.KindFactGrenade:
			f := &ev.FactGrenade
			text = fmt.Sprintf("%s: %s %s %d at %v", f.Player.Name, grenadeStates[f.State], grenadeTypes[f.Type], f.Index, f.Place.X)
		case dem.KindFactBlind:
			f := &ev.FactBlind
			text = fmt.Sprintf("%s is blinded by %d of %s for %v", f.Victim.Name, f.Index, f.Attacker.Name, f.Seconds)
		}
		got = append(got, dated{ev.AtTick, text})
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	measure(t, data, fmt.Sprintf("%d minutes of Counter-Strike 2, %d rounds", *minutes, len(played)), alone)
}

// measure logs what decoding a long demo takes.
func measure(t *testing.T, data []byte, what string, facts dem.Options) {
	t.Helper()
	if !testing.Verbose() {
		return
	}
	for _, o := range []struct {
		name string
		dem.Options
	}{{"everything", dem.Options{}}, {"facts alone", facts}} {
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		d := decode(t, data, o.Options, func(*dem.Decoder, *dem.Event) {})
		took := time.Since(began)
		runtime.GC()
		runtime.ReadMemStats(&after)
		t.Logf("%s, %.1f MB: %s in %v, %.1f MB held, %d updates, %d skipped", what, float64(len(data))/1e6, o.name, took,
			(float64(after.HeapAlloc)-float64(before.HeapAlloc))/1e6, d.Stats().EntityUpdates, d.Stats().EntitySkips)
	}
}
