package service

import (
	"context"
	"errors"
	"path"
	"sync"
	"time"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/encode"
	"github.com/replayd/replayd/service/source"
)

// chain finds the replay that a game server wrote after another, in the same directory. It is safe for concurrent use.
type chain struct {
	catalog *catalog.Catalog
	codec   *encode.Codec

	mu    sync.Mutex
	known map[string]described // by name
}

// described is a file whose header was read, which never changes.
type described struct {
	id     source.ID
	replay *replaydv1.Replay
}

// maxKnown bounds what a chain remembers. What is forgotten is read again.
const maxKnown = 10_000

func newChain(c *catalog.Catalog, codec *encode.Codec) *chain {
	return &chain{catalog: c, codec: codec, known: map[string]described{}}
}

// next returns the successor of a replay, or nil when there is none yet. A replay that is gone still has one, if it was
// known.
func (c *chain) next(ctx context.Context, name string) (*replaydv1.Replay, error) {
	if c.codec.Succeeds == nil {
		return nil, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.known[name].replay
	info, err := c.catalog.Stat(name)
	switch {
	case err == nil:
		if of, err = c.describe(ctx, &info); of == nil || err != nil {
			return nil, err
		}
	case of == nil || !errors.Is(err, catalog.ErrNotFound):
		return nil, err
	default:
		info.Modified = of.GetModified().AsTime()
	}
	candidates, err := c.catalog.Since(ctx, path.Dir(name), info.Modified.Add(-slack))
	if err != nil {
		return nil, err
	}
	var found *replaydv1.Replay
	for i := range candidates {
		r, err := c.describe(ctx, &candidates[i])
		if err != nil {
			return nil, err
		}
		if r == nil || r.GetIdentity() == of.GetIdentity() || !c.codec.Succeeds(of, r) {
			continue
		}
		// Of two that started in the same second, as far as they tell, only one can succeed the other.
		sameSecond := r.GetStarted().AsTime().Equal(of.GetStarted().AsTime())
		if sameSecond && !candidates[i].Modified.After(info.Modified) {
			continue
		}
		if earlier(r, found) {
			found = r
		}
	}
	return found, nil
}

// exists tells whether there is a successor.
func (c *chain) exists(ctx context.Context, name string) bool {
	next, err := c.next(ctx, name)
	return err == nil && next != nil
}

// find returns the name of the replay in a directory, but not below it, that is the wanted one, or nothing.
func (c *chain) find(ctx context.Context, dir string, wanted func(*replaydv1.Replay) bool) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all, err := c.catalog.Since(ctx, dir, time.Time{})
	if err != nil {
		return "", err
	}
	for i := range all {
		r, err := c.describe(ctx, &all[i])
		if err != nil {
			return "", err
		}
		if r != nil && wanted(r) {
			return r.GetName(), nil
		}
	}
	return "", nil
}

// describe reads the header of a file, once. It returns nil for a file of another format, and for one whose header cannot
// be read, or not yet.
func (c *chain) describe(ctx context.Context, info *source.Info) (*replaydv1.Replay, error) {
	if info.Format != c.codec.Format {
		return nil, nil
	}
	if d, ok := c.known[info.Name]; ok && d.id == info.ID {
		return d.replay, nil
	}
	file, err := c.catalog.Open(info.Name)
	if err != nil {
		return nil, ctx.Err()
	}
	defer func() { _ = file.Close() }()
	r, err := Describe(ctx, file)
	if err != nil {
		return nil, ctx.Err()
	}
	if len(c.known) >= maxKnown {
		clear(c.known)
	}
	c.known[info.Name] = described{info.ID, r}
	return r, nil
}

// slack is how much the clocks of file systems are trusted: a successor is written to after its predecessor, give or
// take that much.
const slack = 2 * time.Second

// earlier orders candidates: the one that started first is next.
func earlier(a, b *replaydv1.Replay) bool {
	if b == nil {
		return true
	}
	at, bt := a.GetStarted().AsTime(), b.GetStarted().AsTime()
	if !at.Equal(bt) {
		return at.Before(bt)
	}
	return a.GetModified().AsTime().Before(b.GetModified().AsTime())
}
