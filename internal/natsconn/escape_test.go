package natsconn_test

import (
	"strings"
	"testing"

	"github.com/replayd/replayd/internal/natsconn"
)

func FuzzEscape(f *testing.F) {
	for _, text := range []string{"", "a", "%", "%4", "%41", "%2F", "%2f", "a/b", "\xff\x00", "%%25", "%G0"} {
		f.Add(text)
	}
	plain := func(c byte) bool { return c >= 'a' && c <= 'z' }
	f.Fuzz(func(t *testing.T, text string) {
		escaped := natsconn.Escape(text, plain)
		if strings.Trim(escaped, "abcdefghijklmnopqrstuvwxyz%0123456789ABCDEF") != "" {
			t.Fatalf("%q became %q", text, escaped)
		}
		if back, ok := natsconn.Unescape(escaped, plain); !ok || back != text {
			t.Fatalf("%q became %q, and %q again", text, escaped, back)
		}
		if back, ok := natsconn.Unescape(text, plain); ok && natsconn.Escape(back, plain) != text { // each text has one form
			t.Fatalf("%q is accepted for %q", text, back)
		}
	})
}
