package teehistorian

import (
	"errors"
	"slices"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/teehistorian"
	"github.com/replayd/replayd/decoders/teehistorian/physics"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/filter"
	"github.com/replayd/replayd/replay/source"
)

// work is the largest number of events that one call decodes, in a quarter of a millisecond, because others may wait for their
// turn.
const work = 8 << 10

var events = codec.Events[teehistorian.Event]{
	Key:        func(ev *teehistorian.Event) (uint8, int32) { return uint8(ev.Kind), ev.AtTick },
	Properties: properties.Set,
	Append:     AppendEvent,
	AddRow:     AddRow,
	Sampled: []uint8{
		uint8(teehistorian.KindSamplePlayer), uint8(teehistorian.KindSampleCharacter), uint8(teehistorian.KindSampleShot),
	},
	Finish: uint8(teehistorian.KindFinish),
	Work:   work,
}

// reader reads one replay. See codec.Reader.
type reader struct {
	codec.Sequential[teehistorian.Event]

	in      source.Input
	header  *teehistorian.Header
	d       *teehistorian.Decoder
	roster  []byte                               // the roster of the previous game; nil if it is not known or not needed
	facts   *facts                               // nil without a filter that selects facts
	world   *physics.World                       // nil without one that selects what follows from playing the game
	moves   [movesAtOnce]teehistorian.PlayerDiff // memory for addMoves
	inputs  [inputsAtOnce]teehistorian.InputDiff // memory for addInputs
	offsets [inputsAtOnce]int64                  // of inputs
	changes changes                              // columns of inputs

	checkpoints codec.Checkpoints // nil keeps none
	restored    bool              // the search for a checkpoint has ended
	proof       *codec.Proof      // the check of the checkpoint that was found
	nextCheck   int64             // the next offset at which a checkpoint may be wanted

	present int32 // the client at which Present continues

	doubtful bool   // the decoder ran out of bytes, and withholds some
	again    []byte // memory for isUnchanged
}

// maxReread is the largest number of bytes that are read again because the decoder withholds them.
const maxReread = 1 << 20

// mostAgain is how many of them are read at once.
const mostAgain = 16 << 10

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
	if r.isUnchanged() {
		return
	}
	at := r.d.Position()
	src, err := r.in.From(at.Offset)
	if err != nil {
		return
	}
	w := decoders.NewWindow(src, at.Offset, teehistorian.MaxWindow)
	w.Resume(r.d.Sum())
	if d, err := teehistorian.Restore(w, r.header, r.d.Snapshot(nil)); err == nil {
		r.use(d)
	}
}

// isUnchanged reports whether the file still has the bytes that the decoder withholds: then to read them again would find what the decoder
// has found, and take as long each time that a damaged file grows.
func (r *reader) isUnchanged() bool {
	at, sum := r.d.Position().Offset, r.d.Sum()
	end, want := r.d.End()
	for at < end {
		part := min(end-at, mostAgain)
		r.again = slices.Grow(r.again[:0], int(part))[:part]
		if n, _ := r.in.At.ReadAt(r.again, at); int64(n) < part {
			return false
		}
		sum, at = sum.Add(r.again), at+part
	}
	return sum == want
}

// use sets the decoder.
func (r *reader) use(d *teehistorian.Decoder) {
	r.d = d
	r.Use(d)
}

// Leave implements codec.Leaver.
func (r *reader) Leave() { r.d.Leave() }

func open(in source.Input, o codec.Options) (codec.Reader, error) {
	src, err := in.From(0)
	if err != nil {
		return nil, err
	}
	r := &reader{Sequential: codec.NewSequential(o, events), in: in}
	r.Write = r.add
	r.Sample = r.sample
	r.Places = func() int { return r.d.State().Slots() }
	r.use(teehistorian.New(src, teehistorian.Options{}))
	return r, nil
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
	r.Sieve.TicksPerSecond = ticksPerSecond
	addHeader(replay, h, r.Secrets.Reveal.Has(decoders.SecretPasswords))
	if r.Roster != nil && (r.ResolvePlayers || r.State) {
		r.roster = r.Roster(replay)
		r.carry()
	}
	if err := r.play(replay); err != nil {
		return err
	}
	key := replay.GetIdentity()
	if r.facts = newFacts(h, &r.Options); r.facts != nil {
		key = r.facts.key(key)
		r.Fold = r.conclusions()
	}
	if r.world != nil {
		key += ", played"
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
	err := r.Sequential.Seek()
	switch {
	case errors.Is(err, codec.ErrYield):
		r.checkpoint()
	case err == nil && r.Start.Now:
		_ = r.ranOut(decoders.ErrMore)
	case err != nil:
		return r.ranOut(err)
	}
	return err
}

func (r *reader) Fill(b *codec.Batch) error {
	r.AddLeft(b)
	r.reread()
	r.checkpoint()
	if r.Filter.Nothing() {
		return codec.ErrDone
	}
	unmarked := !b.KeepMarks // only the filter looks at an event
	takes, plan := r.Sampling() || r.world != nil, r.plan(b)
	fold := plan.fold
	held := r.Waiting()
	var asked filter.Event
	for left := work; left > 0; left-- {
		if b.Full() {
			return nil
		}
		if err := r.Sieve.Stop(); err != nil {
			return err
		}
		ev := &r.Event
		over := r.d.Tick() > plan.last
		waiting := held || takes && r.Waiting() || fold != nil && fold.Pending()
		// Where moves are examined, no inputs are between them.
		if (plan.moves != single || plan.inputs != single && ev.Kind != teehistorian.KindPlayerDiff) && !over && !waiting {
			if n := r.many(b, &plan, left); n > 0 { // far moves, which facts follow from, are none of many
				left -= n
				continue
			}
		}
		at := r.d.Position()
		var err error
		switch {
		case waiting || takes:
			held = false
			at, ev, err = r.Take()
		case over:
			err = codec.ErrDone
		default:
			r.Before = r.d.Tick()
			if err = r.d.Next(ev); err == nil && fold != nil {
				if fold.Apply(ev); fold.Pending() {
					r.Completed(at)
				}
			}
		}
		if err != nil {
			return r.ranOut(err)
		}
		switch kind := uint8(ev.Kind); {
		case waiting || takes:
			r.Give(b, at, ev)
		case unmarked && r.Filter.Whole(kind):
			before := b.Count
			if r.add(b, at, ev); r.Tables == nil && b.Count > before && !b.Places.AddNear(at.Offset, at.Index) {
				b.Place(at)
			}
		case !r.Filter.Kind(kind):
			r.Skip(1)
		default: // as Give does it, without calls by way of Events
			properties.Set(&asked, kind, ev.AtTick, ev)
			r.Pick(b, at, ev, &asked)
		}
	}
	return codec.ErrYield
}

// sample sets ev to the sample of a place, and returns false if there is none.
func (r *reader) sample(tick int32, place int, ev *teehistorian.Event) bool {
	switch {
	case place >= placeCharacters:
		ev.Warnings = ev.Warnings[:0]
		if !r.samplePlayed(tick, place, ev) {
			return false
		}
	case !r.d.State().Sample(int32(place), ev):
		return false
	}
	ev.AtTick = tick
	if slices.Contains(r.Event.Warnings, teehistorian.WarningAfterDamage) {
		ev.Warnings = append(ev.Warnings, teehistorian.WarningAfterDamage)
	}
	return true
}

// add appends an event to the batch. at is needed only for a table.
func (r *reader) add(b *codec.Batch, at decoders.Position, ev *teehistorian.Event) {
	if r.ResolvePlayers {
		property := properties.Event(uint8(ev.Kind), ev.AtTick, ev)
		r.resolve(ev, &property)
	}
	entry := len(b.Events)
	if r.Tables == nil && ev.AtTick >= 0 && len(ev.Warnings) == 0 && !ev.HasPlayer && r.appendHot(b, ev) {
		b.Count++
		if r.Sieve.Sifts() {
			r.Sift(b, entry, uint8(ev.Kind), ev.AtTick, at)
		}
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
	r.Put(b, at, ev)
}

// Held implements codec.Holder.
func (r *reader) Held() int64 {
	held := r.d.Held() + int64(cap(r.again))
	if r.facts != nil {
		held += r.facts.fold.Held()
	}
	if r.world != nil {
		held += r.world.Held()
	}
	return held
}
