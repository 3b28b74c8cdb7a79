package stream

import (
	"fmt"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/replay/cursor"
)

// FactsError means that a cursor's stream has another version of the facts.
type FactsError struct {
	Format decoders.Format
	// Cursor is the version of the cursor's facts, and Here the version that this program makes.
	Cursor, Here uint32
}

// Error implements error.
func (e *FactsError) Error() string {
	return fmt.Sprintf("the cursor is of a stream with version %d of the facts of a %v file, and this server makes version %d: "+
		"start the stream anew, and replace the facts that it has brought", e.Cursor, e.Format, e.Here)
}

// checkFacts returns an error if the stream cannot resume at a cursor because of facts: later facts would not fit the earlier
// ones, or the cursor lies between facts that no longer exist. The cursor may be nil.
func (s *stream) checkFacts(c *cursor.Cursor) error {
	here := s.replay.Codec.FactsVersion
	if c == nil || c.Facts == 0 || c.Facts == here || !s.replay.Options.Filter.Facts() && c.Position == c.Position.Own() {
		return nil
	}
	return &FactsError{s.replay.Codec.Format, c.Facts, here}
}

// factsOf returns the version of facts for the cursors of the stream, which starts at a cursor or nil.
func (s *stream) factsOf(c *cursor.Cursor) uint32 {
	if s.replay.Options.Filter.Facts() || c != nil && c.Position != c.Position.Own() {
		return s.replay.Codec.FactsVersion
	}
	return 0
}
