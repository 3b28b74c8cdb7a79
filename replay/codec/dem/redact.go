package dem

import (
	"bytes"
	"slices"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/dem"
)

// secretWords are parts of console commands that take a password, or the address of a server with a password.
var secretWords = [][]byte{[]byte("password"), []byte("rcon"), []byte("connect"), []byte("token"), []byte("auth")}

// redact removes the secrets of an event that are not revealed.
func redact(ev *dem.Event, reveal decoders.Secrets) {
	switch ev.Kind {
	case dem.KindServerCvar, dem.KindConsoleCmd:
		if !reveal.Has(decoders.SecretPasswords) {
			redactPassword(ev)
		}
	case dem.KindVoice:
		if v := &ev.Voice; len(v.Data) > 0 && !reveal.Has(decoders.SecretVoice) {
			v.Data, v.Redacted = nil, true
		}
	case dem.KindMessage:
		if m := &ev.Message; slices.Contains(voiceMessages, m.Id) && !reveal.Has(decoders.SecretVoice) {
			m.Data, m.Fields, m.MoreFields, m.Redacted = nil, nil, 0, true
		}
	}
}

// voiceMessages are the numbers of the messages with speech. The server's is delivered as raw bytes if it cannot be read. The
// other is a client's.
var voiceMessages = []uint32{47, 22}

// redactPassword removes the values of server variables that may be passwords, and the console lines with which the recording player
// logged in somewhere. Only the first word of such a line remains, because the line may contain more than one command.
func redactPassword(ev *dem.Event) {
	if ev.Kind == dem.KindServerCvar {
		c := &ev.ServerCvar
		if len(c.Value) > 0 && secret(bytes.ToLower(c.Name)) {
			c.Value, c.Redacted = nil, true
		}
		return
	}
	c := &ev.ConsoleCmd
	if !secret(bytes.ToLower(c.Text)) {
		return
	}
	if i := bytes.IndexAny(c.Text, " \t;\""); i >= 0 {
		c.Text, c.Redacted = c.Text[:i], true
	}
}

// secret reports whether a lower-case text contains one of the words.
func secret(text []byte) bool {
	return slices.ContainsFunc(secretWords, func(word []byte) bool { return bytes.Contains(text, word) })
}
