package temporary_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/temporary"
)

// spooled returns a replay with the bytes as an upload leaves it.
func spooled(t *testing.T, data []byte) *source.File {
	t.Helper()
	file, err := source.FromReader(bytes.NewReader(data), "", source.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Spool(context.Background()); err != nil {
		t.Fatal(err)
	}
	file.Detach()
	return file
}

// TestKeepAfterClose: an upload that ends after its Store was closed is released at once, and nobody can open it.
func TestKeepAfterClose(t *testing.T) {
	s := temporary.New()
	s.Close()
	released := 0
	name, _ := s.Keep("me", spooled(t, []byte("DATA replay")), time.Hour, func() { released++ })
	if _, _, err := s.Open("me", name); !errors.Is(err, catalog.ErrNotFound) || released != 1 {
		t.Errorf("opened: %v, released %d times", err, released)
	}
}

// TestExpired: a replay is gone when its time is over, before it is removed and after.
func TestExpired(t *testing.T) {
	s := temporary.New()
	defer s.Close()
	removed := make(chan struct{})
	name, _ := s.Keep("me", spooled(t, []byte("DATA replay")), -time.Hour, func() { close(removed) })
	for range 2 {
		if _, _, err := s.Open("me", name); !errors.Is(err, catalog.ErrNotFound) {
			t.Errorf("opened: %v", err)
		}
		<-removed
	}
	name, _ = s.Keep("me", spooled(t, []byte("DATA replay")), 0, func() {})
	if _, known := s.Expires("me", name); known {
		t.Error("it expires later")
	}
}

// TestOwner: a replay exists for its owner only, whoever knows its name.
func TestOwner(t *testing.T) {
	s := temporary.New()
	defer s.Close()
	name, _ := s.Keep("me", spooled(t, []byte("DATA replay")), time.Hour, func() {})
	for _, owner := range []string{"you", ""} {
		_, _, err := s.Open(owner, name)
		_, known := s.Expires(owner, name)
		if deleted := s.Delete(owner, name); !errors.Is(err, catalog.ErrNotFound) || known || !errors.Is(deleted, catalog.ErrNotFound) {
			t.Errorf("%q opens it: %v, knows it: %v, deletes it: %v", owner, err, known, deleted)
		}
	}
	if _, known := s.Expires("me", name); !known {
		t.Error("its owner does not know it")
	}
}

// TestReaders: a replay that is removed while it is read can be read to its end. It is released once, after the last reader.
func TestReaders(t *testing.T) {
	data := bytes.Repeat([]byte("DATA replay"), 1000)
	for what, remove := range map[string]func(s *temporary.Store, name string) error{
		"deleted": func(s *temporary.Store, name string) error { return s.Delete("me", name) },
		"closed":  func(s *temporary.Store, _ string) error { s.Close(); return nil },
	} {
		s := temporary.New()
		t.Cleanup(s.Close)
		file := spooled(t, data)
		released := 0
		name, expires := s.Keep("me", file, time.Hour, func() { released++ })
		first, at, err := s.Open("me", name)
		second, _, other := s.Open("me", name)
		if err != nil || other != nil || !at.Equal(expires) || !temporary.Is(name) {
			t.Fatal(name, at, err, other)
		}
		if err := remove(s, name); err != nil || released != 0 {
			t.Errorf("%s: %v, released %d times while it is read", what, err, released)
		}
		if _, _, err := s.Open("me", name); !errors.Is(err, catalog.ErrNotFound) {
			t.Errorf("%s: opened again: %v", what, err)
		}
		if err := first.Close(); err != nil || released != 0 {
			t.Errorf("%s: %v, released %d times while it is read", what, err, released)
		}
		in := second.Input()
		got, err := io.ReadAll(io.NewSectionReader(in.At, 0, in.Size))
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: %d bytes, %v", what, len(got), err)
		}
		_, _ = second.Close(), second.Close()
		if released != 1 {
			t.Errorf("%s: released %d times", what, released)
		}
	}
}

// TestNothingStays: a replay that is removed leaves nothing that lasts as long as it could have.
func TestNothingStays(t *testing.T) {
	s := temporary.New()
	s.Keep("me", spooled(t, []byte("DATA replay")), time.Hour, func() {})
	s.Close()
	store := weak.Make(s)
	for deadline := time.Now().Add(time.Minute); store.Value() != nil; time.Sleep(time.Millisecond) {
		if runtime.GC(); time.Now().After(deadline) {
			t.Fatal("a timer holds the store")
		}
	}
}
