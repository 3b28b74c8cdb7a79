package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/teehistorian"
	"github.com/replayd/replayd/service/source"
)

// copying is what the commands have in common that write a copy.
type copying struct {
	In    string `arg:"" help:"A teehistorian file, compressed or not, or - for the standard input."`
	Out   string `arg:"" help:"The file to write, or - for the standard output."`
	Force bool   `help:"Write over a file that is there."`
}

type redactCmd struct {
	copying
}

// Run writes the copy.
func (c *redactCmd) Run(con console) error {
	return c.copy(con, teehistorian.CopyOptions{Redact: true})
}

type cutCmd struct {
	copying

	From   *int32 `help:"The first tick. Default: the file's." placeholder:"TICK"`
	To     *int32 `help:"The last tick. Default: the file's." placeholder:"TICK"`
	Redact bool   `help:"Leave out secrets, too."`
}

// Validate refuses what can hold nothing.
func (c *cutCmd) Validate() error {
	if c.From != nil && c.To != nil && *c.From > *c.To {
		return fmt.Errorf("--from %d is behind --to %d", *c.From, *c.To)
	}
	return nil
}

// Run writes the copy.
func (c *cutCmd) Run(con console) error {
	return c.copy(con, teehistorian.CopyOptions{From: c.From, To: c.To, Redact: c.Redact})
}

// copy writes a copy. The file is there only when it is whole.
func (c *copying) copy(con console, o teehistorian.CopyOptions) error {
	file, err := openLocal(con.in, c.In)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	if err := file.Recognized(); err != nil {
		return err
	}
	if info := file.Info(); info.Format != decoders.Teehistorian {
		return usageError{fmt.Errorf("%s is of format %v; only teehistorian files can be copied", c.In, info.Format)}
	}
	src, err := front(file.Input())
	if err != nil {
		return err
	}
	if c.Out == "-" {
		return teehistorian.Copy(con.out, src, o)
	}
	if _, err := os.Stat(c.Out); err == nil && !c.Force {
		return usageError{fmt.Errorf("%s is there already; --force writes over it", c.Out)}
	}
	draft, err := os.CreateTemp(filepath.Dir(c.Out), ".replayd-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(draft.Name()) }() // where it was not renamed
	err = errors.Join(teehistorian.Copy(draft, src, o), draft.Chmod(0o644), draft.Close())
	if err != nil {
		return err
	}
	return os.Rename(draft.Name(), c.Out)
}

// front returns the bytes of an input from its beginning.
func front(in source.Input) (io.Reader, error) { return in.From(0) }
