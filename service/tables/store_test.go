package tables

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/replayd/replayd/service/admission"
)

// world is a Store with room for a number of bytes on disk, of which a caller may have half.
type world struct {
	*Store

	control *admission.Control
	made    int
	held    map[*account]bool // accounts that were not returned
}

// account is an Account that notes its return.
type account struct {
	*admission.Ticket

	of *world
}

func (a *account) Return() {
	delete(a.of.held, a)
	a.Ticket.Return()
}

func (w *world) account(owner string) *account {
	a := &account{w.control.Hold(admission.Who{Token: owner}), w}
	w.held[a] = true
	return a
}

func newWorld(t *testing.T, room int64) *world {
	t.Helper()
	w := &world{held: map[*account]bool{}, Store: New(), control: admission.New(admission.Limits{
		All: admission.Amounts{admission.Spool: room}, Caller: admission.Amounts{admission.Spool: (room + 1) / 2},
	})}
	t.Cleanup(func() {
		w.Close()
		if left := w.control.Taken(admission.Spool); left != 0 || len(w.held) > 0 {
			t.Errorf("%d bytes and %d accounts are left after the end", left, len(w.held))
		}
	})
	return w
}

// open opens a table of an owner that has a text.
func (w *world) open(t *testing.T, a Asked, text string) (*Table, error) {
	t.Helper()
	return w.Open(t.Context(), a, func(d *Draft) (Result, error) {
		w.made++
		_, err := io.WriteString(d, text)
		return Result{End: "FINISHED"}, err
	}, w.account(a.Owner))
}

// is checks the text of a table, and closes it.
func is(t *testing.T, got *Table, err error, want string) (tag string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	text, err := io.ReadAll(got)
	if string(text) != want || err != nil || got.End != "FINISHED" {
		t.Fatalf("%q, want %q; %v %v", text, want, got.Result, err)
	}
	return got.Tag
}

// TestVersions: a part is of the table that was made last, or of the one with the tag; anything else is of the present contents.
func TestVersions(t *testing.T) {
	w := newWorld(t, 0)
	ask := func(a Asked, text string) (string, error) {
		t.Helper()
		got, err := w.open(t, a, text)
		return is(t, got, err, text), nil
	}
	first, _ := ask(Asked{Key: "k", Version: "1"}, "one")
	for name, test := range map[string]struct {
		asked Asked
		want  string
	}{
		"again":                  {Asked{Key: "k", Version: "1"}, "one"},
		"a part":                 {Asked{Key: "k", Version: "2", Part: true}, "one"},
		"a part with the tag":    {Asked{Key: "k", Version: "2", Part: true, Tag: first}, "one"},
		"the tag":                {Asked{Key: "k", Version: "2", Tag: first}, "one"},
		"a part of another tab.": {Asked{Key: "other", Version: "1", Part: true}, "two"},
	} {
		made := w.made
		got, err := w.open(t, test.asked, "two")
		is(t, got, err, test.want)
		if again := w.made > made; again != (test.want == "two") {
			t.Errorf("%s: made: %t", name, again)
		}
	}
	second, _ := ask(Asked{Key: "k", Version: "2"}, "two")
	if first == second || !strings.HasPrefix(first, `"`) {
		t.Errorf("tags %s and %s", first, second)
	}
	got, err := w.open(t, Asked{Key: "k", Version: "3", Part: true, Tag: first}, "three")
	is(t, got, err, "one")
	got, err = w.open(t, Asked{Key: "k", Version: "3", Part: true}, "three")
	is(t, got, err, "two")
	got, err = w.open(t, Asked{Key: "k", Version: "3", Part: true, Tag: `"unknown"`}, "three")
	is(t, got, err, "three")
}

// TestIdle: a table is dropped a while after its last use, and not before.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 0)
		a := Asked{Key: "k", Version: "1"}
		for range 4 {
			got, err := w.open(t, a, "text")
			is(t, got, err, "text")
			time.Sleep(Idle - time.Second)
		}
		used, err := w.open(t, a, "text")
		if err != nil || w.made != 1 {
			t.Fatal(w.made, err)
		}
		time.Sleep(10 * Idle)
		is(t, used, nil, "text")
		if taken := w.control.Taken(admission.Spool); taken != 4 {
			t.Errorf("%d bytes are taken", taken)
		}
		used.Close() // again
		w.mu.Lock()
		file := w.tables[0].file
		w.mu.Unlock()
		time.Sleep(Idle + time.Second)
		if _, err := file.Stat(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("its file is open: %v", err)
		}
		if taken := w.control.Taken(admission.Spool); taken != 0 || len(w.tables) != 0 {
			t.Errorf("%d bytes and %d tables are left", taken, len(w.tables))
		}
		got, err := w.open(t, a, "text")
		if is(t, got, err, "text"); w.made != 2 {
			t.Errorf("made %d times", w.made)
		}
	})
}

// TestRoom: tables that nobody uses make room, those of others only where the room of all is used up. Tables in use stay.
func TestRoom(t *testing.T) {
	w := newWorld(t, 30)
	get := func(owner, key string, n int) (*Table, error) {
		t.Helper()
		return w.open(t, Asked{Key: key, Version: "1", Owner: owner}, strings.Repeat("x", n))
	}
	closed := func(owner, key string, n int) {
		t.Helper()
		got, err := get(owner, key, n)
		is(t, got, err, strings.Repeat("x", n))
	}
	kept := func(want string) {
		t.Helper()
		var got []string
		for _, table := range w.tables {
			got = append(got, table.key)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%v are kept, want %s", got, want)
		}
	}
	closed("b", "b1", 5)
	closed("a", "a1", 5)
	closed("a", "a2", 5)
	closed("a", "a3", 5)
	closed("a", "a4", 5) // a has 15
	kept("b1 a2 a3 a4")
	a2, err2 := get("a", "a2", 5)
	a3, err3 := get("a", "a3", 5)
	defer func() {
		is(t, a2, err2, "xxxxx")
		is(t, a3, err3, "xxxxx")
	}()
	if _, err := get("c", "c1", 31); err == nil {
		t.Error("more than there is")
	}
	kept("b1 a2 a3 a4")
	if _, err := get("a", "a5", 10); err == nil {
		t.Error("more than a caller may have")
	}
	kept("b1 a2 a3")
	closed("c", "c1", 15)
	closed("d", "d1", 5)
	kept("a2 a3 c1 d1")
}

// TestMost: the number of kept tables is limited.
func TestMost(t *testing.T) {
	w := newWorld(t, 0)
	for i := range most + 10 {
		got, err := w.open(t, Asked{Key: fmt.Sprint(i)}, "x")
		is(t, got, err, "x")
	}
	if len(w.tables) != most || w.tables[0].key != "10" {
		t.Errorf("%d tables, the oldest is %s", len(w.tables), w.tables[0].key)
	}
}

// TestTogether: of many who want a table at once one makes it. If it cannot, the next one tries; who leaves does not wait.
func TestTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 0)
		failure := errors.New("no")
		var mu sync.Mutex
		tries, failed, got := 0, 0, 0
		open := func(ctx context.Context) error {
			table, err := w.Open(ctx, Asked{Key: "k", Version: "1"}, func(d *Draft) (Result, error) {
				mu.Lock()
				tries++
				bad := tries <= 2
				mu.Unlock()
				time.Sleep(time.Second)
				_, _ = io.WriteString(d, "text")
				if bad {
					return Result{}, failure
				}
				return Result{End: "FINISHED"}, nil
			}, w.control.Hold(admission.Who{}))
			if err == nil {
				is(t, table, nil, "text")
			}
			return err
		}
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				err := open(t.Context())
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					got++
				case errors.Is(err, failure):
					failed++
				default:
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		leaving, leave := context.WithCancel(t.Context())
		leave()
		if err := open(leaving); !errors.Is(err, context.Canceled) {
			t.Errorf("who leaves gets %v", err)
		}
		all.Wait()
		if tries != 3 || failed != 2 || got != 8 {
			t.Errorf("%d tries, %d failed, %d tables", tries, failed, got)
		}
	})
}

// TestClosed: a table in use outlives the Store's Close, and is dropped then.
func TestClosed(t *testing.T) {
	w := newWorld(t, 0)
	got, err := w.open(t, Asked{Key: "k"}, "text")
	w.Close()
	is(t, got, err, "text")
	if len(w.tables) != 0 {
		t.Error("it is kept")
	}
}

// TestPanic: a table whose making panics is made by the next one who wants it, and leaves nothing behind.
func TestPanic(t *testing.T) {
	w := newWorld(t, 0)
	func() {
		defer func() { _ = recover() }()
		_, _ = w.Open(t.Context(), Asked{Key: "k"}, func(*Draft) (Result, error) { panic("no") }, w.account("a"))
	}()
	got, err := w.open(t, Asked{Key: "k"}, "text")
	is(t, got, err, "text")
}
