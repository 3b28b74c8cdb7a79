package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/replayd/replayd/service/source"
)

// Root is a directory whose replays are served.
type Root struct {
	// Alias is how the directory is called in names. It consists of letters, digits, '.', '_' and '-', and is neither
	// "." nor "..".
	Alias string
	// Dir is the directory's path in the file system.
	Dir string
}

// Options are a Catalog's settings.
type Options struct {
	// Limits bound what compressed files may cost.
	Limits source.Limits
	// Verbatim allows names of files however they are called: hidden ones, and ones with a backslash. It is for a command
	// line, whose user names one of his own files. They are never listed.
	Verbatim bool
}

// Catalog knows the roots. Nothing needs to be closed.
type Catalog struct {
	roots    []Root // by alias
	limits   source.Limits
	verbatim bool
}

var aliasPattern = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// New returns a catalog of roots, in no particular order. It returns ErrAlias when an alias is not valid or not unique, and an
// error when what lies at a root is no directory. One where nothing is yet, or that cannot be opened now, is no error: see
// Missing. A directory may have several aliases.
func New(roots []Root, o Options) (*Catalog, error) {
	c := &Catalog{limits: o.Limits, verbatim: o.Verbatim}
	for _, r := range roots {
		if !aliasPattern.MatchString(r.Alias) || r.Alias == "." || r.Alias == ".." {
			return nil, fmt.Errorf("%w %q: want letters, digits, '.', '_' and '-'", ErrAlias, r.Alias)
		}
		dir, err := filepath.Abs(r.Dir)
		if err != nil {
			return nil, fmt.Errorf("root %q: %w", r.Alias, err)
		}
		r.Dir = dir
		c.roots = append(c.roots, r)
	}
	slices.SortFunc(c.roots, func(a, b Root) int { return strings.Compare(a.Alias, b.Alias) })
	for i, r := range c.roots {
		if i > 0 && r.Alias == c.roots[i-1].Alias {
			return nil, fmt.Errorf("%w %q is used twice", ErrAlias, r.Alias)
		}
		if stat, err := os.Stat(r.Dir); err == nil && !stat.IsDir() {
			return nil, fmt.Errorf("root %q: %q: %w", r.Alias, r.Dir, ErrNotDirectory)
		}
	}
	return c, nil
}

// Missing returns the roots that cannot be read now, with the reason. A game server makes its directory when it first
// records; until then such a root is empty.
func (c *Catalog) Missing() map[Root]error {
	missing := map[Root]error{}
	for _, r := range c.roots {
		root, err := os.OpenRoot(r.Dir)
		if err != nil {
			missing[r] = err
			continue
		}
		_ = root.Close()
	}
	return missing
}

// Roots returns the roots, ordered by alias.
func (c *Catalog) Roots() []Root { return slices.Clone(c.roots) }

// place is what a name names.
type place struct {
	name string
	root Root
	rel  string // below the root; "." for the root itself
}

// path is the place's path in the file system, links not resolved.
func (p place) path() string { return filepath.Join(p.root.Dir, filepath.FromSlash(p.rel)) }

// place parses a name.
func (c *Catalog) place(name string) (place, error) {
	valid := validName
	if c.verbatim {
		valid = validPath
	}
	switch {
	case strings.HasPrefix(name, "/"), slices.Contains(strings.Split(name, "/"), ".."):
		return place{}, named(name, ErrOutside)
	case !valid(name):
		return place{}, named(name, ErrName)
	}
	alias, rel, below := strings.Cut(name, "/")
	switch {
	case !below:
		rel = "."
	case hidden(rel) && !c.verbatim:
		return place{}, named(name, ErrNotFound)
	}
	i, ok := slices.BinarySearchFunc(c.roots, alias, func(r Root, alias string) int { return strings.Compare(r.Alias, alias) })
	if !ok {
		return place{}, named(name, ErrNotFound)
	}
	return place{name, c.roots[i], rel}, nil
}

// validName reports whether a name, or an element of one, can be one. A backslash separates elements on some systems.
func validName(name string) bool { return validPath(name) && !strings.Contains(name, `\`) }

// validPath reports whether a name can be one of a file. fs.ValidPath refuses what is empty or not UTF-8, and elements that
// are empty, "." or "..". A NUL ends names for the kernel.
func validPath(name string) bool {
	return fs.ValidPath(name) && name != "." && !strings.Contains(name, "\x00")
}

// hidden reports whether an element of a path begins with ".".
func hidden(rel string) bool { return strings.HasPrefix(rel, ".") || strings.Contains(rel, "/.") }

// IsDir reports whether a name leads to a directory.
func (c *Catalog) IsDir(name string) (bool, error) {
	p, err := c.place(name)
	if err != nil {
		return false, err
	}
	stat, err := p.stat()
	switch {
	case p.awaited(err):
		return true, nil
	case err != nil:
		return false, explain(name, err)
	}
	return stat.IsDir(), nil
}

// awaited reports whether an error is that a root is not there yet: until it is, it counts as an empty directory.
func (p place) awaited(err error) bool { return p.rel == "." && errors.Is(err, fs.ErrNotExist) }

// stat looks what lies there.
func (p place) stat() (fs.FileInfo, error) {
	root, err := os.OpenRoot(p.root.Dir)
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // nothing was written
	return root.Stat(p.rel)
}

// Open opens a replay. It returns source.ErrDirectory and source.ErrIrregular for what is no regular file, and a
// *decoders.Error for a compressed file whose beginning cannot be unpacked. A file of no known format is opened; see
// source.File.Recognized.
func (c *Catalog) Open(name string) (*source.File, error) {
	p, err := c.place(name)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(p.root.Dir)
	if err != nil {
		return nil, explain(name, err)
	}
	defer root.Close() //nolint:errcheck // nothing was written
	file, err := open(root, p.rel)
	if err != nil {
		return nil, explainKnown(name, err)
	}
	f, err := source.New(file, p.origin(), c.limits)
	if err != nil {
		return nil, named(name, err)
	}
	return f, nil
}

// origin is where a file lies.
func (p place) origin() source.Origin {
	path := p.path()
	// Stat is called for each write to a live file. It may follow links out of the root: all that is asked of what lies there
	// is whether it is the file that was opened, from within the root.
	return source.Origin{Name: p.name, Path: path, Stat: func() (fs.FileInfo, error) { return os.Stat(path) }}
}

// Origin is where a file of that name lies: for a source.File that was opened by another name.
func (c *Catalog) Origin(name string) (source.Origin, error) {
	p, err := c.place(name)
	if err != nil {
		return source.Origin{}, err
	}
	return p.origin(), nil
}

// open opens a regular file below a root.
func open(root *os.Root, rel string) (*os.File, error) {
	// Opening a device can do things, so that it must not even be tried. Between looking and opening another file may
	// come to lie there: source.New looks again, and O_NONBLOCK sees to it that opening does not wait for the other end
	// of a pipe.
	stat, err := root.Stat(rel)
	switch {
	case err != nil:
		return nil, err
	case stat.IsDir():
		return nil, source.ErrDirectory
	case !stat.Mode().IsRegular():
		return nil, source.ErrIrregular
	}
	return root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// explainKnown is explain for errors among which source's own may be.
func explainKnown(name string, err error) error {
	if errors.Is(err, source.ErrDirectory) || errors.Is(err, source.ErrIrregular) {
		return named(name, err)
	}
	return explain(name, err)
}

// join makes the name of something in a directory.
func join(dir, elem string) string { return dir + "/" + elem }
