package teehistorian

import (
	"crypto/md5" //nolint:gosec // version 3 UUIDs are made of MD5, which protects nothing here
	"encoding/hex"
)

// UUID is a UUID, with the bytes in the order of its text form.
type UUID [16]byte

// namespace is the UUID from which DDNet derives all its UUIDs: e05ddaaa-c4e6-4cfb-b642-5d48e80c0029.
var namespace = UUID{0xe0, 0x5d, 0xda, 0xaa, 0xc4, 0xe6, 0x4c, 0xfb, 0xb6, 0x42, 0x5d, 0x48, 0xe8, 0x0c, 0x00, 0x29}

// NameUUID returns the version 3 UUID that DDNet derives from a name, such as the name of an extension record:
// NameUUID("teehistorian-test@ddnet.tw") is 6bb8ba88-0f0b-382e-8dae-dbf4052b8b7d.
func NameUUID(name string) UUID {
	sum := md5.Sum(append(namespace[:], name...)) //nolint:gosec // see the import
	u := UUID(sum)
	u[6] = u[6]&0x0f | 0x30
	u[8] = u[8]&0x3f | 0x80
	return u
}

// Append appends the text form, 36 bytes, to b.
func (u UUID) Append(b []byte) []byte {
	for i, part := range [...][2]int{{0, 4}, {4, 6}, {6, 8}, {8, 10}, {10, 16}} {
		if i > 0 {
			b = append(b, '-')
		}
		b = hex.AppendEncode(b, u[part[0]:part[1]])
	}
	return b
}

// String returns the text form.
func (u UUID) String() string { return string(u.Append(nil)) }
