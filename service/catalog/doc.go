// Package catalog finds replays below the directories that the operator configured.
//
// Each such directory is a [Root] with an alias. A replay is named by the alias, a slash, and its path below the root,
// with forward slashes: "live/server1/03f7….teehistorian". Names are valid UTF-8, contain no backslash and no NUL, and
// no element that is empty, "." or "..".
//
// # What can be reached
//
// Nothing outside the roots: every path is resolved by [os.Root], element by element, so that neither a name nor a
// symbolic link leads out. Links that stay below their root are followed. Only regular files are opened, and without
// waiting, so that a pipe cannot block the daemon and a device is never touched. Whoever asks for something outside gets
// [ErrOutside] with the same text whether or not it exists.
//
// Nothing hidden: what has an element below its root that starts with a dot is not found. A root may itself be hidden, and
// a link that is not may lead to something hidden: that is up to the operator.
//
// A root is opened anew for each call. What the operator mounts or replaces while the daemon runs is so seen.
//
// # Directories
//
// [Catalog.ReadDir] lists a directory without opening what lies in it: files, and directories, but not links to such, which
// could go in circles. Hidden ones are left out. What is below all of them, and what of it is a replay, package index knows.
//
// A [Catalog] may be used by several goroutines at once.
package catalog
