package dem

import (
	"time"

	"github.com/replayd/replayd/replay/codec"
)

// ShortSections makes sections end where a checkpoint may be, so that short demos have many, makes blocks so short, and has helpers
// leave a part after each step.
func ShortSections(blocks int) (undo func()) {
	section, block, long := sectionBytes, blockBytes, stretch
	sectionBytes, blockBytes, stretch = places, blocks, 0
	return func() { sectionBytes, blockBytes, stretch = section, block, long }
}

// KeepAtMost makes streams keep at most so many bytes, and has helpers stay in a part until then.
func KeepAtMost(n int) (undo func()) {
	most, long := maxKept, stretch
	maxKept, stretch = n, time.Minute
	return func() { maxKept, stretch = most, long }
}

// Kept returns how many bytes a reader keeps in batches that were not delivered.
func Kept(r codec.Reader) int {
	a := r.(*frontReader).ahead
	if a == nil {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.kept
}
