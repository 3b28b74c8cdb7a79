package playcast

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Spool removes finished files of broadcasts, the oldest first. It removes nothing that a Match did not write, and no file to which one may
// still write.
type Spool struct {
	// Dirs are the directories of Matches, and Below those whose directories are.
	Dirs, Below []string
	// Size is how many bytes the files may take, together. 0 is any number.
	Size int64
	// Age is for how long a file is kept after its last byte. 0 is for ever.
	Age time.Duration
	// Follower has directories that are removed when nothing is left in them. It may be nil.
	Follower *Follower
	// Log gets what is removed. Required.
	Log *slog.Logger
}

const sweepEvery = time.Minute

// Run removes files until ctx ends.
func (s *Spool) Run(ctx context.Context) {
	for ctx.Err() == nil {
		s.Sweep(ctx, time.Now())
		_ = sleep(ctx, sweepEvery)
	}
}

// recording is the form of the names of files that a Match writes.
var recording = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ(-\d+)?\` + extension + `$`)

// kept is a file of a Match.
type kept struct {
	path     string
	size     int64
	modified time.Time
	open     bool // it may be written to
}

// Sweep removes what is too old, or too much, at a time.
func (s *Spool) Sweep(ctx context.Context, now time.Time) {
	var all []kept
	for _, dir := range s.dirs() {
		all = append(all, filesIn(dir)...)
	}
	slices.SortFunc(all, func(a, b kept) int { return cmp.Or(a.modified.Compare(b.modified), strings.Compare(a.path, b.path)) })
	size := int64(0)
	for _, f := range all {
		size += f.size
	}
	for _, f := range all {
		old := s.Age > 0 && now.Sub(f.modified) > s.Age
		if f.open || !old && (s.Size <= 0 || size <= s.Size) {
			continue
		}
		if err := os.Remove(f.path); err != nil {
			s.Log.WarnContext(ctx, "a recording of a broadcast cannot be removed", "file", f.path, "error", err)
			continue
		}
		removeNotes(f.path)
		s.Log.InfoContext(ctx, "a recording of a broadcast is removed", "file", f.path, "bytes", f.size, "old", old)
		size -= f.size
	}
	if s.Follower != nil {
		s.Follower.sweep()
	}
}

// dirs returns the directories of Matches that are there.
func (s *Spool) dirs() []string {
	dirs := slices.Clone(s.Dirs)
	for _, above := range s.Below {
		found, _ := os.ReadDir(above) // nothing is kept if it is not there
		for _, e := range found {
			if path := filepath.Join(above, e.Name()); e.IsDir() && !slices.Contains(dirs, path) {
				dirs = append(dirs, path)
			}
		}
	}
	return dirs
}

// filesIn returns the files of a Match. A directory without a state is none of a Match.
func filesIn(path string) (files []kept) {
	found, _ := os.ReadDir(path)
	d := dir{path: path}
	s, ok := d.read() // behind the list, so that it has no file that is newer than the state's
	if !ok {
		return nil
	}
	for _, e := range found {
		if !recording.MatchString(e.Name()) || !e.Type().IsRegular() {
			continue
		}
		if info, err := e.Info(); err == nil {
			files = append(files, kept{filepath.Join(path, e.Name()), info.Size(), info.ModTime(), !s.Over && e.Name() == s.File})
		}
	}
	return files
}

// sweep removes directories of broadcasts that are over, and of which nothing is left.
func (f *Follower) sweep() {
	f.mu.Lock()
	defer f.mu.Unlock()
	found, _ := os.ReadDir(f.o.Dir)
	for _, e := range found {
		d := dir{path: filepath.Join(f.o.Dir, e.Name())}
		if s, ok := d.read(); ok && s.Over && f.owns(&s, e.Name()) && !f.now[s.Of] && len(filesIn(d.path)) == 0 {
			d.remove()
		}
	}
}
