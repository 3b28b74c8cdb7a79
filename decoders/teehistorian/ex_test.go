package teehistorian_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/replayd/replayd/decoders/teehistorian"
)

// extensionUUIDs are the UUIDs as servers write them. The names must lead to them.
var extensionUUIDs = map[teehistorian.Kind]string{
	teehistorian.KindTest:         "6bb8ba88-0f0b-382e-8dae-dbf4052b8b7d",
	teehistorian.KindAuthInit:     "60daba5c-52c4-3aeb-b8ba-b2953fb55a17",
	teehistorian.KindAuthLogin:    "37ecd3b8-9218-3bb9-a71b-a935b86f6a81",
	teehistorian.KindAuthLogout:   "d4f5abe8-edd2-3fb9-abd8-1c8bb84f4a63",
	teehistorian.KindDdnetverOld:  "41b49541-f26f-325d-8715-9baf4b544ef9",
	teehistorian.KindDdnetver:     "1397b63e-ee4e-3919-b86a-b058887fcaf5",
	teehistorian.KindJoinver6:     "1899a382-71e3-36da-937d-c9de6bb95b1d",
	teehistorian.KindJoinver7:     "59239b05-0540-318d-bea4-9aa1e80e7d2b",
	teehistorian.KindSaveSuccess:  "4560c756-da29-3036-81d4-90a50f0182cd",
	teehistorian.KindSaveFailure:  "b29901d5-1244-3bd0-bbde-23d04b1f7ba9",
	teehistorian.KindLoadSuccess:  "e05408d3-a313-33df-9eb3-ddb990ab954a",
	teehistorian.KindLoadFailure:  "ef8905a2-c695-3591-a1cd-53d2015992dd",
	teehistorian.KindPlayerTeam:   "a111c04e-1ea8-38e0-90b1-d7f993ca0da9",
	teehistorian.KindTeamPractice: "5792834e-81d1-34c9-a29b-b5ff25dac3bc",
	teehistorian.KindPlayerReady:  "638587c9-3f75-3887-918e-a3c2614ffaa0",
	teehistorian.KindPlayerSwap:   "5de9b633-49cf-3e99-9a25-d4a78e9717d7",
	teehistorian.KindRejoinver6:   "c1e921d5-96f5-37bb-8a45-7a06f163d27e",
	teehistorian.KindAntibot:      "866bfdac-fb49-3c0b-a887-5fe1f3ea00b8",
	teehistorian.KindPlayerName:   "d016f9b9-4151-3b87-87e5-3a6087eb5f26",
	teehistorian.KindPlayerFinish: "68943c01-2348-3e01-9490-3f27f8269d94",
	teehistorian.KindTeamFinish:   "9588b9af-3fdc-3760-8043-82deeee317a5",
}

const someUUID = "01020304-0506-4708-890a-0b0c0d0e0f10"

func TestExtensions(t *testing.T) {
	if len(extensionUUIDs) != len(extensionNames) {
		t.Fatal("the tables differ")
	}
	for kind, name := range extensionNames {
		if got := teehistorian.NameUUID(name).String(); got != extensionUUIDs[kind] {
			t.Errorf("%s: %s, want %s", name, got, extensionUUIDs[kind])
		}
	}
	for name, uuid := range map[string]string{
		"teehistorian-auth-login-role@ddnet.org": "09d8570e-045e-345c-9bc6-65d3b091c3f4",
		"teehistorian-auth-init-role@ddnet.org":  "7a202cc7-3591-3d4f-a8a6-98286d5c4f9c",
	} {
		if got := teehistorian.NameUUID(name).String(); got != uuid {
			t.Errorf("%s: %s, want %s", name, got, uuid)
		}
	}
	for _, test := range []struct {
		name string // without the common prefix
		data func(*writer)
		want string
	}{
		{"test@ddnet.tw", func(*writer) {}, "test [] {}"},
		{"auth-init@ddnet.tw", func(w *writer) { w.int(0, 1); w.text("x") }, `auth_init [] {ClientId:0 Level:1 AuthName:"x" Role:"" }`},
		{"auth-login@ddnet.tw", func(w *writer) { w.int(0, 3); w.text("default_admin") }, `auth_login [] {ClientId:0 Level:3 AuthName:"default_admin" Role:"" }`},
		{"auth-login-role@ddnet.org", func(w *writer) { w.int(0); w.text("admin", "default_admin") },
			`auth_login [] {ClientId:0 Level:3 AuthName:"default_admin" Role:"admin" }`},
		{"auth-login-role@ddnet.org", func(w *writer) { w.int(0); w.text("trial", "x") },
			`auth_login [] {ClientId:0 Level:0 AuthName:"x" Role:"trial" }`},
		{"auth-init-role@ddnet.org", func(w *writer) { w.int(0); w.text("helper", "x") },
			`auth_init [] {ClientId:0 Level:1 AuthName:"x" Role:"helper" }`},
		{"auth-logout@ddnet.tw", func(w *writer) { w.int(0) }, "auth_logout [] {ClientId:0 }"},
		{"ddnetver-old@ddnet.tw", func(w *writer) { w.int(0, 15090) }, "ddnetver_old [] {ClientId:0 Version:15090 }"},
		{"ddnetver@ddnet.tw", func(w *writer) { w.int(0); w.uuid(someUUID); w.int(20010); w.text("DDNet 20.1") },
			`ddnetver [] {ClientId:0 ConnectionId:"` + someUUID + `" Version:20010 VersionText:"DDNet 20.1" Redacted:false ConnectionPseudonym:"" }`},
		{"joinver6@ddnet.tw", func(w *writer) { w.int(9) }, "joinver6 [] {ClientId:9 }"},
		{"joinver7@ddnet.tw", func(w *writer) { w.int(9) }, "joinver7 [] {ClientId:9 }"},
		{"save-success@ddnet.tw", func(w *writer) { w.int(3); w.uuid(someUUID); w.text("1\t2") },
			`save_success [] {Team:3 SaveId:"` + someUUID + `" Save:"1\t2" Contents:{TeamState:1 Locked:false `},
		{"save-success@ddnet.tw", func(w *writer) { w.int(3); w.uuid(someUUID) }, // the text did not fit
			`save_success [9] {Team:3 SaveId:"` + someUUID + `" Save:"" Contents:{TeamState:0 Locked:false `},
		{"save-failure@ddnet.tw", func(w *writer) { w.int(3) }, "save_failure [] {Team:3 }"},
		{"load-success@ddnet.tw", func(w *writer) { w.int(3); w.uuid(someUUID); w.b = append(w.b, "cut"...) },
			`load_success [9] {Team:3 SaveId:"` + someUUID + `" Save:"cut" Contents:{TeamState:0 Locked:false `},
		{"load-failure@ddnet.tw", func(w *writer) { w.int(3) }, "load_failure [] {Team:3 }"},
		{"player-team@ddnet.tw", func(w *writer) { w.int(0, 5) }, "player_team [] {ClientId:0 Team:5 }"},
		{"team-practice@ddnet.tw", func(w *writer) { w.int(5, 1) }, "team_practice [] {Team:5 Practice:true }"},
		{"player-ready@ddnet.tw", func(w *writer) { w.int(0) }, "player_ready [] {ClientId:0 }"},
		{"player-swap@ddnet.tw", func(w *writer) { w.int(0, 0) }, "player_swap [] {ClientId:0 OtherClientId:0 }"},
		{"rejoinver6@ddnet.org", func(w *writer) { w.int(0) }, "rejoinver6 [] {ClientId:0 }"},
		{"antibot@ddnet.org", func(w *writer) { w.b = append(w.b, 1, 0, 2) }, `antibot [] {Data:"\x01\x00\x02" Redacted:false }`},
		{"antibot@ddnet.org", func(*writer) {}, `antibot [] {Data:"" Redacted:false }`},
		{"player-name@ddnet.org", func(w *writer) { w.int(0); w.text("(1)bot") }, `player_name [] {ClientId:0 Name:"(1)bot" }`},
		{"player-finish@ddnet.org", func(w *writer) { w.int(0, 1234) }, "player_finish [] {ClientId:0 Time:1234 }"},
		{"team-finish@ddnet.org", func(w *writer) { w.int(2, 1234) }, "team_finish [] {Team:2 Time:1234 }"},
	} {
		t.Run(test.name, func(t *testing.T) {
			data := file(func(w *writer) {
				w.join(0)
				w.ex("teehistorian-"+test.name, test.data)
			})
			got, _ := events(data)
			if len(got) != 2 || !strings.Contains(got[1], test.want) {
				t.Errorf("got %q\nwant %s", got, test.want)
			}
		})
	}
}

// TestCutText checks texts that old servers cut at the end of their buffer. They still ended them with a NUL.
func TestCutText(t *testing.T) {
	for _, test := range []struct {
		minor  string
		length int // of the text and its NUL, with 17 bytes before it
		want   string
	}{
		{"2", 2048 - 17, "[9]"},
		{"2", 2046 - 17, "[9]"}, // inside a character
		{"2", 2045 - 17, "[9]"},
		{"2", 2044 - 17, "[]"}, // the longest character fits behind it
		{"2", 1000, "[]"},
		{"9", 2048 - 17, "[]"},
	} {
		w := newWriter(`{"version":"2","version_minor":"` + test.minor + `"}`)
		w.ex("teehistorian-save-success@ddnet.tw", func(w *writer) {
			w.int(0)
			w.uuid(someUUID)
			w.text(strings.Repeat("s", test.length-1))
		})
		got, _ := events(w.b)
		if len(got) != 1 || !strings.HasPrefix(got[0], "0 save_success "+test.want) {
			t.Errorf("minor %s, %d bytes: %.60s", test.minor, test.length, got)
		}
	}
}

// TestStateByExtensions checks that extension records change the client's state.
func TestStateByExtensions(t *testing.T) {
	data := file(func(w *writer) {
		w.ex("teehistorian-joinver7@ddnet.tw", func(w *writer) { w.int(3) })
		w.join(3)
		w.ex("teehistorian-player-team@ddnet.tw", func(w *writer) { w.int(3, 8) })
		w.ex("teehistorian-player-name@ddnet.org", func(w *writer) { w.int(3); w.text(strings.Repeat("n", 200)) })
	})
	d := decode(data, nil)
	var ev teehistorian.Event
	for d.Next(&ev) == nil {
	}
	c := d.State().Client(3)
	if !c.Joined || c.Protocol != teehistorian.ProtocolSeven || c.Team != 8 || string(c.Name) != strings.Repeat("n", 128) {
		t.Errorf("%+v", c)
	}
	count := 0
	for id := range d.State().Clients() {
		count++
		if id != 3 {
			t.Errorf("client %d", id)
		}
	}
	if zero := d.State().Client(-1); count != 1 || zero.Joined {
		t.Errorf("%d clients, %+v", count, zero)
	}
}

// TestPresence checks which client is present, and its name, after each record.
func TestPresence(t *testing.T) {
	info := func(id int32, name string) func(*writer) {
		return func(w *writer) {
			w.int(id << 1)
			w.text(name, "clan")
			w.int(-1)
			w.text("skin")
			w.int(0, 0, 0)
		}
	}
	const name = "teehistorian-player-name@ddnet.org"
	w := newWriter(oldHeader)
	d := teehistorian.New(follower{w}, teehistorian.Options{})
	for _, step := range []struct {
		what    string
		write   func()
		present bool
		name    string
	}{
		{"join", func() { w.join(0) }, true, ""},
		{"introduction", func() { w.message(0, info(20, "bot")); w.ready(0) }, true, "bot"},
		{"a name change that the server has not stated", func() { w.message(0, info(21, "robot")) }, true, "robot"},
		{"a name that the server states", func() { w.ex(name, func(w *writer) { w.int(0); w.text("(1)robot") }) }, true, "(1)robot"},
		{"a requested name after a stated one", func() { w.message(0, info(21, "king")) }, true, "(1)robot"},
		{"another stated name", func() { w.ex(name, func(w *writer) { w.int(0); w.text("queen") }) }, true, "queen"},
		{"drop", func() { w.drop(0, "") }, false, "queen"},
		{"records that servers write after a drop", func() {
			w.ex("teehistorian-player-team@ddnet.tw", func(w *writer) { w.int(0, 0) })
			w.ex("teehistorian-auth-logout@ddnet.tw", func(w *writer) { w.int(0) })
		}, false, "queen"},
		{"a client without a JOIN", func() { w.message(0, info(20, "vanilla")) }, true, "vanilla"},
		{"the next client", func() { w.join(0); w.message(0, info(20, "bob")) }, true, "bob"},
	} {
		step.write()
		var ev teehistorian.Event
		for {
			if err := d.Next(&ev); err != nil {
				break
			}
		}
		c := d.State().Client(0)
		if c.Present != step.present || string(c.Name) != step.name {
			t.Errorf("%s: present %v, name %q", step.what, c.Present, c.Name)
		}
	}
}

// follower reads what the writer has written so far.
type follower struct{ w *writer }

func (f follower) Read(b []byte) (int, error) {
	if len(f.w.b) == 0 {
		return 0, io.EOF
	}
	n := copy(b, f.w.b)
	f.w.b = f.w.b[n:]
	return n, nil
}

// TestVersionOfWhoIsThere: a version is of a client who is connected, although the one before in that slot has left.
func TestVersionOfWhoIsThere(t *testing.T) {
	d := decode(file(func(w *writer) {
		w.join(5)
		w.start(5, "before", "")
		w.drop(5, "")
		w.ex("teehistorian-ddnetver@ddnet.tw", func(w *writer) { w.int(5); w.uuid(someUUID); w.int(20010); w.text("DDNet 20.1") })
	}), nil)
	var ev teehistorian.Event
	for errors.Is(nil, d.Next(&ev)) {
	}
	if c := d.State().Client(5); !c.Present || len(c.Name) > 0 || c.Version != 20010 {
		t.Errorf("%+v", c)
	}
}
