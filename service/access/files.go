package access

import (
	"context"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"time"
)

// lookAfter is how often the files are checked. They are few. Polling works on every file system and with every way to replace
// a file.
const lookAfter = 2 * time.Second

// Reloadable is something that is read from files and can be read again.
type Reloadable struct {
	// What is its name in the log.
	What string
	// Files are the files from which it is read.
	Files []string
	// Reload reads the files again. On an error it changes nothing.
	Reload func() error
	// Look, unless nil, is called at each check of the files, that is every two seconds.
	Look func()
}

func (r *Reloadable) reload(log *slog.Logger) {
	if err := r.Reload(); err != nil {
		log.Error("a file cannot be used; what it said before stays in force", "what", r.What, "files", r.Files, "error", err)
		return
	}
	log.Info("read again", "what", r.What, "files", r.Files)
}

// ReloadOnChange reloads each element of list whose files change, until ctx ends. It reloads all of them on each value from
// again.
func ReloadOnChange(ctx context.Context, log *slog.Logger, again <-chan os.Signal, list []Reloadable) {
	reloadOnChange(ctx, log, again, lookAfter, list)
}

func reloadOnChange(ctx context.Context, log *slog.Logger, again <-chan os.Signal, every time.Duration, list []Reloadable) {
	known := make([][]fs.FileInfo, len(list))
	for i, r := range list {
		known[i] = r.look()
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		all := false
		select {
		case <-ctx.Done():
			return
		case <-again:
			all = true
		case <-ticker.C:
		}
		for i, r := range list {
			if r.Look != nil {
				r.Look()
			}
			now := r.look() // before the reload: a later change is seen at the next check
			if !all && slices.EqualFunc(now, known[i], same) {
				continue
			}
			known[i] = now
			r.reload(log)
		}
	}
}

// look returns the current FileInfo of each file, nil for a file that does not exist.
func (r *Reloadable) look() []fs.FileInfo {
	seen := make([]fs.FileInfo, len(r.Files))
	for i, path := range r.Files {
		seen[i], _ = os.Stat(path)
	}
	return seen
}

func same(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == b
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}
