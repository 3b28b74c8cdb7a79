package teehistorian

import (
	"bytes"
	"maps"
	"strings"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/teehistorian"
	conclude "github.com/replayd/replayd/decoders/teehistorian/facts"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/codectest"
	"github.com/replayd/replayd/replay/filter"
	"github.com/replayd/replayd/replay/source"
)

func TestRedact(t *testing.T) {
	const secret = "hunter2"
	args := [][]byte{[]byte(secret)}
	command := func(id, flags int32, name string) teehistorian.Event {
		return teehistorian.Event{Kind: teehistorian.KindConsoleCommand, ConsoleCommand: teehistorian.ConsoleCommand{
			ClientId: id, Flags: flags, Command: []byte(name), Arguments: args,
		}}
	}
	message := func(m teehistorian.Message) teehistorian.Event {
		m.Raw = []byte("raw " + secret)
		return teehistorian.Event{Kind: teehistorian.KindMessage, Message: m}
	}
	say := func(mode teehistorian.SayMode, text string) teehistorian.Event {
		return message(teehistorian.Message{
			ContentCase: teehistorian.MessageContentSay, Say: teehistorian.Say{Mode: mode, Text: []byte(text)},
		})
	}
	unread := func(raw string) teehistorian.Event {
		return teehistorian.Event{Kind: teehistorian.KindMessage, Message: teehistorian.Message{Raw: []byte(raw)}}
	}
	chat := func(name string) teehistorian.Event {
		return message(teehistorian.Message{
			ContentCase: teehistorian.MessageContentCommand,
			Command:     teehistorian.Command{Name: []byte(name), Arguments: []byte(secret)},
		})
	}
	for _, test := range []struct {
		name   string
		ev     teehistorian.Event
		hidden bool
	}{
		{"timeout in chat", command(3, 128, "timeout"), true},
		{"timeout in capitals", command(3, 128, "TimeOut"), true},
		{"another chat command", command(3, 128, "team"), false},
		{"remote console", command(3, 4, "ban"), true},
		{"external console", command(-1, 4, "ban"), true},
		{"external console's flag", command(-3, 32, "ban"), true},
		{"configuration of the map", command(-2, 4, "sv_solo"), false},
		{"configuration file", command(-3, 4, "sv_name"), false},
		{"password of the map", command(-2, 4, "password"), true},
		{"password of a file", command(-3, 4, "sv_RCON_password"), true},
		{"key of a file", command(-3, 4, "sv_dnsbl_key"), true},
		{"logins of a file", command(-3, 4, "auth_add_p"), true},
		{"keys are no key", command(-3, 4, "sv_keys"), false},
		{"a vote for a password", teehistorian.Event{Kind: teehistorian.KindConsoleCommand, ConsoleCommand: teehistorian.ConsoleCommand{
			ClientId: -3, Flags: 4, Command: []byte("add_vote"), Arguments: [][]byte{[]byte("x"), []byte("password " + secret)},
		}}, true},
		{"an unknown command of a client", command(3, 1, "say"), true},
		{"blanks in a command", command(3, 128, " timeout"), true},
		{"timeout said", say(teehistorian.SayModeAll, "/timeout "+secret), true},
		{"timeout said late", say(teehistorian.SayModeTeam, "  /TIMEOUT "+secret), true},
		{"whisper by command", say(teehistorian.SayModeAll, "/w friend "+secret), true},
		{"whisper", say(teehistorian.SayModeWhisper, secret), true},
		{"said", say(teehistorian.SayModeAll, "timeout "+secret), false},
		{"an unknown command said", say(teehistorian.SayModeAll, "/login bob "+secret), true},
		{"a public command said", say(teehistorian.SayModeAll, "/ Rank\t"+secret), false},
		{"a slash", say(teehistorian.SayModeAll, "/"), false},
		{"a blank behind the slash", say(teehistorian.SayModeAll, "/ timeout "+secret), true},
		{"a tab behind the slash", say(teehistorian.SayModeAll, "/\ttimeout "+secret), true},
		{"a tab behind the name", say(teehistorian.SayModeAll, "/timeout\t"+secret), true},
		{"a control character behind the name", say(teehistorian.SayModeAll, "/load\x01"+secret), true},
		{"a control character first", say(teehistorian.SayModeAll, "\x01/timeout "+secret), true},
		{"an ideographic space first", say(teehistorian.SayModeAll, "\u3000/timeout "+secret), true},
		{"invalid UTF-8 first", say(teehistorian.SayModeAll, "\xff\u200b/timeout "+secret), true},
		{"two slashes", say(teehistorian.SayModeAll, "//timeout "+secret), true},
		{"several commands", say(teehistorian.SayModeAll, "/mc;rank;timeout "+secret), true},
		{"a path", say(teehistorian.SayModeAll, "see /timeout "+secret), false},
		{"bytes behind a text", teehistorian.Event{
			Kind: teehistorian.KindMessage, Warnings: []teehistorian.Warning{teehistorian.WarningTrailingData},
			Message: teehistorian.Message{
				Protocol: teehistorian.ProtocolSix, ContentCase: teehistorian.MessageContentSay,
				Say: teehistorian.Say{Text: []byte("hello")}, Raw: []byte("\x22\x00hello\x00" + secret),
			},
		}, true},
		{"timeout by 0.7", chat("timeout"), true},
		{"whisper by 0.7", chat("whisper"), true},
		{"another command by 0.7", chat("pause"), false},
		{"unread message with a timeout", unread("\x05Timeout " + secret), true},
		{"unread message", unread("\x05time out " + secret), true},
		{"connection id", teehistorian.Event{
			Kind: teehistorian.KindDdnetver, Ddnetver: teehistorian.Ddnetver{ConnectionId: []byte(secret)},
		}, true},
		{"antibot", teehistorian.Event{Kind: teehistorian.KindAntibot, Antibot: teehistorian.Antibot{Data: []byte(secret)}}, true},
		{"damaged extension", teehistorian.Event{
			Kind: teehistorian.KindUnknownEx, UnknownEx: teehistorian.UnknownEx{Data: []byte(secret), Error: []byte("cut")},
		}, true},
		{"extension of a mod", teehistorian.Event{
			Kind: teehistorian.KindUnknownEx, UnknownEx: teehistorian.UnknownEx{Data: []byte(secret)},
		}, true},
		{"a name", teehistorian.Event{
			Kind: teehistorian.KindPlayerName, PlayerName: teehistorian.PlayerName{Name: []byte(secret)},
		}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			fold := conclude.New(&teehistorian.Header{}, conclude.Options{})
			for fold.Apply(&test.ev); fold.Pending(); { // a fact tells no more than the event
				var fact teehistorian.Event
				fold.Next(&fact)
				redacts(t, fact, secret, test.hidden && bytes.Contains(AppendEvent(nil, &fact), []byte(secret)))
			}
			redacts(t, test.ev, secret, test.hidden)
		})
	}
}

// redacts checks that redaction takes a secret from an event and nothing else, that one kind of secrets reveals it, and that the event says
// so; or that there is nothing to take.
func redacts(t *testing.T, ev teehistorian.Event, secret string, hidden bool) {
	t.Helper()
	before := AppendEvent(nil, &ev)
	revealing := 0 // the kinds of secrets with which it is delivered
	for kind := decoders.Secrets(1); kind < decoders.AllSecrets; kind <<= 1 {
		ev := ev
		if teehistorian.Redact(&ev, kind); bytes.Equal(AppendEvent(nil, &ev), before) {
			revealing++
		}
	}
	if hidden && revealing != 1 {
		t.Errorf("%s: %d kinds of secrets reveal it", ev.Kind, revealing)
	}
	if all := ev; hidden {
		if teehistorian.Redact(&all, decoders.AllSecrets); !bytes.Equal(AppendEvent(nil, &all), before) {
			t.Errorf("%s: it is not revealed with all others", ev.Kind)
		}
	}
	teehistorian.Redact(&ev, 0)
	after := AppendEvent(nil, &ev)
	if hidden && !strings.Contains(string(before), secret) {
		t.Fatalf("%s: there is nothing to hide", ev.Kind)
	}
	if gone := bytes.Contains(before, []byte(secret)) && !bytes.Contains(after, []byte(secret)); gone != hidden {
		t.Errorf("%s: hidden: %v, want %v: %q", ev.Kind, gone, hidden, after)
	}
	if said := ev.ConsoleCommand.Redacted || ev.Message.Redacted || ev.Ddnetver.Redacted || ev.Antibot.Redacted || ev.UnknownEx.Redacted ||
		ev.FactCommand.Redacted || ev.FactChat.Redacted; said != hidden {
		t.Errorf("%s: it says so: %v, want %v", ev.Kind, said, hidden)
	}
}

// TestRedactHeader checks that the passwords of a header are withheld from a description, from a stream and from a redacted
// copy, and that nothing else is.
func TestRedactHeader(t *testing.T) {
	const secret = "hunter2"
	text := `{"version":"2","game_uuid":"699db17b-8efb-34ff-b1d8-da6f60c15dd1","config":{"sv_name":"a","sv_rcon_password":"` + secret +
		`","SV_RESERVED_SLOTS_PASS":"` + secret + `","sv_dnsbl_key":"` + secret + `"},"tuning":[{"ec_password":"` + secret +
		`"}],"mod_token":"` + secret + `","mod":"b"}`
	file := append([]byte("\x69\x9d\xb1\x7b\x8e\xfb\x34\xff\xb1\xd8\xda\x6f\x60\xc1\x5d\xd1"+text), 0, 0x4a)
	var copied bytes.Buffer
	if err := teehistorian.Copy(&copied, bytes.NewReader(file), teehistorian.CopyOptions{Redact: true}); err != nil {
		t.Fatal(err)
	}
	if copied := copied.String(); strings.Contains(copied, secret) || !strings.Contains(copied, `"sv_name":"a","sv_rcon_password":""`) {
		t.Errorf("the copy: %q", copied)
	}
	stream := func(reveal bool) *replaydv1.Replay {
		r, err := Codec.Open(source.Input{At: bytes.NewReader(file)}, codec.Options{Secrets: codectest.Secrets(reveal)})
		if err != nil {
			t.Fatal(err)
		}
		replay := new(replaydv1.Replay)
		if err := r.Header(replay); err != nil {
			t.Fatal(err)
		}
		return replay
	}
	described := new(replaydv1.Replay)
	if err := Codec.Describe(t.Context(), source.Input{At: bytes.NewReader(file)}, described); err != nil {
		t.Fatal(err)
	}
	for what, r := range map[string]*replaydv1.Replay{"description": described, "stream": stream(false)} {
		h := r.GetTeehistorian()
		want := map[string]string{"sv_name": "a", "sv_rcon_password": "", "SV_RESERVED_SLOTS_PASS": "", "sv_dnsbl_key": ""}
		if !maps.Equal(h.GetConfig(), want) {
			t.Errorf("the settings of the %s: %q", what, h.GetConfig())
		}
		if want := map[string]string{"tuning": "", "mod_token": "", "mod": `"b"`}; !maps.Equal(h.GetOther(), want) {
			t.Errorf("other keys of the %s: %q", what, h.GetOther())
		}
	}
	if text := stream(true).String(); strings.Count(text, secret) != 5 {
		t.Errorf("revealed: %s", text)
	}
}

// The largest event that a file can contain is smaller than the daemon's limit for one event.
func TestLargestEvent(t *testing.T) {
	worst := bytes.Repeat([]byte("a\xff"), teehistorian.MaxRecord/2)
	ev := teehistorian.Event{AtTick: -1, Kind: teehistorian.KindMessage, Message: teehistorian.Message{
		ClientId: teehistorian.MaxClients - 1, Raw: worst, Uuid: make([]byte, 36),
		ContentCase: teehistorian.MessageContentSay, Say: teehistorian.Say{Text: worst},
	}}
	if n, limit := len(AppendEvent(nil, &ev)), codec.MaxEventBytes; n > limit {
		t.Errorf("%d bytes; there may be %d", n, limit)
	}
	arguments := make([][]byte, teehistorian.MaxArguments)
	for i := range arguments {
		arguments[i] = worst[:teehistorian.MaxRecord/teehistorian.MaxArguments]
	}
	ev = teehistorian.Event{Kind: teehistorian.KindConsoleCommand, ConsoleCommand: teehistorian.ConsoleCommand{Arguments: arguments}}
	if n, limit := len(AppendEvent(nil, &ev)), codec.MaxEventBytes; n > limit {
		t.Errorf("%d bytes; there may be %d", n, limit)
	}
}

// TestRevealByName: each kind of secret is revealed by its own name.
func TestRevealByName(t *testing.T) {
	command := func(id, flags int32, name, argument string) teehistorian.Event {
		return teehistorian.Event{Kind: teehistorian.KindConsoleCommand, ConsoleCommand: teehistorian.ConsoleCommand{
			ClientId: id, Flags: flags, Command: []byte(name), Arguments: [][]byte{[]byte(argument)},
		}}
	}
	for name, ev := range map[string]teehistorian.Event{
		"connection_id":  {Kind: teehistorian.KindDdnetver, Ddnetver: teehistorian.Ddnetver{ConnectionId: []byte("id")}},
		"antibot":        {Kind: teehistorian.KindAntibot, Antibot: teehistorian.Antibot{Data: []byte("data")}},
		"unreadable":     {Kind: teehistorian.KindUnknownEx, UnknownEx: teehistorian.UnknownEx{Data: []byte("data")}},
		"rcon_arguments": command(0, 4, "ban", "127.0.0.1"),
		"chat_arguments": command(0, 128, "timeout", "code"),
		"passwords":      command(-3, 4, "sv_rcon_password", "word"),
		"private_talk": {Kind: teehistorian.KindMessage, Message: teehistorian.Message{
			ContentCase: teehistorian.MessageContentSay, Say: teehistorian.Say{Mode: teehistorian.SayModeWhisper, Text: []byte("psst")},
		}},
	} {
		kind, err := decoders.ParseSecrets(name)
		if err != nil {
			t.Fatal(err)
		}
		before := AppendEvent(nil, &ev)
		revealed, others := ev, ev
		if teehistorian.Redact(&revealed, kind); !bytes.Equal(AppendEvent(nil, &revealed), before) {
			t.Errorf("%s is not revealed", name)
		}
		if teehistorian.Redact(&others, decoders.AllSecrets&^kind); bytes.Equal(AppendEvent(nil, &others), before) {
			t.Errorf("all but %s reveal it", name)
		}
	}
}

// TestPlayersOfFacts: filters find a fact by each client that it names.
func TestPlayersOfFacts(t *testing.T) {
	for kind, want := range map[teehistorian.Kind][2]int32{
		teehistorian.KindFactChat: {1, filter.None}, teehistorian.KindFactCallVote: {2, 3}, teehistorian.KindFactVote: {4, filter.None},
		teehistorian.KindFactCommand: {filter.None, filter.None}, teehistorian.KindFactDeath: {5, filter.None}, teehistorian.KindFactRespawn: {6, filter.None},
		teehistorian.KindFactFreeze: {7, 8}, teehistorian.KindFactThaw: {9, filter.None}, teehistorian.KindFactHit: {10, 11},
		teehistorian.KindFactHook: {12, 13}, teehistorian.KindFactBlock: {14, 15}, teehistorian.KindFactCharacterEnd: {16, filter.None},
		teehistorian.KindFactRun: {17, filter.None},
	} {
		ev := teehistorian.Event{
			Kind: kind, FactChat: teehistorian.FactChat{ClientId: 1}, FactCallVote: teehistorian.FactCallVote{ClientId: 2, TargetClientId: 3},
			FactVote: teehistorian.FactVote{ClientId: 4}, FactCommand: teehistorian.FactCommand{ClientId: -1},
			FactDeath: teehistorian.FactDeath{ClientId: 5}, FactRespawn: teehistorian.FactRespawn{ClientId: 6},
			FactFreeze: teehistorian.FactFreeze{ClientId: 7, OtherClientId: 8}, FactThaw: teehistorian.FactThaw{ClientId: 9, OtherClientId: -1},
			FactHit: teehistorian.FactHit{ClientId: 10, OtherClientId: 11}, FactHook: teehistorian.FactHook{ClientId: 12, OtherClientId: 13},
			FactBlock: teehistorian.FactBlock{ClientId: 14, OtherClientId: 15}, FactCharacterEnd: teehistorian.FactCharacterEnd{ClientId: 16},
			FactRun: teehistorian.FactRun{ClientId: 17},
		}
		if e := properties.Event(uint8(kind), 0, &ev); [2]int32(e.Numbers[filter.Players][:2]) != want {
			t.Errorf("%s is of %v, want %v", kind, e.Numbers[filter.Players], want)
		}
	}
}
