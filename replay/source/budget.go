package source

import (
	"errors"
	"sync/atomic"

	"github.com/replayd/replayd/internal/hostos"
)

// Budget is charged before memory or disk space is allocated, in bytes. Negative numbers return bytes, and never fail.
type Budget interface {
	Memory(n int64) error
	Spool(n int64) error
}

// account holds what a File has charged to its Budget. Without a Budget there is no limit.
type account struct {
	budget        Budget
	memory, spool atomic.Int64
}

func (a *account) takeMemory(n int64) error {
	if a == nil || a.budget == nil {
		return nil
	}
	if err := a.budget.Memory(n); err != nil {
		return err
	}
	a.memory.Add(n)
	return nil
}

func (a *account) takeSpool(n int64) error {
	if a == nil || a.budget == nil {
		return nil
	}
	if err := a.budget.Spool(n); err != nil {
		return err
	}
	a.spool.Add(n)
	return nil
}

// returnMemory returns the memory to the Budget.
func (a *account) returnMemory() {
	if a != nil && a.budget != nil {
		_ = a.budget.Memory(-a.memory.Swap(0))
	}
}

// close returns everything to the Budget.
func (a *account) close() {
	if a == nil || a.budget == nil {
		return
	}
	a.returnMemory()
	_ = a.budget.Spool(-a.spool.Swap(0))
}

// Spend charges b for the memory and disk space that reading the file takes from now on, until the file is closed. Call it at
// most once, before Input.
func (f *File) Spend(b Budget) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.limits.account = &account{budget: b}
}

// Upper bounds, in bytes, of the memory of decompressors besides their windows: buffers and tables.
const (
	gzipCost  = 256 * kib
	bzip2Cost = 5 * mib
	zstdCost  = 1 * mib
	xzCost    = 256 * kib
)

// ErrFull is returned when the disk to which files are unpacked is full.
var ErrFull = errors.New("the temporary directory is full")

// SpoolError converts an error of writing to a temporary file; nil stays nil.
func SpoolError(err error) error {
	if err == nil {
		return nil
	}
	if hostos.Full(err) {
		return ErrFull
	}
	return ioError(err)
}
