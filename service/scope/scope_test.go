package scope_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/scope"
	"github.com/replayd/replayd/service/temporary"
)

// grants returns the grants of tokens that a file allows something, by name.
func grants(t *testing.T, lines string, tokens ...string) map[string]*access.Grant {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	gate, err := access.NewGate(access.Options{TokenFile: file, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*access.Grant{"nobody, from inside": nil}
	for _, token := range tokens {
		if all[token], err = gate.Admit(access.Shown{Token: &token}); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// TestScope: a caller reaches the roots and sees the formats of the token, in every question that is asked. What is not seen is told as a file
// that is missing.
func TestScope(t *testing.T) {
	type format = decoders.Format
	const tee, dem, unknown = decoders.Teehistorian, decoders.Dem, decoders.Unknown
	tokens := grants(t, "all\nroot roots=a\nkind formats=dem\nboth roots=a,b formats=dem\n", "all", "root", "kind", "both")
	for who, want := range map[string]struct {
		roots   index.Scope
		reaches []string // of a/x, b/x, a, c and a temporary replay
		takes   []format
		formats [3][]format // of none, of both, of teehistorian alone
	}{
		"nobody, from inside": {
			index.Everything(), []string{"a/x", "b/x", "a", "c"}, []format{unknown, tee, dem}, [3][]format{nil, {tee, dem}, {tee}},
		},
		"all": {
			index.Everything(), []string{"a/x", "b/x", "a", "c"}, []format{unknown, tee, dem}, [3][]format{nil, {tee, dem}, {tee}},
		},
		"root": {
			index.Only(map[string]bool{"a": true}), []string{"a/x", "a"}, []format{unknown, tee, dem}, [3][]format{nil, {tee, dem}, {tee}},
		},
		"kind": {
			index.Everything(), []string{"a/x", "b/x", "a", "c"}, []format{unknown, dem}, [3][]format{{dem}, {dem}, {unknown}},
		},
		"both": {
			index.Only(map[string]bool{"a": true, "b": true}), []string{"a/x", "b/x", "a"}, []format{unknown, dem},
			[3][]format{{dem}, {dem}, {unknown}},
		},
	} {
		t.Run(who, func(t *testing.T) {
			g := tokens[who]
			ctx := access.With(t.Context(), g)
			if got := scope.Of(ctx); !reflect.DeepEqual(got, want.roots) || !reflect.DeepEqual(scope.OfGrant(g), want.roots) {
				t.Errorf("roots %v, not %v", got, want.roots)
			}
			upload := temporary.Prefix + "1"
			for _, name := range []string{"a/x", "b/x", "a", "c", upload} {
				if got := scope.Reaches(g, name); got != (name == upload || slices.Contains(want.reaches, name)) {
					t.Errorf("reaches %s: %v", name, got)
				}
				for _, f := range []format{tee, dem} {
					err := scope.Seen(ctx, name, f)
					seen := scope.Reaches(g, name) && slices.Contains(want.takes, f)
					if (err == nil) != seen || err != nil && !errors.Is(err, catalog.ErrNotFound) || err != nil && err.Error() != catalog.NotFound(name).Error() {
						t.Errorf("sees %s as %v: %v", name, f, err)
					}
				}
			}
			for _, f := range []format{unknown, tee, dem} {
				if err := scope.Takes(ctx, f); (err == nil) != slices.Contains(want.takes, f) {
					t.Errorf("takes %v: %v", f, err)
				}
			}
			for i, asked := range [][]format{nil, {tee, dem}, {tee}} {
				if got := scope.Formats(ctx, asked); !slices.Equal(got, want.formats[i]) || (got == nil) != (want.formats[i] == nil) {
					t.Errorf("of %v, %v", asked, got)
				}
			}
		})
	}
	if !reflect.DeepEqual(scope.Of(context.Background()), index.Everything()) {
		t.Error("the process itself does not see everything")
	}
}
