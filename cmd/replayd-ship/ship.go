package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/nats-io/nats.go"

	"github.com/replayd/replayd/decoders/teehistorian"
	"github.com/replayd/replayd/fleet/bucket"
	"github.com/replayd/replayd/fleet/shipment"
	"github.com/replayd/replayd/fleet/shipment/ship"
	"github.com/replayd/replayd/internal/natsconn"
	"github.com/replayd/replayd/service/scrape"
	"github.com/replayd/replayd/service/watch"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// memory is the garbage collector's limit, in bytes. It counts the heap and the runtime's needs, but not the program itself.
// Other limits bound what is held at once: see ship.Options.Chunks, and bucket.MaxHeld for the one file that is read back.
const memory = 20 << 20

// version is set by the linker.
var version = "unknown"

// command is the command line.
type command struct {
	Dir      string        `arg:"" help:"The directory whose files are shipped, with all directories below it." type:"existingdir"`
	To       string        `help:"The NATS servers and the stream: nats://HOST:PORT/STREAM?server=HOST:PORT&..., or the servers comma-separated. The stream is made if it is not there. Default: replayd-live." required:"" placeholder:"URL"`
	Source   string        `help:"The first element of the files' names. Default: the host's name, with hyphens for other characters than letters and digits." placeholder:"NAME"`
	Bucket   string        `help:"Where finished files go: s3://BUCKET/PATH. They get the names SOURCE/PATH below it, are read back, and leave the stream. Default: they stay in the stream while they are in the directory." placeholder:"URL"`
	Replicas int           `help:"On how many servers of a NATS cluster the stream is kept, if it is not there yet." default:"1"`
	Quiet    time.Duration `help:"How long a file without an end of its own must not have been written to, to be finished." default:"1h"`
	MaxAge   time.Duration `help:"How long ago a file may have been written to that is shipped although the stream has nothing of it." default:"24h"`
	Batch    time.Duration `help:"How long the writes of a file are collected before they are sent. The first one after a pause waits for nothing." default:"40ms"`
	Adopt    bool          `help:"Take over a source that was shipped from another directory, such as one that was moved. Its files that are not in this directory are removed from the stream."`
	Watch    watch.Mode    `help:"How to detect that files grow: auto, inotify or poll." default:"auto"`
	LogLevel slog.Level    `help:"The lowest level to log: debug, info, warn or error." default:"info"`
	natsconn.Credentials
	Metrics scrape.Flags `embed:""`

	Version kong.VersionFlag `help:"Print the version."`

	place natsconn.Place
	at    bucket.Location
}

// parse parses the command line. ok is false if there is nothing to run.
func (c *command) parse(args []string, out, errs io.Writer) (code int, ok bool) {
	exited := -1
	parser, err := kong.New(c, kong.Name("replayd-ship"),
		kong.Description("Ships the bytes of growing replays into a stream of NATS, from which replayd serves them on other machines."),
		kong.DefaultEnvars("REPLAYD_SHIP"), kong.Vars{"version": "replayd-ship " + version}, kong.Writers(out, errs),
		kong.Exit(func(code int) { exited = code }))
	if err == nil {
		_, err = parser.Parse(args)
	}
	switch {
	case exited >= 0: // --help or --version has printed its text
		return exited, false
	case err == nil:
		err = c.check()
	}
	if err != nil {
		_, _ = fmt.Fprintln(errs, "replayd-ship:", err)
		return exitUsage, false
	}
	return exitOK, true
}

// check rejects invalid flags. It repeats no URL, which may have secrets.
func (c *command) check() (err error) {
	if c.place, err = natsconn.Parse(c.To); err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	if len(c.place.Values) > 0 {
		return errors.New("--to: the URL has no parameters")
	}
	if c.place.Stream == "" {
		c.place.Stream = shipment.StreamName
	}
	if err := shipment.CheckStream(c.place.Stream); err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	if c.Source == "" {
		host, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("--source: %w", err)
		}
		c.Source = strings.Map(func(r rune) rune {
			if r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
				return r
			}
			return '-'
		}, host)
	}
	if err := shipment.CheckSource(c.Source); err != nil {
		return fmt.Errorf("--source: %w", err)
	}
	if c.Bucket != "" {
		if c.at, err = bucket.Parse(c.Bucket); err != nil {
			return fmt.Errorf("--bucket: %w", err)
		}
	}
	if err := errors.Join(c.Check(), c.Metrics.Check()); err != nil {
		return err
	}
	switch {
	case c.Replicas < 1 || c.Replicas > 5:
		return errors.New("--replicas: must be 1 to 5")
	case c.Quiet <= 0:
		return errors.New("--quiet: must be positive")
	case c.Batch < 0 || c.Batch > time.Second:
		return errors.New("--batch: must be 0s to 1s")
	case c.MaxAge <= 0:
		return errors.New("--max-age: must be positive")
	}
	return nil
}

// run ships until ctx ends.
func (c *command) run(ctx context.Context, errs io.Writer) int {
	log := slog.New(slog.NewTextHandler(errs, &slog.HandlerOptions{Level: c.LogLevel}))
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memory)
	}
	failed := func(err error) int {
		_, _ = fmt.Fprintln(errs, "replayd-ship:", err)
		return exitFailed
	}
	// What cannot be sent now stays in the files: nothing is kept in memory meanwhile.
	conn, err := natsconn.Connect(c.place.Servers, "replayd-ship "+c.Source, c.Credentials, nats.RetryOnFailedConnect(true), nats.ReconnectBufSize(-1),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				log.WarnContext(ctx, "the connection to NATS is lost; files wait until it is back", "error", natsconn.Explain(err))
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { log.InfoContext(ctx, "connected to NATS again") }))
	if err != nil {
		return failed(natsconn.Explain(err))
	}
	defer conn.Close()
	watcher, err := watch.New(watch.Options{Mode: c.Watch, Log: log})
	if err != nil {
		return failed(err)
	}
	defer func() { _ = watcher.Close() }()
	o := ship.Options{
		Dir: c.Dir, Source: c.Source, Watcher: watcher, HasEnd: teehistorian.Ended, Quiet: c.Quiet, MaxAge: c.MaxAge, Batch: c.Batch, Adopt: c.Adopt, Log: log, Connected: conn.IsConnected,
		Open: func(ctx context.Context) (*shipment.Stream, error) {
			if !conn.IsConnected() {
				return nil, natsconn.Explain(nats.ErrNoServers)
			}
			s, err := shipment.Open(ctx, conn, shipment.Options{Name: c.place.Stream, Replicas: c.Replicas})
			if err != nil {
				return nil, natsconn.Explain(err)
			}
			log.InfoContext(ctx, "shipping", "directory", c.Dir, "source", c.Source, "stream", c.place.Stream)
			return s, nil
		},
	}
	if c.Bucket != "" {
		if o.Archive, err = bucket.Open(ctx, c.at, bucket.Options{}); err != nil {
			return failed(err)
		}
	}
	s, err := ship.New(o)
	if err != nil {
		return failed(err)
	}
	stop, err := c.Metrics.Serve(ctx, metrics(s, conn), func(context.Context) error { return healthy(s, conn) }, log)
	if err != nil {
		return failed(err)
	}
	defer stop()
	err = s.Run(ctx)
	n := s.Figures()
	log.InfoContext(ctx, "stopped", "bytes", n.Bytes, "messages", n.Messages, "conflicts", n.Conflict, "failures", n.Failures, "archived", n.Archived)
	if err != nil {
		return failed(err)
	}
	return exitOK
}
