package command

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protojson"

	client "github.com/replayd/replayd/clients/go"
	"github.com/replayd/replayd/cmd/internal/terminal"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/service/describe"
)

type reportCmd struct {
	Target

	Replay string `arg:"" help:"A file, - for the standard input, or with --addr a replay's name. A directory is its newest replay."`
	Tick   *int32 `help:"Say how the game stood after this tick. Default: how it stands or ended." placeholder:"N"`
	Format string `short:"o" help:"table: for people. json: everything that the report has; jsonl: on one line. csv: a row for each player, or layer of a map. compact: name, map, place and players on one line." enum:"table,json,jsonl,compact,csv" default:"table" env:"-"`
}

// reportWidth is the number of columns of a report that is not printed to a terminal.
const reportWidth = 120

// Run prints the report.
func (c *reportCmd) Run(ctx context.Context, con Console, p Program) error {
	busy := NewBusy(con.Err, "reading "+c.Replay)
	defer busy.Done()
	var report *replaydv1.Report
	err := c.orNewest(ctx, busy.Over(con.Err), p, c.Replay, func(name string) (err error) {
		report, err = c.report(ctx, p, con.In, name)
		return err
	})
	busy.Done()
	if err != nil {
		return err
	}
	switch c.Format {
	case "json":
		return printReport(con.Out, report)
	case "jsonl":
		return printLine(con.Out, report)
	case "csv":
		return writeReportRows(con.Out, report)
	case "compact":
		_, err := fmt.Fprintln(con.Out, terminal.Line(report))
		return err
	}
	printer := terminal.Reporter{Out: con.Out, Width: cmp.Or(widthOf(con), reportWidth), Dim: newPainter(con).Dim}
	return printer.Print(report)
}

func (c *reportCmd) report(ctx context.Context, p Program, in io.Reader, name string) (report *replaydv1.Report, err error) {
	if c.Addr != "" {
		err = c.ask(func(daemon *client.Client) error {
			report, err = daemon.Report(ctx, name, c.Tick)
			return err
		})
		return report, err
	}
	file, err := openLocal(ctx, p, in, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return describe.Report(ctx, file, codec.ReportOptions{Tick: c.Tick, Pause: func(int64) error { return ctx.Err() }})
}

// printReport prints a report as JSON.
func printReport(to io.Writer, report *replaydv1.Report) error {
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(report)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(to)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(json.RawMessage(text))
}
