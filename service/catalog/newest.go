package catalog

import (
	"context"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/service/source"
)

// newestChunk is how many files are held at once when looking for the newest.
const newestChunk = 256

// Newest returns the replay in a directory that was written to last, of those that are wanted (nil wants all); of several,
// the one whose name comes last. Directories below are not looked into: they are other servers'. It returns ErrNotFound
// when there is none yet.
func (c *Catalog) Newest(ctx context.Context, dir string, wanted func(*source.Info) bool) (source.Info, error) {
	var found *source.Info
	err := c.byAge(ctx, dir, func(info source.Info) bool {
		if info.Format == decoders.Unknown || wanted != nil && !wanted(&info) {
			return true
		}
		found = &info
		return false
	})
	switch {
	case err != nil:
		return source.Info{}, err
	case found == nil:
		return source.Info{}, named(dir, ErrNotFound)
	}
	return *found, nil
}

// Since returns the files in a directory that were written to at or after a time, the newest first: replays, and what is not
// known to be one, or not yet. Like Newest it does not look into directories below. Its cost is one look at each file of the
// directory; only the new ones are opened.
func (c *Catalog) Since(ctx context.Context, dir string, since time.Time) ([]source.Info, error) {
	var found []source.Info
	err := c.byAge(ctx, dir, func(info source.Info) bool {
		if info.Modified.Before(since) {
			return false
		}
		found = append(found, info)
		return true
	})
	return found, err
}

// byAge visits the files in a directory, the newest first, until visit returns false.
func (c *Catalog) byAge(ctx context.Context, dir string, visit func(source.Info) bool) error {
	p, err := c.place(dir)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(p.root.Dir)
	switch {
	case p.awaited(err):
		return nil
	case err != nil:
		return explain(dir, err)
	}
	defer root.Close() //nolint:errcheck // nothing was written
	below, err := openDir(root, p.rel)
	if err != nil {
		return namedKnown(dir, err)
	}
	defer below.Close() //nolint:errcheck // nothing was written

	var bound *aged
	for {
		files, more, err := newest(ctx, below, bound)
		if err != nil {
			return explainWalk(ctx, dir, err)
		}
		for _, f := range files {
			info, err := c.identify(below, f.name, join(dir, f.name))
			if err == nil && !visit(info) {
				return nil
			}
		}
		if !more {
			return nil
		}
		bound = &files[len(files)-1]
	}
}

// aged is a file with its age.
type aged struct {
	name     string
	modified int64 // nanoseconds since 1970
}

// compare orders the newest first.
func (a aged) compare(b aged) int {
	switch {
	case a.modified != b.modified:
		if a.modified > b.modified {
			return -1
		}
		return 1
	default:
		return strings.Compare(b.name, a.name)
	}
}

// newest returns the newest files of a directory that are older than bound, newest first, and whether there are more.
func newest(ctx context.Context, dir *os.Root, bound *aged) ([]aged, bool, error) {
	var kept []aged
	more := false
	cut := func() {
		slices.SortFunc(kept, aged.compare)
		if len(kept) > newestChunk {
			kept, more = kept[:newestChunk], true
		}
	}
	err := readDir(ctx, dir, func(e fs.DirEntry) {
		if e.IsDir() || hidden(e.Name()) || !validName(e.Name()) {
			return
		}
		// os.Root has looked at each entry already, but not at where links lead.
		look := e.Info
		if e.Type()&fs.ModeSymlink != 0 {
			look = func() (fs.FileInfo, error) { return dir.Stat(e.Name()) }
		}
		stat, err := look()
		if err != nil || !stat.Mode().IsRegular() {
			return
		}
		file := aged{e.Name(), stat.ModTime().UnixNano()}
		if bound != nil && file.compare(*bound) <= 0 {
			return
		}
		if kept = append(kept, file); len(kept) == 2*newestChunk {
			cut()
		}
	})
	cut()
	return kept, more, err
}
