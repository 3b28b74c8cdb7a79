// Package cursor encodes and parses cursors: the opaque bytes with which a client resumes a stream.
//
// A cursor has at most 64 bytes: a version, the replay's format, a hash of its identity, the sum of the bytes before the
// position, the position, the number of events that the stream has delivered so far, of a stream with facts their version, and
// a checksum. It does not depend on filters otherwise: a stream may be resumed with other ones.
package cursor

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"hash/fnv"
	"math"

	"github.com/replayd/replayd/decoders"
)

// Cursor is a place in one replay.
type Cursor struct {
	// Format and Replay identify the replay.
	Format decoders.Format
	Replay Hash
	// Position is the position of the next event, or an earlier one with no event in between.
	Position decoders.Position
	// Sum is the sum of the bytes before the position's offset; 0 if the identity covers the whole replay.
	Sum decoders.Sum
	// Sequence is the number of the next event.
	Sequence uint64
	// Tick is the replay's clock at Position.
	Tick int32
	// State is true if the state at Position was not completely sent yet.
	State bool
	// Facts is the version of the facts that the stream delivers, or within which Position lies. 0 means no facts.
	Facts uint32
}

// Hash is a hash of a replay's identity.
type Hash uint64

// HashOf returns the hash of a replay's identity.
func HashOf(identity string) Hash {
	h := fnv.New64a()
	_, _ = h.Write([]byte(identity))
	return Hash(h.Sum64())
}

// MaxLen is the maximum length of a cursor, in bytes. The API promises clients only 4096, so that later versions may use more.
const MaxLen = 64

const version = 2

// stateUnsent is set in the format's byte if Cursor.State is true.
const stateUnsent = 0x80

// Append appends the cursor's bytes to b and returns the extended slice.
func (c Cursor) Append(b []byte) []byte {
	at := len(b)
	format := byte(c.Format)
	if c.State {
		format |= stateUnsent
	}
	b = append(b, version, format)
	b = binary.LittleEndian.AppendUint64(b, uint64(c.Replay))
	b = binary.LittleEndian.AppendUint32(b, uint32(c.Sum))
	b = binary.AppendUvarint(b, uint64(c.Position.Offset))
	b = binary.AppendUvarint(b, uint64(c.Position.Index))
	b = binary.AppendUvarint(b, c.Sequence)
	b = binary.AppendVarint(b, int64(c.Tick))
	if c.Facts != 0 {
		b = binary.AppendUvarint(b, uint64(c.Facts))
	}
	return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b[at:]))
}

// fixedLen is the length of the fields of fixed size: version, format, hash and sum.
const fixedLen = 1 + 1 + 8 + 4

// ErrInvalid is returned for bytes that are not a cursor: they were cut, changed, or made by another program.
var ErrInvalid = errors.New("not a cursor, or damaged")

// ErrVersion is returned for a cursor of a version of replayd that this one cannot read.
var ErrVersion = errors.New("cursor of an unknown version")

// Parse reads a cursor's bytes.
func Parse(b []byte) (Cursor, error) {
	var c Cursor
	if len(b) < fixedLen+4 || len(b) > MaxLen {
		return c, ErrInvalid
	}
	body, sum := b[:len(b)-4], binary.LittleEndian.Uint32(b[len(b)-4:])
	if crc32.ChecksumIEEE(body) != sum {
		return c, ErrInvalid
	}
	if body[0] != version {
		return c, ErrVersion
	}
	c.Format, c.State = decoders.Format(body[1]&^stateUnsent), body[1]&stateUnsent != 0
	c.Replay = Hash(binary.LittleEndian.Uint64(body[2:]))
	c.Sum = decoders.Sum(binary.LittleEndian.Uint32(body[10:]))
	rest := body[fixedLen:]
	offset, ok1 := uvarint(&rest, math.MaxInt64)
	index, ok2 := uvarint(&rest, math.MaxUint64) // those of samples are negative
	sequence, ok3 := uvarint(&rest, math.MaxUint64)
	tick, n := binary.Varint(rest)
	if !ok1 || !ok2 || !ok3 || n <= 0 || tick < math.MinInt32 || tick > math.MaxInt32 {
		return Cursor{}, ErrInvalid
	}
	if rest = rest[n:]; len(rest) > 0 {
		facts, ok := uvarint(&rest, math.MaxUint32)
		if !ok || facts == 0 || len(rest) > 0 {
			return Cursor{}, ErrInvalid
		}
		c.Facts = uint32(facts)
	}
	c.Position = decoders.Position{Offset: int64(offset), Index: int64(index)}
	c.Sequence = sequence
	c.Tick = int32(tick)
	return c, nil
}

func uvarint(b *[]byte, limit uint64) (uint64, bool) {
	v, n := binary.Uvarint(*b)
	if n <= 0 || v > limit {
		return 0, false
	}
	*b = (*b)[n:]
	return v, true
}
