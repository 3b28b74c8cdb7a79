package teehistorian

import (
	"bytes"
	"slices"
	"unicode"

	"github.com/replayd/replayd/decoders"
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
//
// It leaves the kinds of secrets that are in reveal.
func Redact(ev *Event, reveal decoders.Secrets) {
	switch ev.Kind {
	case KindConsoleCommand:
		if c := &ev.ConsoleCommand; !reveal.Has(secretCommand(c)) {
			c.Arguments, c.Redacted = c.Arguments[:0], true
		}
	case KindFactCommand:
		if c := &ev.FactCommand; !reveal.Has(secretCommand(c.recorded())) {
			c.Arguments, c.Redacted = c.Arguments[:0], true
		}
	case KindFactChat:
		if c := &ev.FactChat; !reveal.Has(secretSay(c.Mode, c.Text)) {
			c.Text, c.Redacted = nil, true
		}
	case KindMessage:
		redactMessage(&ev.Message, slices.Contains(ev.Warnings, WarningTrailingData), reveal)
	case KindDdnetver:
		if !reveal.Has(decoders.SecretConnectionID) {
			ev.Ddnetver.ConnectionId, ev.Ddnetver.Redacted = ev.Ddnetver.ConnectionId[:0], true
		}
	case KindAntibot:
		if !reveal.Has(decoders.SecretAntibot) {
			ev.Antibot = Antibot{Redacted: true}
		}
	case KindUnknownEx:
		if !reveal.Has(decoders.SecretUnreadable) {
			ev.UnknownEx.Data, ev.UnknownEx.Redacted = nil, true
		}
	}
}

// The bits of a console command's flags, and the client id of a command without a client.
const (
	flagServer = 4
	flagEcon   = 32
	noClient   = -1
)

// secretCommand returns the kind of secret in the arguments of a command, or none. Commands of the external console look like
// commands of votes and of the main configuration file: all have client id -1. Commands of maps have -2, and those of other files
// -3.
func secretCommand(c *ConsoleCommand) decoders.Secrets {
	switch {
	case c.Flags&flagEcon != 0, c.Flags&flagServer != 0 && c.ClientId >= noClient:
		return decoders.SecretRconArguments
	case c.ClientId >= noClient && !publicCommand(c.Command):
		return decoders.SecretChatArguments
	case c.ClientId < noClient && (secretText(c.Command) || slices.ContainsFunc(c.Arguments, secretText)):
		return decoders.SecretPasswords
	}
	return 0
}

// recorded returns the part of the fact's record that secretCommand needs.
func (c *FactCommand) recorded() *ConsoleCommand {
	id := c.ClientId
	switch c.Source {
	case CommandSourceMap:
		id = noClient - 1
	case CommandSourceFile:
		id = noClient - 2
	}
	return &ConsoleCommand{ClientId: id, Flags: c.Flags, Command: c.Command, Arguments: c.Arguments}
}

// redactMessage redacts a message. trailing reports whether bytes follow its contents, which servers do not read.
func redactMessage(m *Message, trailing bool, reveal decoders.Secrets) {
	cut := trailing && !reveal.Has(decoders.SecretUnreadable)
	switch {
	case !reveal.Has(secretMessage(m)):
		m.Raw, m.Say.Text, m.Command.Arguments, m.Redacted = nil, nil, nil, true
	case cut:
		_, _, end := (&Message{Raw: m.Raw}).parse(m.Protocol)
		m.Raw, m.Redacted = m.Raw[:min(end, len(m.Raw))], true
	}
}

// secretMessage returns the kind of secret in a message, or none.
func secretMessage(m *Message) decoders.Secrets {
	switch {
	case m.ContentCase == MessageContentSay:
		return secretSay(m.Say.Mode, m.Say.Text)
	case m.ContentCase == MessageContentCommand && !publicCommand(m.Command.Name):
		return decoders.SecretChatArguments
	case m.ContentCase == MessageContentNone:
		return decoders.SecretUnreadable
	}
	return 0
}

// secretSay returns the kind of secret in a text of the chat, or none.
func secretSay(mode SayMode, text []byte) decoders.Secrets {
	switch {
	case mode == SayModeWhisper:
		return decoders.SecretPrivateTalk
	case !publicText(text):
		return decoders.SecretChatArguments
	}
	return 0
}

// blanks are the bytes that servers treat as a blank, in UTF-8 as a string.
var blanks = func() string {
	b := []byte{}
	for c := byte(1); c <= ' '; c++ {
		b = append(b, c)
	}
	return string(b)
}()

// blank reports whether a character of a text is invisible. Invalid UTF-8 counts as invisible.
func blank(r rune) bool {
	return r <= ' ' || r == unicode.ReplacementChar || unicode.IsSpace(r) || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point)
}

// publicText reports whether a text of the chat is talk, or a command whose arguments are public. Servers treat control
// characters as blanks, skip blanks after the slash, and end the command's name at a blank. A blank before the slash makes a text
// talk; here it counts as a typing error in a command.
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
