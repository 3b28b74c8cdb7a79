package publish_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/replayd/replayd/fleet/publish"
)

// TestSubject: how subjects look.
func TestSubject(t *testing.T) {
	for name, want := range map[string]string{
		"ddnet/4fa0.teehistorian": "ddnet.4fa0%2Eteehistorian",
		"a/b c/*/>/$x":            "a.b%20c.%2A.%3E.%24x",
		"a/\u00fcml\n":            "a.%C3%BCml%0A",
		"a/~%":                    "a.%7E%25",
		"a/b:c_d-e":               "a.b:c_d-e",
	} {
		if got := publish.Subject("replayd.events", "dem:sha256:00", name); got != "replayd.events.dem:sha256:00."+want {
			t.Errorf("%q: %s", name, got)
		}
	}
	long := strings.Repeat("\u00fc", 200)
	if got := publish.Subject("p", "i", "a/"+long); len(got) > 100 || !strings.HasPrefix(got, "p.i.~") {
		t.Error(got)
	}
	if publish.Subject("p", "i", "a/"+long) == publish.Subject("p", "i", "b/"+long) {
		t.Error("two names have the same subject")
	}
}

func FuzzTokens(f *testing.F) {
	for _, name := range []string{"a", "ddnet/x.teehistorian", "a/\xff\x00 .*>", "%41/%", "//", "~", ""} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		tokens := publish.Tokens(name)
		if back, ok := publish.Name(tokens); !ok || back != name {
			t.Fatalf("%q became %q, and %q again", name, tokens, back)
		}
		for token := range strings.SplitSeq(tokens, ".") {
			if token == "" || strings.ContainsAny(token, " *>\t\r\n~") || !utf8.ValidString(token) {
				t.Fatalf("%q is not a token of NATS", token)
			}
		}
		if back, ok := publish.Name(name); ok && publish.Tokens(back) != name { // each name has one subject
			t.Fatalf("%q is accepted for %q", name, back)
		}
	})
}
