package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"sync"

	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/playcast"
)

// broadcasts are the broadcasts that a daemon follows.
type broadcasts struct {
	Broadcast        []string       `help:"Follow the HTTP broadcast of a match, as players do with playcast URL, and write it as a demo that grows, below a directory in a root. Repeatable." placeholder:"ALIAS/PATH=URL" sep:"none"`
	BroadcastNetwork []netip.Prefix `help:"A network, beside the public ones, in which hosts of broadcasts may have their addresses. Repeatable." placeholder:"CIDR"`
}

// matches returns the broadcasts, or all that is wrong with them. Their directories are below those of roots, by alias.
func (b *broadcasts) matches(roots map[string]string) (matches []*playcast.Match, err error) {
	taken := map[string]bool{}
	for _, text := range b.Broadcast {
		name, address, ok := strings.Cut(text, "=")
		alias, path, below := strings.Cut(name, "/")
		if !ok || !below {
			err = errors.Join(err, errors.New("--broadcast: want ALIAS/PATH=URL")) // without the URL, which may have secrets
			continue
		}
		m, wrong := match(roots[alias], path, address)
		if taken[name] {
			wrong = errors.New("given twice")
		}
		if taken[name] = true; wrong != nil {
			err = errors.Join(err, fmt.Errorf("--broadcast %s: %w", name, wrong))
			continue
		}
		m.Networks, m.Agent = b.BroadcastNetwork, "replayd/"+Version()
		matches = append(matches, m)
	}
	return matches, err
}

// match returns the broadcast at an address, with its files in a path below the directory of a root.
func match(root, path, address string) (*playcast.Match, error) {
	u, err := url.Parse(address)
	switch {
	case root == "":
		return nil, errors.New("no --root with a directory has that alias")
	case !fs.ValidPath(path) || path == "." || strings.HasPrefix(path, ".") || strings.Contains(path, "/.") || strings.Contains(path, `\`):
		return nil, fmt.Errorf("%s is no path below a root", path)
	case err != nil:
		return nil, errors.New("this is no URL")
	}
	return &playcast.Match{Dir: filepath.Join(root, filepath.FromSlash(path)), URL: u}, playcast.Check(u)
}

// follow follows the broadcasts until ctx ends, and returns a function that waits for that.
func (b *broadcasts) follow(ctx context.Context, roots []catalog.Root, d Daemon) (wait func(), err error) {
	dirs := map[string]string{}
	for _, r := range roots {
		dirs[r.Alias] = r.Dir
	}
	matches, err := b.matches(dirs)
	if err != nil || len(matches) == 0 {
		return func() {}, err
	}
	metrics := playcast.NewMetrics(d.Metrics)
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	for _, m := range matches {
		m.Log, m.Metrics = d.Log, metrics
		running.Go(func() {
			switch err := m.Run(ctx); {
			case err == nil:
				d.Log.InfoContext(ctx, "a broadcast is over", "dir", m.Dir)
			case ctx.Err() == nil:
				d.Log.LogAttrs(ctx, slog.LevelError, "a broadcast cannot be followed", slog.String("dir", m.Dir), slog.Any("error", err))
			}
		})
	}
	return func() { cancel(); running.Wait() }, nil
}
