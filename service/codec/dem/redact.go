package dem

import (
	"bytes"
	"slices"

	"github.com/replayd/replayd/decoders/dem"
)

// secretWords are parts of console commands that take a password, or the address of a server to which one may belong.
var secretWords = [][]byte{[]byte("password"), []byte("rcon"), []byte("connect"), []byte("token"), []byte("auth")}

// redact withholds the values of the server's variables that may be passwords, and what the one who recorded typed in his
// console to log in somewhere. Of the line the first word stays: there may be more than one command in it.
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

// secret reports whether a lower-case text has one of the words.
func secret(text []byte) bool {
	return slices.ContainsFunc(secretWords, func(word []byte) bool { return bytes.Contains(text, word) })
}
