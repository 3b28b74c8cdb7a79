package fieldpath

import (
	"testing"

	"github.com/replayd/replayd/decoders/bits"
	"github.com/replayd/replayd/decoders/dem/demtest"
)

// FuzzPaths reads any bits as field paths.
func FuzzPaths(f *testing.F) {
	var w demtest.Bits
	w.Fields(demtest.Value{Path: []int{1, 2, 3}, Write: func(*demtest.Bits) {}}, demtest.Value{Path: []int{4}, Write: func(*demtest.Bits) {}})
	f.Add(w.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bits.New(data)
		paths, _ := Read(&r, nil)
		whole(t, paths)
	})
}
