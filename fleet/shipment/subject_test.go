package shipment_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"pgregory.net/rapid"

	"github.com/replayd/replayd/fleet/shipment"
)

// TestSubject: each path that a replay can have is one token, and comes back.
func TestSubject(t *testing.T) {
	for path, want := range map[string]string{
		"a":                             "replayd.live.s1.a",
		"sub/03f7-b.teehistorian":       "replayd.live.s1.sub%2F03f7-b%2Eteehistorian",
		"a b*c>d.e":                     "replayd.live.s1.a%20b%2Ac%3Ed%2Ee",
		"%41":                           "replayd.live.s1.%2541",
		"ü\n\t":                         "replayd.live.s1.%C3%BC%0A%09",
		strings.Repeat("/ä", 200)[1:]:   "",
		strings.Repeat("x", 1000):       "",
		"trailing dot. /and space ..x.": "",
	} {
		subject, err := shipment.Subject(shipment.StreamName, "s1", path)
		if err != nil || want != "" && subject != want {
			t.Errorf("%q: %s, %v", path, subject, err)
		}
		if len(subject) > 3500 || strings.ContainsAny(subject, " \t\r\n*>") || strings.Count(subject, ".") != 3 {
			t.Errorf("%q: %s is not the subject of one message", path, subject)
		}
		source, back, part, err := shipment.ParseSubject(shipment.StreamName, subject+".tail")
		if err != nil || source != "s1" || back != path || part != shipment.Tail {
			t.Errorf("%q came back as %q of %q: %v", path, back, source, err)
		}
	}
	for _, path := range []string{
		"", ".", "..", "../x", "/x", "x/", "a//b", "a/../b", ".hidden", "a/.hidden", `a\b`, "a\x00", "\xff", strings.Repeat("x", 1001),
	} {
		if _, err := shipment.Subject(shipment.StreamName, "s1", path); !errors.Is(err, shipment.ErrPath) {
			t.Errorf("%q: %v", path, err)
		}
	}
	for _, subject := range []string{
		"", "replayd.live", "replayd.live.s1", "replayd.live.s1.", "replayd.live..a", "replayd.live.s 1.a", "replayd.live.s1.a.b", "replayd.livex.s1.a",
		"replayd.live.s1.%2e%2e%2Fetc", "replayd.live.s1.%2E%2E%2Fetc", "replayd.live.s1.%2Fetc", "replayd.live.s1.%61", "replayd.live.s1.%", "replayd.live.s1.%2",
		"replayd.live.s1.%G0", "replayd.live.s1.a%00", "replayd.live.s1.%FF", "replayd.live.s1.a b", "replayd.live.s1.%5C", "replayd.live.s1.a.other",
	} {
		for _, part := range []string{"", ".tail"} {
			if source, path, _, err := shipment.ParseSubject(shipment.StreamName, subject+part); err == nil {
				t.Errorf("%q is of %q %q", subject+part, source, path)
			}
		}
	}
	if source, path, _, err := shipment.ParseSubject(shipment.StreamName, "replayd.live.s1.a.tail.tail"); err == nil {
		t.Errorf("what stands behind a part is ignored: %q of %q", path, source)
	}
	for name, ok := range map[string]bool{"replayd-live": true, "a": true, "": false, "-a": false, "a--b": false, "a.b": false, "a b": false, "a*": false} {
		if err := shipment.CheckStream(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func FuzzSubject(f *testing.F) {
	f.Add("replayd.live.s1.a%2Fb%2Eteehistorian.body", "s1", "a/b")
	f.Add("replayd.live.s1.%2E%2E%2Fetc", "-", "ü")
	f.Fuzz(func(t *testing.T, subject, source, path string) {
		if s, p, part, err := shipment.ParseSubject(shipment.StreamName, subject); err == nil {
			if back, err := shipment.Subject(shipment.StreamName, s, p); err != nil || back+"."+string(part) != subject {
				t.Fatalf("%q is %q %q, which is %q: %v", subject, s, p, back, err)
			}
		}
		if made, err := shipment.Subject(shipment.StreamName, source, path); err == nil {
			if s, p, _, err := shipment.ParseSubject(shipment.StreamName, made+".state"); err != nil || s != source || p != path {
				t.Fatalf("%q %q is %q, which is %q %q: %v", source, path, made, s, p, err)
			}
		}
	})
}

func FuzzDecode(f *testing.F) {
	g := string(shipment.NewGeneration([]byte("begin"), 7))
	f.Add("bytes", g, "0", "1", "", []byte("x"))
	f.Add("finished", g, "5", "-1", strings.Repeat("ab", 32), []byte(nil))
	f.Add("removed", g, "05", "x", "", []byte(nil))
	f.Fuzz(func(t *testing.T, kind, generation, offset, modified, sum string, data []byte) {
		h := nats.Header{}
		for k, v := range map[string]string{
			"Replayd-Kind": kind, "Replayd-File": generation, "Replayd-Offset": offset, "Replayd-Modified": modified, "Replayd-Sha256": sum,
		} {
			h.Set(k, v)
		}
		m, err := shipment.Decode(h, data)
		if err != nil {
			if strings.Contains(err.Error(), generation) && len(generation) > 20 {
				t.Fatal("an error repeats what came:", err)
			}
			return
		}
		if m.Offset < 0 || m.End() < m.Offset || len(m.Data) > shipment.MaxChunk || m.Kind != shipment.Bytes && len(m.Data) > 0 {
			t.Fatalf("%+v", m)
		}
		if _, err := m.Generation.Begins(strings.NewReader("begin")); err != nil {
			t.Fatal(err)
		}
	})
}

// TestGeneration: a file is recognised by its first bytes, as long as it has them.
func TestGeneration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prefix := rapid.SliceOfN(rapid.Byte(), 0, 5000).Draw(t, "prefix")
		more := rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "more")
		g := shipment.NewGeneration(prefix, rapid.Uint64().Draw(t, "number"))
		h := nats.Header{}
		h.Set("Replayd-Kind", "bytes")
		h.Set("Replayd-File", string(g))
		h.Set("Replayd-Offset", "0")
		h.Set("Replayd-Modified", "0")
		if _, err := shipment.Decode(h, nil); err != nil {
			t.Fatal(g, err)
		}
		file := string(prefix) + string(more)
		if same, err := g.Begins(strings.NewReader(file)); err != nil || !same {
			t.Fatal(same, err)
		}
		if len(prefix) == 0 {
			return
		}
		at := rapid.IntRange(0, min(len(prefix), 4096)-1).Draw(t, "at")
		other := []byte(file)
		other[at] ^= 1
		if same, err := g.Begins(strings.NewReader(string(other))); err != nil || same {
			t.Fatal("other bytes are the same file:", same, err)
		}
		if same, err := g.Begins(strings.NewReader(file[:at])); err != nil || same {
			t.Fatal("a shorter file is the same:", same, err)
		}
	})
}

// TestModified: times survive.
func TestModified(t *testing.T) {
	h := nats.Header{}
	at := time.Date(2026, 11, 23, 1, 2, 3, 456789, time.UTC)
	h.Set("Replayd-Kind", "bytes")
	h.Set("Replayd-File", string(shipment.NewGeneration(nil, 1)))
	h.Set("Replayd-Offset", "12")
	h.Set("Replayd-Modified", "1795395723000456789")
	m, err := shipment.Decode(h, []byte("x"))
	if err != nil || !m.Modified.Equal(at) || m.End() != 13 {
		t.Error(m, err)
	}
}
