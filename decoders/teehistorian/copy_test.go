package teehistorian_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/decoders/teehistorian"
)

// eachFile calls f for every file of the corpus and of the repository's samples.
func eachFile(t *testing.T, f func(t *testing.T, data []byte)) {
	t.Helper()
	roots := []string{filepath.Join("..", "..", "testdata", "teehistorian")}
	if corpus := filepath.Join("..", "..", "..", "shared", "corpus", "teehistorian"); exists(corpus) {
		roots = append(roots, decodertest.Shared(t, "corpus", "teehistorian"))
	}
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || filepath.Ext(path) != ".teehistorian" {
				return err
			}
			data, err := os.ReadFile(path)
			if err == nil {
				t.Run(filepath.Base(path)[:8], func(t *testing.T) { f(t, data) })
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TestWriteBack decodes every file and checks that writing its events gives the same bytes.
func TestWriteBack(t *testing.T) {
	eachFile(t, func(t *testing.T, data []byte) {
		d := decode(data, nil)
		if _, err := d.Header(); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		w, err := teehistorian.NewWriter(&out, d.HeaderText())
		if err != nil {
			t.Fatal(err)
		}
		var ev teehistorian.Event
		for {
			if err = d.Next(&ev); err != nil {
				break
			}
			if err := w.Write(&ev); err != nil {
				t.Fatalf("%s: %v", describe(&ev), err)
			}
		}
		if !errors.Is(err, io.EOF) && !errors.Is(err, decoders.ErrMore) {
			t.Fatal(err)
		}
		if want := data[:d.Position().Offset]; !bytes.Equal(out.Bytes(), want) {
			n := 0
			for n < min(len(want), out.Len()) && want[n] == out.Bytes()[n] {
				n++
			}
			t.Errorf("%d bytes, want %d; they differ from byte %d on", out.Len(), len(want), n)
		}
	})
}

// texts decodes a file and returns its events as text, and their ticks.
func texts(t *testing.T, data []byte) (list []string, ticks []int32, h *teehistorian.Header, end error) {
	t.Helper()
	d := decode(data, nil)
	h, err := d.Header()
	if err != nil {
		t.Fatal(err)
	}
	var ev teehistorian.Event
	for {
		if err := d.Next(&ev); err != nil {
			return list, ticks, h, err
		}
		list, ticks = append(list, describe(&ev)), append(ticks, ev.AtTick)
	}
}

// TestCut cuts parts out of every file. A cut must have the original's events. Excepted are the events that describe
// the state at its start, the form of its first tick, and the end.
func TestCut(t *testing.T) {
	eachFile(t, func(t *testing.T, data []byte) {
		if len(data) > 300_000 && !decodertest.WholeCorpus() {
			t.Skip("long")
		}
		all, ticks, header, end := texts(t, data)
		if len(ticks) == 0 {
			t.Skip("empty")
		}
		last := ticks[len(ticks)-1]
		for _, r := range [][2]int32{{0, last}, {last / 3, 2 * last / 3}, {last / 2, last + 10}, {1, 1}, {last, last}} {
			var out bytes.Buffer
			if err := teehistorian.Copy(&out, bytes.NewReader(data), teehistorian.CopyOptions{From: &r[0], To: &r[1]}); err != nil {
				t.Fatal(err)
			}
			got, gotTicks, h, gotEnd := texts(t, out.Bytes())
			if h.GameUUID == header.GameUUID || h.PrevGameUUID != "" || h.Other["copied_from"] != `"`+header.GameUUID+`"` {
				t.Fatalf("the header has %s, %s, %v", h.GameUUID, h.PrevGameUUID, h.Other)
			}
			var want []string
			for i, ev := range all {
				if r[0] <= ticks[i] && ticks[i] <= r[1] && !strings.Contains(ev, " finish ") {
					want = append(want, ev)
				}
			}
			for len(got) > 0 && gotTicks[0] < r[0] {
				got, gotTicks = got[1:], gotTicks[1:]
			}
			if whole := r[1] < last; (whole || errors.Is(end, io.EOF)) != errors.Is(gotEnd, io.EOF) {
				t.Errorf("%v ends by %v, the original by %v", r, gotEnd, end)
			}
			if n := len(got); n > 0 && strings.Contains(got[n-1], " finish ") {
				got = got[:n-1]
			}
			if len(got) > 0 && len(want) > 0 && r[0] > 0 { // the first tick of a cut has a record of its own
				if !strings.Contains(got[0], " tick ") || !strings.Contains(want[0], " tick ") {
					t.Fatalf("%v begins with %s, not %s", r, got[0], want[0])
				}
				got, want = got[1:], want[1:]
			}
			if diff := cmp.Diff(withoutWarnings(want), withoutWarnings(got)); diff != "" {
				t.Fatalf("%v -want +got:\n%.2000s", r, diff)
			}
		}
	})
}

// withoutWarnings removes the warnings about clients that never joined. In a copy they did join, or an earlier record
// has named them.
func withoutWarnings(list []string) []string {
	out := make([]string, len(list))
	for i, ev := range list {
		before, rest, _ := strings.Cut(ev, "[")
		_, after, _ := strings.Cut(rest, "]")
		out[i] = before + after
	}
	return out
}

// TestCutState compares the state at the end of a cut with the original's state at the same place.
func TestCutState(t *testing.T) {
	eachFile(t, func(t *testing.T, data []byte) {
		if len(data) > 300_000 && !decodertest.WholeCorpus() {
			t.Skip("long")
		}
		_, ticks, _, _ := texts(t, data)
		if len(ticks) == 0 {
			t.Skip("empty")
		}
		from := ticks[len(ticks)-1] / 2
		var out bytes.Buffer
		if err := teehistorian.Copy(&out, bytes.NewReader(data), teehistorian.CopyOptions{From: &from}); err != nil {
			t.Fatal(err)
		}
		state := func(data []byte) map[int32]string {
			d := decode(data, nil)
			var ev teehistorian.Event
			for d.Next(&ev) == nil {
			}
			known := map[int32]string{}
			for id, c := range d.State().Clients() {
				if c.Present {
					known[id] = strings.Join([]string{string(c.Name), string(c.Clan), string(c.Role), string(c.Skin.Name)}, "|") +
						cmp.Diff([]any{c.Alive, c.Team, c.Version, c.Ready, c.HasInput, c.Input}, nil)
					if c.Alive {
						known[id] += cmp.Diff([2]int32{c.X, c.Y}, nil)
					}
				}
			}
			return known
		}
		if diff := cmp.Diff(state(data), state(out.Bytes())); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

// TestRedactedCopy checks that a redacted copy omits exactly what the daemon would withhold.
func TestRedactedCopy(t *testing.T) {
	eachFile(t, func(t *testing.T, data []byte) {
		if len(data) > 300_000 && !decodertest.WholeCorpus() {
			t.Skip("long")
		}
		var out bytes.Buffer
		if err := teehistorian.Copy(&out, bytes.NewReader(data), teehistorian.CopyOptions{Redact: true}); err != nil {
			t.Fatal(err)
		}
		was, is := decode(data, nil), decode(out.Bytes(), nil)
		var before, after teehistorian.Event
		for {
			err, errAfter := was.Next(&before), is.Next(&after)
			if err != nil || errAfter != nil {
				if !errors.Is(errAfter, err) {
					t.Errorf("ends by %v, not %v", errAfter, err)
				}
				return
			}
			teehistorian.Redact(&before, 0)
			teehistorian.Redact(&after, 0)
			before.Message.Raw, after.Message.Raw = nil, nil
			if after.Kind == teehistorian.KindDdnetver {
				before.Warnings, after.Warnings = nil, nil
			}
			if got, want := describe(&after), describe(&before); got != want && !before.Message.Redacted {
				t.Fatalf("got  %s\nwant %s", got, want)
			}
		}
	})
	secret := "hunter2"
	data := file(func(w *writer) {
		w.join(0)
		w.command(0, 128, "timeout", secret)
		w.command(0, 4, "ban", secret)
		w.command(0, 128, "team", "5")
		w.ex("teehistorian-ddnetver@ddnet.tw", func(w *writer) { w.int(0); w.uuid(someUUID); w.int(1); w.text("x") })
		w.ex("teehistorian-antibot@ddnet.org", func(w *writer) { w.b = append(w.b, secret...) })
		w.message(0, func(w *writer) { w.int(39 << 1); w.text("whisper", secret) })
		w.finish()
	})
	var out bytes.Buffer
	if err := teehistorian.Copy(&out, bytes.NewReader(data), teehistorian.CopyOptions{Redact: true}); err != nil {
		t.Fatal(err)
	}
	id := teehistorian.NameUUID("x")
	if strings.Contains(out.String(), secret) || bytes.Contains(out.Bytes(), id[:0:0]) && bytes.Contains(out.Bytes(), []byte{1, 2, 3, 4, 5, 6, 0x47, 8, 0x89}) {
		t.Errorf("the secret is still there: %q", out.String())
	}
	list, _, _, err := texts(t, out.Bytes())
	if !errors.Is(err, io.EOF) || len(list) != 8 || !strings.Contains(strings.Join(list, ""), `"5"`) {
		t.Errorf("%v, %q", err, list)
	}
}

// FuzzCopy copies arbitrary bytes. Decoding the copy must give the same events as decoding the original.
func FuzzCopy(f *testing.F) {
	f.Add(file(func(w *writer) { w.join(0); w.begin(5); w.playerNew(0, 1, 2); w.finish() }), int32(1), int32(9), true)
	f.Fuzz(func(t *testing.T, data []byte, from, to int32, redact bool) {
		var out bytes.Buffer
		if teehistorian.Copy(&out, bytes.NewReader(data), teehistorian.CopyOptions{From: &from, To: &to, Redact: redact}) != nil {
			return
		}
		d := decode(out.Bytes(), nil)
		var ev teehistorian.Event
		for {
			err := d.Next(&ev)
			if errors.Is(err, io.EOF) || errors.Is(err, decoders.ErrMore) {
				return
			}
			if err != nil {
				t.Fatalf("the copy cannot be read: %v", err)
			}
		}
	})
}
