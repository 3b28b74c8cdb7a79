package dem_test

import (
	"bytes"
	"testing"

	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/decoders/dem/demtest"
)

// TestFactsOfSnapshots: from each snapshot come the facts that come without it, also after the decoder that made it, and others, have gone on.
func TestFactsOfSnapshots(t *testing.T) {
	match, _ := demtest.MatchOf(5, 900)
	for name, data := range map[string][]byte{"players": demtest.Players("dota"), "match": match} {
		facts := walk(t, data, dem.Options{Kinds: isFact}, nil)
		for _, s := range snapshots(data, nil, 1+len(data)/20000) {
			rest := only(facts, func(p *placed) bool { return p.at.Offset >= s.Position().Offset })
			for range 2 {
				same(t, name, resumed(t, data, dem.Options{Kinds: isFact}, s, nil), rest)
			}
		}
	}
}

// TestWardsOfNobody: of a ward whose owner is not known, the side is; of one that was there in the beginning nobody says that it was placed.
func TestWardsOfNobody(t *testing.T) {
	placed, of := map[uint32]int{}, map[int32]int{}
	_ = run(dem.New(bytes.NewReader(demtest.Players("dota")), dem.Options{Kinds: isFact}), func(ev *dem.Event) {
		if f := &ev.FactWard; ev.Kind == dem.KindFactWard && f.State == dem.WardStatePlaced {
			placed[f.Index]++
			if f.HasPlayer && f.Player.Team == f.Team {
				of[f.Player.PlayerId]++
			}
		}
	})
	if placed[14] != 0 || placed[15] != 2 || of[-1] != 1 || of[1] != 1 || of[0] != 1 {
		t.Errorf("wards placed in the slots %v, by %v", placed, of)
	}
}
