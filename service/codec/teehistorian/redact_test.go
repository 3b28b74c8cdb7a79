package teehistorian

import (
	"bytes"
	"strings"
	"testing"

	"github.com/replayd/replayd/decoders/teehistorian"
	"github.com/replayd/replayd/service/codec"
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
		{"timeout said", say(teehistorian.SayModeAll, "/timeout "+secret), true},
		{"timeout said late", say(teehistorian.SayModeTeam, "  /TIMEOUT "+secret), true},
		{"whisper by command", say(teehistorian.SayModeAll, "/w friend "+secret), true},
		{"whisper", say(teehistorian.SayModeWhisper, secret), true},
		{"said", say(teehistorian.SayModeAll, "timeout "+secret), false},
		{"another command said", say(teehistorian.SayModeAll, "/timeouts "+secret), false},
		{"timeout by 0.7", chat("timeout"), true},
		{"whisper by 0.7", chat("whisper"), true},
		{"another command by 0.7", chat("pause"), false},
		{"unread message with a timeout", unread("\x05Timeout " + secret), true},
		{"unread message", unread("\x05time out " + secret), false},
		{"connection id", teehistorian.Event{
			Kind: teehistorian.KindDdnetver, Ddnetver: teehistorian.Ddnetver{ConnectionId: []byte(secret)},
		}, true},
		{"antibot", teehistorian.Event{Kind: teehistorian.KindAntibot, Antibot: teehistorian.Antibot{Data: []byte(secret)}}, true},
		{"damaged extension", teehistorian.Event{
			Kind: teehistorian.KindUnknownEx, UnknownEx: teehistorian.UnknownEx{Data: []byte(secret), Error: []byte("cut")},
		}, true},
		{"extension of a mod", teehistorian.Event{
			Kind: teehistorian.KindUnknownEx, UnknownEx: teehistorian.UnknownEx{Data: []byte(secret)},
		}, false},
		{"a name", teehistorian.Event{
			Kind: teehistorian.KindPlayerName, PlayerName: teehistorian.PlayerName{Name: []byte(secret)},
		}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := AppendEvent(nil, &test.ev)
			teehistorian.Redact(&test.ev)
			after := AppendEvent(nil, &test.ev)
			if !strings.Contains(string(before), secret) {
				t.Fatal("there is nothing to hide")
			}
			if hidden := !bytes.Contains(after, []byte(secret)); hidden != test.hidden {
				t.Errorf("hidden: %v, want %v: %q", hidden, test.hidden, after)
			}
			e := &test.ev
			if hidden := e.ConsoleCommand.Redacted || e.Message.Redacted || e.Ddnetver.Redacted || e.Antibot.Redacted ||
				e.UnknownEx.Redacted; hidden != test.hidden {
				t.Errorf("it says so: %v, want %v", hidden, test.hidden)
			}
		})
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
