package service

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	sc2replayv1 "github.com/replayd/replayd/proto/replayd/sc2replay/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

func newGuessed() *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "replayd", Name: "guessed_tables_total",
		Help: "Streams of StarCraft II replays whose base build has no protocol table, by how one was chosen: nearest or fitted.",
	}, []string{"match"})
	for _, match := range []sc2replayv1.TableMatch{sc2replayv1.TableMatch_TABLE_MATCH_NEAREST, sc2replayv1.TableMatch_TABLE_MATCH_FITTED} {
		c.WithLabelValues(matchName(match))
	}
	return c
}

// matchName returns the name of a match for metrics and the log.
func matchName(m sc2replayv1.TableMatch) string {
	return strings.ToLower(strings.TrimPrefix(m.String(), "TABLE_MATCH_"))
}

// noteGuessed counts a StarCraft II replay whose base build has no protocol table. It logs each base build once, so that an
// operator sees on the day of a patch that tables are missing.
func (s *Server) noteGuessed(r *replaydv1.Replay) {
	info := r.GetSc2Replay().GetStart().GetDecodeInfo()
	match := info.GetMatch()
	if match != sc2replayv1.TableMatch_TABLE_MATCH_NEAREST && match != sc2replayv1.TableMatch_TABLE_MATCH_FITTED {
		return
	}
	s.guessed.WithLabelValues(matchName(match)).Inc()
	if s.warnings.Add(1) > maxWarnings {
		return
	}
	if _, known := s.warned.LoadOrStore(info.GetBaseBuild(), true); !known {
		s.Log.Warn("a StarCraft II base build has no protocol table; another build's is used, and names may be guesses: docs/patch-day.md",
			"base_build", info.GetBaseBuild(), "table_build", info.GetTableBuild(), "match", matchName(match),
			"names_build", info.GetNames().GetBuild(), "replay", r.GetName())
	}
}
