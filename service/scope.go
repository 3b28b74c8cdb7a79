package service

import (
	"context"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/temporary"
)

// A replay that the caller may not see is treated as if it did not exist. It is refused with the text of a missing file, and
// cursors, successors, searches, maps and players of earlier games do not lead to it. What a file says of others counts only in its
// own family: see index.Family.

// scopeOf returns the roots that the caller may see.
func scopeOf(ctx context.Context) index.Scope { return scopeOfGrant(access.Of(ctx)) }

// scopeOfGrant returns the roots that a caller may see.
func scopeOfGrant(g *access.Grant) index.Scope {
	if roots := g.Roots(); roots != nil {
		return index.Only(roots)
	}
	return index.Everything()
}

// familyOf returns what look-ups for a replay or a directory find for the caller.
func (s *Server) familyOf(ctx context.Context, name string) index.Family {
	return s.index.Family(name, scopeOf(ctx))
}

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
