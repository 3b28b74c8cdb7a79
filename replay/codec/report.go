package codec

import (
	"errors"
	"io"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// Concluded tells a report how its decoder ended, by the error of Next, or nil at the report's own tick. It returns the error if it is
// not one of the replay.
func Concluded(report *replaydv1.Report, err error) error {
	switch damaged, isDamaged := errors.AsType[*decoders.Error](err); {
	case errors.Is(err, io.EOF):
		report.Ended = true
	case isDamaged:
		report.Damage = damaged.Error()
	case err != nil && !errors.Is(err, decoders.ErrMore):
		return err
	}
	return nil
}
