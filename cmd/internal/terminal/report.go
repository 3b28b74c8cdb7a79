package terminal

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	datafilev1 "github.com/replayd/replayd/proto/replayd/datafile/v1"
	sc2replayv1 "github.com/replayd/replayd/proto/replayd/sc2replay/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// Reporter prints reports: where and when a game took place, and tables of the participants.
type Reporter struct {
	Out io.Writer
	// Width is the number of the terminal's columns.
	Width int
	// Dim returns a text in the colour of titles. Nil changes nothing.
	Dim func(string) string
}

// Print prints a report.
func (p *Reporter) Print(r *replaydv1.Report) error {
	s := &sheet{Reporter: p, report: r, perSecond: r.GetReplay().GetTicksPerSecond()}
	if s.Dim == nil {
		s.Dim = func(text string) string { return text }
	}
	s.head()
	switch game := r.GetGame().(type) {
	case *replaydv1.Report_Teehistorian:
		s.teehistorian(game.Teehistorian)
	case *replaydv1.Report_Sc2Replay:
		s.sc2replay(game.Sc2Replay)
	case *replaydv1.Report_Dem:
		s.dem(game.Dem)
	case *replaydv1.Report_Datafile:
		s.datafile(game.Datafile)
	}
	_, err := io.WriteString(p.Out, s.text.String())
	return err
}

// sheet is a report that is being laid out.
type sheet struct {
	*Reporter

	report    *replaydv1.Report
	perSecond float64 // 0 if it is not known
	text      strings.Builder
}

// at returns a place in the game: its time, or its tick if the speed is not known.
func (s *sheet) at(tick int32) string { return s.lasting(int64(tick)) }

func (s *sheet) lasting(ticks int64) string {
	if s.perSecond <= 0 {
		return "tick " + strconv.FormatInt(ticks, 10)
	}
	return length(time.Duration(float64(ticks) / s.perSecond * float64(time.Second)))
}

// head prints the facts that all formats have.
func (s *sheet) head() {
	r, d := s.report.GetReplay(), description{}
	d.add("replay", clean(r.GetName()))
	d.add("map", clean(r.GetMapName()))
	switch game := s.report.GetGame().(type) {
	case *replaydv1.Report_Teehistorian:
		d.add("server", joined("  ", game.Teehistorian.GetServerName(), game.Teehistorian.GetServerVersion()))
	case *replaydv1.Report_Sc2Replay:
		v := game.Sc2Replay.GetVersion()
		d.add("version", fmt.Sprintf("%d.%d.%d.%d", v.GetMajor(), v.GetMinor(), v.GetRevision(), v.GetBuild()))
	case *replaydv1.Report_Dem:
		h := game.Dem.GetFileHeader()
		directory := strings.ReplaceAll(h.GetGameDirectory(), `\`, "/")
		d.add("game", clean(cmp.Or(h.GetGame(), directory[strings.LastIndexByte(directory, '/')+1:])))
		d.add("server", clean(h.GetServerName()))
	}
	if t := r.GetStartTime(); t != nil {
		d.add("began", t.AsTime().UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	if s.report.Tick != nil {
		d.add("stands", s.stands())
	}
	d.add("damage", clean(s.report.GetDamage()))
	for _, e := range d.entries { // no text of a file is longer than a line
		for i := range e.lines {
			e.lines[i] = strings.TrimRight(fit(e.lines[i], max(s.Width-10, leastCells)), " ")
		}
	}
	_ = d.print(&s.text)
}

// stands returns the report's place in the game.
func (s *sheet) stands() string {
	text := s.at(s.report.GetTick())
	if s.perSecond > 0 {
		text += fmt.Sprintf("  (tick %d)", s.report.GetTick())
	}
	switch r := s.report.GetReplay(); {
	case s.report.GetEnded():
		text += ", ended"
	case s.report.GetDamage() != "":
	case r.GetState() == replaydv1.ReplayState_REPLAY_STATE_GROWING:
		text += ", live"
	case r.LastTick != nil && r.GetLastTick() > s.report.GetTick():
		text += " of " + s.at(r.GetLastTick())
	}
	return text
}

// line prints a line, as much of it as there is room for.
func (s *sheet) line(text string) {
	s.text.WriteString(strings.TrimRight(fit(text, s.Width), " ") + "\n")
}

// section prints a blank line, and a title if there is one.
func (s *sheet) section(title string) {
	s.text.WriteString("\n")
	if title != "" {
		s.text.WriteString(s.Dim(title) + "\n")
	}
}

// joined returns the texts that are not empty, cleaned.
func joined(between string, texts ...string) string {
	var parts []string
	for _, t := range texts {
		if t = clean(t); t != "" {
			parts = append(parts, t)
		}
	}
	return strings.Join(parts, between)
}

// count returns a number, or nothing for none.
func count(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// known returns a number that may be absent.
func known[T int32 | uint32](n *T) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(int64(*n), 10)
}

// run returns the duration of a run to a hundredth of a second, as the game shows it.
func run(ticks int32) string {
	const perSecond = 50
	n := int64(ticks)
	return fmt.Sprintf("%s.%s", length(time.Duration(n/perSecond)*time.Second), two(n%perSecond*100/perSecond))
}

// few and many limit the lines of sections; further ones are only counted.
const (
	mostPlayers = 64
	mostLines   = 12
)

func (s *sheet) teehistorian(r *replaydv1.TeehistorianReport) {
	g := grid{heads: []heading{
		{title: "PLAYER"}, {title: "CLAN", spare: 3}, {title: "BEST", right: true}, {title: "FINISHES", right: true},
		{title: "TEAM", right: true}, {title: "CAME", right: true, spare: 2}, {title: "LEFT", right: true}, {title: "PLAYED", right: true, spare: 1},
		{title: "WHY", spare: 4},
	}}
	for i, p := range r.GetPlayers() {
		if i == mostPlayers {
			break
		}
		stays := p.GetStays()
		name, first, last := clean(p.GetName()), stays[0], stays[len(stays)-1]
		if name == "" {
			name = fmt.Sprintf("client %d", first.GetClientId())
		}
		best, left, why, team, came := "", "", "", "", "before"
		if first.FromTick != nil {
			came = s.at(first.GetFromTick())
		}
		if p.GetBest() != nil {
			best = run(p.GetBest().GetTime())
		}
		if !p.GetConnected() {
			left, why = s.at(last.GetToTick()), clean(last.GetLeaveReason())
		}
		if p.GetTeam() != 0 {
			team = known(p.Team)
		}
		g.add(name, clean(p.GetClan()), best, count(int64(p.GetFinishCount())), team, came, left, s.lasting(p.GetTicks()), why)
	}
	if len(g.rows) == 0 {
		s.section("")
		s.text.WriteString("nobody was there\n")
		return
	}
	s.section("")
	g.print(&s.text, s.Width, s.Dim)
	s.more(len(r.GetPlayers())-len(g.rows), "players")
	s.teams(r.GetTeamFinishes())
	if lines := r.GetVotes(); len(lines) > 0 {
		s.section("VOTES")
		for _, v := range lines[max(0, len(lines)-mostLines):] {
			s.said(v.GetTick(), v.GetName(), v.GetClientId(), joined(" ", v.GetType(), v.GetValue(), v.GetReason()))
		}
	}
	if lines := r.GetChat(); len(lines) > 0 {
		s.section("CHAT")
		for _, l := range lines[max(0, len(lines)-mostLines):] {
			s.said(l.GetTick(), l.GetName(), l.GetClientId(), clean(l.GetText()))
		}
	}
}

// more prints how many things are not shown.
func (s *sheet) more(n int, what string) {
	if n > 0 {
		fmt.Fprintf(&s.text, "and %d more %s\n", n, what)
	}
}

// teams prints the finishes of teams, the fastest first.
func (s *sheet) teams(finishes []*replaydv1.TeamFinish) {
	if len(finishes) == 0 {
		return
	}
	s.section("")
	finishes = slices.SortedStableFunc(slices.Values(finishes), func(a, b *replaydv1.TeamFinish) int { return cmp.Compare(a.GetTime(), b.GetTime()) })
	g := grid{heads: []heading{{title: "TEAM FINISH"}, {title: "TEAM", right: true}, {title: "AT", right: true}, {title: "MEMBERS", spare: 1}}}
	for _, f := range finishes[:min(len(finishes), mostLines)] {
		names := make([]string, len(f.GetNames()))
		for i, n := range f.GetNames() {
			names[i] = clean(n)
		}
		g.add(run(f.GetTime()), strconv.Itoa(int(f.GetTeam())), s.at(f.GetTick()), strings.Join(names, ", "))
	}
	for i := range g.rows { // the members are the last column, which may be cut
		g.rows[i][3] = strings.TrimRight(fit(g.rows[i][3], max(s.Width-leastCells*3, leastCells)), " ")
	}
	g.print(&s.text, s.Width, s.Dim)
	s.more(len(finishes)-len(g.rows), "finishes")
}

// said prints a line of chat.
func (s *sheet) said(tick int32, name string, id int32, what string) {
	name = cmp.Or(clean(name), fmt.Sprintf("client %d", id))
	s.line(fmt.Sprintf("%7s  %s: %s", s.at(tick), name, what))
}

func (s *sheet) sc2replay(r *replaydv1.Sc2ReplayReport) {
	g := grid{heads: []heading{
		{title: "PLAYER"}, {title: "RACE"}, {title: "RESULT"}, {title: "TEAM", right: true, spare: 9}, {title: "MMR", right: true, spare: 4},
		{title: "APM", right: true}, {title: "SQ", right: true}, {title: "CAPPED", right: true, spare: 8},
		{title: "SUPPLY", right: true}, {title: "WORKERS", right: true}, {title: "ARMY", right: true},
		{title: "RES LOST", right: true, spare: 2}, {title: "RES KILLED", right: true, spare: 3}, {title: "BANK", right: true, spare: 1}, {title: "INCOME", right: true, spare: 5},
		{title: "LEFT", right: true, spare: 6},
	}}
	teams := len(r.GetPlayers()) > 2
	for _, p := range r.GetPlayers() {
		g.add(s.sc2player(p, teams)...)
	}
	if len(g.rows) == 0 {
		return
	}
	s.section("")
	g.print(&s.text, s.Width, s.Dim)
	if n := r.GetObservers(); n > 0 {
		fmt.Fprintf(&s.text, "observers: %d\n", n)
	}
	if r.GetUnproven() {
		s.line("values may be wrong: the replay's own table is not known")
	}
	if len(r.GetPlayers()) > 4 { // the following lines are long
		return
	}
	for _, p := range r.GetPlayers() {
		s.forces(p)
	}
}

// sc2player returns the texts of a player's row.
func (s *sheet) sc2player(p *replaydv1.Sc2ReplayPlayer, teams bool) []string {
	name := clean(p.GetName())
	if clan := clean(p.GetClan()); clan != "" {
		name = "[" + clan + "] " + name
	}
	if p.GetComputer() {
		name = cmp.Or(name, "computer")
	}
	result := strings.TrimPrefix(strings.ToLower(strings.TrimPrefix(p.GetResult().String(), "RESULT_")), "unspecified")
	row := []string{cmp.Or(name, fmt.Sprintf("player %d", p.GetPlayerId())), clean(p.GetRace()), result, "", known(p.Mmr), "", known(p.SpendingQuotient), ""}
	if teams {
		row[3] = strconv.Itoa(int(p.GetTeam()) + 1)
	}
	if p.Apm != nil {
		row[5] = strconv.FormatFloat(p.GetApm(), 'f', 0, 64)
	}
	if p.SupplyCapped != nil {
		row[7] = strconv.FormatFloat(100*p.GetSupplyCapped(), 'f', 0, 64) + "%"
	}
	left := ""
	if p.LeftTick != nil {
		left = s.at(p.GetLeftTick())
	}
	e := p.GetStats()
	if e == nil {
		return append(row, "", "", "", "", "", "", "", left)
	}
	lost := e.GetMineralsLostArmy() + e.GetMineralsLostEconomy() + e.GetMineralsLostTechnology() +
		e.GetVespeneLostArmy() + e.GetVespeneLostEconomy() + e.GetVespeneLostTechnology()
	killed := e.GetMineralsKilledArmy() + e.GetMineralsKilledEconomy() + e.GetMineralsKilledTechnology() +
		e.GetVespeneKilledArmy() + e.GetVespeneKilledEconomy() + e.GetVespeneKilledTechnology()
	return append(row,
		strconv.Itoa(int(e.GetFoodUsed()))+"/"+strconv.Itoa(int(e.GetFoodMade())),
		forces(p.GetWorkers(), p.GetWorkersLost()), forces(p.GetArmy(), p.GetArmyLost()),
		strconv.Itoa(int(lost)), strconv.Itoa(int(killed)), fmt.Sprintf("%d/%d", e.GetMineralsCurrent(), e.GetVespeneCurrent()),
		fmt.Sprintf("%d/%d", e.GetMineralsCollectionRate(), e.GetVespeneCollectionRate()), left)
}

// forces returns how many units live and how many were lost, as a text.
func forces(alive, lost uint32) string {
	if lost == 0 {
		return strconv.FormatUint(uint64(alive), 10)
	}
	return fmt.Sprintf("%d (-%d)", alive, lost)
}

// forces prints a player's units and research.
func (s *sheet) forces(p *replaydv1.Sc2ReplayPlayer) {
	var army, structures, upgrades []string
	for _, u := range p.GetUnits() {
		text := fmt.Sprintf("%d %s", u.GetCount(), clean(u.GetTypeName()))
		switch u.GetClass() {
		case sc2replayv1.UnitClass_UNIT_CLASS_ARMY:
			army = append(army, text)
		case sc2replayv1.UnitClass_UNIT_CLASS_STRUCTURE:
			structures = append(structures, text)
		}
	}
	for _, u := range p.GetUpgrades() {
		upgrades = append(upgrades, fmt.Sprintf("%s %s", clean(u.GetName()), s.at(u.GetTick())))
	}
	if len(army)+len(structures)+len(upgrades) == 0 {
		return
	}
	s.section(strings.TrimRight(fit(clean(p.GetName()), s.Width), " "))
	for _, line := range []struct {
		head  string
		parts []string
	}{{"army        ", army}, {"structures  ", structures}, {"upgrades    ", upgrades}} {
		if len(line.parts) > 0 {
			wrapped(&s.text, line.head, line.parts, s.Width)
		}
	}
}

func (s *sheet) datafile(r *datafilev1.Summary) {
	d := description{}
	i := r.GetInfo()
	d.add("author", clean(i.GetAuthor()))
	d.add("version", clean(i.GetMapVersion()))
	d.add("credits", clean(i.GetCredits()))
	d.add("license", clean(i.GetLicense()))
	if r.GetWidth() > 0 {
		d.add("tiles", fmt.Sprintf("%d × %d", r.GetWidth(), r.GetHeight()))
	}
	d.add("has", fmt.Sprintf("%d groups, %d layers, %d images, %d sounds, %d envelopes, %d settings", r.GetNumGroups(), r.GetNumLayers(),
		r.GetNumImages(), r.GetNumSounds(), r.GetNumEnvelopes(), r.GetNumSettings()))
	d.add("crc32", clean(r.GetCrc32()))
	d.add("sha256", clean(r.GetSha256()))
	for _, e := range d.entries {
		for n := range e.lines {
			e.lines[n] = strings.TrimRight(fit(e.lines[n], max(s.Width-9, leastCells)), " ")
		}
	}
	s.section("")
	_ = d.print(&s.text)
	g := grid{heads: []heading{
		{title: "LAYER"}, {title: "KIND"}, {title: "GROUP", right: true}, {title: "SIZE", right: true}, {title: "ELEMENTS", right: true},
	}}
	for _, l := range r.GetLayers()[:min(len(r.GetLayers()), mostPlayers)] {
		across := ""
		if l.GetWidth() > 0 {
			across = fmt.Sprintf("%d × %d", l.GetWidth(), l.GetHeight())
		}
		g.add(cmp.Or(clean(l.GetName()), fmt.Sprintf("layer %d", l.GetLayer())), name(l.GetKind().String(), "LAYER_KIND_"), known(l.Group), across, count(int64(l.GetNumElements())))
	}
	if len(g.rows) == 0 {
		return
	}
	s.section("")
	g.print(&s.text, s.Width, s.Dim)
	s.more(len(r.GetLayers())-len(g.rows), "layers")
}

// Line returns what is known of a report in a line: name, map, how far it goes, and who played.
func Line(r *replaydv1.Report) string {
	s := &sheet{report: r, perSecond: r.GetReplay().GetTicksPerSecond()}
	stands := ""
	if r.Tick != nil {
		stands = s.stands()
	}
	return fmt.Sprintf("%s\t%s\t%s\t%s", clean(r.GetReplay().GetName()), clean(r.GetReplay().GetMapName()), stands, clean(playersOf(r)))
}

// playersOf says who took part in the game of a report.
func playersOf(r *replaydv1.Report) string {
	if lineup := r.GetReplay().GetLineup(); lineup != "" {
		return lineup
	}
	var names []string
	for _, p := range r.GetTeehistorian().GetPlayers() {
		names = append(names, p.GetName())
	}
	for _, p := range r.GetDem().GetPlayers() {
		names = append(names, p.GetName())
	}
	return strings.Join(names, ", ")
}
