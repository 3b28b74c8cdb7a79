package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/teehistorian"
)

// copying holds the arguments of the commands that write a copy.
type copying struct {
	In    string `arg:"" help:"A teehistorian file, compressed or not, or - for the standard input."`
	Out   string `arg:"" help:"The file to write, or - for the standard output."`
	Force bool   `help:"Overwrite an existing file."`
}

type redactCmd struct {
	copying
}

// Run writes the copy.
func (c *redactCmd) Run(ctx context.Context, con Console, p Program) error {
	return c.copy(ctx, con, p, teehistorian.CopyOptions{Redact: true})
}

type cutCmd struct {
	copying

	From   *int32  `help:"The first tick. Default: the file's." placeholder:"TICK"`
	To     *int32  `help:"The last tick. Default: the file's." placeholder:"TICK"`
	Reveal Secrets `help:"Do not redact secrets such as timeout codes: all, or some by name, such as connection_id,antibot." placeholder:"NAMES" name:"reveal-secrets"`
}

// Validate rejects an empty range of ticks.
func (c *cutCmd) Validate() error {
	if c.From != nil && c.To != nil && *c.From > *c.To {
		return fmt.Errorf("--from %d is after --to %d", *c.From, *c.To)
	}
	return nil
}

// Run writes the copy.
func (c *cutCmd) Run(ctx context.Context, con Console, p Program) error {
	return c.copy(ctx, con, p, teehistorian.CopyOptions{From: c.From, To: c.To, Redact: c.Reveal.Secrets != decoders.AllSecrets, Reveal: c.Reveal.Secrets})
}

// copy writes a copy. The file appears only when it is complete.
func (c *copying) copy(ctx context.Context, con Console, p Program, o teehistorian.CopyOptions) error {
	busy := NewBusy(con.Err, "copying "+c.In)
	defer busy.Done()
	file, err := openLocal(ctx, p, con.In, c.In)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	if err := file.Recognized(); err != nil {
		return named(c.In, err)
	}
	if info := file.Info(); info.Format != decoders.Teehistorian {
		return usageError{fmt.Errorf("%s is of format %v; only teehistorian files can be copied", c.In, info.Format)}
	}
	src, err := file.Input().From(0)
	if err != nil {
		return err
	}
	if c.Out == "-" {
		return teehistorian.Copy(con.Out, src, o)
	}
	switch stat, err := os.Lstat(c.Out); {
	case err != nil:
	case !stat.Mode().IsRegular():
		return usageError{fmt.Errorf("%s is no regular file, and is not replaced by one", c.Out)}
	case !c.Force:
		return usageError{fmt.Errorf("%s exists; --force overwrites it", c.Out)}
	}
	draft, err := os.CreateTemp(filepath.Dir(c.Out), ".replayd-*")
	if err != nil {
		return fmt.Errorf("writing %s: %w", c.Out, err)
	}
	defer func() { _ = os.Remove(draft.Name()) }() // no effect after the rename
	err = errors.Join(teehistorian.Copy(draft, src, o), draft.Chmod(0o644), draft.Close())
	if err == nil {
		err = os.Rename(draft.Name(), c.Out)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", c.Out, err)
	}
	return nil
}
