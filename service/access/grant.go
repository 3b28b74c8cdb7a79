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

// Power is a set of permissions.
type Power uint8

// The powers.
const (
	// Read allows the caller to list, describe, watch and stream the replays below the roots.
	Read Power = 1 << iota
	// Upload allows the caller to upload replays for decoding.
	Upload
	// Metrics allows the caller to read the metrics.
	Metrics
	// Debug allows the caller to profile the process.
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

// Quota limits what a caller may use at once. A zero field is no limit.
type Quota struct {
	Streams int
	Memory  int64   // bytes
	Spool   int64   // bytes
	Rate    float64 // calls a second
}

// Grant identifies a caller and holds what the caller may do. It is immutable. The nil *Grant allows everything: it is used for
// calls from inside the process.
type Grant struct {
	// Name is the caller's name in the log. It is empty for an anonymous caller.
	Name string
	// Expires is when the grant expires; the zero time means never.
	Expires time.Time
	// Quota limits what the caller may use at once.
	Quota Quota

	id      string // the credential; empty if none is required
	may     Power
	roots   map[string]bool          // by alias; nil for all
	formats map[decoders.Format]bool // nil for all
}

// Everybody returns the grant of callers when no credential is required.
func Everybody(name string) *Grant { return &Grant{Name: name, may: all} }

// May reports whether the caller has the powers in p.
func (g *Grant) May(p Power) bool { return g == nil || g.may&p == p }

// Roots returns the aliases of the roots that the caller may see, nil for all roots. It must not be modified.
func (g *Grant) Roots() map[string]bool {
	if g == nil {
		return nil
	}
	return g.roots
}

// RootsKey returns a key that is equal for grants of the same roots. It is empty for all roots.
func (g *Grant) RootsKey() string {
	if g == nil || g.roots == nil {
		return ""
	}
	return "/" + strings.Join(slices.Sorted(maps.Keys(g.roots)), "/")
}

// Formats returns the formats that the caller may see, nil for all formats.
func (g *Grant) Formats() []decoders.Format {
	if g == nil || g.formats == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(g.formats))
}

// Sees reports whether the caller may see replays of a format.
func (g *Grant) Sees(f decoders.Format) bool { return g == nil || g.formats == nil || g.formats[f] }

// Reaches reports whether the caller may see the replay or directory of that name.
func (g *Grant) Reaches(name string) bool {
	if g == nil || g.roots == nil {
		return true
	}
	alias, _, _ := strings.Cut(name, "/")
	return g.roots[alias]
}

// Key identifies the caller for per-caller limits. It is empty for an anonymous caller.
func (g *Grant) Key() string {
	if g == nil {
		return ""
	}
	return g.id
}

// expired reports whether the grant has expired.
func (g *Grant) expired(now time.Time) bool { return !g.Expires.IsZero() && !now.Before(g.Expires) }

// same reports whether two grants are equal.
func (g *Grant) same(other *Grant) bool { return reflect.DeepEqual(g, other) }

type grantKey struct{}

// With returns a context that holds the grant of a call.
func With(ctx context.Context, g *Grant) context.Context {
	return context.WithValue(ctx, grantKey{}, g)
}

// Of returns the grant of the call to which ctx belongs. It is nil for calls from inside the process.
func Of(ctx context.Context) *Grant {
	g, _ := ctx.Value(grantKey{}).(*Grant)
	return g
}
