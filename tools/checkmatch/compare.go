package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/replayd/replayd/decoders/dem"
)

// result is a comparison: how many things agree, and what does not.
type result struct {
	what    string
	agree   int
	missing []string // what others say, and the facts do not
	extra   []string // what the facts say, and others do not
}

func (r *result) ok() bool { return len(r.missing)+len(r.extra) == 0 }

// shown limits what is printed of each comparison.
const shown = 10

func (r *result) String() string {
	if r.ok() {
		return fmt.Sprintf("ok       %s: %d", r.what, r.agree)
	}
	lines := []string{fmt.Sprintf("DIFFERS  %s: %d agree, %d are missing, %d are not expected", r.what, r.agree, len(r.missing), len(r.extra))}
	for i, list := range [][]string{r.missing, r.extra} {
		for _, one := range list[:min(len(list), shown)] {
			lines = append(lines, fmt.Sprintf("         %s %s", [...]string{"missing:     ", "not expected:"}[i], one))
		}
	}
	return strings.Join(lines, "\n")
}

// compare compares lists of what happened. Times may differ by some of their units.
func compare(what string, want, got []happening, within float64) result {
	r := result{what: what}
	taken := make([]bool, len(got))
	for _, w := range want {
		i := -1
		for k, g := range got {
			if !taken[k] && g.what == w.what && math.Abs(g.at-w.at) <= within && (i < 0 || math.Abs(g.at-w.at) < math.Abs(got[i].at-w.at)) {
				i = k
			}
		}
		if i < 0 {
			r.missing = append(r.missing, fmt.Sprintf("%s at %v", w.what, w.at))
			continue
		}
		taken[i] = true
		r.agree++
	}
	for i, g := range got {
		if !taken[i] {
			r.extra = append(r.extra, fmt.Sprintf("%s at %v", g.what, g.at))
		}
	}
	return r
}

// count compares a number.
func (r *result) count(of string, want, got int64) {
	if want == got {
		r.agree++
	} else {
		r.missing, r.extra = append(r.missing, fmt.Sprintf("%s %d", of, want)), append(r.extra, fmt.Sprintf("%s %d", of, got))
	}
}

// own compares the facts with what the game itself counts.
func (m *match) own() []result {
	file := result{what: "the file can be decoded to its end"}
	file.count("faults", 0, int64(m.faults))
	if m.broken != nil {
		file.extra = append(file.extra, m.broken.Error())
	}
	counts := result{what: "kills, deaths and assists as the game counts them"}
	for _, i := range slices.Sorted(maps.Keys(m.players)) {
		p := m.players[i]
		if !p.counted {
			continue
		}
		of := fmt.Sprintf("player %d, %s:", i, p.name)
		kills := p.factKills
		if len(m.rounds) > 0 {
			kills -= p.teammen // of which the game takes one away
		}
		counts.count(of+" kills", int64(p.kills), int64(kills))
		counts.count(of+" deaths", int64(p.deaths), int64(p.factDeaths))
		counts.count(of+" assists", int64(p.assists), int64(p.factAssists))
	}
	rounds := result{what: "rounds in their order"}
	for i, r := range m.rounds {
		rounds.count("round", int64(i+1), int64(r.number))
	}
	return []result{file, counts, rounds}
}

// again compares facts from the middle of a file with those from its beginning.
func (m *match) again(file io.ReadSeeker) ([]result, error) {
	var results []result
	for _, share := range []int32{1, 2, 3} {
		tick := m.ticks / 4 * share
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
		r := result{what: fmt.Sprintf("facts from tick %d as from the beginning", tick)}
		d := dem.New(file, dem.Options{Kinds: func(k dem.Kind) bool { return factKinds[k] }})
		var got []string
		if err := d.SeekTick(tick); err == nil {
			_ = decode(d, func(ev *dem.Event) { got = append(got, factText(d, ev)) })
		}
		from := slices.IndexFunc(m.at, func(at int32) bool { return at >= tick })
		want := m.facts[max(from, 0):]
		if from < 0 {
			want = nil
		}
		for i := range max(len(want), len(got)) {
			switch {
			case i >= len(got):
				r.missing = append(r.missing, want[i])
			case i >= len(want):
				r.extra = append(r.extra, got[i])
			case want[i] != got[i]:
				r.missing, r.extra = append(r.missing, want[i]), append(r.extra, got[i])
			default:
				r.agree++
			}
		}
		results = append(results, r)
	}
	return results, nil
}

// openDota is a part of OpenDota's answer.
type openDota struct {
	Players []struct {
		Slot     int32 `json:"player_slot"`
		Kills    int32 `json:"kills"`
		Deaths   int32 `json:"deaths"`
		Assists  int32 `json:"assists"`
		LastHits int32 `json:"last_hits"`
		Denies   int32 `json:"denies"`
		NetWorth int32 `json:"net_worth"`

		KillsLog []entry `json:"kills_log"`
		Bought   []entry `json:"purchase_log"`
	} `json:"players"`
	Objectives []struct {
		entry
		Type string `json:"type"`
	} `json:"objectives"`
}

// entry is an entry of one of OpenDota's lists, with the time on the game's clock.
type entry struct {
	Time float64 `json:"time"`
	Key  any     `json:"key"`
}

// clockOff is by how many seconds OpenDota's times, which are whole, may differ.
const clockOff = 1.5

// compareOpenDota compares a match of Dota 2.
func (m *match) compareOpenDota(said *openDota) []result {
	counts := result{what: "OpenDota's players"}
	var kills, bought, fallen []happening
	byNumber := map[int32]bool{}
	for _, q := range said.Players {
		number := q.Slot & 127 // the first bit is the side
		if q.Slot >= 128 {
			number += 5
		}
		byNumber[number] = true
		p := m.player(number)
		of := fmt.Sprintf("player %d, %s:", number, p.name)
		for _, c := range []struct {
			name      string
			want, got int32
		}{
			{"kills", q.Kills, p.kills}, {"deaths", q.Deaths, p.deaths}, {"assists", q.Assists, p.assists}, {"last hits", q.LastHits, p.lastHits}, {"denies", q.Denies, p.denies},
			{"net worth", q.NetWorth, p.netWorth},
		} {
			counts.count(of+" "+c.name, int64(c.want), int64(c.got))
		}
		for _, e := range q.KillsLog {
			kills = append(kills, happening{e.Time, fmt.Sprint("kills ", e.Key)})
		}
		for _, e := range q.Bought {
			bought = append(bought, happening{e.Time, fmt.Sprintf("player %d buys item_%v", number, e.Key)})
		}
	}
	for _, o := range said.Objectives {
		if o.Type == "building_kill" {
			fallen = append(fallen, happening{o.Time, fmt.Sprint(o.Key, " falls")})
		}
	}
	return []result{
		counts,
		compare("OpenDota's kills_log", kills, heroKills(m.kills), clockOff),
		compare("OpenDota's purchase_log", bought, without(m.purchases, " item_recipe_"), clockOff),
		compare("OpenDota's building_kill", fallen, m.buildings, clockOff),
	}
}

// heroKills are the kills by heroes, as OpenDota's lists of each hero have them.
func heroKills(kills []happening) (out []happening) {
	for _, k := range kills {
		if killer, victim, ok := strings.Cut(k.what, " kills "); ok && strings.HasPrefix(killer, "npc_dota_hero_") {
			out = append(out, happening{k.at, "kills " + victim})
		}
	}
	return out
}

// without leaves out what contains a text.
func without(list []happening, text string) []happening {
	return slices.DeleteFunc(slices.Clone(list), func(h happening) bool { return strings.Contains(h.what, text) })
}

// csdmMatch is a part of what cs-demo-analyzer writes.
type csdmMatch struct {
	Kills []struct {
		Tick   float64 `json:"tick"`
		Killer uint64  `json:"killerSteamId"`
		Victim uint64  `json:"victimSteamId"`
	} `json:"kills"`
	Damages []struct {
		Tick     float64 `json:"tick"`
		Attacker uint64  `json:"attackerSteamId"`
		Victim   uint64  `json:"victimSteamId"`
		Left     int     `json:"victimNewHealth"`
	} `json:"damages"`
	Rounds []struct {
		Number    int32 `json:"number"`
		FreezeEnd int32 `json:"freezeTimeEndTick"`
		End       int32 `json:"endTick"`
		Winner    int32 `json:"winnerSide"`
		Reason    int32 `json:"endReason"`
	} `json:"rounds"`
	Planted  []struct{ Tick float64 } `json:"bombsPlanted"`
	Defused  []struct{ Tick float64 } `json:"bombsDefused"`
	Exploded []struct{ Tick float64 } `json:"bombsExploded"`
}

// tickOff is by how many ticks cs-demo-analyzer's may differ: it may count from another one.
const tickOff = 2

// compareCSDM compares a game of Counter-Strike 2. The other one leaves out the warm-up.
func (m *match) compareCSDM(said *csdmMatch) []result {
	var kills, damages, bombs, rounds, own []happening
	first := math.Inf(1)
	for _, r := range said.Rounds {
		first = min(first, float64(r.FreezeEnd)) // nobody is hurt before
		rounds = append(rounds, happening{float64(r.End), fmt.Sprintf("round %d ends: side %d by %d", r.Number, r.Winner, r.Reason)})
	}
	for _, r := range m.rounds {
		own = append(own, happening{float64(r.ended), fmt.Sprintf("round %d ends: side %d by %d", r.number, r.winner, r.reason)})
	}
	for _, k := range said.Kills {
		kills = append(kills, happening{k.Tick, fmt.Sprintf("%d kills %d", k.Killer, k.Victim)})
	}
	for _, d := range said.Damages {
		damages = append(damages, happening{d.Tick, fmt.Sprintf("%d hurts %d, left %d", d.Attacker, d.Victim, d.Left)})
	}
	for i, list := range [][]struct{ Tick float64 }{said.Planted, said.Defused, said.Exploded} {
		for _, b := range list {
			bombs = append(bombs, happening{b.Tick, [...]string{"planted", "defused", "exploded"}[i]})
		}
	}
	played := func(list []happening) []happening {
		return slices.DeleteFunc(slices.Clone(list), func(h happening) bool { return h.at < first-tickOff })
	}
	return []result{
		compare("cs-demo-analyzer's rounds", rounds, own, tickOff),
		compare("cs-demo-analyzer's kills", kills, played(m.kills), tickOff),
		compare("cs-demo-analyzer's damages", damages, played(m.damages), tickOff),
		compare("cs-demo-analyzer's bombs", bombs, played(m.bombs), tickOff),
	}
}
