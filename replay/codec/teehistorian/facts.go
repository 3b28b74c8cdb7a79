package teehistorian

import (
	"fmt"
	"slices"

	"github.com/replayd/replayd/decoders"
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
	// Where facts of a game that is played are, depends on how many others the event has.
	options := conclude.Options{Inputs: within || o.Filter.Kind(uint8(teehistorian.KindFactInputStats)) || o.Filter.Facts() && o.Filter.Map()}
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

// conclusions returns all that concludes facts, of a reader that needs some.
func (r *reader) conclusions() codec.Fold[teehistorian.Event] {
	if r.Concludes {
		return &both{r: r}
	}
	return r.facts.fold
}

// both has the facts of a reader that plays the game: those of the replay and, behind them, those of the game. What does not fit behind an
// event comes behind the next one.
type both struct {
	r     *reader
	given int // behind the last event
}

func (f *both) Apply(ev *teehistorian.Event) {
	f.r.facts.fold.Apply(ev)
	f.given = 0
}

func (f *both) Pending() bool {
	return f.r.facts.fold.Pending() || f.given < decoders.Room-1 && f.r.world.Pending()
}

func (f *both) Next(ev *teehistorian.Event) bool {
	if !f.Pending() {
		return false
	}
	f.given++
	if f.r.facts.fold.Next(ev) {
		return true
	}
	last := &f.r.Event
	ev.AtTick, ev.Warnings = last.AtTick, ev.Warnings[:0]
	if slices.Contains(last.Warnings, teehistorian.WarningAfterDamage) {
		ev.Warnings = append(ev.Warnings, teehistorian.WarningAfterDamage)
	}
	return f.r.world.Next(ev)
}
