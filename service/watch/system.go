package watch

import (
	"io/fs"
	"os"

	"github.com/fsnotify/fsnotify"
)

// system is the part of the operating system that a Watcher uses. Tests inject faults there.
type system struct {
	stat     func(path string) (fs.FileInfo, error)
	remote   func(path string) bool // reports whether the file system may change without a notification
	notifier func() (notifier, error)
}

// notifier reports changes in directories. It is an *fsnotify.Watcher, or a fake of one.
type notifier interface {
	Add(dir string) error
	Remove(dir string) error
	Close() error
	channels() (<-chan fsnotify.Event, <-chan error)
}

type fsNotifier struct{ *fsnotify.Watcher }

func (n fsNotifier) channels() (<-chan fsnotify.Event, <-chan error) { return n.Events, n.Errors }

func realSystem() system {
	return system{
		stat:   os.Stat,
		remote: remote,
		notifier: func() (notifier, error) {
			w, err := fsnotify.NewWatcher()
			if err != nil {
				return nil, err
			}
			return fsNotifier{w}, nil
		},
	}
}
