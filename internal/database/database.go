// Package database opens the files in which the daemon keeps what has to outlive it.
package database

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"
)

// DamagedError is the error of a file that is no database any more.
type DamagedError struct{ Reason any }

// Error implements error.
func (e *DamagedError) Error() string { return fmt.Sprintf("the file is damaged: %v", e.Reason) }

// Open opens a database, or makes it, and reads it with load, which may also write. Another process may not have it open. It returns a
// *DamagedError, the error of load, or that of the file. The database writes each transaction whole or not at all, so that the process may
// be killed at any moment.
func Open(path string, load func(*bbolt.Tx) error) (db *bbolt.DB, err error) {
	// The database checks little of what it reads, and maps the file into memory. A truncated file makes it panic, or fault.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if reason := recover(); reason != nil {
			db, err = nil, &DamagedError{reason}
		}
	}()
	if db, err = bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Second}); err != nil {
		return nil, err
	}
	if err := db.Update(load); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}
