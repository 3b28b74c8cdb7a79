// Package catalog finds replays below the directories that the operator configured.
//
// Each such directory is a [Root] with an alias. A replay is named by the alias, a slash, and its path below the root,
// with forward slashes: "live/server1/03f7….teehistorian". Names are valid UTF-8, contain no backslash and no NUL, and
// no element that is empty, "." or "..".
//
// # What can be reached
//
// Nothing outside the roots: [os.Root] resolves every path element by element, so that neither a name nor a symbolic link
// leads out. Links that stay below their root are followed. Only regular files are opened, and without waiting, so that a
// pipe cannot block the daemon and a device is never opened. A name that leads out of the roots fails with [ErrOutside],
// with the same text whether or not the file exists.
//
// Nothing hidden: a name with an element that starts with a dot is not found. The root itself may be hidden, and a link with
// an ordinary name may lead to a hidden file; the operator decides that.
//
// A root is opened again for each call, so that directories which the operator mounts or replaces are seen at once.
//
// # Directories
//
// [Catalog.ReadDir] lists a directory without opening its files. It leaves out hidden entries, and links to directories, which
// could form cycles. Package index knows all files below the roots, and which of them are replays.
//
// A [Catalog] is safe for concurrent use.
package catalog
