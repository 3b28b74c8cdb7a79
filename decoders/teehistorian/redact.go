package teehistorian

import "bytes"

// Redact removes the parts of an event that are secret or private, and sets the event's Redacted field if it removed
// any. It removes
//
//   - codes that let others take over a player's place (timeout codes) or load a team's saved game,
//   - what operators type on the remote console (addresses, passwords),
//   - connection ids, which identify a person's installation,
//   - the data of the bot detection,
//   - private talk.
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
		// It may be an unreadable ddnetver, antibot or similar record.
		if e := &ev.UnknownEx; len(e.Error) > 0 {
			e.Data, e.Redacted = nil, true
		}
	}
}

// The bits of a console command's flags, and the client id of a command without a client.
const (
	flagServer = 4
	flagEcon   = 32
	noClient   = -1
)

// remoteConsole reports whether a command may come from a remote console. Commands of the external console look like
// those of votes and of the main configuration file: all have client id -1. Commands of maps (-2) and of other files
// (-3) are not secret.
func remoteConsole(c *ConsoleCommand) bool {
	return c.Flags&flagEcon != 0 || c.Flags&flagServer != 0 && c.ClientId >= noClient
}

// privateCommands are the chat commands whose arguments are private. Servers do not record whispers, except those of
// clients of 0.7, whose messages they record unparsed.
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

// privateText reports whether a chat text is a private command. Servers ignore blanks before it.
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
	case MessageContentNone: // an unreadable message may be a private command
		if !containsFold(m.Raw, privateCommands[0]) {
			return
		}
	default:
		return
	}
	m.Raw, m.Redacted = nil, true
}

// containsFold reports whether b contains part, ignoring case.
func containsFold(b, part []byte) bool {
	for ; len(b) >= len(part); b = b[1:] {
		if bytes.EqualFold(b[:len(part)], part) {
			return true
		}
	}
	return false
}
