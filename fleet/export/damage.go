package export

import (
	"context"
	"errors"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/replay/source"
)

// Damage says why a replay could not be read to its end.
type Damage struct {
	// Reason is one of few words, such as CORRUPT.
	Reason string `json:"reason"`
	// Offset is where in the decompressed replay, nil if it is not at a place.
	Offset *int64 `json:"offset,omitempty"`
	// Detail is for people.
	Detail string `json:"detail"`
}

// Damaged sets the end of a replay that is damaged. It reports whether the replay has begun; otherwise there is nothing to finish.
func (e *Export) Damaged(d Damage) bool {
	e.reason, e.detail, e.damage = "DAMAGED", d.Detail, &d
	return e.start != nil
}

// Damage returns the damage of the replay, after ErrThere that which the last export has found. It is nil if there is none.
func (e *Export) Damage() *Damage { return e.damage }

// DamagedError is the damage that an earlier export of a replay has found.
type DamagedError struct{ *Damage }

func (e DamagedError) Error() string { return e.Detail }

// DamageOf returns the damage of a replay whose stream ended with an error. It is nil if err is nil, or says nothing about the contents
// of the replay. text returns the text of an error for people.
func DamageOf(err error, text func(error) string) *Damage {
	for _, other := range []error{source.ErrDirectory, source.ErrRemoved, source.ErrReplaced, source.ErrStore} {
		if errors.Is(err, other) {
			return nil
		}
	}
	for _, known := range []struct {
		err    error
		reason string
	}{
		{decoders.ErrTruncated, "TRUNCATED"},
		{decoders.ErrCorrupt, "CORRUPT"},
		{decoders.ErrUnsupported, "UNSUPPORTED"},
		{decoders.ErrLimit, "LIMIT"},
	} {
		if errors.Is(err, known.err) {
			d := &Damage{Reason: known.reason, Detail: text(err)}
			if at, ok := errors.AsType[*decoders.Error](err); ok {
				d.Offset = &at.Offset
			}
			return d
		}
	}
	return nil
}

// Conclude finishes an export whose stream ended with an error or nil. A replay with damage, which may be nil, is finished as far as it
// could be read, and its error is returned. That an export is there already is no error, unless its replay was damaged: then it is a
// DamagedError.
func (e *Export) Conclude(ctx context.Context, err error, damage *Damage) error {
	if errors.Is(err, ErrThere) {
		if e.damage != nil {
			return DamagedError{e.damage}
		}
		return nil
	}
	if err != nil && (damage == nil || !e.Damaged(*damage)) {
		return err
	}
	if finished := e.Finish(ctx); finished != nil {
		return finished
	}
	return err
}
