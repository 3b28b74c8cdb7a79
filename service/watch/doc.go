// Package watch reports when files and directories may have changed.
//
// # Following
//
// One [Watcher] serves the whole daemon. Its [Subscription] reports that a file or a directory may have changed, but not what
// changed. For a file, source.File.Check finds the change. It also finds that the file can no longer be followed, because it
// shrank, was replaced or was removed. A reader that follows a file therefore checks it whenever the subscription fires, and
// waits for the subscription when there is nothing new.
//
// # How changes are detected
//
// The Watcher uses inotify or a similar facility, with a slow poll behind it. Where that cannot work, it only polls: see
// [Mode]. A file system that does not answer delays only the files on it.
//
// # Concurrency
//
// A Watcher and a Subscription are safe for concurrent use.
package watch
