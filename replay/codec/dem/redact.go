package dem

import (
	"bytes"
	"slices"

	"github.com/replayd/replayd/decoders/dem"
)

// secretWords are parts of console commands that take a password, or the address of a server with a password.
var secretWords = [][]byte{[]byte("password"), []byte("rcon"), []byte("connect"), []byte("token"), []byte("auth")}

// redact removes the values of server variables that may be passwords, and the console lines with which the recording player
// logged in somewhere. Only the first word of such a line remains, because the line may contain more than one command.
func redact(ev *dem.Event) {
	switch ev.Kind {
	case dem.KindServerCvar:
		c := &ev.ServerCvar
		if len(c.Value) > 0 && secret(bytes.ToLower(c.Name)) {
			c.Value, c.Redacted = nil, true
		}
		return
	case dem.KindConsoleCmd:
	default:
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
