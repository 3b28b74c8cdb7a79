package terminal

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// sides maps names in files to names that games show.
var sides = map[string]string{
	"#DOTA_GoodGuys": "Radiant", "#DOTA_BadGuys": "Dire", "CT": "CT", "TERRORIST": "T", "CounterTerrorist": "CT", "Terrorist": "T",
}

// side returns the name of a team.
func side(name string) string { return cmp.Or(sides[name], clean(name)) }

// teams has the names of teams by their numbers.
type teams map[int32]string

// of returns the name of a team, or its number if it has no name.
func (t teams) of(number int32) string { return cmp.Or(t[number], fmt.Sprintf("team %d", number)) }

// hero returns the name of a hero.
func hero(name string) string {
	return clean(strings.ReplaceAll(strings.TrimPrefix(strings.TrimPrefix(name, "npc_dota_"), "hero_"), "_", " "))
}

// spectates returns 1 for a player in one of the engine's teams for spectators, and 0 for others.
func spectates(p *replaydv1.DemPlayer) int {
	if p.GetTeam() > 1 {
		return 0
	}
	return 1
}

func (s *sheet) dem(r *replaydv1.DemReport) {
	names := teams{}
	for _, t := range r.GetTeams() {
		names[t.GetNumber()] = side(t.GetName())
	}
	playing := map[int32]bool{}
	for _, p := range r.GetPlayers() {
		playing[p.GetTeam()] = spectates(p) == 0
	}
	var score []string
	for _, t := range r.GetTeams() {
		if playing[t.GetNumber()] && t.Score != nil {
			score = append(score, fmt.Sprintf("%s %d", names.of(t.GetNumber()), t.GetScore()))
		}
	}
	g := grid{heads: []heading{
		{title: "PLAYER"}, {title: "TEAM"}, {title: "HERO", spare: 4}, {title: "KILLS", right: true}, {title: "DEATHS", right: true},
		{title: "ASSISTS", right: true}, {title: "ADR", right: true}, {title: "KAST", right: true}, {title: "SCORE", right: true, spare: 3},
		{title: "LEVEL", right: true, spare: 1}, {title: "NET WORTH", right: true, spare: 2}, {title: "WARDS", right: true, spare: 7}, {title: "GRENADES", right: true, spare: 8},
		{title: "BLINDED", right: true, spare: 9}, {title: "MONEY", right: true, spare: 6}, {title: "STEAM ID", right: true, spare: 5},
	}}
	players := slices.SortedStableFunc(slices.Values(r.GetPlayers()), func(a, b *replaydv1.DemPlayer) int {
		return cmp.Compare(spectates(a), spectates(b))
	})
	for _, p := range players {
		id := ""
		if p.SteamId != nil {
			id = strconv.FormatUint(p.GetSteamId(), 10)
		}
		team := cmp.Or(names[p.GetTeam()], known(p.Team))
		adr, kast := "", ""
		if n := float64(p.GetRounds().GetRounds()); n > 0 {
			adr, kast = fmt.Sprintf("%.1f", float64(p.GetRounds().GetDamage())/n), fmt.Sprintf("%.0f%%", 100*float64(p.GetRounds().GetKast())/n)
		}
		g.add(clean(p.GetName()), team, hero(p.GetHero()), known(p.Kills), known(p.Deaths), known(p.Assists), adr, kast, known(p.Score), known(p.Level),
			known(p.NetWorth), wards(p), count(int64(p.GetRounds().GetGrenades())), blinded(p.GetRounds()), known(p.Money), id)
	}
	if len(g.rows) == 0 { // the match's own summary is all there is
		for _, p := range r.GetMatch().GetPlayers() {
			g.add(clean(p.GetPlayerName()), strconv.Itoa(int(p.GetTeam())), hero(p.GetHeroName()), "", "", "", "", "", "", "", "", "", "", "", "", "")
		}
	}
	if len(score) > 0 {
		s.section("")
		s.line(strings.Join(score, "  :  "))
	}
	if won := wonBy(r.GetMatch().GetWinner()); won != "" && s.report.GetEnded() {
		s.section("")
		s.text.WriteString(won + "\n")
	}
	if len(g.rows) == 0 {
		return
	}
	s.section("")
	g.print(&s.text, s.Width, s.Dim)
	s.rounds(r.GetRounds())
	s.economy(r.GetEconomy(), names)
	s.fights(r.GetFights(), names)
	if objectives := r.GetObjectives(); len(objectives) > 0 {
		s.section("LAST OBJECTIVES")
		for _, o := range objectives[max(0, len(objectives)-mostLines):] {
			s.objective(o)
		}
	}
	if kills := r.GetKills(); len(kills) > 0 {
		s.section("LAST KILLS")
		for _, k := range kills[max(0, len(kills)-mostLines):] {
			s.kill(k)
		}
	}
}

// warmup says of a round whether it is one of the warm-up.
var warmup = map[bool]string{true: "warm-up"}

// rounds prints the rounds of a game of Counter-Strike 2.
func (s *sheet) rounds(rounds []*replaydv1.DemRound) {
	g := grid{heads: []heading{{title: "ROUND", right: true}, {title: "WON BY"}, {title: "WHY"}, {title: "ENDED", right: true, spare: 3}, {title: "T ALIVE", right: true}, {title: "BUY", spare: 1}, {title: "CT ALIVE", right: true}, {title: "BUY", spare: 1}}}
	for _, r := range rounds[max(0, len(rounds)-mostPlayers):] {
		row := []string{known(r.GetRound().Number), side(r.GetRound().GetWinnerName()), joined(", ", warmup[r.GetRound().GetWarmup()], r.GetRound().GetReasonName()), s.at(r.GetTick())}
		for _, one := range r.GetRound().GetSides() {
			row = append(row, fmt.Sprintf("%d/%d", one.GetAlive(), one.GetPlayers()), strings.ReplaceAll(clean(one.GetBuy()), "_", " "))
		}
		g.add(append(row, "", "", "", "")[:len(g.heads)]...)
	}
	if len(g.rows) > 0 {
		s.section("")
		g.print(&s.text, s.Width, s.Dim)
	}
}

// wards returns how many wards a player placed and destroyed, as a text.
func wards(p *replaydv1.DemPlayer) string {
	if p.GetWardsPlaced() == 0 && p.GetWardsDestroyed() == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", p.GetWardsPlaced(), p.GetWardsDestroyed())
}

// blinded returns how often and how long a player blinded others, as a text.
func blinded(r *replaydv1.DemPlayerRounds) string {
	if r.GetBlinded() == 0 {
		return ""
	}
	return fmt.Sprintf("%d (%.0f s)", r.GetBlinded(), r.GetBlindedSeconds())
}

// economy prints which side was ahead, at some of the minutes.
func (s *sheet) economy(minutes []*replaydv1.DemEconomy, names teams) {
	var parts []string
	step := (len(minutes) + mostLines - 1) / mostLines
	for i := len(minutes) - 1; i >= 0; i -= step {
		sides := minutes[i].GetSides()
		if len(sides) < 2 {
			return
		}
		ahead, by := sides[0], sides[0].GetNetWorth()-sides[1].GetNetWorth()
		if by < 0 {
			ahead, by = sides[1], -by
		}
		text := "even"
		if by > 0 {
			text = fmt.Sprintf("%s +%d", names.of(ahead.GetTeam()), by)
		}
		parts = append(parts, s.at(minutes[i].GetTick())+" "+text)
	}
	if len(parts) == 0 {
		return
	}
	slices.Reverse(parts)
	s.section("")
	wrapped(&s.text, "net worth  ", parts, s.Width)
}

// fights prints the last fights.
func (s *sheet) fights(fights []*replaydv1.DemFight, names teams) {
	g := grid{heads: []heading{{title: "FIGHT AT", right: true}, {title: "LASTED", right: true}, {title: "LOST"}}}
	for _, f := range fights[max(0, len(fights)-mostLines):] {
		var lost []string
		for _, one := range f.GetSides() {
			lost = append(lost, fmt.Sprintf("%s %d", names.of(one.GetTeam()), one.GetDeaths()))
		}
		g.add(s.at(f.GetFromTick()), s.lasting(int64(f.GetToTick())-int64(f.GetFromTick())), strings.Join(lost, " : "))
	}
	if len(g.rows) > 0 {
		s.section("")
		g.print(&s.text, s.Width, s.Dim)
	}
}

// objective prints an objective.
func (s *sheet) objective(o *replaydv1.DemObjective) {
	what := joined(": ", name(o.GetType().String(), "OBJECTIVE_TYPE_"), hero(o.GetName()))
	if o.GetDenied() {
		what += ", denied"
	}
	s.line(fmt.Sprintf("%7s  %s", s.at(o.GetTick()), joined("  ", hero(o.GetActor()), what)))
}

// kill prints a kill.
func (s *sheet) kill(k *replaydv1.DemKill) {
	by := []string{cmp.Or(hero(k.GetKiller()), "nobody")}
	for _, name := range k.GetAssists() {
		by = append(by, hero(name))
	}
	text := fmt.Sprintf("%7s  %s", s.at(k.GetTick()), strings.Join(by, " + "))
	with := hero(k.GetWeapon())
	if k.GetHeadshot() {
		with = strings.TrimPrefix(with+", head", ", ")
	}
	if with != "" {
		with = "[" + with + "]  "
	}
	s.line(text + "  " + with + hero(k.GetVictim()))
}
