package mirror_test

import (
	"os"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/replayd/replayd/fleet/shipment"
	"github.com/replayd/replayd/fleet/shipment/mirror"
	"github.com/replayd/replayd/fleet/shipment/shipmenttest"
)

// TestPacked: bytes that were packed into the body are the same bytes, for a mirror that has them, and for one that begins.
func TestPacked(t *testing.T) {
	t.Parallel()
	conn := shipmenttest.Connect(t, shipmenttest.Serve(t).URL)
	s := shipmenttest.Open(t, conn)
	a := send(t, s, "s1", "a").begin("one").add(" two")
	m, _ := begin(t, conn, nil)
	has(t, m, "s1/a", "one two")
	a.pack().add(" three")
	has(t, m, "s1/a", "one two three")
	late, _ := begin(t, conn, nil)
	has(t, late, "s1/a", "one two three")
	for _, m := range []*mirror.Mirror{m, late} {
		if n := m.Figures(); n.Ignored > 0 || n.Bytes != int64(len("one two three")) {
			t.Errorf("%+v", n)
		}
	}
}

// TestArchivedFromDisk: the archive has more of a game than the stream took. Who has the game open gets the rest; who opens it later gets
// the object.
func TestArchivedFromDisk(t *testing.T) {
	t.Parallel()
	conn := shipmenttest.Connect(t, shipmenttest.Serve(t).URL)
	s := shipmenttest.Open(t, conn)
	rest := strings.Repeat("rest", 200_000) // more than a chunk
	store := &archive{objects: map[string]string{}}
	a := send(t, s, "s1", "a").begin("begin")
	b := send(t, s, "s1", "b").begin("begin")
	m, _ := begin(t, conn, func(o *mirror.Options) { o.Archive = store })
	has(t, m, "s1/a", "begin")
	has(t, m, "s1/b", "begin")
	h, err := m.Open(t.Context(), "s1/a")
	if err != nil {
		t.Fatal(err)
	}
	store.set("s1/a", "begin"+rest)
	store.set("s1/b", "begin"+rest)
	for _, f := range []*sender{a, b} {
		f.all, f.length = []byte("begin"+rest), int64(len("begin"+rest))
		f.tell(shipment.Archived)
	}
	shipmenttest.Until(t, "the rest", func() bool { stat, err := h.Stat(); return err == nil && stat.Size() == a.length })
	got := make([]byte, a.length)
	if _, err := h.ReadAt(got, 0); err != nil || string(got) != "begin"+rest {
		t.Error("other bytes", err)
	}
	has(t, m, "s1/b", "begin"+rest)
	if m.Path("s1/b") != "" || m.Path("s1/a") == "" {
		t.Error(m.Path("s1/a"), m.Path("s1/b"))
	}
	_ = h.Close()
	shipmenttest.Until(t, "it leaves the mirror", func() bool { return m.Path("s1/a") == "" })
	has(t, m, "s1/a", "begin"+rest)
}

// TestStateFirst: a state that comes before the bytes holds once they are there, and one of another generation never does.
func TestStateFirst(t *testing.T) {
	t.Parallel()
	conn := shipmenttest.Connect(t, shipmenttest.Serve(t).URL)
	s := shipmenttest.Open(t, conn)
	a := send(t, s, "s1", "a")
	a.generation = shipment.NewGeneration([]byte("x"), generations.Add(1))
	a.tell(shipment.Removed)
	b := send(t, s, "s1", "b")
	b.generation = a.generation
	b.tell(shipment.Removed)
	m, _ := begin(t, conn, nil)
	shipmenttest.Until(t, "ready", func() bool { return m.Figures().Ready })
	a.add("x")
	b.begin("y")
	has(t, m, "s1/b", "y")
	if got := names(t, m); len(got) != 1 {
		t.Error(got)
	}
}

// TestDeleted: a stream that was deleted and is sent again, also by a shipper that was started since, ends no file.
func TestDeleted(t *testing.T) {
	t.Parallel()
	conn := shipmenttest.Connect(t, shipmenttest.Serve(t).URL)
	s := shipmenttest.Open(t, conn)
	send(t, s, "s1", "a").begin("0123456789").add("x")
	send(t, s, "s1", "b").begin("01234").add("56789")
	m, _ := begin(t, conn, nil)
	has(t, m, "s1/a", "0123456789x")
	has(t, m, "s1/b", "0123456789")
	h, err := m.Open(t.Context(), "s1/a")
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{shipment.StreamName, shipment.StatesStream(shipment.StreamName)} {
		if err := js.DeleteStream(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	s = shipmenttest.Open(t, conn)
	send(t, s, "s1", "a").begin("01234567").add("89x and more") // another generation, and longer messages
	send(t, s, "s1", "b").begin("01234").add("other")           // another file that begins with the same bytes
	has(t, m, "s1/a", "0123456789x and more")
	has(t, m, "s1/b", "01234other")
	if stat, err := h.Stat(); err != nil || stat.Size() != 20 {
		t.Error("the file that was open is another one", err)
	}
}

// TestKept: a mirror goes on with the files of the one before, whenever that ended, and reads only what it did not have.
func TestKept(t *testing.T) {
	t.Parallel()
	conn := shipmenttest.Connect(t, shipmenttest.Serve(t).URL)
	s := shipmenttest.Open(t, conn)
	dir := t.TempDir()
	kept := func(o *mirror.Options) { o.Dir, o.Keep = dir, true }
	a := send(t, s, "s1", "sub/a").begin("one").add(" two")
	b := send(t, s, "s1", "b").begin("removed meanwhile")
	c := send(t, s, "s1", "c").begin("replaced meanwhile")
	d := send(t, s, "s1", "d").begin("forgotten meanwhile")
	m, end := begin(t, conn, kept)
	has(t, m, "s1/d", "forgotten meanwhile")
	end()
	shipmenttest.Append(t, dir+"/s1/sub/a", []byte(", of which nobody knew")) // as if the process was killed behind it
	shipmenttest.Append(t, dir+"/s1/stray", []byte("nobody's"))
	a.add(" three")
	b.tell(shipment.Removed)
	c.begin("another")
	for _, gone := range []*sender{b, d} {
		if err := s.Drop(t.Context(), gone.subject, gone.last+1); err != nil {
			t.Fatal(err)
		}
	}
	m, end = begin(t, conn, kept)
	shipmenttest.Until(t, "ready", func() bool { return m.Figures().Ready })
	has(t, m, "s1/sub/a", "one two three")
	has(t, m, "s1/c", "another")
	if got := strings.Join(names(t, m), " "); got != "s1/c s1/sub/a" {
		t.Error(got)
	}
	if n := m.Figures(); n.Messages > 3 || n.Ignored > 0 || n.Files != 2 || n.Bytes != int64(len("one two three")+len("another")) {
		t.Errorf("%+v", n)
	}
	a.tell(shipment.Finished) // the sum goes on, too
	end()
	if err := os.Truncate(dir+"/s1/sub/a", 3); err != nil {
		t.Fatal(err)
	}
	m, _ = begin(t, conn, kept)
	has(t, m, "s1/sub/a", "one two three")
}
