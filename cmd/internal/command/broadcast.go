package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/playcast"
)

// broadcasts are the broadcasts that a daemon follows.
type broadcasts struct {
	Broadcast        []string       `help:"Follow the HTTP broadcast of a match, as players do with playcast URL, and write it as a demo that grows, below a directory in a root. Repeatable." placeholder:"ALIAS/PATH=URL" sep:"none"`
	BroadcastListen  string         `help:"The address on which game servers push their broadcasts, and players read them: tv_broadcast_url http://HOST:PORT/NAME. Default: disabled." placeholder:"HOST:PORT"`
	BroadcastServers string         `help:"A file of the game servers that may push: a line NAME SECRET for each. The secret is its tv_broadcast_origin_auth." type:"path" placeholder:"FILE"`
	BroadcastInto    string         `help:"Where the demos of --broadcast-listen are written: a directory of each server's name, below PATH in a root." placeholder:"ALIAS/PATH"`
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
	dir, err := below(root, path)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("this is no URL")
	}
	return &playcast.Match{Dir: dir, URL: u}, playcast.Check(u)
}

// below returns a directory below that of a root.
func below(root, path string) (string, error) {
	switch {
	case root == "":
		return "", errors.New("no --root with a directory has that alias")
	case !fs.ValidPath(path) || path == "." || strings.HasPrefix(path, ".") || strings.Contains(path, "/.") || strings.Contains(path, `\`):
		return "", fmt.Errorf("%s is no path below a root", path)
	}
	return filepath.Join(root, filepath.FromSlash(path)), nil
}

// into returns the directory of what is pushed, or all that is wrong with the flags. It is empty if nothing is.
func (b *broadcasts) into(roots map[string]string) (string, error) {
	if b.BroadcastListen == "" {
		if b.BroadcastServers+b.BroadcastInto != "" {
			return "", errors.New("--broadcast-servers and --broadcast-into need --broadcast-listen")
		}
		return "", nil
	}
	if b.BroadcastServers == "" || b.BroadcastInto == "" {
		return "", errors.New("--broadcast-listen needs --broadcast-servers and --broadcast-into")
	}
	alias, path, _ := strings.Cut(b.BroadcastInto, "/")
	dir, err := below(roots[alias], path)
	if err != nil {
		err = fmt.Errorf("--broadcast-into %s: %w", b.BroadcastInto, err)
	}
	return dir, err
}

// relay returns the relay for those who push, and what writes their broadcasts. It is nil without --broadcast-listen.
func (b *broadcasts) relay(roots map[string]string, log *slog.Logger, metrics *playcast.Metrics) (*playcast.Relay, []*playcast.Match, error) {
	dir, err := b.into(roots)
	if err != nil || dir == "" {
		return nil, nil, err
	}
	text, err := os.ReadFile(b.BroadcastServers)
	if err != nil {
		return nil, nil, fmt.Errorf("--broadcast-servers: %w", err)
	}
	servers, err := playcast.ParseServers(string(text))
	if err != nil {
		return nil, nil, fmt.Errorf("--broadcast-servers %s: %w", b.BroadcastServers, err)
	}
	relay := playcast.NewRelay(servers, log, metrics)
	matches := relay.Matches(dir)
	return relay, matches, nil
}

// follow follows the broadcasts until ctx ends, and returns a function that waits for that. relay is nil without --broadcast-listen.
func (b *broadcasts) follow(ctx context.Context, roots []catalog.Root, d Daemon) (relay *playcast.Relay, wait func(), err error) {
	if len(b.Broadcast) == 0 && b.BroadcastListen == "" {
		return nil, func() {}, nil
	}
	dirs := map[string]string{}
	for _, r := range roots {
		dirs[r.Alias] = r.Dir
	}
	metrics := playcast.NewMetrics(d.Metrics)
	matches, err := b.matches(dirs)
	if err != nil {
		return nil, nil, err
	}
	relay, pushed, err := b.relay(dirs, d.Log, metrics)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	for _, m := range append(matches, pushed...) {
		m.Log, m.Metrics = d.Log, metrics
		running.Go(func() {
			switch err := m.Run(ctx); {
			case err == nil:
				d.Log.InfoContext(ctx, "a broadcast is over", "dir", m.Dir)
			case ctx.Err() == nil:
				d.Log.ErrorContext(ctx, "a broadcast cannot be followed", "dir", m.Dir, "error", err)
			}
		})
	}
	return relay, func() { cancel(); running.Wait() }, nil
}
