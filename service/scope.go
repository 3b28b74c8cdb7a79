package service

import (
	"context"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/stream"
)

// What a caller may not see is treated as if it were not there: it is refused with the words of a missing file, and what
// leads to it (cursors, successors, searches, maps, players of earlier games) leads nowhere.

// scopeOf returns the roots that the caller may see.
func scopeOf(ctx context.Context) index.Scope { return access.Of(ctx).Roots() }

// seen returns the error of a missing file for one that the caller may not see.
func seen(ctx context.Context, name string, f decoders.Format) error {
	if g := access.Of(ctx); !g.Reaches(name) || !g.Sees(f) {
		return catalog.NotFound(name)
	}
	return nil
}

// formatsSeen returns those of the formats that are asked for, of all for none, which the caller may see.
func formatsSeen(ctx context.Context, asked []decoders.Format) []decoders.Format {
	g := access.Of(ctx)
	if len(asked) == 0 {
		return g.Formats()
	}
	list := []decoders.Format{}
	for _, f := range asked {
		if g.Sees(f) {
			list = append(list, f)
		}
	}
	if len(list) == 0 {
		list = append(list, decoders.Unknown) // of which there is no replay
	}
	return list
}

// rosterSeen is index.Roster for a caller: nil if the caller may not see one of the games that it may come from.
func (s *Server) rosterSeen(ctx context.Context, g *access.Grant, identity string) []byte {
	const most = 64 // more games back nobody looks
	for at, n := identity, 0; g.Roots() != nil && at != "" && n < most; n++ {
		copies := s.index.Copies(at, nil)
		if len(copies) == 0 {
			break
		}
		if len(s.index.Copies(at, g.Roots())) == 0 {
			return nil
		}
		at = copies[0].Previous
	}
	return s.index.Roster(ctx, identity)
}

// standingSeen returns as much of the standing of a shared replay as a caller may see.
func standingSeen(g *access.Grant, standing stream.Standing) stream.Standing {
	w := standing.Waiting
	if w == nil || g.Roots() == nil {
		return standing
	}
	visible := &replaydv1.Waiting{WaitingFor: w.GetWaitingFor()}
	for _, name := range w.GetLikelySuccessors() {
		if g.Reaches(name) {
			visible.LikelySuccessors = append(visible.LikelySuccessors, name)
		}
	}
	standing.Waiting = visible
	return standing
}
