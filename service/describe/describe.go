// Package describe lists the formats that the service decodes, and describes replays without streaming them.
package describe

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/index"
)

// Info returns the description of a replay from its file's attributes alone.
func Info(info *source.Info) *replaydv1.Replay {
	r := &replaydv1.Replay{
		Name: info.Name, Format: Formats.To[info.Format], SizeBytes: max(info.Size, 0),
		Compression: Compressions.To[info.Compression],
	}
	if !info.Modified.IsZero() {
		r.ModifyTime = timestamppb.New(info.Modified)
	}
	return r
}

// Input returns the file's bytes as its format reads them. If the format needs random access, it first unpacks a compressed file
// to a temporary file.
func Input(ctx context.Context, file *source.File, c *codec.Codec) (source.Input, error) {
	if info := file.Info(); c.RandomAccess && (info.Size < 0 || info.Compression != source.Plain) {
		if err := file.Spool(ctx); err != nil {
			return source.Input{}, err
		}
	}
	return file.Input(), nil
}

// Replay returns the description of an opened replay, without facts for which all of it must be decoded.
func Replay(ctx context.Context, file *source.File) (*replaydv1.Replay, error) {
	if err := file.Recognized(); err != nil {
		return nil, err
	}
	info := file.Info()
	c, err := CodecOf(info.Format)
	if err != nil {
		return nil, err
	}
	in, err := Input(ctx, file, c)
	if err != nil {
		return nil, err
	}
	r := Info(&info)
	return r, c.Describe(ctx, in, r)
}

// Participants is like Replay, but adds everybody who took part in place of the header's facts. It decodes as much of the replay as its
// format needs for that.
func Participants(ctx context.Context, file *source.File, secrets codec.Secrets) (*replaydv1.Replay, error) {
	r, err := Replay(ctx, file)
	if err != nil {
		return r, err
	}
	r.Header = nil
	c, err := CodecOf(file.Info().Format)
	if err != nil || c.Participants == nil && (c.Players == nil || len(r.GetPlayers()) > 0) {
		return r, err
	}
	in, err := Input(ctx, file, c)
	if err != nil {
		return r, err
	}
	survey, err := c.Survey(in, nil, nil, ctx.Err)
	if err != nil {
		return r, err
	}
	if c.Participants != nil {
		c.Participants(r, survey.Participants, nil, &secrets)
		r.PlayersTick = &survey.LastTick
	}
	c.AddPlayers(r, survey)
	switch {
	case survey.Ended:
		r.State = replaydv1.ReplayState_REPLAY_STATE_FINISHED
	case survey.Broken, r.GetCompression() != replaydv1.Compression_COMPRESSION_NONE:
		r.State = replaydv1.ReplayState_REPLAY_STATE_ABANDONED
	}
	return r, nil
}

// Report returns the report of an opened replay, which it decodes up to the tick of the options.
func Report(ctx context.Context, file *source.File, o codec.ReportOptions) (*replaydv1.Report, error) {
	if err := file.Recognized(); err != nil {
		return nil, err
	}
	info := file.Info()
	c, err := CodecOf(info.Format)
	if err != nil {
		return nil, err
	}
	in, err := Input(ctx, file, c)
	if err != nil {
		return nil, err
	}
	return ReportOf(ctx, in, &info, c, o)
}

// ReportOf is like Report, for a replay whose codec and input are known.
func ReportOf(ctx context.Context, in source.Input, info *source.Info, c *codec.Codec, o codec.ReportOptions) (*replaydv1.Report, error) {
	report := &replaydv1.Report{Replay: Info(info), FactsVersion: c.FactsVersion}
	if err := c.Report(ctx, in, o, report); err != nil {
		return nil, err
	}
	report.Replay.Header = nil
	return report, nil
}

// Entry returns the description of a replay from its entry in an index.
func Entry(x *index.Index, e *index.Entry) *replaydv1.Replay {
	r := Info(&e.Info)
	r.Identity, r.MapName, r.Lineup = e.Identity, e.MapName, e.Lineup()
	if !e.Started.IsZero() {
		r.StartTime = timestamppb.New(e.Started)
	}
	if e.LastTick >= 0 {
		r.LastTick = &e.LastTick
	}
	AddKnown(x, e, r)
	return r
}

// AddFound is AddKnown for a description that has its header, and adds the players that decoding has found.
func AddFound(x *index.Index, e *index.Entry, r *replaydv1.Replay) {
	AddKnown(x, e, r)
	if c := x.Codec(e.Format); c != nil {
		c.AddPlayers(r, e.Survey.Whole())
	}
}

// AddKnown adds the facts to a description that an index knows beyond the header: the state, and the results of decoding. It
// keeps facts that the description has.
func AddKnown(x *index.Index, e *index.Entry, r *replaydv1.Replay) {
	r.State = States.To[x.StateOf(e, time.Now())]
	if r.TicksPerSecond == nil && e.TicksPerSecond > 0 {
		r.TicksPerSecond = &e.TicksPerSecond
	}
	if survey := e.Survey; survey != nil && survey.Offset > 0 && r.LastTick == nil {
		r.LastTick = &survey.LastTick
	}
	if r.GetLineup() == "" {
		r.Lineup = e.Lineup()
	}
	if r.GetLineup() == "" && e.Survey != nil {
		r.Lineup = codec.LineupOfNames(e.Survey.Names())
	}
	if length := e.Duration(); r.GetDuration() == nil && length > 0 {
		r.Duration = durationpb.New(length)
	}
}
