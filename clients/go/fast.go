package replayd

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/replayd/replayd/proto/protoscan"
	teehistorianv1 "github.com/replayd/replayd/proto/replayd/teehistorian/v1"
)

// Nearly all events of a teehistorian file are of three kinds. This file unmarshals their messages several times as fast as
// proto.Unmarshal. For bytes that these functions do not expect, such as a field of a newer daemon, the caller uses
// proto.Unmarshal.

// fast is one of the three kinds.
type fast uint8

const (
	fastNone fast = iota // of all other kinds
	fastPlayerDiff
	fastInputDiff
	fastTick
)

// fastOf returns which of the three kinds has a message. It does so by its name: kinds are read when the first event is.
func fastOf(message protoreflect.FullName) fast {
	switch message {
	case "replayd.teehistorian.v1.PlayerDiff":
		return fastPlayerDiff
	case "replayd.teehistorian.v1.InputDiff":
		return fastInputDiff
	case "replayd.teehistorian.v1.Tick":
		return fastTick
	}
	return fastNone
}

// fastValue returns the message of an event of one of the three kinds, or nil.
func fastValue(k *kind, b []byte) proto.Message {
	switch k.fast {
	case fastPlayerDiff:
		if m := new(teehistorianv1.PlayerDiff); playerDiff(b, m) {
			return m
		}
	case fastInputDiff:
		all := new(struct { // one allocation
			diff         teehistorianv1.InputDiff
			input, delta teehistorianv1.Input
		})
		all.diff.Input, all.diff.Diff = &all.input, &all.delta
		if inputDiff(b, &all.diff) {
			return &all.diff
		}
	case fastTick:
		if m := new(teehistorianv1.Tick); tick(b, m) {
			return m
		}
	}
	return nil
}

// fastUnmarshal unmarshals b into m and overwrites what m holds. done is false for other kinds and for unexpected bytes. ok is
// false if m has the wrong type.
func fastUnmarshal(k *kind, b []byte, m proto.Message) (done, ok bool) {
	switch k.fast {
	case fastPlayerDiff:
		m, ok := m.(*teehistorianv1.PlayerDiff)
		if !ok {
			return false, false
		}
		clearUnknown(m)
		return playerDiff(b, m), true
	case fastInputDiff:
		m, ok := m.(*teehistorianv1.InputDiff)
		if !ok {
			return false, false
		}
		if m.Input == nil || m.Diff == nil || m.Input == m.Diff {
			m.Input, m.Diff = new(teehistorianv1.Input), new(teehistorianv1.Input)
		}
		clearUnknown(m)
		clearUnknown(m.Input)
		clearUnknown(m.Diff)
		return inputDiff(b, m), true
	case fastTick:
		m, ok := m.(*teehistorianv1.Tick)
		if !ok {
			return false, false
		}
		clearUnknown(m)
		return tick(b, m), true
	}
	return false, true
}

// clearUnknown removes the unknown fields of a reused message.
func clearUnknown(m proto.Message) {
	if r := m.ProtoReflect(); len(r.GetUnknown()) > 0 {
		r.SetUnknown(nil)
	}
}

// flat holds the wire values of a message's fields by number. The message has only varint fields, with numbers up to 10.
type flat [11]uint64

// read parses a message. It returns false if b holds anything but varints with field numbers 1 to last. An absent field is 0; bit 1<<n
// of present is set if field n is not absent.
func (f *flat) read(b []byte, last byte) (present uint16, ok bool) {
	i := 0
	for i+1 < len(b) {
		tag, v := b[i], uint64(b[i+1])
		if i += 2; v >= 0x80 {
			if v, i = protoscan.VarintAt(b, i-1); i < 0 {
				return 0, false
			}
		}
		number := tag >> 3
		if tag&7 != byte(protowire.VarintType) || number-1 >= last || int(number) >= len(f) {
			return 0, false
		}
		f[number] = v
		present |= 1 << number
	}
	return present, i == len(b)
}

// optional returns where an optional field is stored, in the memory that it had, or nil if it is absent.
func optional(memory *int32, v uint64, present bool) *int32 {
	switch {
	case !present:
		return nil
	case memory == nil:
		memory = new(int32)
	}
	*memory = zigzag(v)
	return memory
}

// The functions below set every field of a message, so that it need not be reset first.

func playerDiff(b []byte, m *teehistorianv1.PlayerDiff) bool {
	var f flat
	present, ok := f.read(b, 5)
	m.ClientId, m.Dx, m.Dy = int32(f[1]), zigzag(f[2]), zigzag(f[3])
	m.X, m.Y = optional(m.X, f[4], present&(1<<4) != 0), optional(m.Y, f[5], present&(1<<5) != 0)
	return ok
}

func tick(b []byte, m *teehistorianv1.Tick) bool {
	var f flat
	_, ok := f.read(b, 2)
	m.Skipped, m.Implicit = int32(f[1]), f[2] != 0
	return ok
}

func input(b []byte, m *teehistorianv1.Input) bool {
	var f flat
	_, ok := f.read(b, 10)
	m.Direction, m.TargetX, m.TargetY = zigzag(f[1]), zigzag(f[2]), zigzag(f[3])
	m.Jump, m.Fire, m.Hook = zigzag(f[4]), zigzag(f[5]), zigzag(f[6])
	m.PlayerFlags, m.WantedWeapon = zigzag(f[7]), zigzag(f[8])
	m.NextWeapon, m.PrevWeapon = zigzag(f[9]), zigzag(f[10])
	return ok
}

// inputDiff parses b into m, m.Input and m.Diff. It returns false unless b holds both exactly once.
func inputDiff(b []byte, m *teehistorianv1.InputDiff) bool {
	m.ClientId = 0
	var inputs, diffs int
	for len(b) > 0 {
		field, rest, ok := protoscan.Next(b)
		if !ok {
			return false
		}
		b = rest
		switch {
		case field.Number == 1 && field.Type == protowire.VarintType:
			m.ClientId = int32(field.Value)
		case field.Number == 2 && field.Type == protowire.BytesType:
			inputs++
			ok = input(field.Bytes, m.Input)
		case field.Number == 3 && field.Type == protowire.BytesType:
			diffs++
			ok = input(field.Bytes, m.Diff)
		default:
			return false
		}
		if !ok {
			return false
		}
	}
	return inputs == 1 && diffs == 1
}

// zigzag decodes the wire value of a sint32.
func zigzag(v uint64) int32 { return int32(uint32(v)>>1) ^ -int32(v&1) }
