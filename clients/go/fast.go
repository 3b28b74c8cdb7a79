package replayd

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	teehistorianv1 "github.com/replayd/replayd/proto/replayd/teehistorian/v1"
)

// Nearly all events of a teehistorian file are of three kinds. Their messages are read here by hand, several times as
// fast as by proto.Unmarshal. What these functions do not expect, such as a field that a newer daemon sends, they leave
// to it.

// fastValue returns the message of one of these kinds, or nil.
func fastValue(k *kind, b []byte) proto.Message {
	switch k {
	case playerDiffKind:
		if m := new(teehistorianv1.PlayerDiff); playerDiff(b, m) {
			return m
		}
	case inputDiffKind:
		all := new(struct { // one allocation
			diff         teehistorianv1.InputDiff
			input, delta teehistorianv1.Input
		})
		all.diff.Input, all.diff.Diff = &all.input, &all.delta
		if inputDiff(b, &all.diff) {
			return &all.diff
		}
	case tickKind:
		if m := new(teehistorianv1.Tick); tick(b, m) {
			return m
		}
	}
	return nil
}

// fastUnmarshal does it into m. Not ok: m is of the wrong type.
func fastUnmarshal(k *kind, b []byte, m proto.Message) (done, ok bool) {
	switch k {
	case playerDiffKind:
		m, ok := m.(*teehistorianv1.PlayerDiff)
		if !ok {
			return false, false
		}
		forget(m)
		m.ClientId, m.Dx, m.Dy, m.X, m.Y = 0, 0, 0, 0, 0
		return playerDiff(b, m), true
	case inputDiffKind:
		m, ok := m.(*teehistorianv1.InputDiff)
		if !ok {
			return false, false
		}
		if m.Input == nil || m.Diff == nil || m.Input == m.Diff {
			m.Input, m.Diff = new(teehistorianv1.Input), new(teehistorianv1.Input)
		}
		forget(m)
		m.ClientId = 0
		clearInput(m.Input)
		clearInput(m.Diff)
		return inputDiff(b, m), true
	case tickKind:
		m, ok := m.(*teehistorianv1.Tick)
		if !ok {
			return false, false
		}
		forget(m)
		m.Skipped, m.Implicit = 0, false
		return tick(b, m), true
	}
	return false, true
}

// Clearing the fields one by one costs a fifth of Reset, which stores pointers.

func clearInput(m *teehistorianv1.Input) {
	forget(m)
	m.Direction, m.TargetX, m.TargetY, m.Jump, m.Fire, m.Hook, m.PlayerFlags = 0, 0, 0, 0, 0, 0, 0
	m.WantedWeapon, m.NextWeapon, m.PrevWeapon = 0, 0, 0
}

// forget removes what a message that is used again holds of unknown fields.
func forget(m proto.Message) {
	if r := m.ProtoReflect(); len(r.GetUnknown()) > 0 {
		r.SetUnknown(nil)
	}
}

var playerDiffKind, inputDiffKind, tickKind = func() (p, i, t *kind) {
	for _, f := range formats() {
		if f.name == "teehistorian" {
			for _, k := range f.kinds {
				switch k.name {
				case "player_diff":
					p = k
				case "input_diff":
					i = k
				case "tick":
					t = k
				}
			}
		}
	}
	return p, i, t
}()

// The fields of these messages are numbered from 1 without a gap and below 16, so that a tag is one byte:
// number<<3 | wire type, where the type of numbers is 0.

func playerDiff(b []byte, m *teehistorianv1.PlayerDiff) bool {
	i := 0
	for i+1 < len(b) {
		tag := b[i]
		v := uint64(b[i+1])
		if i += 2; v >= 0x80 {
			if v, i = long(b, i-1); i < 0 {
				return false
			}
		}
		switch tag {
		case 1 << 3:
			m.ClientId = int32(v)
		case 2 << 3:
			m.Dx = zigzag(v)
		case 3 << 3:
			m.Dy = zigzag(v)
		case 4 << 3:
			m.X = zigzag(v)
		case 5 << 3:
			m.Y = zigzag(v)
		default:
			return false
		}
	}
	return i == len(b)
}

func tick(b []byte, m *teehistorianv1.Tick) bool {
	i := 0
	for i+1 < len(b) {
		tag := b[i]
		v := uint64(b[i+1])
		if i += 2; v >= 0x80 {
			if v, i = long(b, i-1); i < 0 {
				return false
			}
		}
		switch tag {
		case 1 << 3:
			m.Skipped = int32(v)
		case 2 << 3:
			m.Implicit = v != 0
		default:
			return false
		}
	}
	return i == len(b)
}

// inputDiff wants m's Input and Diff to be there, and both to come once.
func inputDiff(b []byte, m *teehistorianv1.InputDiff) bool {
	var inputs, diffs int
	for len(b) > 0 {
		tag := b[0]
		v, rest, ok := varint(b[1:])
		if !ok {
			return false
		}
		b = rest
		switch tag {
		case 1 << 3:
			m.ClientId = int32(v)
			continue
		case 2<<3 | byte(protowire.BytesType):
			inputs++
			ok = v <= uint64(len(b)) && input(b[:v], m.Input)
		case 3<<3 | byte(protowire.BytesType):
			diffs++
			ok = v <= uint64(len(b)) && input(b[:v], m.Diff)
		default:
			return false
		}
		if !ok {
			return false
		}
		b = b[v:]
	}
	return inputs == 1 && diffs == 1
}

func input(b []byte, m *teehistorianv1.Input) bool {
	i := 0
	for i+1 < len(b) {
		tag := b[i]
		v := uint64(b[i+1])
		if i += 2; v >= 0x80 {
			if v, i = long(b, i-1); i < 0 {
				return false
			}
		}
		switch n := zigzag(v); tag {
		case 1 << 3:
			m.Direction = n
		case 2 << 3:
			m.TargetX = n
		case 3 << 3:
			m.TargetY = n
		case 4 << 3:
			m.Jump = n
		case 5 << 3:
			m.Fire = n
		case 6 << 3:
			m.Hook = n
		case 7 << 3:
			m.PlayerFlags = n
		case 8 << 3:
			m.WantedWeapon = n
		case 9 << 3:
			m.NextWeapon = n
		case 10 << 3:
			m.PrevWeapon = n
		default:
			return false
		}
	}
	return i == len(b)
}
