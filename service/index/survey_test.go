package index_test

import (
	"fmt"
	"testing"

	"github.com/replayd/replayd/decoders/dem/demtest"
	"github.com/replayd/replayd/service/index"
)

// TestInterrupted: the survey of a demo that is interrupted again and again by new files is done in the end.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	demo, err := demtest.Repeat(demtest.Players("csgo"), 2<<20)
	if err != nil {
		t.Fatal(err)
	}
	tr := tree{t, t.TempDir()}
	tr.write("demo.dem", demo[:len(demo)-100])
	x := open(t, map[string]string{"r": tr.dir}, func(c *index.Config) { c.Budget = 0.1 })
	const games = 30
	for i := range games {
		tr.write(fmt.Sprint(i), game(i+1))
		list(t, x, index.Query{Scope: index.Everything()}, 1000)
	}
	surveyed(t, x, 1+games)
	await(t, "the players of the demo are known", func() bool {
		page, err := x.List(t.Context(), index.Query{Scope: index.Everything(), Filter: index.Filter{Player: "Larry"}}, "", 10)
		return err == nil && len(page.Replays) == 1
	})
}
