package dem_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders/dem/demtest"
	demv1 "github.com/replayd/replayd/proto/replayd/dem/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/codectest"
	encoder "github.com/replayd/replayd/replay/codec/dem"
)

func reported(t *testing.T, data []byte, o codec.ReportOptions) *replaydv1.Report {
	t.Helper()
	r := &replaydv1.Report{Replay: &replaydv1.Replay{}}
	o.Pause = func(int64) error { return nil }
	if err := encoder.Codec.Report(context.Background(), codectest.Input(data), o, r); err != nil {
		t.Fatal(err)
	}
	return r
}

// stateOf returns the numbers of controllers and their names that a stream has as its state behind a tick, or at the end.
func stateOf(t *testing.T, data []byte, start codec.Start) map[int32]string {
	t.Helper()
	r := open(t, data, codec.Options{State: true, Start: start})
	if err := codectest.Seek(r); err != nil {
		return nil
	}
	names := map[int32]string{}
	for over := error(nil); over == nil || errors.Is(over, codec.ErrYield); {
		b := codec.Batch{MaxEvents: 1000, MaxBytes: 1 << 20}
		over = r.(codec.Presenter).Present(&b)
		var list demv1.EventList
		if err := proto.Unmarshal(append(b.Events, b.Tail...), &list); err != nil {
			t.Fatal(err)
		}
		for _, ev := range list.GetEvents() {
			for _, f := range ev.GetEntityEntered().GetFields() {
				if name := list.GetStrings()[f.GetField()]; name == "m_iszPlayerName" && f.GetText() != "" {
					names[int32(ev.GetEntityEntered().GetIndex())] = f.GetText()
				}
			}
		}
	}
	return names
}

// TestReport: the players of a report are those of the entities at the same place, with checkpoints and without. What follows a tick
// does not count, and no tick is the end.
func TestReport(t *testing.T) {
	var paths []string
	for _, pattern := range []string{"../../../testdata/dem/*.dem", "../../../../shared/corpus/dem/demofile-net/*.dem", "../../../../shared/corpus/dem/haste/*.dem"} {
		found, _ := filepath.Glob(filepath.FromSlash(pattern))
		paths = append(paths, found...)
	}
	players := 0
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, checkpoints := codectest.Checkpoints(encoder.Codec)
		whole := reported(t, data, codec.ReportOptions{})
		compareNames(t, path, whole, stateOf(t, data, codec.Start{Now: true}))
		players += len(whole.GetDem().GetPlayers())
		for tick := int32(0); tick <= whole.GetTick(); tick += whole.GetTick()/4 + 1 {
			got := reported(t, data, codec.ReportOptions{Tick: &tick})
			for range 2 { // the second time from checkpoints
				if again := reported(t, data, codec.ReportOptions{Tick: &tick, Checkpoints: checkpoints}); !proto.Equal(got, again) {
					t.Errorf("%s at %d: another report from checkpoints", path, tick)
				}
			}
			if state := stateOf(t, data, codec.Start{Tick: new(tick + 1)}); state != nil {
				if got.GetEnded() || got.GetTick() != tick {
					t.Errorf("%s at %d: it is of %d, ended %v", path, tick, got.GetTick(), got.GetEnded())
				}
				compareNames(t, path, got, state)
			}
		}
		if last := reported(t, data, codec.ReportOptions{Tick: new(whole.GetTick() + 1000)}); !proto.Equal(last, whole) {
			t.Errorf("%s: a tick behind the end is not the end:\n%v\n%v", path, last, whole)
		}
	}
	if len(paths) > 8 && players < 40 {
		t.Errorf("%d players in %d demos", players, len(paths))
	}
}

func compareNames(t *testing.T, path string, r *replaydv1.Report, want map[int32]string) {
	t.Helper()
	for _, p := range r.GetDem().GetPlayers() {
		if want[p.GetNumber()] != p.GetName() {
			t.Errorf("%s at %d: player %d is %q, not %q", path, r.GetTick(), p.GetNumber(), p.GetName(), want[p.GetNumber()])
		}
	}
	if len(r.GetDem().GetPlayers()) < min(len(want), 1) {
		t.Errorf("%s at %d: nobody of %v", path, r.GetTick(), want)
	}
}

// TestReportOfMatches: a report has the kills and rounds up to its tick that happened in a match of our own, the last of them, and the sums of
// each player's rounds, with checkpoints and without.
func TestReportOfMatches(t *testing.T) {
	const minutes = 3
	match, played := demtest.LongMatch(3, minutes)
	rounds, ledger := demtest.LongRounds(3, minutes)
	check := func(data []byte, tick int32, want func(r *replaydv1.DemReport)) {
		t.Helper()
		_, checkpoints := codectest.Checkpoints(encoder.Codec)
		first := reported(t, data, codec.ReportOptions{Tick: &tick})
		for range 2 {
			if again := reported(t, data, codec.ReportOptions{Tick: &tick, Checkpoints: checkpoints}); !proto.Equal(first, again) {
				t.Errorf("at %d: another report from checkpoints", tick)
			}
		}
		want(first.GetDem())
	}
	for _, tick := range []int32{thirdKill(t, played), played.Ended / 4, played.Ended} {
		check(match, tick, func(r *replaydv1.DemReport) {
			var kills, got []string
			var players [demtest.MatchPlayers]demtest.PlayedPlayer
			name := func(i int32) string {
				if i < 0 {
					return ""
				}
				return played.Players[i].Name
			}
			for _, d := range played.Deeds {
				if d.What != demtest.DeedKill || d.Tick > tick {
					continue
				}
				if !d.Marked {
					if players[d.Of].Deaths++; d.By >= 0 {
						players[d.By].Kills++
					}
				}
				var helpers []string
				for _, h := range d.Helpers {
					helpers = append(helpers, name(h))
				}
				kills = append(kills, fmt.Sprint(d.Tick, name(d.By)+d.Unit, name(d.Of), d.With, helpers))
			}
			for _, k := range r.GetKills() {
				got = append(got, fmt.Sprint(k.GetTick(), k.GetKiller(), k.GetVictim(), k.GetWeapon(), k.GetAssists()))
			}
			if kills = kills[max(0, len(kills)-100):]; !slices.Equal(got, kills) || len(got) == 0 {
				t.Errorf("at %d: kills %q, want %q", tick, got, kills)
			}
			for i, p := range r.GetPlayers() {
				want := players[p.GetNumber()]
				if int64(p.GetKills()) != want.Kills || int64(p.GetDeaths()) != want.Deaths || p.GetHero() != played.Players[i].Hero || p.GetName() != played.Players[i].Name {
					t.Errorf("at %d: %v, want %+v", tick, p, want)
				}
				if tick == played.Ended && int64(p.GetNetWorth()) != played.Players[i].NetWorth {
					t.Errorf("net worth: %v, want %+v", p, played.Players[i])
				}
			}
			if len(r.GetPlayers()) != demtest.MatchPlayers {
				t.Errorf("%d players", len(r.GetPlayers()))
			}
			compareMatch(t, r, played, tick)
		})
	}
	for n, last := range ledger {
		check(rounds, last.Ended, func(r *replaydv1.DemReport) {
			if len(r.GetEconomy())+len(r.GetFights())+len(r.GetObjectives()) > 0 {
				t.Errorf("rounds have %v, %v, %v", r.GetEconomy(), r.GetFights(), r.GetObjectives())
			}
			if len(r.GetRounds()) != n+1 {
				t.Fatalf("%d rounds, want %d", len(r.GetRounds()), n+1)
			}
			var kills, hurt [demtest.RoundPlayers]int32
			for i, want := range ledger[:n+1] {
				got := r.GetRounds()[i]
				if got.GetTick() != want.Ended || got.GetRound().GetNumber() != want.Number || got.GetRound().GetWinner() != want.Winner || len(got.GetRound().GetSides()) != 2 {
					t.Errorf("round %v, want %+v", got, want)
				}
				health := map[int32]int32{}
				for _, h := range want.Hits {
					before, known := health[h.Victim]
					if !known {
						before = 100
					}
					if health[h.Victim] = h.Left; h.Attacker >= 0 && want.Sides[h.Attacker] != want.Sides[h.Victim] {
						if hurt[h.Attacker] += before - h.Left; h.Left == 0 {
							kills[h.Attacker]++
						}
					}
				}
			}
			var grenades, blinded [demtest.RoundPlayers]int32
			for i := range ledger[:n+1] {
				for _, g := range ledger[i].Grenades {
					switch {
					case g.Event == "player_blind" && ledger[i].Sides[g.By] != ledger[i].Sides[g.Blinded]:
						blinded[g.By]++
					case g.Event == "grenade_thrown": // each goes off at once
						grenades[g.By]++
					}
				}
			}
			for _, p := range r.GetPlayers() {
				sum, i := p.GetRounds(), p.GetNumber()-1
				if sum.GetGrenades() != grenades[i] || sum.GetBlinded() != blinded[i] || (sum.GetBlindedSeconds() > 0) != (blinded[i] > 0) {
					t.Errorf("%v, want %d grenades and %d blinded", p, grenades[i], blinded[i])
				}
				if sum.GetRounds() != int32(n+1) || sum.GetKills() != kills[i] || sum.GetDamage() != hurt[i] || sum.GetKast() > sum.GetRounds() {
					t.Errorf("%v, want %d kills and %d damage", p, kills[i], hurt[i])
				}
			}
			if len(r.GetPlayers()) != demtest.RoundPlayers {
				t.Errorf("%d players", len(r.GetPlayers()))
			}
		})
	}
}

// thirdKill returns the tick of the last kill of a fight that has no more than it needs at that time.
func thirdKill(t *testing.T, played *demtest.PlayedMatch) int32 {
	t.Helper()
	last, n := int32(-1000), 0
	for _, d := range played.Deeds {
		if d.What != demtest.DeedKill {
			continue
		}
		if n++; d.Tick-last > 15*30 {
			n = 1
		}
		if last = d.Tick; n == 3 {
			return d.Tick
		}
	}
	t.Fatal("no fight")
	return 0
}

// compareMatch compares objectives, wards, fights and the economy of a report with what happened up to a tick.
func compareMatch(t *testing.T, r *replaydv1.DemReport, played *demtest.PlayedMatch, tick int32) {
	t.Helper()
	const minute, gap = 60 * 30, 15 * 30
	var objectives, fights, got []string
	var placed, destroyed [demtest.MatchPlayers]int32
	for _, w := range played.Wards {
		if w.Placed <= tick {
			placed[w.By]++
		}
	}
	var kills []*demtest.Deed
	for i := range played.Deeds {
		d := &played.Deeds[i]
		switch {
		case d.Tick > tick:
		case d.What == demtest.DeedKill:
			kills = append(kills, d)
		case d.What == demtest.DeedWard && !d.Marked:
			destroyed[d.By]++
		case slices.Contains([]demtest.Deeds{demtest.DeedBuilding, demtest.DeedRoshan, demtest.DeedTormentor}, d.What):
			objectives = append(objectives, fmt.Sprint(d.Tick, played.Players[d.By].Name, d.With, d.Amount, d.Marked))
		case d.What == demtest.DeedAegis:
			objectives = append(objectives, fmt.Sprint(d.Tick, played.Players[d.By].Name, "", 0, false))
		}
	}
	for _, o := range r.GetObjectives() {
		got = append(got, fmt.Sprint(o.GetTick(), o.GetActor(), o.GetName(), o.GetTeam(), o.GetDenied()))
	}
	if objectives = objectives[max(0, len(objectives)-64):]; !slices.Equal(objectives, got) || len(got) == 0 {
		t.Errorf("at %d: objectives %q, want %q", tick, got, objectives)
	}
	kills, got = kills[max(0, len(kills)-100):], nil
	for from := 0; from < len(kills); {
		to, dead := from, [2]int{}
		for ; to < len(kills) && (to == from || kills[to].Tick-kills[to-1].Tick <= gap); to++ {
			dead[kills[to].Of/5]++
		}
		if to-from >= 3 {
			fights = append(fights, fmt.Sprint(kills[from].Tick, kills[to-1].Tick, dead))
		}
		from = to
	}
	for _, f := range r.GetFights() {
		got = append(got, fmt.Sprint(f.GetFromTick(), f.GetToTick(), [2]int{int(f.GetSides()[0].GetDeaths()), int(f.GetSides()[1].GetDeaths())}))
	}
	if !slices.Equal(fights, got) || len(got) == 0 && tick == played.Ended {
		t.Errorf("at %d: fights %q, want %q", tick, got, fights)
	}
	for _, p := range r.GetPlayers() {
		if i := p.GetNumber(); p.GetWardsPlaced() != placed[i] || p.GetWardsDestroyed() != destroyed[i] {
			t.Errorf("at %d: wards of %v, want %d placed and %d destroyed", tick, p, placed[i], destroyed[i])
		}
	}
	if len(r.GetEconomy()) != int(tick/minute)+1 {
		t.Fatalf("at %d: the economy of %d minutes", tick, len(r.GetEconomy()))
	}
	for i, e := range r.GetEconomy() {
		if e.GetTick() != int32(i)*minute || i == 0 && (e.GetSides()[0].GetNetWorth() != 3000 || e.GetSides()[1].GetNetWorth() != 3000) {
			t.Errorf("at %d: the economy has %v", tick, e)
		}
	}
	if last := r.GetEconomy()[len(r.GetEconomy())-1]; tick == played.Ended {
		var sums [2]int64
		for i, p := range played.Players {
			sums[i/5] += p.NetWorth
		}
		if last.GetSides()[0].GetNetWorth() != sums[0] || last.GetSides()[1].GetNetWorth() != sums[1] || last.GetSides()[1].GetTeam() != 3 {
			t.Errorf("the economy at the end is %v, want %v", last, sums)
		}
	}
}

// TestReportOfDamage: whatever a file has, its report is small, or an error of the file.
func TestReportOfDamage(t *testing.T) {
	sample, err := os.ReadFile("../../../testdata/dem/sample.dem")
	if err != nil {
		t.Fatal(err)
	}
	codectest.CheckReports(t, encoder.Codec, sample)
}

func FuzzReport(f *testing.F) {
	sample, err := os.ReadFile("../../../testdata/dem/sample.dem")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sample)
	f.Fuzz(func(t *testing.T, data []byte) { codectest.CheckReport(t, encoder.Codec, data) })
}
