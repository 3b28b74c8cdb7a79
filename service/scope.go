package service

import (
	"context"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/stream"
	"github.com/replayd/replayd/service/temporary"
)

// A replay that the caller may not see is treated as if it did not exist. It is refused with the text of a missing file, and
// cursors, successors, searches, maps and players of earlier games do not lead to it.

// scopeOf returns the roots that the caller may see.
func scopeOf(ctx context.Context) index.Scope { return access.Of(ctx).Roots() }

// reaches reports whether the caller may see the replay or directory of that name. Temporary replays are in no root; openTemporary
// refuses those of others.
func reaches(g *access.Grant, name string) bool { return temporary.Is(name) || g.Reaches(name) }

// seen returns the error of a missing file if the caller may not see the replay.
func seen(ctx context.Context, name string, f decoders.Format) error {
	if g := access.Of(ctx); !reaches(g, name) || !g.Sees(f) {
		return catalog.NotFound(name)
	}
	return nil
}

// formatsSeen returns the formats of asked that the caller may see. An empty asked means all formats.
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
		list = append(list, decoders.Unknown) // matches no replay
	}
	return list
}

// rosterSeen is index.Roster for a caller. It returns nil if the caller may not see a game that the roster may come from.
func (s *Server) rosterSeen(ctx context.Context, g *access.Grant, identity string) []byte {
	const most = 64 // games back, at most
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

// standingSeen returns the part of a standing that the caller may see.
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
