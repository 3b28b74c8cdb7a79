package teehistorian_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/decoders/teehistorian"
)

// TestUnknownExtensions checks the list of records that a server announces and this package does not know.
func TestUnknownExtensions(t *testing.T) {
	data := newWriter(`{"version":"2","uuids":["what-is@ddnet.tw","teehistorian-auth-login-role@ddnet.org",` +
		`"teehistorian-new@ddnet.org","player-teehistorian-x@kog.tw","teehistorian-test@ddnet.tw"]}`).b
	h, err := decode(data, nil).Header()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := h.UnknownExtensions(), []string{"teehistorian-new@ddnet.org", "player-teehistorian-x@kog.tw"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// start writes the introduction of a client of 0.6.
func (w *writer) start(id int32, name, clan string) {
	w.message(id, func(w *writer) {
		w.int(20 << 1)
		w.text(name, clan)
		w.int(276)
		w.text("default")
		w.int(1, 5, 6)
	})
}

// TestCarry checks which clients keep their names over a map change, and which must not.
func TestCarry(t *testing.T) {
	first := decode(file(func(w *writer) {
		for id := range int32(4) {
			w.join(id)
			w.start(id, fmt.Sprint("bot", id), "old")
			w.ex("teehistorian-player-name@ddnet.org", func(w *writer) { w.int(id); w.text(fmt.Sprint("(1)bot", id)) })
		}
		w.ex("teehistorian-ddnetver-old@ddnet.tw", func(w *writer) { w.int(0, 16050) })
		w.ex("teehistorian-auth-login-role@ddnet.org", func(w *writer) { w.int(0); w.text("boss", "key") })
		w.drop(3, "")
	}), nil)
	var ev teehistorian.Event
	for errors.Is(nil, first.Next(&ev)) {
	}
	roster := first.Roster(nil)
	second := oldFile(func(w *writer) {
		w.join(0) // carried over
		w.start(0, "bot0", "new")
		w.start(1, "bot1", "") // carried over, by a server that writes no JOIN then
		w.drop(2, "")          // left, and another client took the slot
		w.join(2)
		w.start(2, "guest", "")
		w.join(3) // a slot that was free
		w.start(3, "late", "")
		w.begin(50)
		w.drop(1, "")
		w.join(1)
		w.start(1, "after", "")
	})
	for what, carry := range map[string]func(d *teehistorian.Decoder, at int) error{
		"before": func(d *teehistorian.Decoder, at int) error {
			if at == 0 {
				return d.Carry(roster)
			}
			return nil
		},
		"after each event": func(d *teehistorian.Decoder, _ int) error { return d.Carry(roster) },
		"at the end": func(d *teehistorian.Decoder, at int) error {
			if at == -1 {
				return d.Carry(roster)
			}
			return nil
		},
	} {
		d := decode(second, nil)
		if _, err := d.Header(); err != nil {
			t.Fatal(err)
		}
		var first []string
		for at := 0; ; at++ {
			if err := carry(d, at); err != nil {
				t.Fatal(err)
			}
			if err := d.Next(&ev); err != nil {
				break
			}
			if d.Tick() == 0 {
				first = names(d)
			}
		}
		if err := carry(d, -1); err != nil {
			t.Fatal(err)
		}
		if want := []string{"(1)bot0 new true", "(1)bot1  true", "guest  false", "late  false"}; what != "at the end" && !slices.Equal(first, want) {
			t.Errorf("%s: in tick 0 %q, want %q", what, first, want)
		}
		if got, want := names(d), []string{"(1)bot0 new true", "after  false", "guest  false", "late  false"}; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
		if c := d.State().Client(0); c.Version != 16050 || len(c.Role) != 0 {
			t.Errorf("%s: version %d, role %q, though the file repeats no login", what, c.Version, c.Role)
		}
		if c := d.State().Client(2); c.Version != 0 || len(c.Role) != 0 {
			t.Errorf("%s: a new client has version %d, role %q", what, c.Version, c.Role)
		}
	}
	// A game in between whose file shows only that the client is still connected.
	silent := decode(file(func(w *writer) { w.join(0); w.start(0, "bot0", "new") }), nil)
	for errors.Is(nil, silent.Next(&ev)) {
	}
	between := silent.Roster(nil)
	if !teehistorian.RosterIncomplete(between) {
		t.Error("a roster with an unnamed client counts as complete")
	}
	merged, err := teehistorian.CarryRoster(between, roster)
	if err != nil || teehistorian.RosterIncomplete(merged) {
		t.Fatalf("merged: %v", err)
	}
	d := decode(file(func(w *writer) { w.join(0) }), nil)
	if _, err := d.Header(); err != nil {
		t.Fatal(err)
	}
	if err := d.Carry(merged); err != nil {
		t.Fatal(err)
	}
	if c := d.State().Client(0); string(c.Name) != "(1)bot0" || string(c.Clan) != "new" || c.Version != 16050 {
		t.Errorf("through a game: %q, %q, version %d", c.Name, c.Clan, c.Version)
	}
	if err := d.Carry(merged[:len(merged)-1]); !errors.Is(err, teehistorian.ErrSnapshot) {
		t.Errorf("a damaged roster: %v", err)
	}
}

func names(d *teehistorian.Decoder) (all []string) {
	for _, c := range d.State().Clients() {
		all = append(all, fmt.Sprintf("%s %s %v", c.Name, c.Clan, c.NameEffective))
	}
	return all
}

var finishLine = regexp.MustCompile(`chat: \*\*\* (.+) finished in: +(\d+) minute\(s\) +(\d+)\.(\d+) second`)

// TestNamesOfFinishes compares the names and times of finishes with a server's log. Names are carried over map changes.
func TestNamesOfFinishes(t *testing.T) {
	dir := decodertest.Shared(t, "corpus", "teehistorian", "ddnet-20.1.1")
	log, err := os.ReadFile(filepath.Join(dir, "server.log"))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, m := range finishLine.FindAllStringSubmatch(string(log), -1) {
		want = append(want, fmt.Sprintf("%s %s:%s.%s", m[1], m[2], m[3], m[4]))
	}
	type game struct {
		header *teehistorian.Header
		data   []byte
	}
	games := map[string]game{} // by the UUID of the previous game
	paths, err := filepath.Glob(filepath.Join(dir, "*.teehistorian"))
	if err != nil {
		t.Fatal(err)
	}
	var heads []game
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		h, err := decode(data, nil).Header()
		if err != nil {
			t.Fatal(err)
		}
		if h.PrevGameUUID == "" {
			heads = append(heads, game{h, data})
			continue
		}
		games[h.PrevGameUUID] = game{h, data}
	}
	slices.SortFunc(heads, func(a, b game) int { return strings.Compare(a.header.StartTimeText, b.header.StartTimeText) })
	var got []string
	for _, g := range heads {
		var roster []byte
		for ok := true; ok; g, ok = games[g.header.GameUUID] {
			d := teehistorian.New(bytes.NewReader(g.data), teehistorian.Options{})
			if _, err := d.Header(); err != nil {
				t.Fatal(err)
			}
			if roster != nil {
				if err := d.Carry(roster); err != nil {
					t.Fatal(err)
				}
			}
			var ev teehistorian.Event
			for {
				err := d.Next(&ev)
				if errors.Is(err, io.EOF) || errors.Is(err, decoders.ErrMore) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				if ev.Kind == teehistorian.KindPlayerFinish {
					c, ticks := d.State().Client(ev.PlayerFinish.ClientId), ev.PlayerFinish.Time
					got = append(got, fmt.Sprintf("%s %d:%d.%02d", c.Name, ticks/3000, ticks%3000/50, ticks%50*2))
				}
			}
			roster = d.Roster(nil)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	t.Logf("%d finishes", len(got))
}

// TestCarryToWhoLeft: the slot of somebody who has left gets nothing of the game before.
func TestCarryToWhoLeft(t *testing.T) {
	first := decode(file(func(w *writer) { w.join(0); w.start(0, "alice", "clan") }), nil)
	second := decode(file(func(w *writer) { w.join(0); w.drop(0, "") }), nil)
	var ev teehistorian.Event
	for _, d := range []*teehistorian.Decoder{first, second} {
		for errors.Is(nil, d.Next(&ev)) {
		}
	}
	before := second.State().Client(0)
	if err := second.Carry(first.Roster(nil)); err != nil {
		t.Fatal(err)
	}
	if c := second.State().Client(0); !bytes.Equal(c.Name, before.Name) || c.HasInfo != before.HasInfo {
		t.Errorf("%+v, and before %+v", c, before)
	}
}
