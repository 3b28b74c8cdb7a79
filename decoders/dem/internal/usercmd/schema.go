// Package usercmd rebuilds the user commands of Counter-Strike 2, of which a recording has mostly what differs from the player's command
// before (docs/formats/dem.md, User commands).
package usercmd

import "github.com/replayd/replayd/decoders/dem/internal/pb"

// field is a field of a message of a command.
type field struct {
	known    bool
	wire     byte     // its wire type
	repeated bool     // it is a list of messages
	child    *message // of a field that is a message
}

// message is what fields a message has, by number. It has those of the game's definitions, as published by SteamDatabase (Protobufs,
// cs_usercmd.proto and usercmd.proto, 2026-11).
type message struct{ fields []field }

// of returns the field with a number. It is not known if there is none.
func (m *message) of(num uint64) field {
	if m == nil || num >= uint64(len(m.fields)) {
		return field{}
	}
	return m.fields[num]
}

// set makes the fields with some numbers like f.
func (m *message) set(f field, nums ...int) *message {
	f.known = true
	for _, n := range nums {
		for len(m.fields) <= n {
			m.fields = append(m.fields, field{})
		}
		m.fields[n] = f
	}
	return m
}

func (m *message) numbers(nums ...int) *message { return m.set(field{wire: pb.Varint}, nums...) }
func (m *message) floats(nums ...int) *message  { return m.set(field{wire: pb.Fixed32}, nums...) }
func (m *message) bytes(nums ...int) *message   { return m.set(field{wire: pb.Bytes}, nums...) }

func (m *message) messages(child *message, nums ...int) *message {
	return m.set(field{wire: pb.Bytes, child: child}, nums...)
}

func (m *message) lists(child *message, nums ...int) *message {
	return m.set(field{wire: pb.Bytes, child: child, repeated: true}, nums...)
}

func define() *message { return new(message) }

// The messages. command is CSGOUserCmdPB.
var (
	angles   = define().floats(1, 2, 3)
	vector   = define().floats(1, 2, 3, 4)
	buttons  = define().numbers(1, 2, 3)
	subtick  = define().numbers(1, 2).floats(3, 4, 5, 8, 9)
	notes    = define().bytes(1)
	interpCl = define().floats(3)
	interp   = define().numbers(1, 2).floats(3)
	history  = define().messages(angles, 2, 69).numbers(4, 6, 64, 65).floats(5, 7).messages(interpCl, 12).messages(interp, 13, 14, 15).messages(vector, 66, 67, 68)
	base     = define().numbers(1, 2, 8, 9, 10, 11, 12, 14, 17, 20, 21).messages(buttons, 3).messages(angles, 4).floats(5, 6, 7).lists(subtick, 18).bytes(19).messages(notes, 22)
	command  = define().messages(base, 1).lists(history, 2).numbers(6, 7, 9, 11, 12, 13)
)
