package source

import (
	"errors"
	"sync/atomic"
	"syscall"
)

// Budget is asked before memory or room on disk is taken, for bytes. A negative number gives back, and never fails.
type Budget interface {
	Memory(n int64) error
	Spool(n int64) error
}

// account is what a File has taken of a Budget. Without a budget it takes what it likes.
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

// close gives everything back.
func (a *account) close() {
	if a == nil || a.budget == nil {
		return
	}
	_ = a.budget.Memory(-a.memory.Swap(0))
	_ = a.budget.Spool(-a.spool.Swap(0))
}

// Spend has what reading the file takes from now on be taken of a budget, until the file is closed. It is called once at most,
// before Input.
func (f *File) Spend(b Budget) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.limits.account = &account{budget: b}
}

// What decompressors take besides windows: buffers and tables, in bytes, from above.
const (
	gzipCost  = 256 * kib
	bzip2Cost = 5 * mib
	zstdCost  = 1 * mib
	xzCost    = 256 * kib
)

// ErrFull says that there is no room on the disk that compressed files are unpacked to.
var ErrFull = errors.New("the temporary directory is full")

// spoolError is the error of writing to the spool.
func spoolError(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return ErrFull
	}
	return ioError(err)
}
