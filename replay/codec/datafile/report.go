package datafile

import (
	"context"

	"github.com/replayd/replayd/decoders/datafile"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/source"
)

// report implements Report of codec.Codec. A map has no clock, so its report is the summary in its header.
func report(ctx context.Context, in source.Input, o codec.ReportOptions, to *replaydv1.Report) error {
	if err := o.Pause(0); err != nil {
		return err
	}
	f, err := datafile.Open(in.At, in.Size, datafile.DefaultLimits)
	if err != nil {
		return err
	}
	if err := addHeader(ctx, f, in, to.GetReplay()); err != nil {
		return err
	}
	to.Ended, to.Game = true, &replaydv1.Report_Datafile{Datafile: to.GetReplay().GetDatafile()}
	return nil
}
