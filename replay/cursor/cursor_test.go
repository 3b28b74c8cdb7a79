package cursor_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/replay/cursor"
)

func draw(t *rapid.T) cursor.Cursor {
	return cursor.Cursor{
		Format: rapid.SampledFrom(decoders.Formats()).Draw(t, "format"),
		Replay: cursor.HashOf(rapid.String().Draw(t, "identity")),
		Position: decoders.Position{
			Offset: rapid.Int64Range(0, math.MaxInt64).Draw(t, "offset"),
			Index:  rapid.Int64().Draw(t, "index"),
		},
		Sum:      decoders.Sum(rapid.Uint32().Draw(t, "sum")),
		Sequence: rapid.Uint64().Draw(t, "sequence"),
		Tick:     rapid.Int32().Draw(t, "tick"),
		State:    rapid.Bool().Draw(t, "state"),
		Facts:    rapid.Uint32().Draw(t, "facts"),
	}
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := draw(t)
		b := want.Append(nil)
		if len(b) > cursor.MaxLen {
			t.Fatalf("%d bytes", len(b))
		}
		got, err := cursor.Parse(b)
		if err != nil || got != want {
			t.Fatalf("got %+v, %v; want %+v", got, err, want)
		}
	})
}

// TestBytes: what clients have kept stays good.
func TestBytes(t *testing.T) {
	for format, number := range map[decoders.Format]byte{
		decoders.Teehistorian: 1, decoders.Datafile: 2, decoders.Dem: 3, decoders.SC2Replay: 4,
	} {
		c := cursor.Cursor{
			Format: format, Replay: 0x1122334455667788, Position: decoders.Position{Offset: 300, Index: 1 << 31},
			Sum: 0x99aabbcc, Sequence: 5, Tick: -1,
		}
		want := []byte{
			2, number, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0xcc, 0xbb, 0xaa, 0x99, 0xac, 0x02,
			0x80, 0x80, 0x80, 0x80, 0x08, 5, 1,
		}
		if got := c.Append(nil); !bytes.Equal(got[:len(got)-4], want) {
			t.Errorf("%v:\n got % x\nwant % x", format, got, want)
		}
		c.Facts = 300
		if got := c.Append(nil); !bytes.Equal(got[:len(got)-4], append(want, 0xac, 0x02)) {
			t.Errorf("%v with facts: got % x", format, got)
		}
	}
}

// TestHashOf: cursors of earlier releases have the hashes of this one. They are FNV-1a of 64 bits.
func TestHashOf(t *testing.T) {
	for identity, want := range map[string]cursor.Hash{
		"": 0xcbf29ce484222325, "teehistorian:4fa04b32-db1c-48f1-b0fe-ea831e23f409": 0x9db22a741a57050b,
	} {
		if got := cursor.HashOf(identity); got != want {
			t.Errorf("%q: %x, want %x", identity, got, want)
		}
	}
}

func TestDamage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := draw(t).Append(nil)
		i := rapid.IntRange(0, len(b)-1).Draw(t, "byte")
		b[i] ^= byte(rapid.IntRange(1, 255).Draw(t, "flip"))
		if c, err := cursor.Parse(b); err == nil {
			t.Fatalf("damage at byte %d went unnoticed: %+v", i, c)
		}
	})
}

func TestNotCursors(t *testing.T) {
	whole := cursor.Cursor{Format: decoders.Dem, Position: decoders.Position{Offset: 5}}.Append(nil)
	for name, b := range map[string][]byte{
		"empty":    {},
		"cut":      whole[:len(whole)-1],
		"extended": append(append([]byte{}, whole...), 0),
		"long":     make([]byte, 1<<20),
		"text":     []byte("beginning"),

		"tick below 32 bits": withTick(-1<<31 - 1),
		"tick above 32 bits": withTick(1 << 31),

		"offset above 63 bits": withOffset(1 << 63),

		"facts of no version":            withFacts(0),
		"version of facts above 32 bits": withFacts(1 << 32),
	} {
		if _, err := cursor.Parse(b); !errors.Is(err, cursor.ErrInvalid) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// withTick returns a cursor, with its checksum, whose tick is any number.
func withTick(tick int64) []byte {
	b := cursor.Cursor{Format: decoders.Dem}.Append(nil)
	b = binary.AppendVarint(b[:len(b)-5], tick) // in place of a tick of one byte, and the checksum
	return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

// withOffset returns a cursor, with its checksum, whose position has any offset.
func withOffset(offset uint64) []byte {
	b := cursor.Cursor{Format: decoders.Dem}.Append(nil)
	rest := bytes.Clone(b[len(b)-7 : len(b)-4]) // behind an offset of one byte: index, sequence and tick
	b = append(binary.AppendUvarint(b[:len(b)-8], offset), rest...)
	return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

// withFacts returns a cursor, with its checksum, whose facts have any version.
func withFacts(version uint64) []byte {
	b := cursor.Cursor{Format: decoders.Dem}.Append(nil)
	b = binary.AppendUvarint(b[:len(b)-4], version)
	return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

func FuzzParse(f *testing.F) {
	f.Add(cursor.Cursor{Format: decoders.Teehistorian, Sequence: 7}.Append(nil))
	f.Add(cursor.Cursor{Format: decoders.SC2Replay, Facts: 2}.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := cursor.Parse(b)
		if err != nil {
			return
		}
		if c.Position.Offset < 0 {
			t.Fatalf("negative offset %+v", c)
		}
		if again, err := cursor.Parse(c.Append(nil)); err != nil || again != c {
			t.Fatalf("%+v became %+v, %v", c, again, err)
		}
	})
}
