package dem

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/dem"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/source"
)

// survey finds the length of a demo, and whether it has an end, from the heads of its records. A demo with a game's summary at
// the end costs a few reads. Where no summary names the players, survey decodes the beginning for them. The survey ends where no head
// can be read. That is no proof of damage: a decoder looks for the next record after it.
func survey(
	in source.Input, from *codec.Survey, _ func(*replaydv1.Replay) []byte, pause func() error,
) (*codec.Survey, error) {
	first, in, err := beginning(in)
	if err != nil {
		return nil, err
	}
	s := &codec.Survey{}
	var tried int64 // how much of the beginning was decoded
	if from != nil {
		tried, _ = binary.Varint(from.State)
		s.Offset, s.LastTick, s.Roster, s.Names = from.Offset, from.LastTick, from.Roster, slices.Clone(from.Names)
	}
	info, err := surveyRecords(s, in, pause)
	s.State = binary.AppendVarint(nil, tried)
	if err != nil {
		return s, err
	}
	if named := playersOf(matchMessage(info)); named != nil {
		err = note(s, &replaydv1.Replay{Players: named, PlayersTick: &s.LastTick})
	} else if first.Size > 0 && first.Size >= growth*tried || s.Ended && first.Size > tried {
		tried = first.Size
		err = surveyPlayers(s, first, pause)
	}
	if err != nil { // the next survey decodes the beginning again
		return from, err
	}
	s.State = nil
	if !s.Ended {
		s.State = binary.AppendVarint(nil, tried)
	}
	return s, nil
}

// maxBeginning is the largest number of bytes of a demo that are decoded for its players. Entities begin within 4 MiB; the rest is a
// minute or more of a game.
const maxBeginning = 16 << 20

// growth is how much larger the beginning of a growing demo has to be before it is decoded once more: all surveys together decode a seventh
// more than the last.
const growth = 8

// beginning returns the beginning of an input as an input of its own, and the whole input.
func beginning(in source.Input) (first, whole source.Input, err error) {
	if in.At != nil {
		size := min(in.Size, maxBeginning)
		return source.Input{At: io.NewSectionReader(in.At, 0, size), Size: size}, in, nil
	}
	b, err := io.ReadAll(io.LimitReader(in.Front, maxBeginning))
	if err != nil {
		return first, in, err
	}
	in.Front = io.MultiReader(bytes.NewReader(b), in.Front)
	return source.Input{At: bytes.NewReader(b), Size: int64(len(b))}, in, nil
}

// surveyRecords brings the facts that do not concern players up to date, and returns the summary at the end of a demo, or an empty one.
func surveyRecords(s *codec.Survey, in source.Input, pause func() error) (*dem.FileInfo, error) {
	if in.At != nil {
		if _, info, tick, ok, err := dem.ReadInfo(in.At); err == nil && ok {
			s.Offset, s.LastTick, s.Ended = in.Size, tick, true
			return &info, nil
		}
	}
	x := dem.Index{End: s.Offset, LastTick: s.LastTick}
	r, err := in.From(x.End)
	if err != nil {
		return nil, err
	}
	err = x.Read(r, pause)
	s.Offset, s.LastTick, s.Ended = x.End, x.LastTick, x.Finished
	if _, damaged := errors.AsType[*decoders.Error](err); damaged {
		err = nil
	}
	if x.Info == nil {
		return &dem.FileInfo{}, err
	}
	s.Length, s.TicksPerSecond = length(x.Info.PlaybackTime, x.Info.PlaybackTicks)
	return x.Info, err
}

// surveyPlayers finds those who play at the end of the beginning of a demo. What cannot be decoded has none. Only errors of pause are
// errors.
func surveyPlayers(s *codec.Survey, first source.Input, pause func() error) error {
	var stopped error
	now := &replaydv1.Report{Replay: new(replaydv1.Replay)}
	game, err := stand(first, codec.ReportOptions{Pause: func(held int64) error {
		if stopped = pause(); stopped == nil && held > maxSurveyed {
			return errTooLarge
		}
		return stopped
	}}, now)
	if err != nil {
		return stopped
	}
	r := &replaydv1.Replay{PlayersTick: now.Tick}
	for _, p := range game.conclude().GetPlayers() {
		if p.Team != nil && p.GetTeam() < firstTeam {
			continue
		}
		id, known := game.ids[p]
		if !known {
			id = p.GetNumber() - 1 // the slot; the entity of the world is before them
		}
		r.Players = append(r.Players, &replaydv1.Player{Id: id, Name: p.GetName(), Team: p.Team, Character: p.GetHero()})
	}
	return note(s, r)
}

// firstTeam is the first team of the engine that plays; those before it watch.
const firstTeam = 2

// maxSurveyed is the largest amount of memory that is held to find players.
const maxSurveyed = 64 << 20

var errTooLarge = errors.New("the game takes too much memory")

// note keeps the players of a description in a survey.
func note(s *codec.Survey, r *replaydv1.Replay) (err error) {
	if len(r.GetPlayers()) == 0 {
		return nil
	}
	for _, p := range r.GetPlayers() {
		if n := p.GetName(); n != "" && len(s.Names) < codec.MaxNames && !slices.Contains(s.Names, n) {
			s.Names = append(s.Names, n)
		}
	}
	s.Roster, err = proto.Marshal(r)
	return err
}

// players implements Players of codec.Codec.
func players(r *replaydv1.Replay, roster []byte) {
	var found replaydv1.Replay
	if proto.Unmarshal(roster, &found) == nil {
		r.Players, r.PlayersTick = found.GetPlayers(), found.PlayersTick
	}
}
