package catalog

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/service/source"
)

const (
	// chunk is how many entries of a directory are held at once. A larger directory is read again for every chunk.
	chunk = 4096
	// maxDepth is how many directories deep a root is walked.
	maxDepth = 32
)

// Page is a part of a list of replays.
type Page struct {
	Replays []source.Info // ordered by name
	Next    string        // the token of the next page, empty on the last
}

// List returns up to size replays of the given formats (none means all) below a directory ("" means all roots), ordered
// by name. A token is the Next of the page before, or empty; size must be positive. Below the directory itself, what cannot
// be read is left out.
func (c *Catalog) List(ctx context.Context, dir string, formats []decoders.Format, token string, size int) (Page, error) {
	after, err := parseToken(token, dir, formats)
	if err != nil {
		return Page{}, err
	}
	var page Page
	// One replay more than asked shows whether there is a next page.
	err = c.walk(ctx, dir, after, func(info source.Info) bool {
		if len(formats) > 0 && !slices.Contains(formats, info.Format) {
			return true
		}
		if len(page.Replays) == size {
			page.Next = makeToken(page.Replays[size-1].Name, dir, formats)
			return false
		}
		page.Replays = append(page.Replays, info)
		return true
	})
	if err != nil {
		return Page{}, err
	}
	return page, nil
}

// errStop ends a walk early.
var errStop = errors.New("stop")

// walk visits the replays below a directory whose names come after a given one, in order, until visit returns false.
func (c *Catalog) walk(ctx context.Context, dir, after string, visit func(source.Info) bool) error {
	err := c.walkRoots(ctx, dir, after, visit)
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

func (c *Catalog) walkRoots(ctx context.Context, dir, after string, visit func(source.Info) bool) error {
	if dir != "" {
		p, err := c.place(dir)
		if err != nil {
			return err
		}
		return c.walkPlace(ctx, p, after, visit)
	}
	roots := slices.Clone(c.roots)
	slices.SortFunc(roots, func(a, b Root) int { return strings.Compare(a.Alias+"/", b.Alias+"/") })
	for _, r := range roots {
		p := place{name: r.Alias, root: r, rel: "."}
		if key := p.name + "/"; key < after && !strings.HasPrefix(after, key) {
			continue
		}
		err := c.walkPlace(ctx, p, after, visit)
		if errors.Is(err, errStop) || ctx.Err() != nil {
			return err
		}
		// A root that cannot be read now, as when its disk is not there, does not hide the others.
	}
	return nil
}

func (c *Catalog) walkPlace(ctx context.Context, p place, after string, visit func(source.Info) bool) error {
	root, err := os.OpenRoot(p.root.Dir)
	switch {
	case p.awaited(err):
		return nil
	case err != nil:
		return explain(p.name, err)
	}
	defer root.Close() //nolint:errcheck // nothing was written
	below, err := openDir(root, p.rel)
	if err != nil {
		return namedKnown(p.name, err)
	}
	defer below.Close() //nolint:errcheck // nothing was written
	return c.walkDir(ctx, below, p.name, after, visit, maxDepth)
}

// openDir opens a directory below a root as a root of its own, without waiting for a pipe that lies there instead.
func openDir(root *os.Root, rel string) (*os.Root, error) {
	stat, err := root.Stat(rel)
	switch {
	case err != nil:
		return nil, err
	case !stat.IsDir():
		return nil, ErrNotDirectory
	}
	return root.OpenRoot(rel)
}

func namedKnown(name string, err error) error {
	if errors.Is(err, ErrNotDirectory) {
		return named(name, err)
	}
	return explain(name, err)
}

// walkDir visits the replays below an open directory.
func (c *Catalog) walkDir(ctx context.Context, dir *os.Root, name, after string, visit func(source.Info) bool, depth int) error {
	// The byte order of full names is the order of a walk that sorts directories as if their names ended with a slash.
	for bound := after; ; {
		entries, more, err := smallest(ctx, dir, func(e fs.DirEntry) (entry, bool) {
			if hidden(e.Name()) || !validName(e.Name()) {
				return entry{}, false
			}
			key := name + "/" + e.Name()
			if e.IsDir() {
				key += "/"
				return entry{key: key, dir: true}, key > bound || strings.HasPrefix(after, key) && bound == after
			}
			// A link may lead to a file.
			return entry{key: key}, key > bound && (e.Type().IsRegular() || e.Type()&fs.ModeSymlink != 0)
		})
		if err != nil {
			return explainWalk(ctx, name, err)
		}
		for _, e := range entries {
			if err := c.visitEntry(ctx, dir, name, e, after, visit, depth); err != nil {
				return err
			}
		}
		if !more {
			return nil
		}
		bound = entries[len(entries)-1].key
	}
}

// visitEntry visits a file, or what is below a directory.
func (c *Catalog) visitEntry(ctx context.Context, dir *os.Root, name string, e entry, after string, visit func(source.Info) bool, depth int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	rel := strings.TrimSuffix(e.key[len(name)+1:], "/")
	if e.dir {
		if depth == 0 {
			return nil
		}
		below, err := openDir(dir, rel)
		if err != nil {
			return nil
		}
		defer below.Close() //nolint:errcheck // nothing was written
		err = c.walkDir(ctx, below, join(name, rel), after, visit, depth-1)
		if errors.Is(err, errStop) || ctx.Err() != nil {
			return err
		}
		return nil
	}
	info, err := c.identify(dir, rel, join(name, rel))
	if err != nil || info.Format == decoders.Unknown {
		return nil
	}
	if !visit(info) {
		return errStop
	}
	return nil
}

// explainWalk tells the end of a context from a directory that cannot be read.
func explainWalk(ctx context.Context, name string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return explain(name, err)
}

// entry is an entry of a directory that is to be visited.
type entry struct {
	key string // the full name, with a slash at its end for a directory
	dir bool
}

// smallest reads a directory and returns the up to chunk smallest entries that pick wants, in order, and whether there are
// more.
func smallest(ctx context.Context, dir *os.Root, pick func(fs.DirEntry) (entry, bool)) ([]entry, bool, error) {
	var kept []entry
	var last string // the largest key that can still be among the smallest, once there are enough
	cut := func() {
		if kept = sorted(kept); len(kept) > chunk {
			kept = kept[:chunk]
			last = kept[chunk-1].key
		}
	}
	err := readDir(ctx, dir, func(e fs.DirEntry) {
		v, ok := pick(e)
		if !ok || last != "" && v.key > last {
			return
		}
		if kept = append(kept, v); len(kept) == 2*chunk {
			cut()
		}
	})
	cut()
	return kept, last != "", err
}

func sorted(entries []entry) []entry {
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	return entries
}

// readDir calls each for the entries of a directory, in no order, without holding them all.
func readDir(ctx context.Context, dir *os.Root, each func(fs.DirEntry)) error {
	file, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // nothing was written
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		entries, err := file.ReadDir(512)
		for _, e := range entries {
			each(e)
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// A token is the last name of the page before, after some bytes that tell a token of another list.
const tokenTag = 6

func tag(dir string, formats []decoders.Format) []byte {
	sum := sha256.New()
	for _, f := range slices.Sorted(slices.Values(formats)) {
		sum.Write([]byte{byte(f)})
	}
	sum.Write([]byte{0xff})
	io.WriteString(sum, dir) //nolint:errcheck // a hash does not fail
	return sum.Sum(nil)[:tokenTag]
}

func makeToken(after, dir string, formats []decoders.Format) string {
	return base64.RawURLEncoding.EncodeToString(append(tag(dir, formats), after...))
}

// parseToken returns the name after which a page starts.
func parseToken(token, dir string, formats []decoders.Format) (string, error) {
	if token == "" {
		return "", nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(raw) <= tokenTag || !slices.Equal(raw[:tokenTag], tag(dir, formats)) || !validName(string(raw[tokenTag:])) {
		return "", named(token, ErrToken)
	}
	return string(raw[tokenTag:]), nil
}
