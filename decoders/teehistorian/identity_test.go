package teehistorian_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/decoders/teehistorian"
)

// identities returns what is known of each connected client of a file: id, name, clan, skin, role and version.
func identities(d *teehistorian.Decoder) string {
	var list []string
	for id, c := range d.State().Clients() {
		if c.Present {
			list = append(list, fmt.Sprintf("%d %s %q %s %s %d", id, c.Name, c.Clan, c.Skin.Name, c.Role, c.Version))
		}
	}
	return strings.Join(list, ", ")
}

// enter writes a client that joins and enters the game.
func (w *writer) enter(id int32, name string) {
	w.join(id)
	w.info(20, id, name, "clan", "skin")
	w.ex("teehistorian-player-name@ddnet.org", func(w *writer) { w.int(id); w.text(name) })
	w.ready(id)
	w.ex("teehistorian-ddnetver@ddnet.tw", func(w *writer) {
		w.int(id)
		w.uuid("01020304-0506-4708-890a-0b0c0d0e0f10")
		w.int(16050)
		w.text("DDNet 16.5")
	})
}

func (w *writer) ready(id int32) {
	w.ex("teehistorian-player-ready@ddnet.tw", func(w *writer) { w.int(id) })
}

// info writes a start info (20) or a change info (21).
func (w *writer) info(message, id int32, name, clan, skin string) {
	w.message(id, func(w *writer) {
		w.int(message << 1)
		w.text(name, clan)
		w.int(-1)
		w.text(skin)
		w.int(0, 0, 0)
	})
}

func (w *writer) login(id int32, role string) {
	w.ex("teehistorian-auth-login-role@ddnet.org", func(w *writer) { w.int(id); w.text(role, "key") })
}

// TestIdentity checks the rules of servers that leave no record of their own. Each file is also decoded from a snapshot after each
// event: what a rule needs is part of it.
func TestIdentity(t *testing.T) {
	for _, test := range []struct {
		name   string
		header string // of the config; empty is none
		write  func(w *writer)
		want   string
	}{
		{"a rejoin ends login and version", "", func(w *writer) {
			w.enter(0, "alice")
			w.login(0, "admin")
			w.ex("teehistorian-rejoinver6@ddnet.org", func(w *writer) { w.int(0) })
		}, `0 alice "clan" skin  0`},
		{"a login after a rejoin", "", func(w *writer) {
			w.enter(0, "alice")
			w.ex("teehistorian-rejoinver6@ddnet.org", func(w *writer) { w.int(0) })
			w.login(0, "admin")
		}, `0 alice "clan" skin admin 0`},
		{"a rejoin is no new player", "", func(w *writer) {
			w.enter(0, "alice")
			w.ex("teehistorian-rejoinver6@ddnet.org", func(w *writer) { w.int(0) })
			w.info(20, 0, "alice", "other", "pinky")
		}, `0 alice "clan" skin  0`},
		{"a reclaim", "", func(w *writer) {
			w.enter(0, "bob")
			w.command(0, 128, "timeout", "abc")
			w.login(0, "moderator")
			w.enter(1, "dave")
			w.enter(2, "(1)bob")
			w.ex("teehistorian-ddnetver-old@ddnet.tw", func(w *writer) { w.int(2, 18000) })
			w.command(2, 128, "timeout", "abc")
			w.drop(2, "Timeout Protection used")
		}, `0 bob "clan" skin  18000, 1 dave "clan" skin  16050`},
		{"a reclaim by a client that was logged in", "", func(w *writer) {
			w.enter(0, "bob")
			w.command(0, 128, "timeout", "abc")
			w.login(0, "moderator")
			w.enter(2, "(1)bob")
			w.login(2, "admin")
			w.command(2, 128, "timeout", "abc")
			w.ex("teehistorian-auth-logout@ddnet.tw", func(w *writer) { w.int(2) })
			w.ex("teehistorian-antibot@ddnet.org", func(w *writer) { w.text("?") })
			w.drop(2, "Timeout Protection used")
		}, `0 bob "clan" skin  16050`},
		{"a client that gives the server's reason itself", "", func(w *writer) {
			w.enter(0, "bob")
			w.command(0, 128, "timeout", "abc")
			w.login(0, "moderator")
			w.enter(2, "eve")
			w.command(2, 128, "timeout", "abc")
			w.message(2, func(w *writer) { w.int(22 << 1) })
			w.drop(2, "Timeout Protection used")
		}, `0 bob "clan" skin moderator 16050`},
		{"a client that leaves at once", "", func(w *writer) {
			w.enter(0, "bob")
			w.command(0, 128, "timeout", "abc")
			w.login(0, "moderator")
			w.enter(2, "eve")
			w.command(2, 128, "timeout", "abc")
			w.drop(2, "")
		}, `0 bob "clan" skin moderator 16050`},
		{"another code", "", func(w *writer) {
			w.enter(0, "bob")
			w.command(0, 128, "timeout", "abc")
			w.login(0, "moderator")
			w.enter(2, "eve")
			w.command(2, 128, "timeout", "abcd")
			w.drop(2, "Timeout Protection used")
		}, `0 bob "clan" skin moderator 16050`},
		{"a code that is too long for the server", "", func(w *writer) {
			long := strings.Repeat("x", 64)
			w.enter(0, "bob")
			w.command(0, 128, "timeout", long)
			w.login(0, "moderator")
			w.enter(2, "eve")
			w.command(2, 128, "timeout", long)
			w.drop(2, "Timeout Protection used")
		}, `0 bob "clan" skin moderator 16050`},
		{"two slots with the code", "", func(w *writer) {
			for id := range int32(2) {
				w.enter(id, fmt.Sprint("bob", id))
				w.command(id, 128, "timeout", "abc")
				w.login(id, "moderator")
			}
			w.enter(2, "bob2")
			w.command(2, 128, "timeout", "abc")
			w.drop(2, "Timeout Protection used")
		}, `0 bob0 "clan" skin  16050, 1 bob1 "clan" skin  16050`},
		{"the code of somebody who left", "", func(w *writer) {
			w.enter(0, "bob")
			w.command(0, 128, "timeout", "abc")
			w.drop(0, "")
			w.enter(0, "carol")
			w.login(0, "helper")
			w.enter(2, "eve")
			w.command(2, 128, "timeout", "abc")
			w.drop(2, "Timeout Protection used")
		}, `0 carol "clan" skin helper 16050`},
		{"the login of the connection that took over does not come along", "", func(w *writer) {
			w.enter(0, "bob")
			w.command(0, 128, "timeout", "abc")
			w.enter(2, "(1)bob")
			w.login(2, "admin")
			w.command(2, 128, "timeout", "abc")
			w.drop(2, "Timeout Protection used")
		}, `0 bob "clan" skin  16050`},

		{"a change", "", changeAfter(250), `0 carol "second" pinky  16050`},
		{"a change too soon", "", changeAfter(249), `0 carol "clan" skin  16050`},
		{"a change without a cooldown", `{"sv_info_change_delay":"0"}`, changeAfter(1), `0 carol "second" pinky  16050`},
		{"a longer cooldown", `{"sv_info_change_delay":"10"}`, changeAfter(499), `0 carol "clan" skin  16050`},
		{"after a longer cooldown", `{"sv_info_change_delay":"10"}`, changeAfter(500), `0 carol "second" pinky  16050`},
		{"no protection", `{"sv_spamprotection":"0"}`, changeAfter(1), `0 carol "second" pinky  16050`},
		{"a cooldown that the console changed", "", func(w *writer) {
			w.command(-1, 4, "sv_info_change_delay", "1")
			changeAfter(50)(w)
		}, `0 carol "second" pinky  16050`},
		{"a cooldown that the console reset", `{"sv_info_change_delay":"0"}`, func(w *writer) {
			w.command(-1, 4, "reset", "sv_info_change_delay")
			changeAfter(249)(w)
		}, `0 carol "clan" skin  16050`},
		{"a cooldown that the console asked for", `{"sv_info_change_delay":"0"}`, func(w *writer) {
			w.command(-1, 4, "sv_info_change_delay")
			changeAfter(1)(w)
		}, `0 carol "second" pinky  16050`},
		{"a change that was ignored starts no cooldown", "", func(w *writer) {
			changeAfter(200)(w)
			w.begin(350)
			w.info(21, 0, "carol", "third", "saddo")
		}, `0 carol "third" saddo  16050`},
		{"a change starts a cooldown", "", func(w *writer) {
			changeAfter(250)(w)
			w.begin(599)
			w.info(21, 0, "carol", "third", "saddo")
		}, `0 carol "second" pinky  16050`},
		{"no cooldown after a start info in tick 0", "", func(w *writer) {
			w.enter(0, "carol")
			w.info(21, 0, "carol", "second", "pinky")
		}, `0 carol "second" pinky  16050`},
		{"a change by a client that has not entered", "", func(w *writer) {
			w.begin(100)
			w.join(0)
			w.info(20, 0, "carol", "clan", "skin")
			w.begin(1000)
			w.info(21, 0, "carol", "second", "pinky")
		}, `0 carol "clan" skin  0`},
		{"a second start info", "", func(w *writer) {
			w.begin(100)
			w.enter(0, "carol")
			w.begin(1000)
			w.info(20, 0, "carol", "second", "pinky")
		}, `0 carol "clan" skin  16050`},
		{"a start info after a new join", "", func(w *writer) {
			w.begin(100)
			w.enter(0, "carol")
			w.drop(0, "")
			w.join(0)
			w.info(20, 0, "dave", "second", "pinky")
		}, `0 dave "second" pinky  0`},
		{"texts as the server keeps them", "", func(w *writer) {
			w.join(0)
			w.info(20, 0, "x", " \u3000\tthree\tblanks\u2003  ", "a\u00e9"+strings.Repeat("é", 20))
		}, `0 x "three blank" aé` + strings.Repeat("é", 10) + `  0`},
		{"blanks at the end", "", func(w *writer) {
			w.join(0)
			w.info(20, 0, "x", "end \u3000", "skin")
		}, `0 x "end" skin  0`},
		{"texts that the server refuses", "", func(w *writer) {
			w.join(0)
			w.info(20, 0, "x", "a\xff", "skin")
			w.info(20, 0, "y", "clan", "skin")
		}, `0 y "clan" skin  0`},
	} {
		t.Run(test.name, func(t *testing.T) {
			header := `{"version":"2","version_minor":"23"}`
			if test.header != "" {
				header = `{"version":"2","version_minor":"23","config":` + test.header + `}`
			}
			w := newWriter(header)
			test.write(w)
			d := decode(w.b, nil)
			h, err := d.Header()
			if err != nil {
				t.Fatal(err)
			}
			var ev teehistorian.Event
			for errors.Is(nil, d.Next(&ev)) {
				r, err := restore(w.b, d.Position().Offset, h, d.Snapshot(nil))
				if err != nil {
					t.Fatal(err)
				}
				_, _ = all(r)
				if got := identities(r); got != test.want {
					t.Errorf("from a snapshot at %d: %s\nwant %s", d.Position().Offset, got, test.want)
				}
			}
			if got := identities(d); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// changeAfter writes a client whose clan and skin change some ticks after its start info.
func changeAfter(ticks int32) func(w *writer) {
	return func(w *writer) {
		w.begin(100)
		w.enter(0, "carol")
		w.begin(100 + ticks)
		w.info(21, 0, "carol", "second", "pinky")
	}
}

// TestReclaimedSlot checks which slot a drop names.
func TestReclaimedSlot(t *testing.T) {
	for codes, want := range map[string]int32{"abc": 3, "": -1, "abc abc": -1, "other": -1} {
		d := decode(file(func(w *writer) {
			for i, code := range strings.Fields(codes) {
				w.join(int32(3 + i))
				w.command(int32(3+i), 128, "timeout", code)
			}
			w.join(9)
			w.command(9, 128, "timeout", "abc")
			w.drop(9, "Timeout Protection used")
		}), nil)
		var ev teehistorian.Event
		for errors.Is(nil, d.Next(&ev)) {
		}
		if ev.Kind != teehistorian.KindDrop || ev.Drop.ReclaimedClientId != want {
			t.Errorf("codes %q: %v of slot %d, want %d", codes, ev.Kind, ev.Drop.ReclaimedClientId, want)
		}
	}
}

// TestLoginsOfEarlierGames: a server that repeats logins in tick 0 has said of all others that they have none.
func TestLoginsOfEarlierGames(t *testing.T) {
	game := func(minor int, f func(w *writer)) []byte {
		w := newWriter(fmt.Sprintf(`{"version":"2","version_minor":"%d"}`, minor))
		f(w)
		return w.b
	}
	end := func(data []byte, roster []byte) *teehistorian.Decoder {
		d := decode(data, nil)
		if _, err := d.Header(); err != nil {
			t.Fatal(err)
		}
		if roster != nil {
			if err := d.Carry(roster); err != nil {
				t.Fatal(err)
			}
		}
		_, _ = all(d)
		return d
	}
	carriedOver := func(w *writer) { w.join(0); w.join(1); w.login(1, "boss") }
	for minor, want := range map[int]string{14: "", 15: "admin", 21: "admin", 22: "", 23: ""} {
		first := end(game(minor, func(w *writer) { w.enter(0, "alice"); w.login(0, "admin"); w.enter(1, "bob") }), nil)
		second := end(game(minor, carriedOver), first.Roster(nil))
		if c := second.State().Client(0); string(c.Role) != want || c.Version != 16050 || string(c.Name) != "alice" {
			t.Errorf("minor %d: role %q of %q, version %d", minor, c.Role, c.Name, c.Version)
		}
		if c := second.State().Client(1); string(c.Role) != "boss" {
			t.Errorf("minor %d: role %q in place of the one of tick 0", minor, c.Role)
		}
		// The same, of games of which only the rosters are left.
		merged, err := teehistorian.CarryRoster(end(game(minor, carriedOver), nil).Roster(nil), first.Roster(nil))
		if err != nil {
			t.Fatal(err)
		}
		s, err := teehistorian.ReadRoster(merged)
		if err != nil {
			t.Fatal(err)
		}
		if c := s.Client(0); string(c.Role) != want {
			t.Errorf("minor %d: role %q of a roster", minor, c.Role)
		}
	}
}

// TestVersionAfterRejoin: the game before does not add the version that a rejoin ended.
func TestVersionAfterRejoin(t *testing.T) {
	first := decode(file(func(w *writer) { w.enter(0, "alice") }), nil)
	_, _ = all(first)
	second := decode(file(func(w *writer) {
		w.join(0)
		w.ex("teehistorian-rejoinver6@ddnet.org", func(w *writer) { w.int(0) })
	}), nil)
	_, _ = all(second)
	if err := second.Carry(first.Roster(nil)); err != nil {
		t.Fatal(err)
	}
	if c := second.State().Client(0); c.Version != 0 || string(c.Name) != "alice" {
		t.Errorf("version %d of %q", c.Version, c.Name)
	}
}

// play decodes the games of a run, each with the roster of the one before, and calls f after each event.
func play(tb testing.TB, r *decodertest.Recording, f func(d *teehistorian.Decoder, ev *teehistorian.Event)) {
	tb.Helper()
	var roster []byte
	for _, data := range r.Games {
		if data == nil {
			roster = nil
			continue
		}
		d := decode(data, nil)
		h, err := d.Header()
		if err != nil {
			tb.Fatal(err)
		}
		if h.PrevGameUUID != "" && roster != nil {
			if err := d.Carry(roster); err != nil {
				tb.Fatal(err)
			}
		}
		var ev teehistorian.Event
		for {
			err := d.Next(&ev)
			if errors.Is(err, io.EOF) || errors.Is(err, decoders.ErrMore) || errors.Is(err, decoders.ErrCorrupt) { // a disk was full
				break
			}
			if err != nil {
				tb.Fatalf("%s: %v", r.Name, err)
			}
			f(d, &ev)
		}
		roster = d.Roster(nil)
	}
}

var statusLine = regexp.MustCompile(`server: id=(\d+) addr=\S+ name='(.*)' client=(\d+) secure=\S+ flags=\S+(?: key='[^']*' \((\w+)\))?`)

// statusRoles are the roles as the command status prints them.
var statusRoles = map[string]string{"": "", "Admin": "admin", "Mod": "moderator", "Moderator": "moderator", "Helper": "helper"}

// TestStatus compares names, roles and versions with what real servers said when asked for their status.
func TestStatus(t *testing.T) {
	checks := 0
	for _, run := range decodertest.Recordings(t) {
		var blocks [][][]string // the lines of each status
		last := -1
		for line := range strings.Lines(run.Log) {
			m := statusLine.FindStringSubmatch(line)
			if m == nil {
				last = -1
				continue
			}
			var id int
			if _, err := fmt.Sscan(m[1], &id); err != nil {
				t.Fatal(err)
			}
			if last < 0 || id <= last {
				blocks = append(blocks, nil)
			}
			last = id
			blocks[len(blocks)-1] = append(blocks[len(blocks)-1], m)
		}
		next := 0
		play(t, &run, func(d *teehistorian.Decoder, ev *teehistorian.Event) {
			present := map[string]teehistorian.Client{}
			if c := &ev.ConsoleCommand; ev.Kind != teehistorian.KindConsoleCommand || string(c.Command) != "status" {
				return
			}
			for id, c := range d.State().Clients() {
				if c.Present {
					present[fmt.Sprint(id)] = c
				}
			}
			if len(present) == 0 || next == len(blocks) {
				return
			}
			for _, m := range blocks[next] {
				checks++
				c, ok := present[m[1]]
				if role, known := statusRoles[m[4]]; !ok || string(c.Name) != m[2] || known && string(c.Role) != role {
					t.Errorf("%s, tick %d: client %s is %q, role %q; the server says %q", run.Name, d.Tick(), m[1], c.Name, c.Role, m[0])
				}
				if c.Version != 0 && fmt.Sprint(c.Version) != m[3] {
					t.Errorf("%s, tick %d: version %d; the server says %q", run.Name, d.Tick(), c.Version, m[0])
				}
			}
			next++
		})
		if next != len(blocks) {
			t.Errorf("%s: %d of %d answers have a command", run.Name, next, len(blocks))
		}
	}
	if checks < 27 {
		t.Errorf("only %d checks", checks)
	}
}

// TestClansAndSkins compares clans and skins with what a real client saw of all clients.
func TestClansAndSkins(t *testing.T) {
	for _, run := range decodertest.Recordings(t) {
		bots, err := os.ReadFile(filepath.Join(decodertest.Shared(t, "corpus", "teehistorian", "ddnet-20.1.1-2"), filepath.Dir(run.Name), "bots.log"))
		if err != nil {
			continue
		}
		seen := map[string][][]any{} // by the mark at which the client looked
		for _, m := range regexp.MustCompile(`(?m)^\d+ snap (\S+) (.*)$`).FindAllStringSubmatch(string(bots), -1) {
			var clients [][]any
			if err := json.Unmarshal([]byte(m[2]), &clients); err != nil {
				t.Fatal(err)
			}
			seen[m[1]] = clients
		}
		checks, after := 0, ""
		play(t, &run, func(d *teehistorian.Decoder, ev *teehistorian.Event) {
			c := &ev.ConsoleCommand
			switch {
			case ev.Kind != teehistorian.KindConsoleCommand:
				return
			case string(c.Command) == "say":
				after = strings.TrimPrefix(strings.TrimPrefix(string(c.Arguments[0]), "MARK "), "bob-")
			case string(c.Command) != "status":
				return
			case after == "after-map" && string(c.Command) == "status" && seen[after] == nil:
				after = "swapped" // the look after the next one
			}
			clients := seen[after]
			delete(seen, after)
			for _, want := range clients {
				checks++
				got := d.State().Client(int32(want[0].(float64)))
				if string(got.Name) != want[1] || string(got.Clan) != want[2] || string(got.Skin.Name) != want[3] {
					t.Errorf("tick %d: %q %q %q, want %q", d.Tick(), got.Name, got.Clan, got.Skin.Name, want)
				}
			}
		})
		if checks < 14 {
			t.Errorf("only %d checks", checks)
		}
	}
}
