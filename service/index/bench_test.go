package index_test

import (
	"fmt"
	"testing"

	"github.com/replayd/replayd/service/index"
)

// BenchmarkSearch searches 5,000 known games. docs/performance.md has figures for 100,000.
func BenchmarkSearch(b *testing.B) {
	const files = 5000
	tr := tree{b, b.TempDir()}
	for i := range files {
		tr.write(fmt.Sprintf("%d/%d", i%25, i), game(i+1, "server_name", fmt.Sprint("server ", i%25)))
	}
	x := open(b, map[string]string{"r": tr.dir}, func(c *index.Config) { c.Budget = 1 })
	await(b, "all is known", func() bool { return x.Figures().Surveyed == files })
	for _, f := range []struct {
		what   string
		filter index.Filter
	}{
		{"nobody", index.Filter{Player: "nobody*"}},
		{"server", index.Filter{Server: "server 7:*"}},
		{"state", index.Filter{States: []index.State{index.Unknown}}},
		{"everything", index.Filter{}},
	} {
		b.Run(f.what, func(b *testing.B) {
			for b.Loop() {
				if _, err := x.List(b.Context(), index.Query{Scope: index.Everything(), Filter: f.filter}, "", 100); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
