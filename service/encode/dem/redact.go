package dem

import (
	"bytes"

	"github.com/replayd/replayd/decoders/dem"
)

// secretWords are parts of console commands that take a password, or the address of a server to which one may belong.
var secretWords = [][]byte{[]byte("password"), []byte("rcon"), []byte("connect"), []byte("token"), []byte("auth")}

// redact withholds what the one who recorded typed in his console to log in somewhere. Of the line the first word
// stays: there may be more than one command in it.
func redact(ev *dem.Event) {
	if ev.Kind != dem.KindConsoleCmd {
		return
	}
	c := &ev.ConsoleCmd
	lower := bytes.ToLower(c.Text)
	for _, word := range secretWords {
		if !bytes.Contains(lower, word) {
			continue
		}
		if i := bytes.IndexAny(c.Text, " \t;\""); i >= 0 {
			c.Text, c.Redacted = c.Text[:i], true
		}
		return
	}
}
