package codec

import (
	"errors"
	"io"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// Concluded sets how a report's decoder ended: err is the error of its Next, or nil at the report's own tick. Concluded returns
// err if it is no error of the replay.
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
