package datafile

import (
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/source"
)

// report implements Report of codec.Codec. A map has no clock, so its report is the summary in its header.
func report(_ source.Input, _ codec.ReportOptions, to *replaydv1.Report) error {
	to.Ended, to.Game = true, &replaydv1.Report_Datafile{Datafile: to.GetReplay().GetDatafile()}
	return nil
}
