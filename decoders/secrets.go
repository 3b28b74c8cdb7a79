package decoders

import (
	"fmt"
	"strings"
)

// Secrets is a set of kinds of secrets in replays. Decoders and codecs withhold all kinds that are not in the set to reveal. The
// zero value is the empty set.
type Secrets uint16

// The kinds of secrets, in all formats. Each format's decoder or codec says which of its fields are of which kind.
const (
	// SecretConnectionID is the id of a client's connection, which stays the same while its program runs.
	SecretConnectionID Secrets = 1 << iota
	// SecretRconArguments are the arguments of operators' commands on remote consoles, such as addresses and passwords.
	SecretRconArguments
	// SecretChatArguments are the arguments of commands in the chat, such as codes of timeouts and saves.
	SecretChatArguments
	// SecretPasswords are the values of settings, and the arguments of commands, that may be passwords.
	SecretPasswords
	// SecretAntibot is the data of a server's bot detection.
	SecretAntibot
	// SecretPrivateTalk is talk between two players.
	SecretPrivateTalk
	// SecretUnreadable is data that a decoder cannot read, and which may therefore be any other secret.
	SecretUnreadable
	// SecretBattleLobby is the member of a StarCraft II replay with the names of accounts.
	SecretBattleLobby
	// SecretVoice is players' speech.
	SecretVoice

	secretsEnd
)

// AllSecrets is the set of all kinds.
const AllSecrets = secretsEnd - 1

// secretNames are the names of the kinds in flags.
var secretNames = [...]string{
	"connection_id", "rcon_arguments", "chat_arguments", "passwords", "antibot", "private_talk", "unreadable", "battle_lobby", "voice",
}

// Has reports whether all kinds of other are in the set.
func (s Secrets) Has(other Secrets) bool { return s&other == other }

// String returns the names of the kinds, separated by commas, or "all".
func (s Secrets) String() string {
	if s == AllSecrets {
		return "all"
	}
	var names []string
	for i, name := range secretNames {
		if s.Has(1 << i) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}

// ParseSecrets is the inverse of String. The names may also be "none", and "true" and "false" for all and none.
func ParseSecrets(text string) (Secrets, error) {
	var s Secrets
	for name := range strings.SplitSeq(text, ",") {
		switch name = strings.TrimSpace(name); name {
		case "", "none", "false":
			continue
		case "all", "true":
			s = AllSecrets
			continue
		}
		known := false
		for i := range secretNames {
			if secretNames[i] == name {
				s |= 1 << i
				known = true
			}
		}
		if !known {
			return 0, fmt.Errorf("%q is none of all, %s", name, strings.Join(secretNames[:], ", "))
		}
	}
	return s, nil
}
