package teehistorian

import (
	"errors"
	"io"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/teehistorian"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/protoappend"
	"github.com/replayd/replayd/replay/source"
)

// work is the largest number of events that one call decodes, in a quarter of a millisecond, because others may wait for their
// turn.
const work = 8 << 10

// reader reads one replay. See codec.Reader.
type reader struct {
	codec.Options

	in      source.Input
	header  *teehistorian.Header
	d       *teehistorian.Decoder
	ev      teehistorian.Event
	roster  []byte                               // the roster of the previous game; nil if it is not known or not needed
	facts   *facts                               // nil without a filter that selects facts
	moves   [movesAtOnce]teehistorian.PlayerDiff // memory for addMoves
	maxTick int32
	skipped uint64 // events that the filter did not match

	checkpoints codec.Checkpoints // nil keeps none
	restored    bool              // the search for a checkpoint has ended
	proof       *codec.Proof      // the check of the checkpoint that was found
	nextCheck   int64             // the next offset at which a checkpoint may be wanted

	present int32 // the client at which Present continues

	// held reports whether ev is decoded but not delivered yet. It starts at heldAt, where the clock is heldTick.
	held     bool
	heldAt   decoders.Position
	heldSum  decoders.Sum
	heldTick int32

	doubtful bool // the decoder ran out of bytes, and withholds some
}

// maxReread is the largest number of bytes that are read again because the decoder withholds them.
const maxReread = 1 << 20

// ranOut notes that the decoder returned an error, and returns the error.
func (r *reader) ranOut(err error) error {
	withheld := r.d.Withheld()
	r.doubtful = errors.Is(err, decoders.ErrMore) && withheld > 0 && withheld <= maxReread && r.in.At != nil
	return err
}

// reread makes the decoder read withheld bytes again. In a growing file these may be zeros where data has arrived since: some
// file systems show the new size of a file before its contents.
func (r *reader) reread() {
	if !r.doubtful {
		return
	}
	r.doubtful = false
	at := r.d.Position()
	src, err := r.in.From(at.Offset)
	if err != nil {
		return
	}
	w := decoders.NewWindow(src, at.Offset, teehistorian.MaxWindow)
	w.Resume(r.d.Sum())
	if d, err := teehistorian.Restore(w, r.header, r.d.Snapshot(nil)); err == nil {
		r.d = d
	}
}

func open(in source.Input, o codec.Options) (codec.Reader, error) {
	src, err := in.From(0)
	if err != nil {
		return nil, err
	}
	return &reader{
		Options: o,
		in:      in,
		d:       teehistorian.New(src, teehistorian.Options{}),
		maxTick: o.Filter.MaxTick(),
	}, nil
}

func (r *reader) Header(replay *replaydv1.Replay) error {
	h, err := r.d.Header()
	if err != nil {
		return err
	}
	r.header = h
	if r.Tables != nil {
		r.Tables.TicksPerSecond = ticksPerSecond
	}
	addHeader(replay, h, r.Secrets.Reveal.Has(decoders.SecretPasswords))
	if r.Roster != nil && (r.ResolvePlayers || r.State) {
		r.roster = r.Roster(replay)
		r.carry()
	}
	key := replay.GetIdentity()
	if r.facts = newFacts(h, &r.Options); r.facts != nil {
		key = r.facts.key(key)
	}
	if r.Checkpoints != nil {
		r.checkpoints = r.Checkpoints(key)
	}
	return nil
}

// Seek decodes up to the start of delivery, from the last checkpoint before it. It has to decode because positions and inputs
// are encoded as changes of earlier ones.
func (r *reader) Seek() error {
	if !r.restored {
		if err := r.restore(); err != nil {
			return err
		}
		r.restored = true
	}
	r.reread()
	for range work {
		if r.arrived() {
			return nil
		}
		if r.facts != nil && r.facts.skip() {
			continue
		}
		at, tick := r.d.Position(), r.d.Tick()
		if err := r.d.Next(&r.ev); err != nil {
			err = r.ranOut(err)
			if r.Start.Now && (errors.Is(err, decoders.ErrMore) || errors.Is(err, io.EOF)) {
				return nil
			}
			return err
		}
		if r.facts != nil {
			r.facts.apply(r.d, at, &r.ev)
		}
		if r.Start.Tick != nil && r.ev.AtTick >= *r.Start.Tick {
			r.held, r.heldAt, r.heldTick, r.heldSum = true, at, tick, r.d.SumTo(at)
		}
	}
	r.checkpoint()
	return codec.ErrYield
}

// arrived reports whether delivery starts here.
func (r *reader) arrived() bool {
	switch {
	case r.Start.Now:
		return false // "now" is reached only at the end of the present bytes
	case r.Start.Tick != nil:
		return r.held || *r.Start.Tick <= r.d.Tick()
	}
	return !r.Position().Before(r.Start.Position)
}

func (r *reader) Fill(b *codec.Batch) error {
	r.reread()
	r.checkpoint()
	if r.Filter.Nothing() {
		return codec.ErrDone
	}
	unmarked := !b.KeepMarks // only the filter looks at an event
	inputs, facts := r.wantsInputs(), r.facts
	for left := work; left > 0; left-- {
		if b.Full() {
			return nil
		}
		// Moves and inputs follow a tick, and more inputs follow messages.
		pending := facts != nil && facts.pending()
		follow := r.ev.Kind == teehistorian.KindTick || !inputs && r.ev.Kind != teehistorian.KindPlayerDiff
		if follow && !r.held && !pending && r.d.Tick() <= r.maxTick {
			if n := r.many(b, unmarked); n > 0 {
				left -= n
				continue
			}
		}
		at, ev := r.d.Position(), &r.ev
		if r.held || pending {
			at = r.Position()
		}
		switch {
		case r.held:
			r.held = false
		case pending && !r.Filter.Facts():
			facts.skip()
			continue
		case pending:
			ev = facts.next()
		case r.d.Tick() > r.maxTick:
			return codec.ErrDone
		default:
			if err := r.d.Next(ev); err != nil {
				return r.ranOut(err)
			}
			if facts != nil {
				facts.apply(r.d, at, ev)
			}
		}
		if unmarked && r.Filter.Whole(uint8(ev.Kind)) {
			if r.add(b, at, ev); r.Tables == nil && !b.Places.AddNear(at.Offset, at.Index) {
				b.Place(at)
			}
			continue
		}
		if !r.Filter.Kind(uint8(ev.Kind)) {
			r.skipped++
			continue
		}
		e := properties.Event(uint8(ev.Kind), ev.AtTick, ev)
		if !r.Filter.Match(&e) {
			r.skipped++
			continue
		}
		r.add(b, at, ev)
		b.Place(at)
		b.Mark(&e, r)
	}
	return codec.ErrYield
}

// wantsInputs reports whether changes of inputs must be decoded as events.
func (r *reader) wantsInputs() bool {
	return r.Filter.Kind(uint8(teehistorian.KindInputDiff)) || r.facts != nil && r.facts.options.Inputs
}

// add appends an event to the batch. at is needed only for a table.
func (r *reader) add(b *codec.Batch, at decoders.Position, ev *teehistorian.Event) {
	b.Count++
	if r.ResolvePlayers {
		property := properties.Event(uint8(ev.Kind), ev.AtTick, ev)
		r.resolve(ev, &property)
	}
	if r.Tables == nil && ev.Kind == teehistorian.KindPlayerDiff && ev.AtTick >= 0 && len(ev.Warnings) == 0 && !ev.HasPlayer {
		b.Events = appendMove(b.Events, ev.AtTick, &ev.PlayerDiff)
		return
	}
	r.write(b, at, ev)
}

// write appends any event.
func (r *reader) write(b *codec.Batch, at decoders.Position, ev *teehistorian.Event) {
	if ev.Kind == teehistorian.KindDdnetver && len(r.Secrets.Key) > 0 {
		v := &ev.Ddnetver
		v.ConnectionPseudonym = []byte(r.Secrets.Pseudonym(decoders.SecretConnectionID, v.ConnectionId))
	}
	teehistorian.Redact(ev, r.Secrets.Reveal)
	if r.Tables != nil {
		AddRow(r.Tables, at, ev)
		return
	}
	b.Events = append(b.Events, codec.EventListField, 0)
	start := len(b.Events)
	b.Events = protoappend.Close(AppendEvent(b.Events, ev), start)
}

// Held implements codec.Holder.
func (r *reader) Held() int64 {
	held := r.d.Held()
	if r.facts != nil {
		held += r.facts.fold.Held()
	}
	return held
}

func (r *reader) Close() error { return r.d.Close() }

func (r *reader) Position() decoders.Position {
	switch {
	case r.held:
		return r.heldAt
	case r.facts != nil && r.facts.pending():
		return r.facts.position()
	}
	return r.d.Position()
}

func (r *reader) Sum() decoders.Sum {
	switch {
	case r.held:
		return r.heldSum
	case r.facts != nil && r.facts.pending():
		return r.facts.sum
	}
	return r.d.Sum()
}

func (r *reader) Tick() int32 {
	if r.held {
		return r.heldTick
	}
	return r.d.Tick()
}

func (r *reader) Filtered() uint64 { return r.skipped }

// Summarize adds nothing, because the format has no summary.
func (r *reader) Summarize(*replaydv1.StreamEnd) {}
