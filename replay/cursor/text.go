package cursor

import (
	"encoding/base64"
	"errors"
	"strings"
)

// Text returns the bytes of a cursor as the text in which every door but gRPC has them: base64 of the alphabet for URLs, without padding.
// It needs no escaping in a URL, a shell or a header.
func Text(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// standard converts the alphabet for URLs to the standard one, and restores the standard one where it was unescaped as a URL.
var standard = strings.NewReplacer("-", "+", "_", "/", " ", "+", "=", "")

// ParseText is the reverse of Text. It also accepts the other forms of base64, as programs print that get cursors by gRPC.
func ParseText(text string) ([]byte, error) {
	b, err := base64.RawStdEncoding.DecodeString(standard.Replace(text))
	if err != nil {
		return nil, errors.New("is no base64")
	}
	return b, nil
}
