package opened

import (
	"context"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/describe"
	"github.com/replayd/replayd/service/scope"
)

// Report returns the report of the replay in a file after a tick, or at its present end if tick is nil. pause is called after
// each bounded amount of work. It charges the call's ticket for memory that the file's Close returns, and for the decoder's while
// it runs.
func (o *Opener) Report(ctx context.Context, file *source.File, tick *int32, pause func() error) (*replaydv1.Report, error) {
	info := file.Info()
	if err := file.Recognized(); err != nil {
		return nil, err
	}
	c, err := describe.CodecOf(info.Format)
	if err != nil {
		return nil, err
	}
	spend(ctx, file)
	in, err := describe.Input(ctx, file, c)
	if err != nil {
		return nil, err
	}
	memory := reservation{ticket: admission.Of(ctx)}
	defer memory.free()
	if err := memory.take(costToRead(in, file, c)); err != nil {
		return nil, err
	}
	first := memory.taken
	return describe.ReportOf(ctx, in, &info, c, codec.ReportOptions{
		Tick: tick, Secrets: o.Secrets, Roster: roster(ctx, c, o.Index.Family(info.Name, scope.Of(ctx))),
		Checkpoints: o.checkpointsOf(file, c),
		Pause: func(held int64) error {
			if err := memory.hold(max(held, first)); err != nil {
				return err
			}
			return pause()
		},
	})
}

// checkpointsOf returns the checkpoints of the replay in a file, or nil for a replay whose checkpoints are not kept.
func (o *Opener) checkpointsOf(file *source.File, c *codec.Codec) func(identity string) codec.Checkpoints {
	info, version := file.Info(), file.Version()
	if info.ID == (source.ID{}) {
		return nil
	}
	return func(identity string) codec.Checkpoints {
		return o.Checkpoints.Of(checkpointKey{fileKeyOf(&info), identity}, version, c.Spacing)
	}
}
