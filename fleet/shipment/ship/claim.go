package ship

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/replayd/replayd/fleet/shipment"
	"github.com/replayd/replayd/internal/hostos"
)

// A claim is the right of this process to ship a source. A shipper has it from the moment at which it writes its entry as the
// owner, until another one does, which first waits until the entry has not changed for a lease. So one of two machines that were
// cloned, or of two shippers with one --source by mistake, never ends the other's games.
type claim struct {
	s      *Shipper
	owners *shipment.Owners
	self   shipment.Owner
	lock   *os.File // the directory's lock; nil if the file system has no locks

	mu       sync.Mutex
	revision uint64
	renewed  time.Time // when the last successful renewal began
}

// OwnedError means that the source belongs to another directory.
type OwnedError struct {
	Source string
	Owner  shipment.Owner
	// Alive is true if that directory is being shipped now. Otherwise the stream has a file of it, Options.Adopt is false, and shipping
	// this directory would end the file.
	Alive bool
	File  string
}

func (e *OwnedError) Error() string {
	if e.Alive {
		return fmt.Sprintf("the source %s is shipped from %s now: each directory needs a --source of its own", e.Source, &e.Owner)
	}
	return fmt.Sprintf("the source %s is of another directory, %s, and the stream has %s of it, which would be removed: "+
		"mount that directory, choose another --source, or --adopt the source if the directory was moved", e.Source, &e.Owner, e.File)
}

// The reasons for which work under a claim ends.
var (
	errLost      = errors.New("another shipper owns the source now")
	errForgotten = errors.New("NATS has lost the owners of sources")
)

// claim waits until this process may ship the source. It returns an *OwnedError if the source belongs to another directory.
func (s *Shipper) claim(ctx context.Context) (*claim, error) {
	c := &claim{s: s, self: shipment.Owner{Path: s.o.Dir, Machine: machine(), Process: rand.Text()}}
	c.self.Host, _ = os.Hostname() // for people
	if !s.retry(ctx, "reading the directory", func() (err error) { c.self.Directory, err = identify(s.o.Dir); return err }) ||
		!c.alone(ctx) || !s.retry(ctx, "opening the owners of sources", func() (err error) { c.owners, err = s.stream.Owners(ctx); return err }) {
		c.unlock()
		return nil, ctx.Err()
	}
	defer s.waits("", nil)
	for n := 0; ; n++ {
		err := c.take(ctx)
		if err == nil {
			return c, nil
		}
		if owned, ok := errors.AsType[*OwnedError](err); ok {
			c.unlock()
			return nil, owned
		}
		if !errors.Is(err, shipment.ErrConflict) {
			s.waits("", err)
			s.failed(ctx, n, "claiming the source", err)
		}
		if !s.wait(ctx, n) {
			c.unlock()
			return nil, ctx.Err()
		}
	}
}

// alone waits until no other shipper on this machine has the directory. It returns false if ctx has ended.
func (c *claim) alone(ctx context.Context) bool {
	for n := 0; ; n++ {
		dir, err := os.Open(c.s.o.Dir)
		if err == nil {
			if err = hostos.Lock(dir); err == nil {
				c.lock = dir
				return true
			}
			_ = dir.Close()
		}
		if !errors.Is(err, hostos.ErrLocked) {
			return true // a file system without locks: the entry alone decides
		}
		if n == 0 {
			c.s.waitsOn("", WaitsOwner)
			c.s.o.Log.WarnContext(ctx, "another shipper on this machine has the directory; waiting until it has stopped", "directory", c.s.o.Dir)
		}
		if !shipment.Pause(ctx, c.s.o.Lease/6) {
			return false
		}
	}
}

// take makes this process the owner if the present owner is gone and had the same directory, or if the new owner cannot remove
// anything.
func (c *claim) take(ctx context.Context) error {
	owner, revision, err := c.owners.Get(ctx, c.s.o.Source)
	if err != nil {
		return err
	}
	if owner != nil {
		if gone, err := c.gone(ctx, owner, revision); err != nil || !gone {
			return err
		}
		if owner.Directory != c.self.Directory && !c.s.o.Adopt {
			file, err := c.s.stream.Live(ctx, c.s.o.Source)
			if err != nil {
				return err
			}
			if file != "" {
				return &OwnedError{Source: c.s.o.Source, Owner: *owner, File: file}
			}
		}
		c.self.Epoch = owner.Epoch + 1
	}
	began := time.Now()
	if c.revision, err = c.owners.Set(ctx, c.s.o.Source, &c.self, revision); err != nil {
		return err
	}
	c.renewed = began
	return nil
}

// gone waits until an owner is known to have stopped shipping. It returns an *OwnedError if the owner ships from another
// directory.
func (c *claim) gone(ctx context.Context, owner *shipment.Owner, revision uint64) (bool, error) {
	if owner.Released || c.lock != nil && owner.Machine == c.self.Machine && owner.Directory == c.self.Directory {
		return true, nil // a running owner would have the lock
	}
	c.s.waitsOn("", WaitsOwner)
	for told, since := false, time.Now(); time.Since(since) < c.s.o.Lease; {
		if !shipment.Pause(ctx, c.s.o.Lease/6) {
			return false, ctx.Err()
		}
		now, at, err := c.owners.Get(ctx, c.s.o.Source)
		switch {
		case err != nil:
			return false, err
		case at == revision:
			continue
		case now != nil && now.Released:
			return false, shipment.ErrConflict // take looks again
		case now != nil && now.Directory != c.self.Directory:
			return false, &OwnedError{Source: c.s.o.Source, Owner: *now, Alive: true}
		}
		if !told {
			told = true
			c.s.o.Log.WarnContext(ctx, "another shipper of this directory owns the source; waiting until it has stopped",
				"source", c.s.o.Source, "owner", owner.String())
		}
		revision, since = at, time.Now()
	}
	_, at, err := c.owners.Get(ctx, c.s.o.Source)
	if err == nil && at != revision {
		err = shipment.ErrConflict
	}
	return err == nil, err
}

// during calls f with a context that ends when the claim is lost, and then gives the claim back. It returns errLost or
// errForgotten if the claim was lost.
func (c *claim) during(ctx context.Context, f func(context.Context)) error {
	defer c.unlock()
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var wg sync.WaitGroup
	wg.Go(func() { c.renew(running, stop) })
	f(running)
	c.s.wg.Wait()
	var lost error
	if ctx.Err() == nil {
		lost = context.Cause(running)
	}
	stop(nil)
	wg.Wait()
	if lost == nil {
		c.release()
	}
	return lost
}

// renew renews the entry until ctx ends. It calls stop once another shipper has set the entry, or once it is gone.
func (c *claim) renew(ctx context.Context, stop context.CancelCauseFunc) {
	for n := 0; shipment.Pause(ctx, c.s.o.Lease/3); {
		began := time.Now()
		revision, err := c.owners.Set(ctx, c.s.o.Source, &c.self, c.revision)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, shipment.ErrConflict) && !c.mine(ctx):
			stop(errLost)
			return
		case errors.Is(err, shipment.ErrNoStream):
			stop(errForgotten)
			return
		case err != nil:
			c.s.failed(ctx, n, "renewing the claim on the source", err)
			n++
			continue
		}
		n = 0
		c.mu.Lock()
		c.revision, c.renewed = revision, began
		c.mu.Unlock()
	}
}

// mine reports whether the entry is still this process's own: the answer to an earlier renewal was lost. Renewals then go on with
// the entry's revision.
func (c *claim) mine(ctx context.Context) bool {
	owner, revision, err := c.owners.Get(ctx, c.s.o.Source)
	if err != nil {
		return true // the next renewal tells
	}
	if owner == nil || owner.Process != c.self.Process {
		return false
	}
	c.revision = revision
	return true
}

// holds reports whether no other shipper can own the source yet.
func (c *claim) holds() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Since(c.renewed) < c.s.o.Lease/2
}

// release tells other shippers that they need not wait.
func (c *claim) release() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	self := c.self
	self.Released = true
	_, _ = c.owners.Set(ctx, c.s.o.Source, &self, c.revision) // otherwise they wait for a lease
}

func (c *claim) unlock() {
	if c.lock != nil {
		_ = c.lock.Close()
		c.lock = nil
	}
}

// identify returns a text that identifies a directory for as long as it exists: its file system and its number there. If another
// file system should have been mounted there, the text differs.
func identify(dir string) (string, error) {
	var stat unix.Stat_t
	if err := unix.Stat(dir, &stat); err != nil {
		return "", fmt.Errorf("stat %s: %w", dir, err)
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return "", fmt.Errorf("statfs %s: %w", dir, err)
	}
	return fmt.Sprintf("%08x%08x-%d", uint32(fs.Fsid.Val[0]), uint32(fs.Fsid.Val[1]), stat.Ino), nil
}

// machine identifies the start of this machine, or is its name if the start is not known.
func machine() string {
	if id, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		return strings.TrimSpace(string(id))
	}
	name, _ := os.Hostname()
	return name
}
