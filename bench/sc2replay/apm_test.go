package sc2replay_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/icza/s2prot/rep"

	"github.com/replayd/replayd/decoders/sc2replay"
)

// TestSummaryAPM: the actions per minute of the client's summary are those that s2prot reads there.
func TestSummaryAPM(t *testing.T) {
	compared := 0
	for name, data := range corpus(t) {
		theirs, err := rep.NewEvts(bytes.NewReader(data), false, false, false)
		if err != nil {
			continue
		}
		ours, err := sc2replay.Open(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Error(name, err)
			continue
		}
		unpacked, err := ours.Unpack()
		if err != nil {
			t.Error(name, err)
			continue
		}
		players := unpacked.Replay().Players // with the numbers that the tracker has
		byID := map[uint32]*sc2replay.PlayerInfo{}
		for i := range players {
			byID[players[i].Ref.PlayerId] = &players[i]
		}
		for _, p := range theirs.Metadata.Players() {
			mine := byID[uint32(p.PlayerID())]
			if p.APM() == 0 && (mine == nil || mine.Computer) {
				continue // numbers of co-op's computers are the tracker's alone
			}
			if mine == nil || mine.HasApm != (p.Value("APM") != nil) || mine.Apm != p.APM() {
				t.Errorf("%s: player %d has %+v, s2prot %v", name, p.PlayerID(), mine, p.APM())
			}
			compared++
		}
		_ = theirs.Close()
	}
	t.Logf("%d players are the same", compared)
	if compared == 0 {
		t.Error("no player was compared")
	}
}

// apmFile has the actions that sc2reader counts: a replay by the beginning of its SHA-256, a player's number, the actions, and the
// seconds by which sc2reader divides them.
const apmFile = "testdata/apm.txt"

// TestCountedAPM: a player's actions are those that sc2reader counts. So are the actions per minute, which are the actions by the minutes
// of real time until the player left. Where sc2reader divides by something else, the test says why.
func TestCountedAPM(t *testing.T) {
	text, err := os.ReadFile(apmFile)
	if err != nil {
		t.Fatal(err)
	}
	type counted struct {
		player           uint32
		actions, seconds int
	}
	wants := map[string][]counted{}
	for line := range strings.Lines(string(text)) {
		var key string
		var c counted
		if strings.HasPrefix(line, "#") {
			continue
		}
		if _, err := fmt.Sscan(line, &key, &c.player, &c.actions, &c.seconds); err != nil {
			t.Fatal(err)
		}
		wants[key] = append(wants[key], c)
	}
	same, why := 0, map[string]int{}
	for name, data := range corpus(t) {
		sum := sha256.Sum256(data)
		want := wants[hex.EncodeToString(sum[:8])]
		if want == nil {
			continue
		}
		p, err := sc2replay.Open(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Error(name, err)
			continue
		}
		players := map[uint32]*sc2replay.FactPlayer{}
		for _, fact := range concluded(t, data) {
			if fact.Kind == sc2replay.KindFactPlayer {
				players[fact.FactPlayer.PlayerId] = &fact.FactPlayer
			}
		}
		ours, theirs := 0, 0
		for _, q := range players {
			ours += int(q.Actions)
		}
		for _, w := range want {
			theirs += w.actions
		}
		switch {
		case len(players) == 0:
			why["no facts of a damaged replay"] += len(want)
			continue
		case len(players) < len(want) && ours == theirs:
			why["two users are one player, in archon mode"] += len(want)
			continue
		}
		for _, w := range want {
			q := players[w.player]
			if q == nil || q.Actions != uint32(w.actions) {
				t.Errorf("%s: player %d has the actions of %+v, sc2reader counts %d", name, w.player, q, w.actions)
				continue
			}
			until := int64(p.Start.ElapsedGameLoops)
			if q.HasLeftTick {
				until = int64(q.LeftTick)
			}
			ours := float64(q.Actions) * 60 / (float64(until) / p.Start.LoopsPerRealSecond)
			theirs := float64(w.actions) * 1.4 * 60 / float64(w.seconds)
			switch speed, _ := p.Speed(); {
			case w.actions == 0 || w.seconds == 0:
				why["no action"]++
			case math.Abs(ours-theirs) <= 1.05*theirs/float64(w.seconds): // their seconds are whole ones
				same++
			case int64(w.seconds-1)*16 > int64(p.Start.ElapsedGameLoops):
				why["sc2reader lets the player leave after the game's end, in a game that continues from a replay"]++
			case strings.Contains(name, "gameheart"):
				why["sc2reader counts time from when the map has chosen the players"]++
			case speed != 4:
				why["sc2reader takes every game's speed for Faster"]++
			case !q.HasLeftTick && p.Start.Version.Build >= 34784 && math.Abs(ours*1.4-theirs) <= 1.05*theirs/float64(w.seconds):
				why["sc2reader's length is in real seconds since 3.0, and it multiplies by 1.4 again for players who do not leave"]++
			default:
				t.Errorf("%s: player %d has %.2f actions a minute, sc2reader %.2f", name, w.player, ours, theirs)
			}
		}
	}
	t.Logf("%d players are the same; others: %v", same, why)
	if same == 0 {
		t.Error("no player was compared")
	}
}
