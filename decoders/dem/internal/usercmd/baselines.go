// Package usercmd rebuilds the user commands of Counter-Strike 2. A recording mostly contains only the differences from the
// player's previous command (docs/formats/dem.md, User commands).
package usercmd

import (
	"slices"
	"unsafe"

	"github.com/replayd/replayd/decoders/dem/internal/pb"
)

// Players is the number of players' slots.
const Players = 64

// maxCommand bounds a command that is read or kept, in bytes. Commands of the game have some hundred.
const maxCommand = 1 << 14

// Command is a user command as recorded.
type Command struct {
	Player     int32
	Number     int32
	ServerTick int32 // 0 when not known
	Data       []byte
	Delta      []byte // differences, if Data is empty
}

// Baselines holds the last command of each player, to which the next differences apply, and memory for the next: at most 16 KiB
// each for 64 players. The zero value has none. It is not safe for concurrent use.
type Baselines struct {
	last   [Players]baseline
	spare  [Players][]byte
	merger merger
}

// baseline is the last command of a player, if it is known.
type baseline struct {
	known              bool
	number, serverTick int32
	data               []byte
}

// Full notes a whole command. It reports whether the command can be read: all its known fields, and within the game's size. An
// empty command becomes no baseline. Unknown fields are counted in log, and left out of the baseline.
func (b *Baselines) Full(c *Command, log *pb.Log) bool {
	slot := b.slot(c)
	if slot >= 0 {
		b.drop(slot)
	}
	if len(c.Data) > maxCommand || !valid(command(), c.Data, log) {
		return false
	}
	if slot < 0 || len(c.Data) == 0 {
		return true // of no player, or empty: no baseline
	}
	b.merger.log = nil // its fields were counted already
	// Merging no differences brings it into the form of baselines.
	data, err := b.merger.merge(b.spare[slot][:0], c.Data, nil)
	if err != nil {
		return false
	}
	b.keep(slot, c, data)
	return true
}

// Delta rebuilds a command that has differences. If that is impossible, data is nil, and the player's commands are not known
// until the next whole one. data is valid until the player's next command. Differences of unknown fields are left out, and
// counted in log.
func (b *Baselines) Delta(c *Command, log *pb.Log) (data []byte) {
	slot := b.slot(c)
	if slot < 0 {
		return nil
	}
	from := &b.last[slot]
	if !from.known || len(c.Data) > 0 || !from.before(c) {
		b.drop(slot)
		return nil
	}
	b.merger.log = log
	data, err := b.merger.merge(b.spare[slot][:0], from.data, c.Delta)
	if err != nil || len(data) > maxCommand {
		b.drop(slot)
		return nil
	}
	b.keep(slot, c, data)
	return data
}

// before reports whether a command is the next one of its player. Numbers skip commands that the server never received, but the
// server executes one command in each tick, and makes one up if it has none.
func (l *baseline) before(c *Command) bool {
	if l.serverTick == 0 || c.ServerTick == 0 {
		return c.Number == l.number+1
	}
	ticks := int64(c.ServerTick) - int64(l.serverTick)
	return ticks == 1 && c.Number > l.number || ticks == 0 && c.Number == l.number+1
}

// slot returns the place of a command's player, or -1.
func (b *Baselines) slot(c *Command) int {
	if c.Player < 0 || c.Player >= Players {
		return -1
	}
	return int(c.Player)
}

// keep makes a command the last one of its player.
func (b *Baselines) keep(slot int, c *Command, data []byte) {
	b.spare[slot] = b.last[slot].data
	b.last[slot] = baseline{true, c.Number, c.ServerTick, data}
}

func (b *Baselines) drop(slot int) { b.last[slot].known = false }

// Lose forgets all commands, because some were lost.
func (b *Baselines) Lose() {
	for slot := range b.last {
		b.drop(slot)
	}
}

// Frozen holds the contents of Baselines at a moment. It is immutable, and safe for concurrent use.
type Frozen struct {
	last  []baseline // by slot, up to the last known command
	bytes int
}

// Freeze returns the contents of the Baselines.
func (b *Baselines) Freeze() *Frozen {
	f := &Frozen{}
	for slot, l := range b.last {
		if l.known {
			f.last = append(f.last, make([]baseline, slot+1-len(f.last))...)
			l.data = slices.Clone(l.data)
			f.last[slot] = l
			f.bytes += len(l.data)
		}
	}
	f.bytes += int(unsafe.Sizeof(baseline{})) * cap(f.last)
	return f
}

// Thaw fills empty Baselines with the contents in f.
func (b *Baselines) Thaw(f *Frozen) {
	for slot, l := range f.last {
		l.data = slices.Clone(l.data)
		b.last[slot] = l
	}
}

// Size returns its approximate memory, in bytes.
func (f *Frozen) Size() int { return f.bytes }
