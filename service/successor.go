package service

import (
	"context"
	"errors"
	"path"
	"sync"
	"time"

	"github.com/replayd/replayd/decoders"
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
	last  scan
}

// described is a file whose header was read, which never changes while the file only grows.
type described struct {
	info   source.Info
	replay *replaydv1.Replay
}

// scan is what was found in a directory. When many followers learn of one change, one scan serves them all.
type scan struct {
	dir   string
	since time.Time
	began time.Time
	files []source.Info
}

// maxKnown bounds what a chain remembers. What is forgotten is read again.
const maxKnown = 10_000

func newChain(c *catalog.Catalog, codec *encode.Codec) *chain {
	return &chain{catalog: c, codec: codec, known: map[string]described{}}
}

// successor is what a chain finds.
type successor struct {
	info   source.Info
	replay *replaydv1.Replay // nil when there is none
	// retry is in how long to ask again even when nothing in the directory changes, for a file in it is not complete enough
	// to tell; 0 when that is not so.
	retry time.Duration
}

// next returns the successor of a replay, which may be gone by now. It looks at what was written to since the replay was;
// with all it looks at everything in its directory, for the times of files that were copied tell nothing.
func (c *chain) next(ctx context.Context, file *source.File, all bool) (successor, error) {
	var found successor
	if c.codec.Succeeds == nil {
		return found, nil
	}
	asked := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	info := file.Info()
	of, err := c.describeFile(ctx, file)
	if of == nil || err != nil {
		return successor{retry: c.unsettled(&info)}, err
	}
	var since time.Time
	if !all {
		since = info.Modified.Add(-slack)
	}
	files, err := c.scan(ctx, path.Dir(info.Name), since, asked)
	if err != nil {
		return found, err
	}
	for i := range files {
		candidate := &files[i]
		r, err := c.describe(ctx, candidate)
		switch {
		case err != nil:
			return successor{}, err
		case r == nil:
			if wait := c.unsettled(candidate); wait > 0 && (found.retry == 0 || wait < found.retry) {
				found.retry = wait
			}
			continue
		case r.GetIdentity() == of.GetIdentity() || !c.codec.Succeeds(of, r):
			continue
		}
		// Of two that started in the same second, as far as they tell, only one can succeed the other.
		sameSecond := r.GetStarted().AsTime().Equal(of.GetStarted().AsTime())
		if sameSecond && !all && !candidate.Modified.After(info.Modified) {
			continue
		}
		if found.replay == nil || earlier(candidate, r, &found) {
			found.info, found.replay = *candidate, r
		}
	}
	return found, nil
}

// scan lists the files of a directory that were written to since a time, as they are now or were when that was asked. It
// may list some more. The chain must be locked.
func (c *chain) scan(ctx context.Context, dir string, since, asked time.Time) ([]source.Info, error) {
	if l := &c.last; l.dir == dir && !l.since.After(since) && l.began.After(asked) {
		return l.files, nil
	}
	if !since.IsZero() {
		since = since.Add(-scanMore)
	}
	began := time.Now()
	files, err := c.catalog.Since(ctx, dir, since)
	switch {
	case errors.Is(err, catalog.ErrNotFound):
		return nil, nil // the directory is gone
	case err != nil:
		return nil, err
	}
	c.last = scan{dir, since, began, files}
	return files, nil
}

// unsettled tells in how long to look again at a file that is no replay of the format, and 0 when it is none for good: a
// header may come late, on a file system that shows writes late, or when its writer was stopped.
func (c *chain) unsettled(info *source.Info) time.Duration {
	unborn := info.Format == decoders.Unknown && info.Compression == source.Plain && info.Size < decoders.SniffLen
	if info.Format != c.codec.Format && !unborn {
		return 0
	}
	return min(max(time.Since(info.Modified)/10, minRetry), maxRetry)
}

// find returns the name of the replay in a directory, but not below it, that is the wanted one, or nothing. Of copies of
// it, one that is not compressed comes first: it may grow.
func (c *chain) find(ctx context.Context, dir string, wanted func(*replaydv1.Replay) bool) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all, err := c.catalog.Since(ctx, dir, time.Time{})
	if err != nil {
		return "", err
	}
	found := ""
	for i := range all {
		r, err := c.describe(ctx, &all[i])
		switch {
		case err != nil:
			return "", err
		case r == nil || !wanted(r):
		case all[i].Growable():
			return r.GetName(), nil
		case found == "":
			found = r.GetName()
		}
	}
	return found, nil
}

// describe reads the header of a file, once. It returns nil for a file of another format, and for one whose header cannot
// be read, or not yet. The chain must be locked.
func (c *chain) describe(ctx context.Context, info *source.Info) (*replaydv1.Replay, error) {
	if info.Format != c.codec.Format {
		return nil, nil
	}
	if r := c.remembered(info); r != nil {
		return r, nil
	}
	file, err := c.catalog.Open(info.Name)
	if err != nil {
		return nil, ctx.Err()
	}
	defer func() { _ = file.Close() }()
	return c.describeFile(ctx, file)
}

// describeFile is describe of an open file.
func (c *chain) describeFile(ctx context.Context, file *source.File) (*replaydv1.Replay, error) {
	info := file.Info()
	if r := c.remembered(&info); r != nil {
		return r, nil
	}
	r, err := Describe(ctx, file)
	if err != nil {
		return nil, ctx.Err()
	}
	if len(c.known) >= maxKnown {
		clear(c.known)
	}
	c.known[info.Name] = described{info, r}
	return r, nil
}

// remembered returns what is known of a file that has done nothing but grow since.
func (c *chain) remembered(info *source.Info) *replaydv1.Replay {
	d, ok := c.known[info.Name]
	if !ok || d.info.ID != info.ID || info.Size < d.info.Size || info.Modified.Before(d.info.Modified) {
		return nil
	}
	return d.replay
}

const (
	// slack is how much the clocks of file systems are trusted: a successor is written to after its predecessor, give or
	// take that much.
	slack = 2 * time.Second
	// scanMore is how much more than asked for a scan looks at, so that it serves others too.
	scanMore = time.Minute
	// minRetry and maxRetry bound in how long a file is looked at again that does not tell yet what it is. The longer ago it
	// was written to, the longer.
	minRetry = 2 * time.Second
	maxRetry = 30 * time.Second
)

// earlier orders candidates: the one that started first is next, and of copies of it the one that may grow.
func earlier(info *source.Info, a *replaydv1.Replay, than *successor) bool {
	b := than.replay
	if a.GetIdentity() == b.GetIdentity() && info.Growable() != than.info.Growable() {
		return info.Growable()
	}
	at, bt := a.GetStarted().AsTime(), b.GetStarted().AsTime()
	if !at.Equal(bt) {
		return at.Before(bt)
	}
	return a.GetModified().AsTime().Before(b.GetModified().AsTime())
}
