package teehistorian

import (
	"encoding/binary"
	"slices"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/teehistorian"
	conclude "github.com/replayd/replayd/decoders/teehistorian/facts"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/protoappend"
	"github.com/replayd/replayd/replay/table"
)

// movesAtOnce is how many moves one call decodes: about as many as there are players.
const movesAtOnce = 64

// manner is what becomes of the events of a kind.
type manner uint8

const (
	single manner = iota // each is examined
	passed               // none is delivered
	whole                // all are delivered, with nothing but their fields
)

// plan says which events need not be made one by one.
type plan struct {
	moves, ticks, inputs manner

	last  int32          // the last tick that may begin
	fold  *conclude.Fold // nil if there are no facts
	apply bool           // changes of inputs are for fold, too
}

// plan returns the plan for a batch.
func (r *reader) plan(b *codec.Batch) plan {
	of := func(kind teehistorian.Kind) manner {
		switch k := uint8(kind); {
		case r.world != nil: // which takes each
		case !r.Filter.Kind(k):
			return passed
		case r.Sieve.Sifts() && (kind != teehistorian.KindPlayerDiff || r.Tables != nil):
		case r.Filter.Whole(k) && !b.KeepMarks && !r.ResolvePlayers:
			return whole
		}
		return single
	}
	p := plan{moves: of(teehistorian.KindPlayerDiff), inputs: of(teehistorian.KindInputDiff), last: r.Filter.MaxTick(), fold: r.facts.concluding()}
	if !r.Sampling() {
		p.ticks = of(teehistorian.KindTick)
	}
	if p.apply = r.facts != nil && r.facts.options.Inputs; p.apply && p.inputs == passed {
		p.inputs = single
	}
	return p
}

// many decodes up to about limit events of those that come next and of which there are many, as far as the plan allows, and returns
// how many.
func (r *reader) many(b *codec.Batch, p *plan, limit int) (n int) {
	for n < limit && !b.Full() {
		before := n
		if p.moves != single {
			n += r.manyMoves(b, p)
		}
		switch p.inputs {
		case passed:
			skipped := r.d.SkipInputs()
			r.Skip(skipped)
			n += skipped
		case whole:
			n += r.addInputs(b, p)
		}
		if n == before {
			break
		}
	}
	return n
}

// manyMoves decodes the next moves of a tick, with the event that begins the tick, and returns how many events these are.
func (r *reader) manyMoves(b *codec.Batch, p *plan) int {
	at, tick := r.d.Position(), r.d.Tick()
	room := min(movesAtOnce, b.MaxEvents-b.Count)
	begin := p.ticks != single && tick < p.last && (p.fold == nil || !p.fold.WantsTick(tick+1))
	if begin {
		room = min(room, b.MaxEvents-b.Count-1)
	}
	n, began := r.d.Moves(r.moves[:room], begin)
	if n == 0 {
		return 0
	}
	moves := r.moves[:n]
	if began {
		n++
		tick++
	}
	entry := startOf(tick)
	if began && p.ticks == whole {
		r.addTick(b, at, entry)
		at.Index = decoders.Room
	} else if began {
		r.Skip(1)
		at.Index = decoders.Room
	}
	switch {
	case p.moves == passed:
		r.Skip(len(moves))
		return n
	case r.Sieve.Sifts():
		r.siftMoves(b, at, entry, moves)
		return n
	case r.Tables == nil:
		b.Events = appendMoves(b.Events, entry, moves)
		b.Places.AddRun(at.Offset, at.Index, len(moves), teehistorian.MoveBytes)
	default:
		addMoveRows(r.Tables, at, tick, moves)
	}
	b.Count += len(moves)
	return n
}

// siftMoves appends the moves of a tick, of which the first is at a position, that pass the sieve.
func (r *reader) siftMoves(b *codec.Batch, at decoders.Position, entry start, moves []teehistorian.PlayerDiff) {
	tick := r.d.Tick()
	for i := range moves {
		begin := len(b.Events)
		b.Events = appendMoves(b.Events, entry, moves[i:i+1])
		if r.Sieve.Passes(uint8(teehistorian.KindPlayerDiff), tick, at, b.Events[begin:]) {
			b.Count++
			b.Place(at)
		} else {
			b.Events = b.Events[:begin]
			r.Skip(1)
		}
		at = decoders.Position{Offset: at.Offset + teehistorian.MoveBytes}
	}
}

// addTick appends the implicit tick that Moves has begun.
func (r *reader) addTick(b *codec.Batch, at decoders.Position, entry start) {
	if r.Tables == nil {
		b.Events = appendImplicit(b.Events, entry)
		b.Count++
		if !b.Places.AddNear(at.Offset, at.Index) {
			b.Place(at)
		}
		return
	}
	ev := &r.Event
	ev.AtTick, ev.Kind, ev.Warnings = r.d.Tick(), teehistorian.KindTick, ev.Warnings[:0]
	ev.Tick.Skipped, ev.Tick.Implicit = 0, true
	r.Put(b, at, ev)
}

// addInputs decodes the next changes of inputs, appends them, and returns how many there are.
func (r *reader) addInputs(b *codec.Batch, p *plan) int {
	n, tick := r.d.Inputs(r.inputs[:min(inputsAtOnce, b.MaxEvents-b.Count)], r.offsets[:]), r.d.Tick()
	inputs, offsets, entry := r.inputs[:n], r.offsets[:n], startOf(tick)
	if p.apply {
		for i := range inputs {
			ev := &r.Event
			ev.AtTick, ev.Kind, ev.InputDiff, ev.Warnings = tick, teehistorian.KindInputDiff, inputs[i], ev.Warnings[:0]
			p.fold.Apply(ev)
		}
	}
	b.Count += n
	if r.Tables != nil {
		if n > 0 {
			r.changes.add(r.Tables, offsets, tick, inputs)
		}
		return n
	}
	for i := range inputs {
		b.Events = appendChange(b.Events, entry, tick, &inputs[i])
		if !b.Places.AddNear(offsets[i], 0) {
			b.Place(decoders.Position{Offset: offsets[i]})
		}
	}
	return n
}

// inputsAtOnce is how many changes of inputs one call decodes.
const inputsAtOnce = 32

// column holds the values of one column of changes of inputs.
type column [inputsAtOnce]int32

// changes holds the columns of changes of inputs: the client, the fields of its input, and those of the change.
type changes [1 + 10 + 10]column

// spread sets the values of the columns of an input at a row.
func spread(to *[10]column, row int, in *teehistorian.Input) {
	row &= inputsAtOnce - 1
	to[0][row] = in.Direction
	to[1][row] = in.TargetX
	to[2][row] = in.TargetY
	to[3][row] = in.Jump
	to[4][row] = in.Fire
	to[5][row] = in.Hook
	to[6][row] = in.PlayerFlags
	to[7][row] = in.WantedWeapon
	to[8][row] = in.NextWeapon
	to[9][row] = in.PrevWeapon
}

// add appends changes of a tick to their table.
func (c *changes) add(s *table.Set, offsets []int64, tick int32, inputs []teehistorian.InputDiff) {
	for i := range inputs {
		m := &inputs[i]
		c[0][i] = m.ClientId
		spread((*[10]column)(c[1:]), i, &m.Input)
		spread((*[10]column)(c[11:]), i, &m.Diff)
	}
	n := len(offsets)
	to, values := s.BeginRows(uint8(teehistorian.KindInputDiff), offsets, 0, tick), c[:]
	for i := range to {
		if to[i].Field.Type == table.Struct {
			table.BeginFields(to[i:], n)
			continue
		}
		copy(table.Extend[int32](&to[i], n), values[0][:n])
		values = values[1:]
	}
}

// addMoveRows appends moves of a tick to their table. at is the position of the first move.
func addMoveRows(s *table.Set, at decoders.Position, tick int32, moves []teehistorian.PlayerDiff) {
	var offsets [movesAtOnce]int64
	for i := range moves {
		offsets[i] = at.Offset + int64(i)*teehistorian.MoveBytes
	}
	c := s.BeginRows(uint8(teehistorian.KindPlayerDiff), offsets[:len(moves)], at.Index, tick)
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

// appendHot appends an event with nothing but its fields to the batch if it is of one of the kinds of which there are many and usual,
// and reports whether it was.
func (r *reader) appendHot(b *codec.Batch, ev *teehistorian.Event) bool {
	switch ev.Kind {
	case teehistorian.KindPlayerDiff:
		m, to := &ev.PlayerDiff, r.moves[:1]
		if uint32(m.ClientId)|zigzag(m.Dx)|zigzag(m.Dy) >= 0x80 {
			return false
		}
		to[0].ClientId, to[0].Dx, to[0].Dy, to[0].X, to[0].Y = m.ClientId, m.Dx, m.Dy, m.X, m.Y // as a whole it would stall
		b.Events = appendMoves(b.Events, startOf(ev.AtTick), to)
	case teehistorian.KindInputDiff:
		if m := &ev.InputDiff; uint32(m.ClientId) >= 0x80 || !m.HasInput {
			return false
		}
		b.Events = appendChange(b.Events, startOf(ev.AtTick), ev.AtTick, &ev.InputDiff)
	case teehistorian.KindTick:
		if ev.Tick.Skipped != 0 || !ev.Tick.Implicit {
			return false
		}
		b.Events = appendImplicit(b.Events, startOf(ev.AtTick))
	default:
		return false
	}
	return true
}

// start is how an entry of the list of events begins: its tag, room for its length, and its tick.
type start struct {
	bytes uint64
	n     int // of the bytes that count
}

// startOf returns the start of the events of a tick, which must not be negative.
func startOf(tick int32) start {
	const field = codec.EventListField | (1<<3)<<16
	if tick == 0 {
		return start{codec.EventListField, 2}
	}
	s, v := start{field, 3}, uint64(tick)
	for ; v >= 0x80; v >>= 7 {
		s.bytes |= (v&0x7f | 0x80) << (s.n * 8 & 63)
		s.n++
	}
	s.bytes |= v << (s.n * 8 & 63)
	s.n++
	return s
}

// The tags of the messages: those of Event, then those of PlayerDiff, InputDiff and Tick. All but the lengths are varints.
const (
	tagPlayerDiff = 2<<3 | 2
	tagInputDiff  = 3<<3 | 2
	tagTick       = 4<<3 | 2

	tagClientID = 1 << 3
	tagDx       = 2 << 3
	tagDy       = 3 << 3
	tagX        = 4 << 3
	tagY        = 5 << 3

	tagInput = 2<<3 | 2
	tagDiff  = 3<<3 | 2

	tagImplicit = 2 << 3
)

// appendImplicit appends an implicit tick that skips nothing as an entry of the list of events.
func appendImplicit(b []byte, entry start) []byte {
	const contents = tagTick | 2<<8 | tagImplicit<<16 | 1<<24
	b = binary.LittleEndian.AppendUint64(b, entry.bytes|uint64(entry.n+2)<<8)
	return binary.LittleEndian.AppendUint32(b[:len(b)-8+entry.n], contents)
}

// moveBytes is room for any move as an entry of a list: one check of the slice's capacity covers it.
const moveBytes = 64

// appendMoves appends moves of a tick as entries of the list of events. It writes the same bytes as AppendEvent in a third of the time.
// That matters because two events of three are moves. The moves are small ones, as Decoder.Moves returns them: only their places take
// more than a byte. Nothing branches on zeros, which no processor can predict.
func appendMoves(b []byte, entry start, moves []teehistorian.PlayerDiff) []byte {
	n := len(b)
	b = slices.Grow(b, len(moves)*moveBytes)
	b = b[:cap(b)]
	for i := range moves {
		m := &moves[i]
		buf := (*[moveBytes]byte)(b[n:])
		binary.LittleEndian.PutUint64(buf[:], entry.bytes)
		id, dx, dy := uint32(m.ClientId), zigzag(m.Dx), zigzag(m.Dy)
		p := entry.n & 15
		binary.LittleEndian.PutUint32(buf[p:], tagPlayerDiff|tagClientID<<16|id<<24)
		p += 2
		inner := p
		p += two(id)
		binary.LittleEndian.PutUint16(buf[p&31:], uint16(tagDx|dx<<8))
		p += two(dx)
		binary.LittleEndian.PutUint16(buf[p&31:], uint16(tagDy|dy<<8))
		p += two(dy)
		p = put(buf, p, tagX, zigzag(m.X))
		p = put(buf, p, tagY, zigzag(m.Y))
		buf[(inner-1)&63] = byte(p - inner) // below 128, like the next length
		buf[1] = byte(p - 2)
		n += p
	}
	return b[:n]
}

// two returns 2, or 0 for 0.
func two(v uint32) int { return int((v|-v)>>31) << 1 }

func zigzag(v int32) uint32 { return uint32(v<<1) ^ uint32(v>>31) }

// put writes a varint field at p and returns the index of its end.
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

// inputBytes is room for any change of an input as an entry of the list of events. An index of one byte needs no check.
const inputBytes = 256

// appendChange appends a change of an input, which has no warnings, as an entry of the list of events. It writes the same bytes as
// AppendEvent.
func appendChange(b []byte, entry start, tick int32, m *teehistorian.InputDiff) []byte {
	n := len(b)
	b = slices.Grow(b, inputBytes)
	buf := (*[inputBytes]byte)(b[n : n+inputBytes])
	binary.LittleEndian.PutUint64(buf[:], entry.bytes)
	at := uint8(entry.n)
	p := at + 2
	if m.ClientId != 0 {
		buf[p], buf[p+1] = tagClientID, byte(m.ClientId)
		p += 2
	}
	p = putInput(buf, p, tagInput, &m.Input)
	p = putInput(buf, p, tagDiff, &m.Diff)
	if p-2 >= 0x80 {
		b = append(b, codec.EventListField, 0)
		return protoappend.Close(AppendEvent(b, &teehistorian.Event{AtTick: tick, Kind: teehistorian.KindInputDiff, InputDiff: *m}), n+2)
	}
	buf[at], buf[at+1] = tagInputDiff, p-at-2
	buf[1] = p - 2
	return b[:n+int(p)]
}

// putInput writes an input as a field at p and returns the index of its end.
func putInput(buf *[inputBytes]byte, p, tag uint8, in *teehistorian.Input) uint8 {
	at := p
	p += 2
	p = putSint(buf, p, 1<<3, in.Direction)
	p = putSint(buf, p, 2<<3, in.TargetX)
	p = putSint(buf, p, 3<<3, in.TargetY)
	p = putSint(buf, p, 4<<3, in.Jump)
	p = putSint(buf, p, 5<<3, in.Fire)
	p = putSint(buf, p, 6<<3, in.Hook)
	p = putSint(buf, p, 7<<3, in.PlayerFlags)
	p = putSint(buf, p, 8<<3, in.WantedWeapon)
	p = putSint(buf, p, 9<<3, in.NextWeapon)
	p = putSint(buf, p, 10<<3, in.PrevWeapon)
	buf[at], buf[at+1] = tag, p-at-2
	return p
}

// putSint writes a sint32 field at p, unless the value is zero, and returns the index of its end.
func putSint(buf *[inputBytes]byte, p, tag uint8, value int32) uint8 {
	if value == 0 {
		return p
	}
	v := zigzag(value)
	buf[p] = tag
	p++
	for ; v >= 0x80; v >>= 7 {
		buf[p] = byte(v) | 0x80
		p++
	}
	buf[p] = byte(v)
	return p + 1
}
