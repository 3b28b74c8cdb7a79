// Package scope says which replays a caller may see.
//
// A replay that the caller may not see is treated as if it did not exist. It is refused with the text of a missing file, and
// cursors, successors, searches, maps and players of earlier games do not lead to it. What a file says of other files counts only
// in its own family: see index.Family.
package scope

import (
	"context"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/temporary"
)

// Of returns the roots that the caller may see.
func Of(ctx context.Context) index.Scope { return OfGrant(access.Of(ctx)) }

// OfGrant returns the roots that a caller may see.
func OfGrant(g *access.Grant) index.Scope {
	if roots := g.Roots(); roots != nil {
		return index.Only(roots)
	}
	return index.Everything()
}

// Reaches reports whether the caller may see the replay or directory of that name. Temporary replays are in no root; temporary.Store
// refuses those of others.
func Reaches(g *access.Grant, name string) bool { return temporary.Is(name) || g.Reaches(name) }

// Seen returns the error of a missing file if the caller may not see the replay.
func Seen(ctx context.Context, name string, f decoders.Format) error {
	if g := access.Of(ctx); !Reaches(g, name) || !g.Sees(f) {
		return catalog.NotFound(name)
	}
	return nil
}

// Takes returns an error if the caller may not have an upload of that format decoded.
func Takes(ctx context.Context, f decoders.Format) error {
	if f != decoders.Unknown && !access.Of(ctx).Sees(f) {
		return access.Forbid()
	}
	return nil
}

// Formats returns the requested formats that the caller may see. No requested formats means all.
func Formats(ctx context.Context, asked []decoders.Format) []decoders.Format {
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
