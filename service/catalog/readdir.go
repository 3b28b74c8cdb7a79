package catalog

import (
	"context"
	"io/fs"
	"strings"
	"time"

	"github.com/replayd/replayd/replay/source"
)

// File is an entry of a directory. The file was not opened.
type File struct {
	Name     string // the full name
	ID       source.ID
	Size     int64
	Modified time.Time
	Fixed    bool // see source.Info
}

// Dir is the contents of a directory.
type Dir struct {
	Files []File   // regular files, and links to regular files below the root, in no order
	Dirs  []string // full names of directories, without links to directories
	// ID identifies the directory itself. Modified is when an entry of it was last added, removed or renamed.
	ID       source.ID
	Modified time.Time
}

// ReadDir reads a directory. It leaves out hidden entries, entries whose names are invalid, and broken links. It returns
// ErrNotDirectory for a file.
func (c *Catalog) ReadDir(ctx context.Context, name string) (Dir, error) {
	p, err := c.place(name)
	if err != nil {
		return Dir{}, err
	}
	var d Dir
	self, err := p.root.store().ReadDir(ctx, p.rel, func(stat fs.FileInfo) {
		switch {
		case !listed(stat.Name()):
		case stat.IsDir():
			d.Dirs = append(d.Dirs, join(name, stat.Name()))
		case stat.Mode().IsRegular():
			d.Files = append(d.Files, fileOf(join(name, stat.Name()), stat))
		}
	})
	switch {
	case self == nil && p.awaited(err):
		return Dir{}, nil
	case err != nil:
		return Dir{}, explainWalk(ctx, name, err)
	}
	d.ID, d.Modified = source.Identify(self), self.ModTime()
	return d, nil
}

// listed reports whether an entry of a directory with that name is listed.
func listed(name string) bool {
	return !hidden(name) && validName(name) && !strings.Contains(name, "/")
}

func fileOf(name string, stat fs.FileInfo) File {
	return File{
		Name: name, ID: source.Identify(stat), Size: stat.Size(), Modified: stat.ModTime(), Fixed: source.IsObject(stat),
	}
}

// Look returns the file that has the name now. dir reports whether it is a directory.
func (c *Catalog) Look(name string) (file File, dir bool, err error) {
	p, err := c.place(name)
	if err != nil {
		return File{}, false, err
	}
	stat, err := p.root.store().Stat(context.Background(), p.rel)
	if err != nil {
		return File{}, false, explain(name, err)
	}
	return fileOf(name, stat), stat.IsDir(), nil
}

// Locate returns the path of a name in the file system, whether or not it exists, for a subscription of a watch.Watcher. It is
// empty for names that are not in the file system.
// Clients must not see it.
func (c *Catalog) Locate(name string) (string, error) {
	p, err := c.place(name)
	if err != nil {
		return "", err
	}
	return p.root.store().Path(p.rel), nil
}

// explainWalk returns ctx's error if it has ended, and otherwise the error of the directory that cannot be read.
func explainWalk(ctx context.Context, name string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return explain(name, err)
}
