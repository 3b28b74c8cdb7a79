package access

import (
	"context"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"time"
)

// lookAfter is how often files are looked at. They are few, and looking is what works on every file system and with every
// way to put a new file in the place of an old one.
const lookAfter = 2 * time.Second

// Reloadable is what comes from files and can be read again.
type Reloadable struct {
	// What it is called in the log.
	What string
	// Files that it comes from.
	Files []string
	// Reload reads them again. On an error it leaves everything as it was.
	Reload func() error
	// Look, unless nil, is called whenever the files are looked at, each two seconds.
	Look func()
}

// Reload reads all again, and logs what became of it.
func Reload(log *slog.Logger, list []Reloadable) {
	for _, r := range list {
		r.reload(log)
	}
}

func (r *Reloadable) reload(log *slog.Logger) {
	if err := r.Reload(); err != nil {
		log.Error("a file cannot be used; what it said before stays in force", "what", r.What, "files", r.Files, "error", err)
		return
	}
	log.Info("read again", "what", r.What, "files", r.Files)
}

// ReloadOnChange reads again each file that changes, until ctx ends, and all of them whenever again receives.
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
			now := r.look() // before it is read: what comes later is seen the next time
			if !all && slices.EqualFunc(now, known[i], same) {
				continue
			}
			known[i] = now
			r.reload(log)
		}
	}
}

// look returns what changes when a file does, nil for a file that is not there.
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
