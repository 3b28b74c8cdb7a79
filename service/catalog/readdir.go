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

// File is an entry of a directory. The file was not opened.
type File struct {
	Name     string // in full
	ID       source.ID
	Size     int64
	Modified time.Time
}

// Dir is the contents of a directory.
type Dir struct {
	Files []File   // regular files, and links to regular files below the root, in no order
	Dirs  []string // full names of directories, without links to directories
	// ID is the directory's own, and Modified when an entry of it was last added, removed or renamed.
	ID       source.ID
	Modified time.Time
}

// ReadDir reads a directory. It leaves out hidden entries, entries whose names are invalid, and broken links. It returns
// ErrNotDirectory for a file.
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
		// os.Root has the attributes of each entry, but not those of the files to which links lead.
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

// openDir opens a directory as an os.Root. It returns nil for a root that does not exist yet.
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

// Look returns the file that has the name now. dir reports whether it is a directory.
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

// Locate returns the path of a name in the file system, whether or not it exists, for a subscription of a watch.Watcher.
// Clients must not see it.
func (c *Catalog) Locate(name string) (string, error) {
	p, err := c.place(name)
	if err != nil {
		return "", err
	}
	return p.path(), nil
}

// openDir opens a directory below a root as an os.Root. It does not wait if a pipe has the name instead.
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

// explainWalk returns ctx's error if it has ended, and otherwise that of a directory that cannot be read.
func explainWalk(ctx context.Context, name string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return explain(name, err)
}

// readDir calls each for the entries of a directory, in no order. It never holds all of them.
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
