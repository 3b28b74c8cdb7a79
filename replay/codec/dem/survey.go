package dem

import (
	"errors"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/dem"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/source"
)

// survey finds the length of a demo, and whether it has an end, from the heads of its records. A demo with a game's summary at
// the end costs a few reads. The survey ends where no head can be read. That is no proof of damage: a decoder looks for the next
// record after it.
func survey(
	in source.Input, from *codec.Survey, _ func(*replaydv1.Replay) []byte, pause func() error,
) (*codec.Survey, error) {
	if in.At != nil {
		if _, _, tick, ok, err := dem.ReadInfo(in.At); err == nil && ok {
			return &codec.Survey{Offset: in.Size, LastTick: tick, Ended: true}, nil
		}
	}
	var x dem.Index
	if from != nil {
		x.End, x.LastTick = from.Offset, from.LastTick
	}
	r, err := in.From(x.End)
	if err != nil {
		return nil, err
	}
	err = x.Read(r, pause)
	s := &codec.Survey{Offset: x.End, LastTick: x.LastTick, Ended: x.Finished}
	if x.Info != nil {
		s.Length, s.TicksPerSecond = length(x.Info.PlaybackTime, x.Info.PlaybackTicks)
	}
	if !s.Ended {
		s.State = more
	}
	if _, damaged := errors.AsType[*decoders.Error](err); damaged {
		err = nil
	}
	return s, err
}

// more is the state of a survey that can go on. The survey's other fields hold everything that it needs.
var more = []byte{1}
