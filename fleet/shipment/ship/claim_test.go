package ship_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/replayd/replayd/fleet/shipment"
	"github.com/replayd/replayd/fleet/shipment/ship"
	"github.com/replayd/replayd/fleet/shipment/shipmenttest"
)

// refused runs a Shipper of a directory that must not have the source.
func refused(t *testing.T, conn *nats.Conn, dir string) *ship.OwnedError {
	t.Helper()
	var owned *ship.OwnedError
	ended := make(chan error, 1)
	_, end := beginWith(t, conn, dir, nil, func(err error) { ended <- err })
	defer end()
	select {
	case err := <-ended:
		if !errors.As(err, &owned) || owned.Source != "s1" || owned.Error() == "" {
			t.Fatal("it ended with", err)
		}
	case <-time.After(shipmenttest.Patience):
		t.Fatal("it ships the source of another directory")
	}
	return owned
}

// TestOtherDirectory: a source is not taken over by another directory while it is shipped, nor afterwards while the stream has a file of
// it, unless it is adopted.
func TestOtherDirectory(t *testing.T) {
	t.Parallel()
	first, second := t.TempDir(), t.TempDir()
	conn := shipmenttest.Connect(t, shipmenttest.Serve(t).URL)
	write(t, filepath.Join(first, "a"), []byte("a game"))
	write(t, filepath.Join(second, "b"), []byte("another game"))
	_, end := begin(t, conn, first, nil)
	arrived(t, conn, "a", 6)
	if e := refused(t, conn, second); !e.Alive || e.Owner.Path != first {
		t.Errorf("%+v", e)
	}
	end()
	if e := refused(t, conn, second); e.Alive || e.File != "a" {
		t.Errorf("%+v", e)
	}
	if m := last(t, conn, "a"); m.Kind != shipment.Bytes {
		t.Error("the game of another directory is", m.Kind)
	}
	_, end = begin(t, conn, second, func(o *ship.Options) { o.Adopt = true })
	arrived(t, conn, "b", 12)
	shipmenttest.Until(t, "a file that is not in an adopted directory leaves", func() bool { return last(t, conn, "a").Kind == shipment.Removed })
	end()
	_, end = begin(t, conn, second, nil)
	arrived(t, conn, "b", 12)
	if err := os.Rename(filepath.Join(second, "b"), filepath.Join(second, "c")); err != nil {
		t.Fatal(err)
	}
	shipmenttest.Until(t, "removed", func() bool { return last(t, conn, "b").Kind == shipment.Removed })
	end()
}

// TestNothingToLose: a directory that was made anew has the source when the stream has no file of it any more.
func TestNothingToLose(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "games")
	conn := shipmenttest.Connect(t, shipmenttest.Serve(t).URL)
	write(t, filepath.Join(dir, "a"), []byte("a game"))
	write(t, filepath.Join(dir, "notes"), []byte("stays for now"))
	_, end := begin(t, conn, dir, nil)
	arrived(t, conn, "a", 6)
	end()
	stream := shipmenttest.Open(t, conn)
	for _, p := range []string{"a", "notes"} {
		subject, err := shipment.Subject(stream.Name(), "s1", p)
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.Drop(t.Context(), subject, last(t, conn, p).Sequence+1); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(dir, dir+".old"); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "b"), []byte("the next"))
	begin(t, conn, dir, nil)
	arrived(t, conn, "b", 8)
}

// TestEmptied: a directory without files, as one that is not mounted, removes nothing. Once it has a file again, what is missing is
// removed.
func TestEmptied(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	conn := shipmenttest.Connect(t, shipmenttest.Serve(t).URL)
	write(t, filepath.Join(dir, "a"), []byte("a game"))
	write(t, filepath.Join(dir, "sub", "b"), []byte("another"))
	_, end := begin(t, conn, dir, nil)
	arrived(t, conn, "a", 6)
	arrived(t, conn, "sub/b", 7)
	if err := errors.Join(os.Remove(filepath.Join(dir, "a")), os.RemoveAll(filepath.Join(dir, "sub"))); err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond) // six times as long as a file may be gone
	end()
	_, end = begin(t, conn, dir, nil) // nor at a start
	time.Sleep(300 * time.Millisecond)
	for _, p := range []string{"a", "sub/b"} {
		if m := last(t, conn, p); m.Kind != shipment.Bytes {
			t.Errorf("%s is %s", p, m.Kind)
		}
	}
	write(t, filepath.Join(dir, "c"), []byte("back"))
	for _, p := range []string{"a", "sub/b"} {
		shipmenttest.Until(t, p+" is removed", func() bool { return last(t, conn, p).Kind == shipment.Removed })
	}
	end()
}

// TestForgotten: after NATS has lost who owns the source, and the stream, the shipper claims the source again.
func TestForgotten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	conn := shipmenttest.Connect(t, shipmenttest.Serve(t).URL)
	write(t, filepath.Join(dir, "a"), []byte("a game"))
	write(t, filepath.Join(dir, "b"), []byte("another"))
	begin(t, conn, dir, nil)
	arrived(t, conn, "a", 6)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	if err := js.DeleteKeyValue(t.Context(), shipment.OwnersBucket(shipment.StreamName)); err != nil {
		t.Fatal(err)
	}
	shipmenttest.Until(t, "the source is owned again", func() bool {
		kv, err := js.KeyValue(t.Context(), shipment.OwnersBucket(shipment.StreamName))
		if err != nil {
			return false
		}
		_, err = kv.Get(t.Context(), "s1")
		return err == nil
	})
	if err := os.Remove(filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	shipmenttest.Until(t, "removed", func() bool { return last(t, conn, "a").Kind == shipment.Removed })
}

// another is the entry of a shipper on another machine.
type another struct {
	t      *testing.T
	owners *shipment.Owners
	owner  shipment.Owner
}

// take writes the entry, whoever had it, as a clone does that saw its lease lapse.
func (a *another) take() {
	a.t.Helper()
	for {
		was, revision, err := a.owners.Get(context.Background(), "s1")
		if err == nil && a.owner.Process == "" {
			a.owner = *was
			a.owner.Machine, a.owner.Process, a.owner.Host = "a clone", "its process", "clone"
			a.owner.Epoch++
		}
		a.owner.Released = false
		if err == nil {
			_, err = a.owners.Set(context.Background(), "s1", &a.owner, revision)
		}
		if errors.Is(err, shipment.ErrConflict) {
			continue // the shipper has written it in between
		}
		if err != nil {
			a.t.Error(err)
		}
		return
	}
}

// TestClones: of two machines with the same directory, as after one was cloned, one ships. The other removes nothing, waits, and takes over
// when the first has been silent for a lease.
func TestClones(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	conn := shipmenttest.Connect(t, shipmenttest.Serve(t).URL)
	write(t, filepath.Join(dir, "a"), []byte("a game"))
	write(t, filepath.Join(dir, "b"), []byte("another"))
	s, _ := begin(t, conn, dir, func(o *ship.Options) { o.Absent = 200 * time.Millisecond })
	arrived(t, conn, "a", 6)
	arrived(t, conn, "b", 7)
	owners, err := shipmenttest.Open(t, conn).Owners(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	clone := &another{t: t, owners: owners}
	clone.take()
	if err := os.Remove(filepath.Join(dir, "a")); err != nil { // here, and not at the clone
		t.Fatal(err)
	}
	sent := s.Figures().Messages
	for began := time.Now(); time.Since(began) < time.Second; time.Sleep(50 * time.Millisecond) {
		clone.take()
	}
	shipmenttest.Append(t, filepath.Join(dir, "b"), []byte(" more"))
	for began := time.Now(); time.Since(began) < time.Second; time.Sleep(50 * time.Millisecond) {
		clone.take()
	}
	if m := last(t, conn, "a"); m.Kind != shipment.Bytes || s.Figures().Messages != sent {
		t.Errorf("a shipper without the source sent %d messages; the file is %s", s.Figures().Messages-sent, m.Kind)
	}
	arrived(t, conn, "b", 12)
	shipmenttest.Until(t, "it removes again", func() bool { return last(t, conn, "a").Kind == shipment.Removed })
	now, _, err := owners.Get(t.Context(), "s1")
	if err != nil || now.Machine == clone.owner.Machine || now.Epoch <= clone.owner.Epoch {
		t.Errorf("the owner is %+v, %v", now, err)
	}
}
