package sc2replay_test

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"slices"
	"testing"

	"github.com/icza/s2prot/rep"

	"github.com/replayd/replayd/decoders/sc2replay"
	"github.com/replayd/replayd/decoders/sc2replay/facts"
)

// concluded returns the facts of a replay, or nothing if it is damaged.
func concluded(tb testing.TB, data []byte) (all []sc2replay.Event) {
	tb.Helper()
	p, err := sc2replay.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil
	}
	d, fold := p.Events(sc2replay.Options{}), facts.New(p)
	var ev, fact sc2replay.Event
	for {
		if err := d.Next(&ev); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			return nil
		}
		for fold.Apply(&ev); fold.Next(&fact); {
			all = append(all, fact)
		}
	}
}

// TestSpending compares players' spending quotients, shares of capped supply and start places with those of s2prot.
func TestSpending(t *testing.T) {
	replays, players, units := 0, 0, 0
	files := corpus(t)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		theirs, err := rep.NewEvts(bytes.NewReader(files[name]), false, false, true)
		if err != nil {
			continue
		}
		if theirs.TrackerEvts == nil || theirs.TrackerEvtsErr {
			_ = theirs.Close()
			continue
		}
		ours := concluded(t, files[name])
		replays++
		for i := range ours {
			if ours[i].Kind == sc2replay.KindFactUnit {
				units++
			}
			if ours[i].Kind != sc2replay.KindFactPlayer {
				continue
			}
			p := &ours[i].FactPlayer
			want := theirs.TrackerEvts.PIDPlayerDescMap[int64(p.PlayerId)]
			if want == nil || p.Samples == 0 {
				continue
			}
			players++
			if p.HasSpendingQuotient && p.SpendingQuotient != want.SQ || int32(float64(p.SupplyCapped)*100+1e-4) != want.SupplyCappedPercent {
				t.Errorf("%s, player %d: spending quotient %d, capped %v; s2prot has %d, %d %%", name, p.PlayerId,
					p.SpendingQuotient, p.SupplyCapped, want.SQ, want.SupplyCappedPercent)
			}
			if p.HasStartPlace && theirs.Header.BaseBuild() >= 27950 && (int64(p.StartPlace.X) != want.StartLocX || int64(p.StartPlace.Y) != want.StartLocY) {
				t.Errorf("%s, player %d: begins at %v; s2prot has %d, %d", name, p.PlayerId, p.StartPlace, want.StartLocX, want.StartLocY)
			}
		}
		_ = theirs.Close()
	}
	t.Logf("%d players of %d replays are the same; %d lives of units have ended", players, replays, units)
	if players == 0 {
		t.Error("no player was compared")
	}
}
