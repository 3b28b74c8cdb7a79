package codec

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"

	"github.com/replayd/replayd/decoders"
)

// Secrets says what readers do with the secrets in replays. The zero value withholds all of them. It is immutable, and safe for
// concurrent use.
type Secrets struct {
	// Reveal are the kinds of secrets that are delivered unchanged.
	Reveal decoders.Secrets
	// Key makes pseudonyms of secrets that identify a person. Without one there are no pseudonyms.
	Key []byte
}

// pseudonymBytes is the length of a pseudonym, half of it as text. A clash among a billion persons is unlikely.
const pseudonymBytes = 16

// Pseudonym returns a keyed hash of a secret as text. Equal secrets of one kind have equal pseudonyms with the same key; without
// the key a pseudonym tells nothing. It is empty for an empty secret, and if there is no key.
func (s *Secrets) Pseudonym(kind decoders.Secrets, secret []byte) string {
	if len(s.Key) == 0 || len(secret) == 0 {
		return ""
	}
	mac := hmac.New(sha256.New, s.Key)
	mac.Write([]byte(kind.String() + "\x00")) // a hash never returns an error
	mac.Write(secret)
	return hex.EncodeToString(mac.Sum(nil)[:pseudonymBytes])
}
