package watch

import (
	"io/fs"
	"os"

	"github.com/fsnotify/fsnotify"
)

// system is what a Watcher needs of the operating system; tests put faults there.
type system struct {
	stat     func(path string) (fs.FileInfo, error)
	remote   func(path string) bool // whether changes of the file system by others are not reported
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
