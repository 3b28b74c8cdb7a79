package publish

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/replayd/replayd/internal/natsconn"
)

// DefaultSubject is the first part of subjects.
const DefaultSubject = "replayd.events"

// maxTokens is the largest number of bytes of a name in a subject. NATS refuses commands of more than 4 KiB.
const maxTokens = 1000

// ErrSubject reports a first part of subjects that NATS does not accept.
var ErrSubject = errors.New("a subject has tokens of letters, digits, - and _, with dots between them")

// Subject returns the subject of a replay: the prefix, the identity as one token, and a token for each element of the name. In a
// token, bytes other than ASCII letters, digits, "-", "_" and ":" are written as "%" and two hexadecimal digits. A name
// of more than 1,000 bytes in that form is replaced by "~" and its SHA-256 sum.
func Subject(prefix, identity, name string) string {
	tokens := Tokens(name)
	if len(tokens) > maxTokens {
		sum := sha256.Sum256([]byte(name))
		tokens = "~" + hex.EncodeToString(sum[:])
	}
	return prefix + "." + token(identity) + "." + tokens
}

// Tokens returns the tokens of a name, separated by dots.
func Tokens(name string) string {
	elements := strings.Split(name, "/")
	for i, e := range elements {
		elements[i] = token(e)
	}
	return strings.Join(elements, ".")
}

// Name returns the name with the given tokens, which must have the form that Tokens writes. Otherwise it reports false.
func Name(tokens string) (string, bool) {
	elements := strings.Split(tokens, ".")
	for i, e := range elements {
		var ok bool
		if elements[i], ok = untoken(e); !ok {
			return "", false
		}
	}
	return strings.Join(elements, "/"), true
}

// plain reports whether a byte stands for itself in a token.
func plain(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '-' || b == '_' || b == ':'
}

// token escapes an element of a name. An empty element, which no name has, becomes "%", because NATS has no empty tokens.
func token(element string) string {
	if element == "" {
		return "%"
	}
	return natsconn.Escape(element, plain)
}

func untoken(token string) (string, bool) {
	if token == "%" {
		return "", true
	}
	element, ok := natsconn.Unescape(token, plain)
	return element, ok && token != ""
}

// checkSubject returns an error if prefix cannot be the first part of subjects.
func checkSubject(prefix string) error {
	for t := range strings.SplitSeq(prefix, ".") {
		if t == "" || strings.Trim(t, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "" {
			return ErrSubject
		}
	}
	if len(prefix) > 200 {
		return ErrSubject
	}
	return nil
}
