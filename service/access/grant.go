package access

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/replayd/replayd/decoders"
)

// Power is what may be done: a set.
type Power uint8

// The powers.
const (
	// Read is to list, describe, watch and stream what lies below the roots.
	Read Power = 1 << iota
	// Upload is to have an upload decoded.
	Upload
	// Metrics is to read the metrics.
	Metrics
	// Debug is to profile the process.
	Debug

	all = Read | Upload | Metrics | Debug
)

var powerNames = []string{"read", "upload", "metrics", "debug"}

// String returns the names of the powers.
func (p Power) String() string {
	var names []string
	for i, name := range powerNames {
		if p&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}

// Quota is what a caller may take at once. What is zero is not limited.
type Quota struct {
	Streams int
	Memory  int64   // bytes
	Spool   int64   // bytes
	Rate    float64 // calls a second
}

// Grant is who calls, and what he may do. It is immutable. The nil *Grant may do everything: it is of calls that come from
// inside the process.
type Grant struct {
	// Name is the caller's name in the log; empty for a caller of whom nothing is known.
	Name string
	// Expires is when he is no longer let in; the zero time for never.
	Expires time.Time
	Quota   Quota

	id      string // the credential; empty where none is demanded
	may     Power
	roots   map[string]bool          // by alias; nil for all
	formats map[decoders.Format]bool // nil for all
}

// Everybody returns the grant of callers without a token, where none is required.
func Everybody(name string) *Grant { return &Grant{Name: name, may: all} }

// May reports whether he has a power.
func (g *Grant) May(p Power) bool { return g == nil || g.may&p == p }

// Roots are the aliases of the roots that he may see; nil stands for all.
func (g *Grant) Roots() map[string]bool {
	if g == nil {
		return nil
	}
	return g.roots
}

// RootsKey is equal for those who may see the same roots, and empty for all roots.
func (g *Grant) RootsKey() string {
	if g == nil || g.roots == nil {
		return ""
	}
	return "/" + strings.Join(slices.Sorted(maps.Keys(g.roots)), "/")
}

// Formats are the formats that he may see; nil stands for all.
func (g *Grant) Formats() []decoders.Format {
	if g == nil || g.formats == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(g.formats))
}

// Sees reports whether he may see replays of a format.
func (g *Grant) Sees(f decoders.Format) bool { return g == nil || g.formats == nil || g.formats[f] }

// Reaches reports whether he may see what has that name.
func (g *Grant) Reaches(name string) bool {
	if g == nil || g.roots == nil {
		return true
	}
	alias, _, _ := strings.Cut(name, "/")
	return g.roots[alias]
}

// Key is the caller's key for limits that each caller has. It is empty for a caller of whom nothing is known.
func (g *Grant) Key() string {
	if g == nil {
		return ""
	}
	return g.id
}

// expired reports whether his time is over.
func (g *Grant) expired(now time.Time) bool { return !g.Expires.IsZero() && !now.Before(g.Expires) }

// same reports whether two grants allow the same.
func (g *Grant) same(other *Grant) bool { return reflect.DeepEqual(g, other) }

type grantKey struct{}

// With returns the context of a call with a grant.
func With(ctx context.Context, g *Grant) context.Context {
	return context.WithValue(ctx, grantKey{}, g)
}

// Of returns who makes the call that a context is of; nil when that is the process itself.
func Of(ctx context.Context) *Grant {
	g, _ := ctx.Value(grantKey{}).(*Grant)
	return g
}
