// Command replayd decodes game replays. It runs as a daemon that streams their events over gRPC, or as a command-line tool.
package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/replayd/replayd/decoders/sc2replay"
)

// cli is the command line. Every flag can also be set by an environment variable named REPLAYD_ followed by the flag's name.
// The exceptions are flags whose meaning differs between commands (env:"-").
type cli struct {
	ShowVersion kong.VersionFlag `help:"Print the version." name:"version" env:"-"`

	SC2Data string `help:"A directory with protocol tables and names of StarCraft II builds that are newer than this program, protocol.txt and names.txt (docs/patch-day.md)." name:"sc2-data" env:"REPLAYD_SC2_DATA" type:"path" placeholder:"DIR"`

	Serve  serveCmd  `cmd:"" help:"Run the daemon."`
	Ls     lsCmd     `cmd:"" help:"List replays."`
	Info   infoCmd   `cmd:"" help:"Describe a replay, as JSON."`
	Cat    catCmd    `cmd:"" help:"Print a replay's events, one JSON object per line."`
	Export exportCmd `cmd:"" help:"Write a replay's events to Parquet, Arrow, CSV or JSON files, one for each kind."`
	Render renderCmd `cmd:"" help:"Draw a map's game layer as a PNG."`
	Redact redactCmd `cmd:"" help:"Copy a teehistorian file without its secrets."`
	Cut    cutCmd    `cmd:"" help:"Copy a range of ticks of a teehistorian file, with the state at its beginning."`
	Watch  watchCmd  `cmd:"" help:"Print changes to a daemon's replays: added, growing, finished, removed."`
	Health healthCmd `cmd:"" help:"Check whether a daemon is serving."`
	Jobs   jobsCmd   `cmd:"" help:"Put replays into a queue, for workers that export them, and see what became of them."`
	Work   workCmd   `cmd:"" help:"Export the replays of a queue, until stopped."`

	Publish publishCmd `cmd:"" help:"Publish the events of a daemon's replays to NATS JetStream, each once, for consumers without gRPC."`

	CheckConfig checkConfigCmd `cmd:"" help:"Check a file for serve --config."`

	Version versionCmd `cmd:"" help:"Print the version."`
	Help    helpCmd    `cmd:"" help:"Print how to use a command."`

	Completion completionCmd `cmd:"" help:"Print a shell's completion script."`
	Man        manCmd        `cmd:"" help:"Print the man page." hidden:""`
}

// AfterApply makes the process decode StarCraft II replays with the tables and names of --sc2-data, before the command runs.
func (c *cli) AfterApply() error {
	if c.SC2Data == "" {
		return nil
	}
	data, err := sc2replay.ReadData(os.DirFS(c.SC2Data))
	if err != nil {
		return fmt.Errorf("--sc2-data %s: %w", c.SC2Data, err)
	}
	data.Use()
	return nil
}

// console is where a command reads and writes.
type console struct {
	in       io.Reader
	out, err io.Writer
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal kills the process, for example during a read from a terminal
	code := run(ctx, os.Args[1:], console{os.Stdin, os.Stdout, os.Stderr})
	stop()
	os.Exit(code)
}

// run runs the command line and returns the exit code.
func run(ctx context.Context, args []string, con console) int {
	exited, alone := -1, len(args) == 0
	if alone { // without arguments: print the help, as an error
		args, con.out = []string{"--help"}, con.err
	}
	parser, err := newParser(ctx, &cli{}, con, kong.Exit(func(code int) { exited = code }), kong.UsageOnError())
	if err != nil {
		_, _ = fmt.Fprintln(con.err, "replayd:", err)
		return exitFailed
	}
	command, err := parser.Parse(args)
	switch {
	case alone:
		return exitUsage
	case exited >= 0: // --help or --version has printed its text
		return exited
	}
	if err != nil {
		_, _ = fmt.Fprintln(con.err, "replayd:", err)
		return exitUsage
	}
	err = command.Run()
	if err == nil {
		return exitOK
	}
	interrupted := ctx.Err() != nil
	if !interrupted && !errors.Is(err, syscall.EPIPE) { // the reader of the output closed it
		_, _ = fmt.Fprintln(con.err, "replayd:", message(err))
	}
	if r, ok := errors.AsType[resumableError](err); ok {
		_, _ = fmt.Fprintln(con.err, "replayd: resume with --cursor", base64.StdEncoding.EncodeToString(r.cursor))
	}
	if interrupted {
		return exitCancelled
	}
	return exitCode(err)
}

// newParser returns a command-line parser that fills in into.
func newParser(ctx context.Context, into *cli, con console, more ...kong.Option) (*kong.Kong, error) {
	return kong.New(into, append([]kong.Option{
		kong.Name("replayd"),
		kong.Description("Decodes game replays and streams what happened in them as typed events."),
		kong.DefaultEnvars("REPLAYD"),
		kong.Vars{"version": "replayd " + versionOf()},
		kong.Writers(con.out, con.err),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(con),
	}, more...)...)
}

type versionCmd struct{}

// Run prints the version.
func (versionCmd) Run(con console) error {
	_, err := fmt.Fprintln(con.out, "replayd", versionOf())
	return err
}

type helpCmd struct {
	Command []string `arg:"" optional:"" help:"The command."`
}

// Run prints what --help prints.
func (c *helpCmd) Run(app *kong.Kong) error {
	command, err := kong.Trace(app, c.Command)
	if err != nil {
		return err
	}
	if command.Error != nil {
		return usageError{command.Error}
	}
	return command.PrintUsage(false)
}
