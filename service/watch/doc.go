// Package watch reports when files and directories may have changed.
//
// # Following
//
// One [Watcher] serves the whole daemon. A [Subscription] of it says that a file or a directory may have changed, and never
// what has: of a file source.File.Check finds that, and also when it can no longer be followed, because it
// shrank, was replaced or was removed. So who follows a file looks at it whenever the subscription fires, and waits for
// that when there is nothing new.
//
// # How it learns of changes
//
// Watching is by inotify or its like with a slow poll behind it, or, where the former cannot work, by polling alone: see
// [Mode]. A file system that does not answer holds back only what lies on it.
//
// # Concurrency
//
// A Watcher and a Subscription may be used by several goroutines at once.
package watch
