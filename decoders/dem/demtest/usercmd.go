package demtest

import (
	"bytes"
	"math/rand/v2"
)

// Command is a message of a user command, by field number: a uint64 is a number, a uint32 the bits of a float; other values are
// bytes, a Command, or a list of Commands.
type Command map[int]any

// commandField is a field of a Command. Its kind says what it holds.
type commandField struct {
	num  int
	kind byte // 'n' number, 'b' bool, 'f' float, 't' bytes, 'm' message, 'l' list
	of   []commandField
}

// The fields of CSGOUserCmdPB and the messages in it, by the game's definitions of November 2026.
var (
	commandAngles  = []commandField{{1, 'f', nil}, {2, 'f', nil}, {3, 'f', nil}}
	commandButtons = []commandField{{1, 'n', nil}, {2, 'n', nil}, {3, 'n', nil}}
	commandSubtick = []commandField{{1, 'n', nil}, {2, 'b', nil}, {3, 'f', nil}, {4, 'f', nil}, {5, 'f', nil}, {8, 'f', nil}, {9, 'f', nil}}
	commandInterp  = []commandField{{1, 'n', nil}, {2, 'n', nil}, {3, 'f', nil}}
	commandHistory = []commandField{
		{2, 'm', commandAngles}, {4, 'n', nil}, {5, 'f', nil}, {6, 'n', nil}, {7, 'f', nil}, {12, 'm', []commandField{{3, 'f', nil}}},
		{13, 'm', commandInterp}, {14, 'm', commandInterp}, {15, 'm', commandInterp}, {64, 'n', nil}, {65, 'n', nil},
		{66, 'm', append(commandAngles[:3:3], commandField{4, 'f', nil})},
		{67, 'm', commandAngles}, {68, 'm', commandAngles}, {69, 'm', commandAngles},
	}
	commandBase = []commandField{
		{1, 'n', nil}, {2, 'n', nil}, {3, 'm', commandButtons}, {4, 'm', commandAngles}, {5, 'f', nil}, {6, 'f', nil}, {7, 'f', nil},
		{8, 'n', nil}, {9, 'n', nil}, {10, 'n', nil}, {11, 'n', nil}, {12, 'n', nil}, {14, 'n', nil}, {17, 'n', nil}, {18, 'l', commandSubtick},
		{19, 't', nil}, {20, 'n', nil}, {21, 'n', nil}, {22, 'm', []commandField{{1, 't', nil}}},
	}
	commandFields = []commandField{
		{1, 'm', commandBase}, {2, 'l', commandHistory}, {6, 'n', nil}, {7, 'n', nil}, {9, 'b', nil}, {11, 'b', nil}, {12, 'b', nil}, {13, 'b', nil},
	}
)

// RandomCommand returns a command that differs in some fields from another one, which may be nil.
func RandomCommand(g *rand.Rand, from Command) Command { return randomCommand(g, commandFields, from) }

func randomCommand(g *rand.Rand, fields []commandField, from Command) Command {
	out := Command{}
	for _, f := range fields {
		old, had := from[f.num]
		switch {
		case had && g.IntN(12) == 0 && f.num != 1: // gone
		case had && g.IntN(3) > 0:
			out[f.num] = old
		case had || g.IntN(2) == 0:
			out[f.num] = randomField(g, f, old)
		}
	}
	return out
}

func randomField(g *rand.Rand, f commandField, old any) any {
	switch f.kind {
	case 'n':
		return g.Uint64N(1 << g.IntN(31))
	case 'b':
		return g.Uint64N(2)
	case 'f':
		return g.Uint32()
	case 't':
		return []byte("abcdefgh")[:g.IntN(8)]
	case 'm':
		before, _ := old.(Command)
		return randomCommand(g, f.of, before)
	}
	before, _ := old.([]Command)
	list := make([]Command, g.IntN(5))
	for i := range list {
		var e Command
		if i < len(before) {
			e = before[i]
		}
		list[i] = randomCommand(g, f.of, e)
	}
	return list
}

// Message writes a whole command.
func (c Command) Message() Proto { return c.message(commandFields) }

func (c Command) message(fields []commandField) (p Proto) {
	for _, f := range fields {
		switch v := c[f.num].(type) {
		case uint64:
			p = p.Varint(f.num, int64(v))
		case uint32:
			p = p.Fixed32(f.num, v)
		case []byte:
			p = p.Bytes(f.num, v)
		case Command:
			p = p.Bytes(f.num, v.message(f.of))
		case []Command:
			for _, e := range v {
				p = p.Bytes(f.num, e.message(f.of))
			}
		}
	}
	return p
}

// unset is the wire type of a field that a difference sets to its default, and of the length of a list.
const unset = 7

// Delta writes the difference of a command from another one.
func (c Command) Delta(from Command) Proto { return c.delta(commandFields, from) }

func (c Command) delta(fields []commandField, from Command) (p Proto) {
	for _, f := range fields {
		now, has := c[f.num]
		old, had := from[f.num]
		switch {
		case !has && had:
			p = p.tag(f.num, unset)
		case !has:
		case f.kind == 'm':
			before, _ := old.(Command)
			if d := now.(Command).delta(f.of, before); len(d) > 0 || !had {
				p = p.Bytes(f.num, d)
			}
		case f.kind == 'l':
			before, _ := old.([]Command)
			if d := listDelta(f.of, before, now.([]Command)); len(d) > 0 {
				p = p.Bytes(f.num, d)
			}
		default:
			a, b := Command{f.num: now}.message([]commandField{f}), Command{f.num: old}.message([]commandField{f})
			if !had || !bytes.Equal(a, b) {
				p = append(p, a...)
			}
		}
	}
	return p
}

// listDelta writes the difference of a list from another one: its length, and elements by index.
func listDelta(fields []commandField, from, to []Command) (p Proto) {
	if len(from) != len(to) {
		p = p.tag(len(to), unset)
	}
	for i, e := range to {
		var before Command
		if i < len(from) {
			before = from[i]
		}
		if d := e.delta(fields, before); len(d) > 0 {
			p = p.Bytes(i, d)
		}
	}
	return p
}

// Issued is a user command in a demo, and the way in which it is sent.
type Issued struct {
	Player, Number, Tick int
	Command              Command
	// Whole sends the whole command. Other commands are sent as the difference from the player's previous command.
	Whole bool
	// Lost leaves the command out.
	Lost bool
}

// Commands returns user commands, one for each player and tick. Now and then the server makes one up, with the previous number,
// and numbers are skipped.
func Commands(g *rand.Rand, players, ticks int) (all []Issued) {
	last := make([]Issued, players)
	for tick := range ticks {
		for player := range last {
			l := &last[player]
			next := Issued{Player: player, Number: l.Number + 1, Tick: tick + 1000, Command: RandomCommand(g, l.Command)}
			switch {
			case tick == 0:
				next.Number, next.Whole = 1+g.IntN(1000), true
			case g.IntN(200) == 0:
				next.Number, next.Whole = l.Number, true
			case g.IntN(50) == 0:
				next.Number += g.IntN(5)
			}
			all = append(all, next)
			*l = next
		}
	}
	return all
}

// CommandDemo returns a demo of Counter-Strike 2 with user commands, a packet for each tick.
func CommandDemo(all []Issued) []byte {
	d := New()
	d.Record(CmdFileHeader, -1, Proto(nil).Text(1, "PBDEMS2\x00").Text(5, "de_dust2").Text(14, "csgo").Varint(13, 10000))
	d.Record(CmdSignonPacket, -1, PackMessages(Message{40, Proto(nil).Varint(11, 1).Float(13, 1.0/64)}))
	d.Record(CmdSyncTick, -1, nil)
	d.Commands(0, all)
	return d.Bytes()
}

// Commands adds packets with user commands, one for each tick from the given one on, and ends the demo.
func (d *Demo) Commands(tick int32, all []Issued, also ...Message) {
	w := commandWriter{all: all, last: map[int]Command{}}
	for len(w.all) > 0 {
		at := w.all[0].Tick
		d.Packet(tick, append([]Message{{4, Proto(nil).Varint(1, int64(at))}, w.next()}, also...)...)
		tick++
	}
	d.Record(CmdStop, tick, nil)
	d.Record(CmdFileInfo, tick, Proto(nil).Float(1, float32(tick)/64).Varint(2, int64(tick)).Varint(3, int64(tick)))
}

// WithCommands returns a demo of Counter-Strike 2 with user commands added to its packets: to each packet the commands of one
// tick.
func WithCommands(demo []byte, all []Issued) ([]byte, error) {
	w := commandWriter{all: all, last: map[int]Command{}}
	return Rewrite(demo, func(command uint32, payload []byte) []byte {
		if command != CmdPacket || len(w.all) == 0 {
			return nil
		}
		return PackMessages(append(Messages(payload), w.next())...)
	})
}

// commandWriter writes user commands, with all commands of a tick in one message.
type commandWriter struct {
	all  []Issued        // the remaining commands
	last map[int]Command // of each player
}

// next returns the message with the commands of the next tick.
func (w *commandWriter) next() Message {
	var list Proto
	for at := w.all[0].Tick; len(w.all) > 0 && w.all[0].Tick == at; w.all = w.all[1:] {
		c := w.all[0]
		if !c.Lost {
			p := Proto(nil)
			if c.Whole {
				p = p.Bytes(1, c.Command.Message())
			}
			p = p.Varint(2, int64(c.Number)).Varint(3, int64(c.Player)).Varint(4, int64(c.Tick)).Varint(5, int64(c.Tick))
			if !c.Whole {
				p = p.Bytes(6, c.Command.Delta(w.last[c.Player]))
			}
			list = list.Bytes(1, p)
		}
		w.last[c.Player] = c.Command
	}
	return Message{76, list}
}
