package catalog

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/replayd/replayd/service/source"
)

// File is what is known of a file from its directory, without opening it.
type File struct {
	Name     string // in full
	ID       source.ID
	Size     int64
	Modified time.Time
}

// Dir is what a directory holds.
type Dir struct {
	Files []File   // regular files, and links to such below the root, in no order
	Dirs  []string // the names in full of directories; links to directories are not followed
	// ID is the directory's own, and Modified when an entry of it was last added, removed or renamed.
	ID       source.ID
	Modified time.Time
}

// ReadDir reads a directory. Hidden entries and those that can have no name are left out, as
// are links that lead to none. It returns ErrNotDirectory for a file.
func (c *Catalog) ReadDir(ctx context.Context, name string) (Dir, error) {
	var d Dir
	below, err := c.openDir(name)
	if below == nil || err != nil {
		return d, err
	}
	defer below.Close() //nolint:errcheck // nothing was written
	stat, err := below.Stat(".")
	if err != nil {
		return d, explain(name, err)
	}
	d.ID, d.Modified = source.Identify(stat), stat.ModTime()
	err = readDir(ctx, below, func(e fs.DirEntry) {
		switch {
		case hidden(e.Name()) || !validName(e.Name()):
			return
		case e.IsDir():
			d.Dirs = append(d.Dirs, join(name, e.Name()))
			return
		case !e.Type().IsRegular() && e.Type()&fs.ModeSymlink == 0:
			return
		}
		// os.Root has looked at each entry already, but not at where links lead.
		look := e.Info
		if e.Type()&fs.ModeSymlink != 0 {
			look = func() (fs.FileInfo, error) { return below.Stat(e.Name()) }
		}
		if stat, err := look(); err == nil && stat.Mode().IsRegular() {
			d.Files = append(d.Files, fileOf(join(name, e.Name()), stat))
		}
	})
	if err != nil {
		return Dir{}, explainWalk(ctx, name, err)
	}
	return d, nil
}

func fileOf(name string, stat fs.FileInfo) File {
	return File{Name: name, ID: source.Identify(stat), Size: stat.Size(), Modified: stat.ModTime()}
}

// openDir opens a directory as a root of its own. It returns nil for a root that is not there yet.
func (c *Catalog) openDir(name string) (*os.Root, error) {
	p, err := c.place(name)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(p.root.Dir)
	switch {
	case p.awaited(err):
		return nil, nil
	case err != nil:
		return nil, explain(name, err)
	}
	defer root.Close() //nolint:errcheck // nothing was written
	below, err := openDir(root, p.rel)
	if err != nil {
		return nil, namedKnown(name, err)
	}
	return below, nil
}

// Look returns what lies under a name now: a file, or, with dir, a directory.
func (c *Catalog) Look(name string) (file File, dir bool, err error) {
	p, err := c.place(name)
	if err != nil {
		return File{}, false, err
	}
	stat, err := p.stat()
	if err != nil {
		return File{}, false, explain(name, err)
	}
	return fileOf(name, stat), stat.IsDir(), nil
}

// Locate returns where in the file system a name would lie, whether or not something is there: what to subscribe to with a
// watch.Watcher. It must not be shown to clients.
func (c *Catalog) Locate(name string) (string, error) {
	p, err := c.place(name)
	if err != nil {
		return "", err
	}
	return p.path(), nil
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

// explainWalk distinguishes the end of a context from a directory that cannot be read.
func explainWalk(ctx context.Context, name string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return explain(name, err)
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
