package catalog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/replayd/replayd/replay/source"
)

// Root is a directory, or another Store, whose replays are served.
type Root struct {
	// Alias is the root's name in the names of replays. It consists of letters, digits, '.', '_' and '-', and is neither
	// "." nor "..".
	Alias string
	// Dir is the directory's path in the file system. It is empty with Store.
	Dir string
	// Store has the files if they are not in a directory of the file system. Nil for a directory.
	Store Store
}

// Every returns the interval at which to list the root again. It is 0 for a directory, whose changes are noticed.
func (r Root) Every() time.Duration { return r.store().Every() }

// Sources reports whether each directory below the root has its own writer, which need not be trusted with the other directories.
func (r Root) Sources() bool {
	s, ok := r.Store.(interface{ Sources() bool })
	return ok && s.Sources()
}

// Place identifies where the files of a Store lie, in each run alike and without credentials. It is empty where that is not known.
func (r Root) Place() string {
	if s, ok := r.Store.(interface{ Place() string }); ok {
		return s.Place()
	}
	return ""
}

// store returns the root's Store.
func (r Root) store() Store {
	if r.Store != nil {
		return r.Store
	}
	return directory(r.Dir)
}

// Options are a Catalog's settings.
type Options struct {
	// Limits bound the cost of compressed files.
	Limits source.Limits
	// Verbatim allows any file name, even hidden ones and ones with a backslash. Set it for the command line, whose users name
	// their own files. Such files are never listed.
	Verbatim bool
}

// Catalog finds replays below its roots. It need not be closed.
type Catalog struct {
	roots    []Root // by alias
	limits   source.Limits
	verbatim bool
}

var aliasPattern = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// New returns a catalog of roots, which may be in any order. It returns ErrAlias if an alias is invalid or not unique, and an
// error if a root is not a directory. A root that does not exist yet, or cannot be opened now, is no error: see Missing. A
// directory may have several aliases.
func New(roots []Root, o Options) (*Catalog, error) {
	c := &Catalog{limits: o.Limits, verbatim: o.Verbatim}
	for _, r := range roots {
		if !aliasPattern.MatchString(r.Alias) || r.Alias == "." || r.Alias == ".." {
			return nil, fmt.Errorf("%w %q: want letters, digits, '.', '_' and '-'", ErrAlias, r.Alias)
		}
		if r.Store == nil {
			dir, err := filepath.Abs(r.Dir)
			if err != nil {
				return nil, fmt.Errorf("root %q: %w", r.Alias, err)
			}
			r.Dir = dir
		}
		c.roots = append(c.roots, r)
	}
	slices.SortFunc(c.roots, func(a, b Root) int { return strings.Compare(a.Alias, b.Alias) })
	for i, r := range c.roots {
		if i > 0 && r.Alias == c.roots[i-1].Alias {
			return nil, fmt.Errorf("%w %q is used twice", ErrAlias, r.Alias)
		}
		if r.Store != nil {
			continue
		}
		if stat, err := os.Stat(r.Dir); err == nil && !stat.IsDir() {
			return nil, fmt.Errorf("root %q: %q: %w", r.Alias, r.Dir, ErrNotDirectory)
		}
	}
	return c, nil
}

// Missing returns the directories that cannot be read now, with the reason. It does not ask other stores. A game server creates
// its directory when it records for the first time; until then such a root is empty.
func (c *Catalog) Missing() map[Root]error {
	missing := map[Root]error{}
	for _, r := range c.roots {
		if r.Store != nil {
			continue
		}
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

// place is the parsed name of a file or directory.
type place struct {
	name string
	root Root
	rel  string // below the root; "." for the root itself
}

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

// validName reports whether a name, or an element of one, is valid. A backslash is not: it separates elements on some systems.
func validName(name string) bool { return validPath(name) && !strings.Contains(name, `\`) }

// validPath reports whether a file can have that path. fs.ValidPath refuses paths that are empty or not UTF-8, and elements that
// are empty, "." or "..". The kernel ends paths at a NUL.
func validPath(name string) bool {
	return fs.ValidPath(name) && name != "." && !strings.Contains(name, "\x00")
}

// hidden reports whether an element of a path begins with ".".
func hidden(rel string) bool { return strings.HasPrefix(rel, ".") || strings.Contains(rel, "/.") }

// IsDir reports whether a name belongs to a directory.
func (c *Catalog) IsDir(name string) (bool, error) {
	p, err := c.place(name)
	if err != nil {
		return false, err
	}
	stat, err := p.root.store().Stat(context.Background(), p.rel)
	switch {
	case p.awaited(err):
		return true, nil
	case err != nil:
		return false, explain(name, err)
	}
	return stat.IsDir(), nil
}

// Grows reports whether files with names below the same root may grow. The objects of a bucket do not.
func (c *Catalog) Grows(name string) bool {
	p, err := c.place(name)
	return err != nil || p.root.Every() == 0
}

// awaited reports whether err means that a root does not exist yet. Until it does, it counts as an empty directory.
func (p place) awaited(err error) bool { return p.rel == "." && errors.Is(err, fs.ErrNotExist) }

// Open is OpenContext without a context.
func (c *Catalog) Open(name string) (*source.File, error) {
	return c.OpenContext(context.Background(), name)
}

// OpenContext opens a replay. It returns source.ErrDirectory or source.ErrIrregular if it is not a regular file, and a
// *decoders.Error if the beginning of a compressed file cannot be unpacked. A file of an unknown format is opened, too; see
// source.File.Recognized. Reading a file that is not in the file system fails once ctx has ended.
func (c *Catalog) OpenContext(ctx context.Context, name string) (*source.File, error) {
	p, err := c.place(name)
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		handle, err := p.root.store().Open(ctx, p.rel)
		if err != nil {
			return nil, explainKnown(name, err)
		}
		f, err := source.New(handle, p.origin(), c.limits)
		switch {
		case err == nil:
			return f, nil
		case errors.Is(err, source.ErrReplaced) && try < maxOpens: // replaced between Open and the first read
			continue
		}
		return nil, named(name, err)
	}
}

// maxOpens is how often a file is opened again because it is replaced meanwhile.
const maxOpens = 3

// origin returns the place's origin for a source.File.
func (p place) origin() source.Origin {
	path := p.root.store().Path(p.rel)
	if path == "" {
		return source.Origin{Name: p.name}
	}
	// Stat is called for each write to a live file, so it must be cheap, and os.Stat is. It may follow links out of the root:
	// the attributes are only compared with those of the file that was opened within the root.
	return source.Origin{Name: p.name, Path: path, Stat: func() (fs.FileInfo, error) { return os.Stat(path) }}
}

// Origin returns the origin of the file with that name. It is for a source.File that was opened under another name.
func (c *Catalog) Origin(name string) (source.Origin, error) {
	p, err := c.place(name)
	if err != nil {
		return source.Origin{}, err
	}
	return p.origin(), nil
}

// explainKnown is explain, but returns errors of package source unchanged.
func explainKnown(name string, err error) error {
	if errors.Is(err, source.ErrDirectory) || errors.Is(err, source.ErrIrregular) {
		return named(name, err)
	}
	return explain(name, err)
}

// join returns the name of an element of a directory.
func join(dir, elem string) string { return dir + "/" + elem }
