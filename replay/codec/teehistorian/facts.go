package teehistorian

import (
	"fmt"

	"github.com/replayd/replayd/decoders/teehistorian"
	conclude "github.com/replayd/replayd/decoders/teehistorian/facts"
	"github.com/replayd/replayd/replay/codec"
)

// facts is what concludes the facts of a replay for its reader, and how it is saved in checkpoints.
type facts struct {
	header  *teehistorian.Header
	options conclude.Options
	fold    *conclude.Fold
}

// newFacts returns the facts of a replay for a reader that needs them, and otherwise nil.
func newFacts(h *teehistorian.Header, o *codec.Options) *facts {
	within := o.Start.Position != o.Start.Position.Own() // only the earlier events tell whether a fact is there
	if !o.Filter.Facts() && !within {
		return nil
	}
	options := conclude.Options{Inputs: within || o.Filter.Kind(uint8(teehistorian.KindFactInputStats))}
	return &facts{header: h, options: options, fold: conclude.New(h, options)}
}

// key returns the key of the checkpoints for readers that conclude facts. Their checkpoints have the state of the facts, too,
// which other readers do not compute.
func (f *facts) key(identity string) string {
	return fmt.Sprintf("%s with facts of version %d, inputs %v", identity, conclude.Version, f.options.Inputs)
}

// concluding returns what concludes the facts, or nil if none are needed.
func (f *facts) concluding() *conclude.Fold {
	if f == nil {
		return nil
	}
	return f.fold
}

// restored returns the facts in the state of a snapshot.
func (f *facts) restored(snapshot []byte) (*facts, error) {
	fold, err := conclude.Restore(f.header, f.options, snapshot)
	return &facts{header: f.header, options: f.options, fold: fold}, err
}
