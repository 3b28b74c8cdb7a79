package latest

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/proto/protoscan"
)

// state is how the players of a game stand after a tick, and in which version of the state each has changed last.
type state struct {
	version    uint64 // counts the changes; 0 before the first state
	tick       int32
	unfinished bool
	players    []standing // by number
	gone       []standing // players who left, without their events
}

// standing is one player.
type standing struct {
	number  int32
	event   []byte
	changed uint64 // the version in which the player came, changed or left
}

// maxStateBytes limits the bytes of a game's players, so that one fits into a response. Games have a twentieth of it.
const maxStateBytes = 512 << 10

// errTooLarge means that the players of a game do not fit into a response.
var errTooLarge = fmt.Errorf("%w: the players of the game take more than %d bytes", decoders.ErrLimit, maxStateBytes)

// samples holds the samples of one tick: that of the last sample that was added. The memory is used again for each tick.
type samples struct {
	of    sampled
	tick  int32
	list  []placed
	bytes []byte
	last  []byte // the one that is added
}

// placed is a player whose event is in samples.bytes.
type placed struct {
	number   int32
	from, to int
}

// add adds the events of a batch. Those of earlier ticks go.
func (s *samples) add(events []byte) error {
	for len(events) > 0 {
		f, rest, ok := protoscan.Next(events)
		if !ok || f.Number != protoscan.ListEvents {
			return errMalformed
		}
		events = rest
		var tick, number int32
		var err error
		if s.last, tick, number, err = s.of.append(s.last[:0], f.Bytes); err != nil {
			return err
		}
		if tick != s.tick {
			s.reset()
			s.tick = tick
		}
		if len(s.bytes)+len(s.last) > maxStateBytes {
			return errTooLarge
		}
		from := len(s.bytes)
		s.bytes = append(s.bytes, s.last...)
		s.list = append(s.list, placed{number, from, len(s.bytes)})
	}
	return nil
}

// reset removes all samples.
func (s *samples) reset() { s.list, s.bytes = s.list[:0], s.bytes[:0] }

// set makes the samples the state after a tick. Those of another tick count as none: nobody plays. It reports whether anything changed.
func (s *state) set(tick int32, unfinished bool, now *samples) bool {
	list := now.list
	if now.tick != tick {
		list = nil
	}
	slices.SortFunc(list, func(a, b placed) int { return cmp.Compare(a.number, b.number) })
	next := s.version + 1
	changed := s.version == 0 || s.tick != tick || s.unfinished != unfinished
	i := 0
	for _, p := range list {
		for i < len(s.players) && s.players[i].number < p.number {
			s.leave(i, next)
			changed = true
		}
		event := now.bytes[p.from:p.to]
		switch {
		case i == len(s.players) || s.players[i].number != p.number:
			s.players = slices.Insert(s.players, i, standing{p.number, slices.Clone(event), next})
			s.gone = slices.DeleteFunc(s.gone, func(g standing) bool { return g.number == p.number })
			changed = true
		case !bytes.Equal(s.players[i].event, event):
			s.players[i].event, s.players[i].changed = append(s.players[i].event[:0], event...), next
			changed = true
		}
		i++
	}
	for i < len(s.players) {
		s.leave(i, next)
		changed = true
	}
	if changed {
		s.version, s.tick, s.unfinished = next, tick, unfinished
	}
	return changed
}

// leave notes that a player has left.
func (s *state) leave(i int, version uint64) {
	s.gone = append(s.gone, standing{number: s.players[i].number, changed: version})
	s.players = slices.Delete(s.players, i, i+1)
}

// append appends the fields of a WatchedReplay for a client that has a version of the state, of which 0 is none. list is the field for
// the players.
func (s *state) append(b []byte, list protowire.Number, have uint64) []byte {
	b = appendInt(b, watchedTick, s.tick)
	if s.unfinished {
		b = protowire.AppendVarint(protowire.AppendTag(b, watchedUnfinished, protowire.VarintType), 1)
	}
	if have == 0 {
		b = protowire.AppendVarint(protowire.AppendTag(b, watchedWhole, protowire.VarintType), 1)
	}
	size := 0
	for i := range s.players {
		if p := &s.players[i]; p.changed > have {
			size += protowire.SizeTag(protoscan.ListEvents) + protowire.SizeBytes(len(p.event))
		}
	}
	b = protowire.AppendVarint(protowire.AppendTag(b, list, protowire.BytesType), uint64(size))
	for i := range s.players {
		if p := &s.players[i]; p.changed > have {
			b = protowire.AppendBytes(protowire.AppendTag(b, protoscan.ListEvents, protowire.BytesType), p.event)
		}
	}
	if have == 0 {
		return b
	}
	for _, g := range s.gone {
		if g.changed > have {
			b = appendInt(b, watchedRemoved, g.number)
		}
	}
	return b
}

// appendInt appends a number of type int32, 0 too.
func appendInt(b []byte, field protowire.Number, n int32) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), uint64(int64(n)))
}
