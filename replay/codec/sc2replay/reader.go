package sc2replay

import (
	"errors"
	"io"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/sc2replay"
	"github.com/replayd/replayd/decoders/sc2replay/facts"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/protoappend"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/replay/table"
)

// work is the largest number of events that one call decodes, in a millisecond or less, because others may wait for their turn.
const work = 2 << 10

// reader reads one replay. See codec.Reader.
type reader struct {
	codec.Options

	in      source.Input
	rep     *sc2replay.Replay
	d       *sc2replay.Decoder
	ev      sc2replay.Event
	teams   teams
	begun   bool   // teams are known
	skipped uint64 // events that the filter did not match

	// With a filter that selects facts: the fold that concludes them, the present fact, the position of the event that completed
	// it, and how many of that event's facts were decoded.
	fold      *facts.Fold
	fact      sc2replay.Event
	own       decoders.Position
	concluded int64

	state   *sc2replay.State // with Options.State, until delivery starts
	present int              // the index in the state at which Present continues

	// The event that Seek found and Fill has to deliver, and its position.
	held     bool
	heldAt   decoders.Position
	heldTick int32
}

func open(in source.Input, o codec.Options) (codec.Reader, error) {
	return &reader{Options: o, in: in}, nil
}

func (r *reader) Header(replay *replaydv1.Replay) error {
	p, unpacked, err := settled(r.in, 0)
	if err != nil {
		return err
	}
	if err := addHeader(replay, p, r.in); err != nil {
		return err
	}
	var want sc2replay.Kinds
	for k := range want {
		want[k] = r.Filter.Kind(uint8(k))
	}
	if r.Tables != nil {
		r.Tables.TicksPerSecond = replay.GetTicksPerSecond()
	}
	r.rep = p
	options := sc2replay.Options{Want: &want, RevealPrivate: r.Secrets.Reveal.Has(decoders.SecretBattleLobby)}
	if r.d = p.Events(options); unpacked != nil {
		r.d = unpacked.Events(options)
	}
	if r.State {
		r.state = sc2replay.NewState(r.d)
	}
	// A cursor of a stream with facts may lie between facts. Only the earlier events tell whether a fact is there.
	if r.Filter.Facts() || r.Start.Position != r.Start.Position.Own() {
		r.fold = facts.New(p)
	}
	return nil
}

// Seek decodes up to the start of delivery. Damage is not an error of Seek, because it follows all intact events, and Fill
// reports it.
func (r *reader) Seek() error {
	for range work {
		if r.arrived() {
			return nil
		}
		at, tick := r.Position(), r.d.Tick()
		ev, err := r.next()
		if err != nil {
			_, damaged := errors.AsType[*decoders.Error](err)
			if r.Start.Now && errors.Is(err, io.EOF) || (r.Start.Now || r.Start.Tick != nil) && damaged && r.begun {
				return nil
			}
			return err
		}
		if r.Start.Tick != nil && ev.AtTick >= *r.Start.Tick {
			r.held, r.heldAt, r.heldTick = true, at, tick
		} else if r.state != nil && ev == &r.ev {
			r.state.Apply(ev)
		}
	}
	return codec.ErrYield
}

// arrived reports whether delivery starts here.
func (r *reader) arrived() bool {
	switch {
	case r.Start.Now:
		return false // a replay is complete, so its present end is its end
	case r.Start.Tick != nil:
		return r.held || *r.Start.Tick <= 0
	}
	return !r.Position().Before(r.Start.Position)
}

// next decodes the next event: a fact that the last event has completed, or an event of the replay.
func (r *reader) next() (*sc2replay.Event, error) {
	if r.fold != nil && r.fold.Next(&r.fact) {
		r.concluded++
		return &r.fact, nil
	}
	r.own, r.concluded = r.d.Position(), 0
	if err := r.d.Next(&r.ev); err != nil {
		return nil, err
	}
	if !r.begun {
		r.begun = true
		r.teams = teamsOf(r.d.Players())
	}
	if r.fold != nil {
		r.fold.Apply(&r.ev)
	}
	return &r.ev, nil
}

func (r *reader) Fill(b *codec.Batch) error {
	r.state = nil
	if r.Filter.Nothing() {
		return codec.ErrDone
	}
	for range work {
		if b.Full() {
			return nil
		}
		at, ev := r.Position(), &r.ev
		if r.held {
			r.held = false
		} else {
			var err error
			if ev, err = r.next(); err != nil {
				// Do not stop after the last tick of the filter. In games that were saved and continued, events of earlier ticks
				// may follow.
				return err
			}
		}
		if ev == &r.fact && !r.Filter.Facts() {
			continue
		}
		if !r.Filter.Kind(uint8(ev.Kind)) {
			r.skipped++
			continue
		}
		if r.Filter.Whole(uint8(ev.Kind)) && !b.KeepMarks {
			r.add(b, at, ev)
			b.Place(at)
			continue
		}
		e := properties.Event(uint8(ev.Kind), ev.AtTick, &subject{ev, &r.teams})
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

// add appends an event to the batch. at is needed only for a table.
func (r *reader) add(b *codec.Batch, at decoders.Position, ev *sc2replay.Event) {
	b.Count++
	if r.Tables != nil {
		AddRow(r.Tables, at, ev)
		return
	}
	b.Events = append(b.Events, codec.EventListField, 0)
	start := len(b.Events)
	b.Events = protoappend.Close(AppendEvent(b.Events, ev), start)
}

var _ codec.Presenter = (*reader)(nil)

// Present implements codec.Presenter. It appends an event of each player, and then of each living unit.
func (r *reader) Present(b *codec.Batch) error {
	var ev sc2replay.Event // r.ev may be held
	for ; r.present < r.state.Len(); r.present++ {
		if b.Full() {
			return nil
		}
		if !r.state.Present(r.present, &ev) {
			continue
		}
		if e := properties.Event(uint8(ev.Kind), ev.AtTick, &subject{&ev, &r.teams}); r.StateFilter.Match(&e) {
			r.add(b, table.NoPosition, &ev)
		}
	}
	r.present = 0
	return io.EOF
}

// Close returns an error if the replay was not read to its end.
func (r *reader) Close() error {
	if r.d == nil {
		return nil
	}
	return r.d.Close()
}

// Held implements codec.Holder.
func (r *reader) Held() int64 {
	if r.d == nil {
		return 0
	}
	held := r.d.Held()
	if r.state != nil {
		held += r.state.Held()
	}
	if r.fold != nil {
		held += r.fold.Held()
	}
	return held
}

func (r *reader) Position() decoders.Position {
	switch {
	case r.d == nil:
		return r.Start.Position
	case r.held:
		return r.heldAt
	case r.fold != nil && r.fold.Pending():
		at := r.own
		at.Index += 1 + r.concluded
		return at
	}
	return r.d.Position()
}

// Sum returns 0, because a replay's identity covers all of it.
func (r *reader) Sum() decoders.Sum { return 0 }

func (r *reader) Tick() int32 {
	switch {
	case r.d == nil:
		return 0
	case r.held:
		return r.heldTick
	}
	return r.d.Tick()
}

func (r *reader) Filtered() uint64 { return r.skipped }

// Summarize adds the summary of how well the replay could be decoded.
func (r *reader) Summarize(end *replaydv1.StreamEnd) {
	if r.d == nil {
		return
	}
	m, err := message(&sc2replay.Event{
		Kind: sc2replay.KindEnd, End: sc2replay.End{DecodeInfo: r.d.Info(), HasDecodeInfo: true},
	})
	if err == nil {
		end.Summary = &replaydv1.StreamEnd_Sc2Replay{Sc2Replay: m.GetEnd().GetDecodeInfo()}
	}
}
