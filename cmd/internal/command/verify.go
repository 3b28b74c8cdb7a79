package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/replayd/replayd/cmd/internal/terminal"
	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/replay/tiles"
	"github.com/replayd/replayd/replay/verify"
)

type verifyCmd struct {
	In     string `arg:"" help:"A teehistorian file, compressed or not, or - for the standard input." name:"file"`
	Map    string `help:"The map of the recording. Default: that file below --maps with the recorded SHA-256." type:"existingfile" placeholder:"FILE" xor:"map"`
	Maps   string `help:"The directory of the maps. Default: that of the recording." type:"existingdir" placeholder:"DIR" xor:"map"`
	Format string `short:"o" help:"table: for people. json: with the causes; jsonl: on one line." enum:"table,json,jsonl" default:"table" env:"-"`
}

// Run prints what the recording proves. It returns an error unless all is proven.
func (c *verifyCmd) Run(ctx context.Context, con Console, p Program) error {
	busy := NewBusy(con.Err, "playing "+c.In)
	defer busy.Done()
	report, err := c.verify(ctx, con, p)
	busy.Done()
	if err != nil {
		return err
	}
	switch c.Format {
	case "table":
		err = (&terminal.Verified{Out: con.Out, Width: cmp.Or(widthOf(con), reportWidth), Dim: newPainter(con).Dim}).Print(report)
	default:
		encoder := json.NewEncoder(con.Out)
		if c.Format == "json" {
			encoder.SetIndent("", "  ")
		}
		encoder.SetEscapeHTML(false)
		err = encoder.Encode(report)
	}
	if err != nil {
		return err
	}
	switch broken := report.Broken; report.Verdict {
	case verify.VerdictBroken:
		return fmt.Errorf("%s: tick %d %w", c.In, broken.Tick, errBroken)
	case verify.VerdictUnknown:
		return fmt.Errorf("%s: %w", c.In, errUnproven)
	}
	return nil
}

// What makes the exit code of a recording that is not proven.
var (
	errBroken   = errors.New("contradicts the rules of the game")
	errUnproven = errors.New("not all ticks are proven")
)

func (c *verifyCmd) verify(ctx context.Context, con Console, p Program) (*verify.Report, error) {
	if c.Map == "" && c.Maps == "" && c.In == "-" {
		return nil, usageError{errors.New("the standard input needs --map or --maps")}
	}
	file, err := openLocal(ctx, p, con.In, c.In)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	if err := file.Recognized(); err != nil {
		return nil, named(c.In, err)
	}
	if info := file.Info(); info.Format != decoders.Teehistorian {
		return nil, usageError{fmt.Errorf("%s is of format %v; only teehistorian files can be verified", c.In, info.Format)}
	}
	src, err := file.Input().From(0)
	if err != nil {
		return nil, err
	}
	recording, err := verify.Open(src)
	if err != nil {
		return nil, named(c.In, err)
	}
	path, h := c.Map, recording.Header()
	if path == "" {
		if path, err = tiles.Find(ctx, cmp.Or(c.Maps, filepath.Dir(c.In)), h.MapName, h.MapSHA256, h.MapSize); err != nil {
			return nil, err
		}
	}
	m, err := verify.ReadMap(path, h)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return recording.Verify(ctx, m)
}
