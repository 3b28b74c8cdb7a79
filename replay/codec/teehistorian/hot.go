package teehistorian

import (
	"encoding/binary"
	"slices"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/teehistorian"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/table"
)

// movesAtOnce is how many moves one call decodes: about as many as there are players.
const movesAtOnce = 64

// many decodes the moves that come next, or else inputs, without making an event of each, and returns how many. It appends the
// moves to the batch if the filter lets every move through and they have nothing but their fields.
func (r *reader) many(b *codec.Batch, unmarked bool) (n int) {
	switch {
	case !r.Filter.Kind(uint8(teehistorian.KindPlayerDiff)):
		n = r.d.Moves(r.moves[:])
		r.Skip(n)
	case unmarked && !r.ResolvePlayers && r.Filter.Whole(uint8(teehistorian.KindPlayerDiff)):
		n = r.addMoves(b)
	}
	if n == 0 && !r.wantsInputs() {
		n = r.d.SkipInputs()
		r.Skip(n)
	}
	return n
}

// addMoves decodes a tick's next moves, appends them to the batch, and returns how many there are.
func (r *reader) addMoves(b *codec.Batch) int {
	at, tick := r.d.Position(), r.d.Tick()
	if tick < 0 { // appendMove cannot write it
		return 0
	}
	moves := r.moves[:r.d.Moves(r.moves[:min(movesAtOnce, b.MaxEvents-b.Count)])]
	b.Count += len(moves)
	if r.Tables == nil {
		for i := range moves {
			b.Events = appendMove(b.Events, tick, &moves[i])
		}
		if len(moves) > 0 {
			b.Places.AddRun(at.Offset, at.Index, len(moves), teehistorian.MoveBytes)
		}
	} else if len(moves) > 0 {
		addMoveRows(r.Tables, at, tick, moves)
	}
	return len(moves)
}

// addMoveRows appends moves to their table. at is the position of the first move.
func addMoveRows(s *table.Set, at decoders.Position, tick int32, moves []teehistorian.PlayerDiff) {
	c := s.BeginRows(uint8(teehistorian.KindPlayerDiff), len(moves), at, teehistorian.MoveBytes, tick)
	for i, to := 0, table.Extend[int32](&c[0], len(moves)); i < len(to); i++ {
		to[i] = moves[i].ClientId
	}
	for i, to := 0, table.Extend[int32](&c[1], len(moves)); i < len(to); i++ {
		to[i] = moves[i].Dx
	}
	for i, to := 0, table.Extend[int32](&c[2], len(moves)); i < len(to); i++ {
		to[i] = moves[i].Dy
	}
	for i, to := 0, table.Extend[int32](&c[3], len(moves)); i < len(to); i++ {
		to[i] = moves[i].X
	}
	for i, to := 0, table.Extend[int32](&c[4], len(moves)); i < len(to); i++ {
		to[i] = moves[i].Y
	}
}

// moveBytes is room for any player_diff as an entry of a list, which has 40 bytes at most: one check of the slice's capacity
// covers it.
const moveBytes = 64

// The tags of the messages in a player_diff: those of Event, then those of PlayerDiff; then those of a tick.
const (
	tagAtTick     = 1<<3 | 0
	tagPlayerDiff = 2<<3 | 2

	tagClientID = 1<<3 | 0
	tagDx       = 2<<3 | 0
	tagDy       = 3<<3 | 0
	tagX        = 4<<3 | 0
	tagY        = 5<<3 | 0

	tagTick     = 4<<3 | 2
	tagSkipped  = 1<<3 | 0
	tagImplicit = 2<<3 | 0
)

// appendMove appends a player_diff without warnings and with a position as an entry of the list of events. It writes the same bytes as AppendEvent
// in a third of the time. That matters because two events of three are moves. Tick and client id must not be negative.
func appendMove(b []byte, tick int32, m *teehistorian.PlayerDiff) []byte {
	n := len(b)
	b = slices.Grow(b, moveBytes)
	buf := (*[moveBytes]byte)(b[n : n+moveBytes])
	buf[0] = codec.EventListField
	p := 2
	p = putField(buf, p, tagAtTick, uint32(tick))
	buf[p&63] = tagPlayerDiff
	inner := p + 2
	p = putField(buf, inner, tagClientID, uint32(m.ClientId))
	p = putField(buf, p, tagDx, zigzag(m.Dx))
	p = putField(buf, p, tagDy, zigzag(m.Dy))
	p = put(buf, p, tagX, zigzag(m.X))
	p = put(buf, p, tagY, zigzag(m.Y))
	buf[(inner-1)&63] = byte(p - inner) // below 128, like the next length
	buf[1] = byte(p - 2)
	return b[:n+p]
}

// appendRecordedTick is appendMove for a tick, whose number must not be negative.
func appendRecordedTick(b []byte, tick int32, m *teehistorian.Tick) []byte {
	n := len(b)
	b = slices.Grow(b, moveBytes)
	buf := (*[moveBytes]byte)(b[n : n+moveBytes])
	buf[0] = codec.EventListField
	p := 2
	p = putField(buf, p, tagAtTick, uint32(tick))
	buf[p&63] = tagTick
	inner := p + 2
	p = inner
	if m.Skipped != 0 {
		buf[p&63] = tagSkipped
		p += 1 + binary.PutUvarint(buf[(p+1)&63:], uint64(m.Skipped))
	}
	if m.Implicit {
		buf[p&63], buf[(p+1)&63] = tagImplicit, 1
		p += 2
	}
	buf[(inner-1)&63] = byte(p - inner)
	buf[1] = byte(p - 2)
	return b[:n+p]
}

func zigzag(v int32) uint32 { return uint32(v<<1) ^ uint32(v>>31) }

// putField writes a varint field at p, unless the value is zero, and returns the index of its end. The masks avoid bounds
// checks.
func putField(buf *[moveBytes]byte, p int, tag byte, v uint32) int {
	if v == 0 {
		return p
	}
	return put(buf, p, tag, v)
}

// put is like putField, but also writes a zero.
func put(buf *[moveBytes]byte, p int, tag byte, v uint32) int {
	buf[p&63] = tag
	p++
	for v >= 0x80 {
		buf[p&63] = byte(v) | 0x80
		v >>= 7
		p++
	}
	buf[p&63] = byte(v)
	return p + 1
}
