package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/playcast"
)

// broadcasts are the broadcasts that a daemon follows.
type broadcasts struct {
	Broadcast        []string       `help:"Follow the HTTP broadcast of a match, as players do with playcast URL, and write it as a demo that grows, below a directory in a root. Repeatable." placeholder:"ALIAS/PATH=URL" sep:"none"`
	BroadcastListen  string         `help:"The address on which game servers push their broadcasts, and players read them: tv_broadcast_url http://HOST:PORT/NAME. Default: disabled." placeholder:"HOST:PORT"`
	BroadcastServers string         `help:"A file of the game servers that may push: a line NAME SECRET for each. The secret is its tv_broadcast_origin_auth." type:"path" placeholder:"FILE"`
	BroadcastAllow   []string       `help:"Follow the broadcasts that clients name (FollowBroadcast), if their URL matches: https://HOST/PATH, where * stands for any characters within a label of the host or an element of the path, and ?* for any query. Repeatable. Default: none." placeholder:"PATTERN" sep:"none"`
	BroadcastInto    string         `help:"Where the demos of --broadcast-listen and --broadcast-allow are written: a directory of each server, and of each URL, below PATH in a root." placeholder:"ALIAS/PATH"`
	BroadcastAge     time.Duration  `help:"Remove a finished demo of a broadcast so long after its last byte. Default: never." placeholder:"DURATION"`
	BroadcastSpace   size           `help:"Remove the oldest finished demos of broadcasts when all of them take more, such as 100GiB. Default: any number of bytes." default:"0" placeholder:"BYTES"`
	BroadcastPace    time.Duration  `help:"The shortest time between two requests to a relay for one match. Others than yours expect a second." default:"1s" placeholder:"DURATION"`
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

// into returns the directory of what is pushed and of what clients name, or all that is wrong with the flags. It is empty if nothing is.
func (b *broadcasts) into(roots map[string]string) (string, error) {
	switch listens, allows := b.BroadcastListen != "", len(b.BroadcastAllow) > 0; {
	case listens != (b.BroadcastServers != ""):
		return "", errors.New("--broadcast-listen and --broadcast-servers need each other")
	case (listens || allows) && b.BroadcastInto == "":
		return "", errors.New("--broadcast-listen and --broadcast-allow need --broadcast-into")
	case !listens && !allows && b.BroadcastInto != "":
		return "", errors.New("--broadcast-into needs --broadcast-listen or --broadcast-allow")
	case b.BroadcastInto == "":
		return "", nil
	}
	alias, path, _ := strings.Cut(b.BroadcastInto, "/")
	dir, err := below(roots[alias], path)
	if err != nil {
		err = fmt.Errorf("--broadcast-into %s: %w", b.BroadcastInto, err)
	}
	return dir, err
}

// allowed returns the patterns of --broadcast-allow, or all that is wrong with them.
func (b *broadcasts) allowed() (patterns []playcast.Pattern, err error) {
	for _, text := range b.BroadcastAllow {
		p, wrong := playcast.ParsePattern(text)
		if wrong != nil {
			err = errors.Join(err, fmt.Errorf("--broadcast-allow %s: %w", text, wrong))
		}
		patterns = append(patterns, p)
	}
	return patterns, err
}

// following is what a daemon does with broadcasts.
type following struct {
	relay    *playcast.Relay    // nil without --broadcast-listen
	follower *playcast.Follower // nil without --broadcast-allow
	wait     func()             // ends it
}

// follow follows the broadcasts until ctx ends.
func (b *broadcasts) follow(ctx context.Context, roots []catalog.Root, d Daemon) (f following, err error) {
	f.wait = func() {}
	if len(b.Broadcast)+len(b.BroadcastAllow) == 0 && b.BroadcastListen == "" {
		return f, nil
	}
	dirs := map[string]string{}
	for _, r := range roots {
		dirs[r.Alias] = r.Dir
	}
	like := playcast.Match{
		Networks: b.BroadcastNetwork, Agent: "replayd/" + Version(), Pace: b.BroadcastPace, Log: d.Log, Metrics: playcast.NewMetrics(d.Metrics),
	}
	matches, err := b.matches(dirs)
	if err != nil {
		return f, err
	}
	into, err := b.into(dirs)
	if err != nil {
		return f, err
	}
	allow, err := b.allowed()
	if err != nil {
		return f, err
	}
	known := map[string]string{}
	for i, m := range matches {
		known[playcast.Plain(m.URL)], _, _ = strings.Cut(b.Broadcast[i], "=")
	}
	if b.BroadcastListen != "" {
		servers, err := b.servers()
		if err != nil {
			return f, err
		}
		f.relay = playcast.NewRelay(servers, d.Log, like.Metrics)
		matches = append(matches, f.relay.Matches(into)...)
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	for _, m := range matches {
		m.Networks, m.Agent, m.Log, m.Metrics = like.Networks, like.Agent, like.Log, like.Metrics
		m.Pace = cmp.Or(m.Pace, like.Pace) // a relay's own is not asked by anybody
		running.Go(func() { m.Follow(ctx) })
	}
	f.wait = func() { cancel(); running.Wait() }
	if len(b.BroadcastAllow) > 0 {
		f.follower = playcast.NewFollower(ctx, playcast.FollowerOptions{Dir: into, Name: b.BroadcastInto, Allow: allow, Known: known, Like: like})
		f.wait = func() { cancel(); running.Wait(); f.follower.Wait() }
	}
	if b.BroadcastAge > 0 || b.BroadcastSpace > 0 {
		spool := playcast.Spool{Size: int64(b.BroadcastSpace), Age: b.BroadcastAge, Follower: f.follower, Log: d.Log}
		for _, m := range matches {
			spool.Dirs = append(spool.Dirs, m.Dir)
		}
		if into != "" { // also of servers that push no more, and of URLs
			spool.Below = []string{into}
		}
		running.Go(func() { spool.Run(ctx) })
	}
	return f, nil
}

// servers returns the servers that may push.
func (b *broadcasts) servers() ([]playcast.Server, error) {
	text, err := os.ReadFile(b.BroadcastServers)
	if err != nil {
		return nil, fmt.Errorf("--broadcast-servers: %w", err)
	}
	servers, err := playcast.ParseServers(string(text))
	if err != nil {
		return nil, fmt.Errorf("--broadcast-servers %s: %w", b.BroadcastServers, err)
	}
	return servers, nil
}
