package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/replayd/replayd/decoders/dem/demtest"
)

type object = map[string]any

// said returns what OpenDota would say of a match of our own.
func said(played *demtest.PlayedMatch) object {
	clock := func(tick int32) int { return int(tick-played.Horn) / 30 }
	log := func(what demtest.Deeds, by int32, key func(d *demtest.Deed) string) (list []object) {
		for i := range played.Deeds {
			if d := &played.Deeds[i]; d.What == what && (by < 0 || d.By == by) {
				list = append(list, object{"time": clock(d.Tick), "key": key(d), "type": "building_kill"})
			}
		}
		return list
	}
	item := func(d *demtest.Deed) string { return strings.TrimPrefix(d.With, "item_") }
	var players []object
	for i, p := range played.Players {
		players = append(players, object{
			"player_slot": i%5 + i/5*128, "kills": p.Kills, "deaths": p.Deaths, "assists": p.Assists, "net_worth": p.NetWorth,
			"kills_log":    log(demtest.DeedKill, int32(i), func(d *demtest.Deed) string { return played.Players[d.Of].Hero }),
			"purchase_log": log(demtest.DeedPurchase, int32(i), item),
		})
	}
	buildings := log(demtest.DeedBuilding, -1, func(d *demtest.Deed) string { return d.With })
	return object{"players": players, "objectives": append(buildings, object{"type": "CHAT_MESSAGE_ROSHAN_KILL", "time": 1})}
}

// analyzed returns what cs-demo-analyzer would say of rounds of our own.
func analyzed(played []demtest.PlayedRound) object {
	const steam = 76561197960265729
	id := func(i int32) uint64 {
		if i < 0 {
			return 0
		}
		return steam + uint64(i)
	}
	var kills, damages, rounds, planted []object
	for _, r := range played {
		rounds = append(rounds, object{"number": r.Number, "freezeTimeEndTick": r.FreezeEnd, "endTick": r.Ended, "winnerSide": r.Winner, "endReason": r.Reason})
		if r.Planted >= 0 {
			planted = append(planted, object{"tick": r.Planted})
		}
		for _, h := range r.Hits {
			damages = append(damages, object{"tick": h.Tick, "attackerSteamId": id(h.Attacker), "victimSteamId": id(h.Victim), "victimNewHealth": h.Left})
			if h.Left == 0 {
				kills = append(kills, object{"tick": h.Tick, "killerSteamId": id(h.Attacker), "victimSteamId": id(h.Victim)})
			}
		}
	}
	return object{"kills": kills, "damages": damages, "rounds": rounds, "bombsPlanted": planted}
}

// checked writes a demo and what others say of it to files, and returns the comparisons that differ.
func checked(t *testing.T, data []byte, compare func(m *match, said []byte) []result, said object) (differing []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "match.dem")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	m, err := read(file)
	if err != nil {
		t.Fatal(err)
	}
	again, err := m.again(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(said)
	if err != nil {
		t.Fatal(err)
	}
	others := compare(m, text)
	for _, r := range slices.Concat(m.own(), again, others) {
		if !r.ok() {
			differing = append(differing, r.String())
		}
	}
	for _, r := range slices.Concat(again, others) {
		if r.agree == 0 {
			t.Errorf("nothing was compared: %v", &r)
		}
	}
	return differing
}

func byOpenDota(m *match, text []byte) []result {
	var said openDota
	if err := json.Unmarshal(text, &said); err != nil {
		return []result{{what: "JSON", missing: []string{err.Error()}}}
	}
	return m.compareOpenDota(&said)
}

func byCSDM(m *match, text []byte) []result {
	var said csdmMatch
	if err := json.Unmarshal(text, &said); err != nil { //nolint:musttag // what is without a tag is named as in the file, but for its case
		return []result{{what: "JSON", missing: []string{err.Error()}}}
	}
	return m.compareCSDM(&said)
}

// TestCheck: matches of our own are as others would say, and each change of what they say is found.
func TestCheck(t *testing.T) {
	match, played := demtest.LongMatch(5, 2)
	if got := checked(t, match, byOpenDota, said(played)); len(got) > 0 {
		t.Errorf("Dota 2:\n%s", strings.Join(got, "\n"))
	}
	rounds, ledger := demtest.LongRounds(5, 1)
	others := analyzed(ledger)
	if got := checked(t, rounds, byCSDM, others); len(got) > 0 {
		t.Errorf("Counter-Strike 2:\n%s", strings.Join(got, "\n"))
	}
	for what, change := range map[string]func(*demtest.Deed) bool{
		"kills_log":     func(d *demtest.Deed) bool { d.Tick += 90; return d.What == demtest.DeedKill && d.By >= 0 },
		"purchase_log":  func(d *demtest.Deed) bool { d.With = "item_rapier"; return d.What == demtest.DeedPurchase },
		"building_kill": func(d *demtest.Deed) bool { d.With += "!"; return d.What == demtest.DeedBuilding },
	} {
		other := *played
		other.Deeds = slices.Clone(played.Deeds)
		for i := range other.Deeds {
			if d := other.Deeds[i]; change(&d) {
				other.Deeds[i] = d
				break
			}
		}
		if got := checked(t, match, byOpenDota, said(&other)); len(got) != 1 || !strings.Contains(got[0], what) || !strings.Contains(got[0], "1 are missing, 1 are not expected") {
			t.Errorf("%s changed: %q", what, got)
		}
	}
	for _, what := range []string{"kills", "damages", "rounds"} {
		other := analyzed(ledger)
		other[what] = other[what].([]object)[1:]
		if got := checked(t, rounds, byCSDM, other); len(got) == 0 || !strings.Contains(fmt.Sprint(got), "cs-demo-analyzer's "+what) {
			t.Errorf("%s changed: %q", what, got)
		}
	}
}
