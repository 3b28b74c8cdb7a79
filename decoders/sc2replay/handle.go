package sc2replay

import (
	"encoding/hex"
	"slices"
)

// A handle names a file: four letters for its type, four for its region, the first two of which are zeros, and its SHA-256.
const (
	handleRegion = 4
	handleHash   = 8
	handleSize   = handleHash + 32
)

// handleText returns a handle as text: "EU/HASH.s2ma". Other bytes become hexadecimal as a whole.
func handleText(h []byte) []byte {
	if len(h) == 0 {
		return nil
	}
	kind, region := h[:min(len(h), handleRegion)], []byte(nil)
	if len(h) == handleSize {
		region = h[handleRegion:handleHash]
		for len(region) > 0 && region[0] == 0 {
			region = region[1:]
		}
	}
	if len(region) == 0 || !isWord(kind) || !isWord(region) {
		return hex.AppendEncode(nil, h)
	}
	text := append(slices.Clone(region), '/')
	text = hex.AppendEncode(text, h[handleHash:])
	return append(append(text, '.'), kind...)
}

// isWord reports whether p consists of letters and digits.
func isWord(p []byte) bool {
	return !slices.ContainsFunc(p, func(c byte) bool {
		return (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
	})
}

// handleTexts replaces handles by their texts.
func handleTexts(handles [][]byte) {
	for i := range handles {
		handles[i] = handleText(handles[i])
	}
}

// hexTexts replaces hashes by hexadecimal text.
func (k *RootKey) hexTexts() {
	k.Data, k.DataDeprecated = hex.AppendEncode(nil, k.Data), hex.AppendEncode(nil, k.DataDeprecated)
}
