package playcast

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Follower follows the broadcasts that clients name, each in a directory of its own. It is safe for concurrent use.
type Follower struct {
	o       FollowerOptions
	ctx     context.Context //nolint:containedctx // what is followed outlives the calls
	running sync.WaitGroup

	mu  sync.Mutex
	now map[string]bool // by URL
}

// FollowerOptions are a Follower's settings.
type FollowerOptions struct {
	// Dir gets a directory for each broadcast. Name is its name as part of a root. Required.
	Dir, Name string
	// Allow has the patterns of the URLs that clients may name.
	Allow []Pattern
	// Known has the names of the directories of broadcasts that are followed anyway, by URL.
	Known map[string]string
	// Like has the other fields of the Matches: all but Dir and URL.
	Like Match
	// Max is how many broadcasts are followed at once. Default: 100.
	Max int
}

const defaultMax = 100

// linger is how long the directory of a broadcast stays that was refused before it began, so that whoever named it is told why. It is a
// variable for tests.
var linger = 10 * time.Second

// Why a broadcast is not followed.
var (
	ErrURL     = errors.New("no URL of a broadcast")
	ErrAllowed = errors.New("the operator does not allow this URL")
	ErrMax     = errors.New("as many broadcasts are followed as may be")
)

// NewFollower returns a Follower that follows until ctx ends. It goes on with the broadcasts that one before it has left.
func NewFollower(ctx context.Context, o FollowerOptions) *Follower {
	if o.Max <= 0 {
		o.Max = defaultMax
	}
	f := &Follower{o: o, ctx: ctx, now: map[string]bool{}}
	left, _ := os.ReadDir(o.Dir) // nothing is left if it is not there
	for _, e := range left {
		d := dir{path: filepath.Join(o.Dir, e.Name())}
		s, ok := d.read()
		if !ok || s.Over || !f.owns(&s, e.Name()) {
			continue
		}
		if _, err := f.Follow(s.Of); err != nil {
			o.Like.Log.WarnContext(ctx, "a broadcast is followed no more", "dir", d.path, "why", err)
		}
	}
	return f
}

// owns reports whether a state in a directory of that name is of a broadcast that a client named: what a server pushes is there, too.
func (*Follower) owns(s *state, name string) bool {
	u, err := url.Parse(s.Of)
	return err == nil && u.Host != "" && nameOf(u) == name
}

// Wait waits until nothing is followed any more.
func (f *Follower) Wait() { f.running.Wait() }

// nameOf returns the name of a broadcast's directory. It tells the host alone, because the rest may be a secret.
func nameOf(u *url.URL) string {
	sum := sha256.Sum256([]byte(u.String()))
	host := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '-' {
			return r
		}
		return '-'
	}, u.Hostname())
	return strings.TrimLeft(host, ".") + "-" + hex.EncodeToString(sum[:8])
}

// Name returns the name that all directories of a Follower are below.
func (f *Follower) Name() string { return f.o.Name }

// Follow follows the broadcast at a URL, unless it is followed already or is over, and returns the name of its directory. It returns
// ErrURL, ErrAllowed or ErrMax, or what happened to the directory.
func (f *Follower) Follow(address string) (name string, err error) {
	u, err := url.Parse(address)
	if err != nil || Check(u) != nil {
		return "", ErrURL
	}
	u = plainURL(u)
	at := u.String()
	if name, ok := f.o.Known[at]; ok {
		return name, nil
	}
	if !slices.ContainsFunc(f.o.Allow, func(p Pattern) bool { return p.Match(u) }) {
		return "", ErrAllowed
	}
	d := dir{path: filepath.Join(f.o.Dir, nameOf(u))}
	name = f.o.Name + "/" + nameOf(u)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.now[at] {
		return name, nil
	}
	s, ok := d.read()
	switch {
	case ok && s.Over:
		return name, nil
	case len(f.now) >= f.o.Max || f.ctx.Err() != nil:
		return "", ErrMax
	case !ok: // so that the next Follower goes on, even if this one never comes to a file
		if err := errors.Join(os.MkdirAll(d.path, 0o755), d.store(&state{Of: at})); err != nil { //nolint:gosec // a root's directory
			return "", err
		}
	}
	f.now[at] = true
	f.running.Go(func() { f.run(u, at, d) })
	return name, nil
}

// run follows a broadcast to its end.
func (f *Follower) run(u *url.URL, at string, d dir) {
	m := f.o.Like
	m.Dir, m.URL = d.path, u
	refused := m.Follow(f.ctx)
	if refused {
		s, ok := d.read()
		refused = ok && s.File == "" // before it began
	}
	if refused {
		_ = sleep(f.ctx, linger)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.now, at)
	if refused {
		d.remove()
	}
}
