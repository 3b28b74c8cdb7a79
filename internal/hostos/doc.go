// Package hostos asks the operating system what Go's standard library asks only on some systems: locks of files, the owner of a
// file, free space, limits. Each function has one meaning on all systems, and its comment says where a system cannot answer.
package hostos

import "errors"

// ErrLocked is returned by Lock for a file that another process has locked.
var ErrLocked = errors.New("locked by another process")
