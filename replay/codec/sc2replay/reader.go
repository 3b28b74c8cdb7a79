package sc2replay

import (
	"errors"
	"io"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/sc2replay"
	"github.com/replayd/replayd/decoders/sc2replay/facts"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/filter"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/replay/table"
)

// work is the largest number of events that one call decodes, in a millisecond or less, because others may wait for their turn.
const work = 2 << 10

var events = codec.Events[sc2replay.Event]{
	Key:       func(ev *sc2replay.Event) (uint8, int32) { return uint8(ev.Kind), ev.AtTick },
	Append:    AppendEvent,
	AddRow:    AddRow,
	Sampled:   []uint8{uint8(sc2replay.KindSamplePlayer)},
	Finish:    uint8(sc2replay.KindEnd),
	Work:      work,
	Unordered: true, // in games that were saved and continued, events of earlier ticks may follow
}

// reader reads one replay. See codec.Reader.
type reader struct {
	codec.Sequential[sc2replay.Event]

	in    source.Input
	rep   *sc2replay.Replay
	d     *sc2replay.Decoder
	teams *teams      // nil until an event was decoded
	fold  *facts.Fold // with a filter that selects facts

	state   *sc2replay.State // with Options.State, until delivery starts, and with samples
	present int              // the index in the state at which Present continues
}

func open(in source.Input, o codec.Options) (codec.Reader, error) {
	r := &reader{Sequential: codec.NewSequential(o, events), in: in}
	r.Properties = r.properties
	r.Places = func() int { return sc2replay.MaxPlayers }
	return r, nil
}

// properties sets e to what filters ask of an event.
func (r *reader) properties(e *filter.Event, kind uint8, tick int32, ev *sc2replay.Event) {
	if r.teams == nil {
		t := teamsOf(r.d.Players())
		r.teams = &t
	}
	properties.Set(e, kind, tick, &subject{ev, r.teams})
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
	r.Sieve.TicksPerSecond = replay.GetTicksPerSecond()
	r.rep = p
	options := sc2replay.Options{Want: &want, RevealPrivate: r.Secrets.Reveal.Has(decoders.SecretBattleLobby)}
	if r.d = p.Events(options); unpacked != nil {
		r.d = unpacked.Events(options)
	}
	r.Use(r.d)
	if r.State || r.Sampling() {
		r.state = sc2replay.NewState(r.d)
		r.Passed = r.state.Apply
		r.Sample = r.state.Sample
	}
	// A cursor of a stream with facts may lie between facts. Only the earlier events tell whether a fact is there.
	if r.Filter.Facts() || r.Start.Position != r.Start.Position.Own() {
		r.fold = facts.New(p)
		r.fold.Want(&want)
		r.Fold = r.fold
	}
	return nil
}

// Seek is that of codec.Sequential, but damage is not an error of it, because it follows all intact events, and Fill reports it.
func (r *reader) Seek() error {
	err := r.Sequential.Seek()
	_, damaged := errors.AsType[*decoders.Error](err)
	if begun := r.d.Position() != (decoders.Position{}); damaged && begun && (r.Start.Now || r.Start.Tick != nil) {
		return nil
	}
	return err
}

func (r *reader) Fill(b *codec.Batch) error {
	if !r.Sampling() {
		r.state = nil
	}
	return r.Sequential.Fill(b)
}

var _ codec.Presenter = (*reader)(nil)

// Present implements codec.Presenter. It appends an event of each player, and then of each living unit.
func (r *reader) Present(b *codec.Batch) error {
	var ev sc2replay.Event // r.Event may be held
	for ; r.present < r.state.Len(); r.present++ {
		if b.Full() {
			return nil
		}
		if !r.state.Present(r.present, &ev) {
			continue
		}
		var e filter.Event
		if r.properties(&e, uint8(ev.Kind), ev.AtTick, &ev); r.StateFilter.Match(&e) {
			r.Put(b, table.NoPosition, &ev)
		}
	}
	r.present = 0
	return io.EOF
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
