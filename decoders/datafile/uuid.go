package datafile

import "encoding/hex"

// uuid is a UUID, with its bytes in the usual order.
type uuid [16]byte

// appendText appends the text form of the UUID, 36 characters.
func (u uuid) appendText(b []byte) []byte {
	for i, part := range [...][]byte{u[:4], u[4:6], u[6:8], u[8:10], u[10:]} {
		if i > 0 {
			b = append(b, '-')
		}
		b = hex.AppendEncode(b, part)
	}
	return b
}

// uuidOf reads a UUID from an index item: four integers, most significant byte first.
func uuidOf(data ints) (u uuid, ok bool) {
	if data.len() < 4 {
		return u, false
	}
	for i := range 4 {
		v := uint32(data.at(i))
		u[4*i], u[4*i+1], u[4*i+2], u[4*i+3] = byte(v>>24), byte(v>>16), byte(v>>8), byte(v)
	}
	return u, true
}

// Types that are identified by UUIDs, which are derived from their names.
// See docs/formats/datafile.md, "Types with a UUID".
var (
	uuidTest       = uuid{0xb1, 0xab, 0x21, 0x86, 0x5a, 0xc3, 0x39, 0xd9, 0x9f, 0xbc, 0x47, 0xcf, 0x03, 0xef, 0xdf, 0x1e}
	uuidAutomapper = uuid{0x3e, 0x1b, 0x27, 0x16, 0x17, 0x8c, 0x39, 0x78, 0x9b, 0xd9, 0xb1, 0x1a, 0xe0, 0x41, 0x0d, 0xd8}
	uuidBeziers    = uuid{0x3a, 0xb4, 0xf8, 0x4d, 0xd9, 0xcc, 0x3c, 0x78, 0xb5, 0x85, 0x0d, 0x6c, 0xcd, 0xb2, 0xe2, 0x5c}

	uuidNames = map[uuid]string{
		uuidTest:       "mapitemtype-test@ddnet.tw",
		uuidAutomapper: "mapitemtype-automapper-config@ddnet.tw",
		uuidBeziers:    "mapitemtype-envpoints-bezier@ddnet.tw",
	}
)
