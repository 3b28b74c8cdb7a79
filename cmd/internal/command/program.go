// Package command is the command line of the programs: the commands that all programs have, and a way for a program to add more.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/replayd/replayd/decoders/sc2replay"
	"github.com/replayd/replayd/replay/cursor"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/catalog"
)

// Program is one of the programs. Only its name is required.
type Program struct {
	// Name is the name of the program, such as replayd.
	Name string
	// Commands points to a struct of commands, in kong's terms, that only this program has. Its commands can take a
	// context.Context and a Console. It may be nil.
	Commands any
	// ServeFlags points to a struct of flags of serve that only this program has. It may be nil.
	ServeFlags any
	// Objects are places of objects that roots and commands can name by URLs. Without them URLs are refused.
	Objects Objects
	// Streams are places of growing files that roots can name by URLs. Without them URLs are refused.
	Streams Places
	// ExitCode returns the exit code of an error of Commands. ok is false for other errors. It may be nil.
	ExitCode func(error) (code int, ok bool)

	maps string // the directory of the maps of games that are decoded without a daemon; empty for that of the replay
}

// Places opens what roots and replays name by URLs of a scheme, instead of paths. An implementation may keep what it opens until
// Close.
type Places interface {
	// Is reports whether the name of a root or a replay is a URL of the scheme.
	Is(name string) bool
	// Check returns why a URL is invalid. The error does not repeat the URL, which may have secrets.
	Check(url string) error
	// Sources reports whether the names of replays begin with the name of a source, each with its own writer.
	Sources() bool
	// Root opens the root that a URL names.
	Root(ctx context.Context, alias, url string, d Daemon) (catalog.Store, error)
	// Close frees what the roots hold.
	Close()
}

// Objects are Places of files that do not change.
type Objects interface {
	Places
	// Open opens an object as a replay.
	Open(ctx context.Context, url string) (*source.File, error)
	// Store opens a directory of objects. It returns the name of the directory, to which the names of its objects can be added.
	Store(ctx context.Context, url string) (_ catalog.Store, name string, err error)
}

// cli is the command line. Every flag can also be set by an environment variable named REPLAYD_ followed by the flag's name.
// The exceptions are flags whose meaning differs between commands (env:"-").
type cli struct {
	ShowVersion kong.VersionFlag `help:"Print the version." name:"version" env:"-"`

	SC2Data string `help:"A directory with protocol tables, names and build times of StarCraft II builds that are newer than this program: protocol.txt, names.txt, times.txt (docs/patch-day.md)." name:"sc2-data" env:"REPLAYD_SC2_DATA" type:"path" placeholder:"DIR"`

	Serve  serveCmd  `cmd:"" help:"Run the daemon."`
	Demo   demoCmd   `cmd:"" help:"Run the daemon with a live game and samples, to look at."`
	Ls     lsCmd     `cmd:"" help:"List replays."`
	Info   infoCmd   `cmd:"" help:"Describe a replay, as JSON."`
	Report reportCmd `cmd:"" help:"Say who took part in a replay, and how it stood or ended, as a table."`
	Cat    catCmd    `cmd:"" help:"Print a replay's events, one JSON object per line."`
	Export exportCmd `cmd:"" help:"Write a replay's events to Parquet, Arrow, CSV or JSON files, one for each kind."`
	Render renderCmd `cmd:"" help:"Draw a map's game layer as a PNG."`
	Redact redactCmd `cmd:"" help:"Copy a teehistorian file without its secrets."`
	Cut    cutCmd    `cmd:"" help:"Copy a range of ticks of a teehistorian file, with the state at its beginning."`
	Verify verifyCmd `cmd:"" help:"Play a DDNet game again on its map, and say which runs the recording proves."`
	Watch  watchCmd  `cmd:"" help:"Print changes to a daemon's replays: added, growing, finished, removed."`
	Health healthCmd `cmd:"" help:"Check whether a daemon is serving."`
	MCP    mcpCmd    `cmd:"" help:"Offer replays to an assistant, by the Model Context Protocol, on the standard input and output or by HTTP." name:"mcp"`

	kong.Plugins // of the program

	CheckConfig checkConfigCmd `cmd:"" help:"Check a file for serve --config."`

	Version versionCmd `cmd:"" help:"Print the version."`
	Help    helpCmd    `cmd:"" help:"Print how to use a command."`

	Completion completionCmd `cmd:"" help:"Print a shell's completion script."`
	Man        manCmd        `cmd:"" help:"Print the man page." hidden:""`
}

// AfterApply makes the process decode StarCraft II replays with the data of --sc2-data. It is called before the command runs.
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

// Console holds the input and the outputs of a command.
type Console struct {
	In       io.Reader
	Out, Err io.Writer
}

// Main runs a program with the arguments of the process, and ends the process. The first SIGINT or SIGTERM ends the context of the
// command, and the second the process.
func Main(p Program) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal kills the process, for example during a read from a terminal
	code := p.Run(ctx, os.Args[1:], Console{os.Stdin, os.Stdout, os.Stderr})
	stop()
	os.Exit(code)
}

// Run runs a command line and returns the exit code. Call it once for a Program.
func (p Program) Run(ctx context.Context, args []string, con Console) int {
	exited, alone := -1, len(args) == 0
	if alone { // without arguments: print the help, as an error
		args, con.Out = []string{"--help"}, con.Err
	}
	say := func(what ...any) { _, _ = fmt.Fprintln(con.Err, append([]any{p.Name + ":"}, what...)...) }
	parser, err := p.parser(ctx, p.cli(), con, kong.Exit(func(code int) { exited = code }), kong.UsageOnError())
	if err != nil {
		say(err)
		return ExitFailed
	}
	command, err := parser.Parse(args)
	switch {
	case alone:
		return ExitUsage
	case exited >= 0: // --help or --version has printed its text
		return exited
	}
	if err != nil {
		if p.Commands == nil && slices.Contains(fleetCommands, args[0]) {
			err = fmt.Errorf("%s is a command of %s", args[0], fleetName)
		}
		say(err)
		return ExitUsage
	}
	err = command.Run()
	if err == nil {
		return ExitOK
	}
	interrupted := ctx.Err() != nil
	if !interrupted && !errors.Is(err, syscall.EPIPE) { // the reader of the output has closed it
		say(Message(err))
	}
	if r, ok := errors.AsType[resumableError](err); ok {
		say("resume with --cursor", cursor.Text(r.cursor))
	}
	if interrupted {
		return ExitCancelled
	}
	if p.ExitCode != nil {
		if code, ok := p.ExitCode(err); ok {
			return code
		}
	}
	return exitCode(err)
}

// fleetName is the program with more commands, and fleetCommands lists them, for messages of the program that lacks them.
const fleetName = "replayd-fleet"

var fleetCommands = []string{"jobs", "work", "merge", "publish"}

// cli returns the command line of the program.
func (p Program) cli() *cli {
	c := &cli{Serve: serveCmd{program: p}}
	if p.Commands != nil {
		c.Plugins = kong.Plugins{p.Commands}
	}
	if p.ServeFlags != nil {
		c.Serve.Plugins = kong.Plugins{p.ServeFlags}
	}
	return c
}

// Check parses a command line without running it, and returns its error.
func (p Program) Check(ctx context.Context, args []string, con Console) error {
	parser, err := p.parser(ctx, p.cli(), con)
	if err == nil {
		_, err = parser.Parse(args)
	}
	return err
}

// parser returns a command-line parser that fills in into.
func (p Program) parser(ctx context.Context, into *cli, con Console, more ...kong.Option) (*kong.Kong, error) {
	return kong.New(into, append([]kong.Option{
		kong.Name(p.Name),
		kong.Description("Decodes game replays and streams what happened in them as typed events."),
		kong.DefaultEnvars("REPLAYD"),
		kong.Vars{"version": p.Name + " " + Version()},
		kong.Writers(con.Out, con.Err),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(con, p),
	}, more...)...)
}

// objects reports whether a name is the URL of an object, or of objects. A URL of an unknown scheme is an error.
func (p Program) objects(name string) (bool, error) {
	if p.Objects != nil && p.Objects.Is(name) {
		return true, nil
	}
	return false, p.foreign(name)
}

// places returns the places that open the URL of a root, nil for a directory.
func (p Program) places(dir string) (Places, error) {
	switch {
	case p.Objects != nil && p.Objects.Is(dir):
		return p.Objects, nil
	case p.Streams != nil && p.Streams.Is(dir):
		return p.Streams, nil
	}
	return nil, p.foreign(dir)
}

// foreign returns an error for a URL that the program cannot open, without repeating the URL.
func (p Program) foreign(name string) error {
	scheme := anyURL.FindString(name)
	switch {
	case scheme == "":
		return nil
	case p.Objects == nil:
		return usageError{fmt.Errorf("%s: %s reads files and directories; %s reads buckets and NATS, too", scheme, p.Name, fleetName)}
	}
	return usageError{fmt.Errorf("%s is not a scheme that %s can read here", scheme, p.Name)}
}

// anyURL matches the beginning of a URL.
var anyURL = regexp.MustCompile(`^[a-z][a-z0-9+.-]*://`)

type versionCmd struct{}

// Run prints the version.
func (versionCmd) Run(con Console, p Program) error {
	_, err := fmt.Fprintln(con.Out, p.Name, Version())
	return err
}

type helpCmd struct {
	Command []string `arg:"" optional:"" help:"The command."`
}

// Run prints the same text as --help.
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
