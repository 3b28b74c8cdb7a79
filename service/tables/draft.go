package tables

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"os"

	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/admission"
)

// Account is charged for a table as long as it is kept. An *admission.Ticket is one.
type Account interface {
	// Spool takes n bytes on disk, or returns an *admission.RefusedError.
	Spool(n int64) error
	// Return gives everything back.
	Return()
}

// Draft is a table that is being written. It belongs to one goroutine.
type Draft struct {
	file    *os.File
	buffer  *bufio.Writer
	sum     hash.Hash
	size    int64
	store   *Store
	owner   string
	account Account
}

// draft returns an empty draft.
func (s *Store) draft(owner string, account Account) (*Draft, error) {
	file, err := source.Nameless()
	if err != nil {
		return nil, err
	}
	d := &Draft{file: file, sum: sha256.New(), store: s, owner: owner, account: account}
	d.buffer = bufio.NewWriterSize(spooled{d}, 64<<10)
	return d, nil
}

// Write implements io.Writer.
func (d *Draft) Write(p []byte) (int, error) { return d.buffer.Write(p) }

// spooled writes to the file of a draft.
type spooled struct{ *Draft }

// Write implements io.Writer.
func (d spooled) Write(p []byte) (int, error) {
	if err := d.take(int64(len(p))); err != nil {
		return 0, err
	}
	d.size += int64(len(p))
	_, _ = d.sum.Write(p)
	n, err := d.file.Write(p)
	return n, source.SpoolError(err)
}

// take takes room on disk. Tables that nobody uses make room.
func (d *Draft) take(n int64) error {
	for {
		err := d.account.Spool(n)
		refused, ok := errors.AsType[*admission.RefusedError](err)
		if !ok || refused.Never {
			return err
		}
		owner := ""
		if refused.Whose != "" { // the tables of others are not the reason
			owner = d.owner
		}
		if !d.store.room(owner) {
			return err
		}
	}
}

// Waiting makes a file without a name for rows that wait for a row group, and takes room for the largest.
func (d *Draft) Waiting() (*os.File, error) {
	if err := d.take(waitingBytes); err != nil {
		return nil, err
	}
	return source.Nameless()
}

// waitingBytes is how many bytes of rows wait for a row group at most.
const waitingBytes = 64 << 20

// finish writes what is buffered.
func (d *Draft) finish() error { return d.buffer.Flush() }

// tag returns the tag of the contents: a strong one, in the form of HTTP.
func (d *Draft) tag() string { return `"` + hex.EncodeToString(d.sum.Sum(nil)[:16]) + `"` }

// close removes the draft.
func (d *Draft) close() {
	_ = d.file.Close()
	d.account.Return()
}

var _ io.Writer = (*Draft)(nil)
