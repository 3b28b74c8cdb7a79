package command

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/alecthomas/kong"

	"github.com/replayd/replayd/cmd/internal/demo"
	"github.com/replayd/replayd/fleet/workdir"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/testdata"
)

type demoCmd struct {
	Listen    string `help:"The address to serve gRPC on. When a daemon has the default already, a free port." default:"127.0.0.1:7171" placeholder:"HOST:PORT"`
	WebListen string `help:"The address to serve browsers on. Default: 127.0.0.1:7170, or a free port when that is in use." placeholder:"HOST:PORT"`
	Grpcurl   string `help:"The grpcurl command to print in the example lines." default:"grpcurl" hidden:""`
}

// Run serves a live game and the samples, until ctx ends.
func (c *demoCmd) Run(ctx context.Context, con Console, p Program) (err error) {
	if c.Listen == defaultListen {
		c.Listen = orFree(c.Listen)
	}
	if c.WebListen == "" {
		c.WebListen = orFree(defaultWeb)
	}
	args := []string{"serve", "--listen", c.Listen, "--web-listen", c.WebListen, "--grpcurl", c.Grpcurl, "--log-level", "warn"}
	serving := p.cli()
	parser, err := p.parser(ctx, serving, con, noEnvironment())
	if err != nil {
		return err
	}
	if _, err := parser.Parse(args); err != nil {
		return err
	}
	dir, err := samples()
	if err != nil {
		return err
	}
	defer dir.Close()
	player, err := demo.New(filepath.Join(dir.Path(), "live"))
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	played := make(chan error, 1)
	go func() {
		defer stop() // without a game there is nothing to show
		played <- player.Play(ctx)
	}()
	defer func() {
		stop()
		err = errors.Join(err, <-played)
	}()
	serving.Serve.demo = []catalog.Root{
		{Alias: "live", Dir: filepath.Join(dir.Path(), "live")}, {Alias: "samples", Dir: filepath.Join(dir.Path(), "samples")},
	}
	return serving.Serve.Run(ctx, con)
}

// defaultListen is the default of --listen.
const defaultListen = "127.0.0.1:7171"

// orFree returns an address to listen on, with a free port if another process has that of addr: a packaged daemon runs already.
func orFree(addr string) string {
	l, err := net.Listen("tcp", addr)
	if err == nil {
		_ = l.Close()
		return addr
	}
	host, _, _ := net.SplitHostPort(addr)
	return net.JoinHostPort(host, "0")
}

// noEnvironment makes flags keep their defaults, whatever the environment has: that is for the user's own daemon, whose index a
// demonstration must not touch.
func noEnvironment() kong.Option {
	return kong.PostBuild(func(k *kong.Kong) error {
		return kong.Visit(k.Model, func(v kong.Visitable, next kong.Next) error {
			if flag, ok := v.(*kong.Flag); ok {
				flag.Envs, flag.Tag.Envs = nil, nil
			}
			return next(nil)
		})
	})
}

// samples returns a temporary directory with the bundled samples below samples.
func samples() (*workdir.Dir, error) {
	dir, err := workdir.New(filepath.Join(os.TempDir(), fmt.Sprintf("replayd-samples-%d", os.Getuid())))
	if err != nil {
		return nil, fmt.Errorf("a directory for the samples: %w", err)
	}
	path := filepath.Join(dir.Path(), "samples")
	if err := errors.Join(os.Mkdir(path, 0o700), testdata.Unpack(path)); err != nil {
		dir.Close()
		return nil, fmt.Errorf("unpacking the samples: %w", err)
	}
	return dir, nil
}
