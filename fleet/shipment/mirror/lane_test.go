package mirror_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/replayd/replayd/fleet/shipment"
	"github.com/replayd/replayd/fleet/shipment/mirror"
	"github.com/replayd/replayd/fleet/shipment/shipmenttest"
	"github.com/replayd/replayd/internal/testlog"
)

// TestFull: beyond its budget a mirror waits, and goes on when there is space.
func TestFull(t *testing.T) {
	t.Parallel()
	conn := shipmenttest.Connect(t, shipmenttest.Serve(t).URL)
	s := shipmenttest.Open(t, conn)
	a := send(t, s, "s1", "a").begin("0123456789")
	m, _ := begin(t, conn, func(o *mirror.Options) { o.MaxBytes, o.SourceBytes, o.Linger = 15, 15, time.Nanosecond })
	has(t, m, "s1/a", "0123456789")
	h, err := m.Open(t.Context(), "s1/a")
	if err != nil {
		t.Fatal(err)
	}
	a.tell(shipment.Finished).tell(shipment.Archived)
	b := send(t, s, "s1", "b").begin("012").add("345")
	has(t, m, "s1/b", "012")
	if n := m.Figures(); n.Bytes > 15 {
		t.Errorf("%+v", n)
	}
	_ = h.Close() // now it can be removed
	has(t, m, "s1/b", "012345")
	if got := names(t, m); !slices.Equal(got, []string{"s1/b"}) {
		t.Error(got, a.length, b.length)
	}
}

// TestFair: a source that has its share waits alone, with one line in the log. What was left out of it is read again when there is room.
func TestFair(t *testing.T) {
	t.Parallel()
	conn := shipmenttest.Connect(t, shipmenttest.Serve(t).URL)
	s := shipmenttest.Open(t, conn)
	var log testlog.Log
	m, _ := begin(t, conn, func(o *mirror.Options) {
		o.MaxFiles, o.SourceFiles, o.SourceBytes = 100, 3, 20
		o.Log = slog.New(slog.NewTextHandler(&log, nil))
	})
	good := send(t, s, "good", "a").begin("0")
	files := map[string]*sender{}
	for _, name := range []string{"a", "b", "c", "d", "e"} { // too many
		files[name] = send(t, s, "many", name).begin(name)
	}
	fat := send(t, s, "fat", "a").begin("01234").add("56789").add("01234").add("56789").add("full").add("more")
	fat2 := send(t, s, "fat", "b").begin("x")
	good.add("1")
	send(t, s, "good", "b").begin("new")
	has(t, m, "good/a", "01") // behind all of that in the stream
	has(t, m, "good/b", "new")
	has(t, m, "fat/a", "01234567890123456789")
	want := []string{"fat/a", "good/a", "good/b", "many/a", "many/b", "many/c"}
	if got := names(t, m); !slices.Equal(got, want) {
		t.Error(got)
	}
	shipmenttest.Until(t, "two sources are behind", func() bool { n := m.Figures(); return n.Behind == 2 && n.Skipped >= 5 })

	files["b"].tell(shipment.Removed) // it makes room though it comes behind what is left out
	has(t, m, "many/d", "d")
	files["a"].tell(shipment.Removed)
	has(t, m, "many/e", "e")
	fat.tell(shipment.Removed)
	has(t, m, "fat/b", "x")
	shipmenttest.Until(t, "all have caught up", func() bool { return m.Figures().Behind == 0 })
	files["e"].add("e")
	fat2.add("y")
	has(t, m, "many/e", "ee")
	has(t, m, "fat/b", "xy")
	if got, want := names(t, m), []string{"fat/b", "good/a", "good/b", "many/c", "many/d", "many/e"}; !slices.Equal(got, want) {
		t.Error(got)
	}
	for _, source := range []string{"many", "fat"} { // several times behind, but not once for each message
		if n := strings.Count(log.String(), "is behind: some of its files do not grow until there is room\" stream=nats://test source="+source+" "); n < 1 || n > 3 {
			t.Errorf("%d lines of %s in the log: %s", n, source, log.String())
		}
	}
}

// TestFileWaits: a file that waits keeps no other of its source from growing, and one that goes beyond what is noted is found again.
func TestFileWaits(t *testing.T) {
	t.Parallel()
	conn := shipmenttest.Connect(t, shipmenttest.Serve(t).URL)
	s := shipmenttest.Open(t, conn)
	m, _ := begin(t, conn, func(o *mirror.Options) { o.SourceFiles = 2 })
	a, b := send(t, s, "s1", "a").begin("a"), send(t, s, "s1", "b").begin("b")
	has(t, m, "s1/b", "b")
	more := map[string]*sender{}
	for _, name := range []string{"c", "d", "e", "f", "g"} {
		more[name] = send(t, s, "s1", name).begin(name)
	}
	shipmenttest.Until(t, "they wait", func() bool { return m.Figures().Skipped == 5 })
	a.add("!")
	b.add("!").pack()
	has(t, m, "s1/a", "a!")
	has(t, m, "s1/b", "b!")
	a.tell(shipment.Removed)
	b.tell(shipment.Removed)
	for len(more) > 0 { // the next one has room when another is gone
		var next *sender
		shipmenttest.Until(t, "another has its place", func() bool {
			for _, name := range names(t, m) {
				if name = strings.TrimPrefix(name, "s1/"); more[name] != nil {
					next = more[name]
					delete(more, name)
					return true
				}
			}
			return false
		})
		next.tell(shipment.Removed)
		if err := s.Drop(t.Context(), next.subject, next.last+1); err != nil {
			t.Fatal(err)
		}
	}
	shipmenttest.Until(t, "it has caught up", func() bool { return m.Figures().Behind == 0 })
}

// TestFairGone: a source has caught up when what was left out has left the stream.
func TestFairGone(t *testing.T) {
	t.Parallel()
	conn := shipmenttest.Connect(t, shipmenttest.Serve(t).URL)
	s := shipmenttest.Open(t, conn)
	m, _ := begin(t, conn, func(o *mirror.Options) { o.SourceFiles = 1 })
	first := send(t, s, "s1", "a").begin("a")
	gone := send(t, s, "s1", "b").begin("b")
	shipmenttest.Until(t, "it is behind", func() bool { return m.Figures().Behind == 1 })
	if err := s.Drop(t.Context(), gone.subject, gone.last+1); err != nil {
		t.Fatal(err)
	}
	shipmenttest.Until(t, "it has caught up", func() bool { return m.Figures().Behind == 0 })
	first.add("!")
	has(t, m, "s1/a", "a!")
	if got := names(t, m); !slices.Equal(got, []string{"s1/a"}) {
		t.Error(got)
	}
}
