package teehistorian

import (
	"bytes"
	"slices"
	"unicode"
)

// Redact removes the parts of an event that are secret or private, and sets the event's Redacted field if it removed
// any. What is secret is listed in secret.go. Redact removes
//
//   - chat commands, with the exception of those whose arguments are public: others let people take over a player's
//     place or a team's saved game, log in, or talk in private,
//   - what operators type on the remote console (addresses, passwords),
//   - the arguments of commands of files and maps that mention passwords,
//   - connection ids, which identify a person's installation,
//   - the data of the bot detection,
//   - private talk,
//   - what this package cannot read: unknown records and messages, records and messages that are cut, and what follows
//     the contents of a message.
func Redact(ev *Event) {
	switch ev.Kind {
	case KindConsoleCommand:
		if c := &ev.ConsoleCommand; secretCommand(c) {
			c.Arguments, c.Redacted = c.Arguments[:0], true
		}
	case KindMessage:
		redactMessage(&ev.Message, slices.Contains(ev.Warnings, WarningTrailingData))
	case KindDdnetver:
		ev.Ddnetver.ConnectionId, ev.Ddnetver.Redacted = ev.Ddnetver.ConnectionId[:0], true
	case KindAntibot:
		ev.Antibot = Antibot{Redacted: true}
	case KindUnknownEx:
		ev.UnknownEx.Data, ev.UnknownEx.Redacted = nil, true
	}
}

// The bits of a console command's flags, and the client id of a command without a client.
const (
	flagServer = 4
	flagEcon   = 32
	noClient   = -1
)

// secretCommand reports whether the arguments of a command are secret. Commands of the external console look like those
// of votes and of the main configuration file: all have client id -1. Those of maps have -2, those of other files -3.
func secretCommand(c *ConsoleCommand) bool {
	switch {
	case c.Flags&flagEcon != 0, c.Flags&flagServer != 0 && c.ClientId >= noClient:
		return true
	case c.ClientId >= noClient:
		return !publicCommand(c.Command)
	}
	return secretText(c.Command) || slices.ContainsFunc(c.Arguments, secretText)
}

// redactMessage redacts a message. trailing reports whether bytes follow its contents, which servers do not read.
func redactMessage(m *Message, trailing bool) {
	switch {
	case m.ContentCase == MessageContentSay && (m.Say.Mode == SayModeWhisper || !publicText(m.Say.Text)):
		m.Raw, m.Say.Text = nil, nil
	case m.ContentCase == MessageContentCommand && !publicCommand(m.Command.Name):
		m.Raw, m.Command.Arguments = nil, nil
	case m.ContentCase == MessageContentNone:
		m.Raw = nil
	case trailing:
		_, _, end := (&Message{Raw: m.Raw}).parse(m.Protocol)
		m.Raw = m.Raw[:min(end, len(m.Raw))]
	default:
		return
	}
	m.Redacted = true
}

// blanks are the bytes that servers take for a blank, in UTF-8 as a string.
var blanks = func() string {
	b := []byte{}
	for c := byte(1); c <= ' '; c++ {
		b = append(b, c)
	}
	return string(b)
}()

// blank reports whether a character of a text looks like nothing. Invalid UTF-8 counts.
func blank(r rune) bool {
	return r <= ' ' || r == unicode.ReplacementChar || unicode.IsSpace(r) || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point)
}

// publicText reports whether a text of the chat is talk, or a command whose arguments are public. Servers take control
// characters for blanks, skip blanks behind the slash, and end the command's name at a blank. A blank before the slash
// makes a text talk; it is taken for a slip of the person who typed a command.
func publicText(text []byte) bool {
	command, ok := bytes.CutPrefix(bytes.TrimLeftFunc(text, blank), []byte("/"))
	if !ok {
		return true
	}
	name := bytes.TrimLeft(command, blanks)
	if end := bytes.IndexAny(name, blanks); end >= 0 {
		name = name[:end]
	}
	return len(name) == 0 || publicCommand(name)
}
