package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	client "github.com/replayd/replayd/clients/go"
	"github.com/replayd/replayd/cmd/internal/agent"
)

type mcpCmd struct {
	Target

	Path string `arg:"" optional:"" help:"Without --addr: the directory whose replays are offered. Default: the current one."`
}

// Validate refuses a path beside a daemon.
func (c *mcpCmd) Validate() error {
	if c.Addr != "" && c.Path != "" {
		return fmt.Errorf("%s: --addr offers the replays of a daemon, not a directory of its own", c.Path)
	}
	return c.Target.Validate()
}

// Run answers requests on the standard input until it ends.
func (c *mcpCmd) Run(ctx context.Context, con Console) error {
	daemon, end, err := c.daemon(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = end() }()
	err = agent.New(daemon, Version()).Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(con.In), Writer: unclosed{con.Out}})
	if errors.Is(err, io.EOF) || ctx.Err() != nil {
		return nil // whoever asked has left
	}
	return err
}

// daemon returns a client of the daemon, which may be one of the command's own, and a function that gives it back.
func (c *mcpCmd) daemon(ctx context.Context) (*client.Client, func() error, error) {
	if c.Addr != "" {
		daemon, err := c.Dial()
		if err != nil {
			return nil, nil, err
		}
		return daemon, daemon.Close, nil
	}
	if os.Getenv("REPLAYD") == "" { // this program is the daemon, too
		self, err := os.Executable()
		if err != nil {
			return nil, nil, fmt.Errorf("finding this program: %w", err)
		}
		if err := os.Setenv("REPLAYD", self); err != nil {
			return nil, nil, err
		}
	}
	path := cmp.Or(c.Path, ".")
	if stat, err := os.Stat(path); err == nil && !stat.IsDir() { // its daemon would offer what is beside the file, too
		return nil, nil, fmt.Errorf("%s is a file: name its directory, whose replays are offered", path)
	}
	daemon, err := client.Open(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	return daemon.Client, daemon.Close, nil
}

// unclosed is a writer whose Close does nothing.
type unclosed struct{ io.Writer }

// Close implements io.Closer.
func (unclosed) Close() error { return nil }
