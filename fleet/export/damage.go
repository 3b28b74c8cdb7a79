package export

import (
	"context"
	"errors"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/replay/source"
)

// Damage says why a replay could not be read to its end.
type Damage struct {
	// Reason is a name such as CORRUPT.
	Reason string `json:"reason"`
	// Offset is the place of the damage in the decompressed replay, nil if it has none.
	Offset *int64 `json:"offset,omitempty"`
	// Detail is for people.
	Detail string `json:"detail"`
}

// Damaged records damage as the end of the replay. It reports whether the replay had begun; otherwise there is nothing to finish.
func (e *Export) Damaged(d Damage) bool {
	e.reason, e.detail, e.damage = "DAMAGED", d.Detail, &d
	return e.start != nil
}

// Damage returns the damage of the replay, or nil. After ErrThere it is the damage that the last export found.
func (e *Export) Damage() *Damage { return e.damage }

// DamagedError is the damage that an earlier export of the replay found.
type DamagedError struct{ *Damage }

func (e DamagedError) Error() string { return e.Detail }

// DamageOf returns the damage of a replay whose stream ended with an error. It is nil if err is nil, or says nothing about the contents
// of the replay. text returns the text of an error for people.
func DamageOf(err error, text func(error) string) *Damage {
	reason := source.Damage(err)
	if reason == "" {
		return nil
	}
	d := &Damage{Reason: reason, Detail: text(err)}
	if at, ok := errors.AsType[*decoders.Error](err); ok {
		d.Offset = &at.Offset
	}
	return d
}

// Conclude finishes an export whose stream ended with an error or nil. It finishes a damaged replay as far as the replay could be
// read, and returns the replay's error. An export that is there already is no error, unless its replay was damaged: then it is a
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
