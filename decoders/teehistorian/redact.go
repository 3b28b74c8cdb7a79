package teehistorian

import "bytes"

// Redact removes secrets from an event: timeout codes, with which others could take over a player's place; codes of saved
// games; arguments of commands on the remote console (addresses, passwords); connection ids, which identify a person's
// installation; data of the bot detection; and private talk. It sets the event's field Redacted when it removed something.
func Redact(ev *Event) {
	switch ev.Kind {
	case KindConsoleCommand:
		c := &ev.ConsoleCommand
		if privateCommand(c.Command) || remoteConsole(c) {
			c.Arguments, c.Redacted = c.Arguments[:0], true
		}
	case KindMessage:
		redactMessage(&ev.Message)
	case KindDdnetver:
		ev.Ddnetver.ConnectionId, ev.Ddnetver.Redacted = ev.Ddnetver.ConnectionId[:0], true
	case KindAntibot:
		ev.Antibot = Antibot{Redacted: true}
	case KindUnknownEx:
		// One that should have been a ddnetver, antibot or the like, and could not be read.
		if e := &ev.UnknownEx; len(e.Error) > 0 {
			e.Data, e.Redacted = nil, true
		}
	}
}

// The bits of a console command's flags, and the client id of one that no client gave.
const (
	flagServer = 4
	flagEcon   = 32
	noClient   = -1
)

// remoteConsole reports whether a command may come from a remote console. The external console cannot be distinguished from votes
// and the main configuration file: all of them are no client's. Those of maps, -2, and other files, -3, stay.
func remoteConsole(c *ConsoleCommand) bool {
	return c.Flags&flagEcon != 0 || c.Flags&flagServer != 0 && c.ClientId >= noClient
}

// privateCommands are chat commands whose arguments are nobody else's business. Servers leave whispers out of
// the file themselves, but for clients of 0.7, whose messages they record unseen.
var privateCommands = [][]byte{
	[]byte("timeout"), []byte("save"), []byte("load"), []byte("w"), []byte("whisper"), []byte("c"), []byte("converse"),
}

func privateCommand(name []byte) bool {
	for _, p := range privateCommands {
		if bytes.EqualFold(name, p) {
			return true
		}
	}
	return false
}

// privateText reports whether what was said is a private command. Servers ignore blanks before it.
func privateText(text []byte) bool {
	command, ok := bytes.CutPrefix(bytes.TrimLeft(text, " \t"), []byte("/"))
	if !ok {
		return false
	}
	name, _, _ := bytes.Cut(command, []byte(" "))
	return privateCommand(name)
}

func redactMessage(m *Message) {
	switch m.ContentCase {
	case MessageContentSay:
		if m.Say.Mode != SayModeWhisper && !privateText(m.Say.Text) {
			return
		}
		m.Say.Text = nil
	case MessageContentCommand:
		if !privateCommand(m.Command.Name) {
			return
		}
		m.Command.Arguments = nil
	case MessageContentNone: // what could not be read may be one of those
		if !containsFold(m.Raw, privateCommands[0]) {
			return
		}
	default:
		return
	}
	m.Raw, m.Redacted = nil, true
}

// containsFold reports whether part occurs in b, in whatever case.
func containsFold(b, part []byte) bool {
	for ; len(b) >= len(part); b = b[1:] {
		if bytes.EqualFold(b[:len(part)], part) {
			return true
		}
	}
	return false
}
