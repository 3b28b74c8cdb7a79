package service_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sc2replayv1 "github.com/replayd/replayd/proto/replayd/sc2replay/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// TestGuessedTable streams replays whose base build has no protocol table. The start says so, each time is counted, and the log
// has it once.
func TestGuessedTable(t *testing.T) {
	dir := t.TempDir()
	for _, file := range []string{"future.SC2Replay", "between.SC2Replay", "5.0.SC2Replay"} {
		data, err := os.ReadFile(samples("sc2replay", file))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, file), data)
	}
	d := start(t, dir)
	for _, tt := range []struct {
		file  string
		match sc2replayv1.TableMatch
	}{
		{"future.SC2Replay", sc2replayv1.TableMatch_TABLE_MATCH_NEAREST}, {"future.SC2Replay", sc2replayv1.TableMatch_TABLE_MATCH_NEAREST},
		{"between.SC2Replay", sc2replayv1.TableMatch_TABLE_MATCH_FITTED}, {"5.0.SC2Replay", sc2replayv1.TableMatch_TABLE_MATCH_EXACT},
	} {
		s := d.Session(timeout(t), &replaydv1.StreamEventsRequest{Replay: name(tt.file)}, nil)
		if got := response(t, s, 0).GetStart().GetReplay().GetSc2Replay().GetStart().GetDecodeInfo().GetMatch(); got != tt.match {
			t.Errorf("%s: the start says %v, want %v", tt.file, got, tt.match)
		}
		described, err := d.client.GetReplay(timeout(t), &replaydv1.GetReplayRequest{Replay: name(tt.file), View: replaydv1.ReplayView_REPLAY_VIEW_FULL})
		if got := described.GetReplay().GetSc2Replay().GetStart().GetDecodeInfo().GetMatch(); err != nil || got != tt.match {
			t.Errorf("%s: it is described as %v, %v, want %v", tt.file, got, err, tt.match)
		}
	}
	got := d.sample(t)
	for _, want := range []string{`replayd_guessed_tables_total{match="nearest"} 2`, `replayd_guessed_tables_total{match="fitted"} 1`} {
		if !slices.Contains(got, want) {
			t.Errorf("no %s among\n%s", want, strings.Join(got, "\n"))
		}
	}
	if n := strings.Count(d.log.String(), "has no protocol table"); n != 2 {
		t.Errorf("the log has it %d times:\n%s", n, d.log.String())
	}
}
