package entity_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/replayd/replayd/decoders/dem/internal/entity"
)

// TestShown: the slots that are found are those that were shown last, at the ends of words, too.
func TestShown(t *testing.T) {
	var s entity.Store
	new(entity.Spare).Lend(&s, new(entity.Update))
	want := map[int]bool{}
	random := rand.New(rand.NewPCG(1, 2))
	edges := []int{0, 1, 62, 63, 64, 127, 128, entity.MaxEntities - 65, entity.MaxEntities - 64, entity.MaxEntities - 1}
	for range 2000 {
		index := random.IntN(entity.MaxEntities)
		if random.IntN(2) == 0 {
			index = edges[random.IntN(len(edges))]
		}
		shown := random.IntN(3) > 0
		if s.Show(index, shown); shown {
			want[index] = true
		} else {
			delete(want, index)
		}
	}
	var all, got []int
	for index := range want {
		all = append(all, index)
	}
	slices.Sort(all)
	for i := s.NextShown(0); i < entity.MaxEntities; i = s.NextShown(i + 1) {
		got = append(got, i)
	}
	if !slices.Equal(got, all) {
		t.Errorf("%d slots are shown, want %d", len(got), len(all))
	}
	if i := s.NextShown(entity.MaxEntities); i != entity.MaxEntities {
		t.Errorf("behind the last slot there is %d", i)
	}
	// A released slot shows nothing, until it is shown again.
	s.Create(7)
	s.Show(7, true)
	s.Release(7)
	if s.NextShown(7) == 7 {
		t.Error("a released slot is shown")
	}
}
