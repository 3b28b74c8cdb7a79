package cursor_test

import (
	"bytes"
	"encoding/base64"
	"net/url"
	"testing"

	"pgregory.net/rapid"

	"github.com/replayd/replayd/replay/cursor"
)

// TestText: a text leads back to its bytes in each form in which base64 is written, and needs no escaping.
func TestText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), 0, 70).Draw(t, "cursor")
		text := cursor.Text(b)
		if url.QueryEscape(text) != text {
			t.Errorf("%q needs escaping", text)
		}
		unescaped, err := url.QueryUnescape(base64.StdEncoding.EncodeToString(b)) // a + became a space
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range []string{text, base64.StdEncoding.EncodeToString(b), base64.URLEncoding.EncodeToString(b), unescaped} {
			if got, err := cursor.ParseText(form); err != nil || !bytes.Equal(got, b) {
				t.Errorf("%q: %x, %v, want %x", form, got, err, b)
			}
		}
	})
	if _, err := cursor.ParseText("no base64!"); err == nil {
		t.Error("what is no base64 is a cursor")
	}
}
