package dem

import (
	"errors"
	"io"
	"slices"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/dem"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/protoappend"
	"github.com/replayd/replayd/replay/filter"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/replay/table"
)

// work and workBytes limit one call's decoding to about a millisecond, because others may wait for their turn.
const (
	work      = 2 << 10   // events
	workBytes = 128 << 10 // bytes of the file without an event
)

// reader reads one replay, or a section of one.
type reader struct {
	codec.Options

	in       source.Input
	types    *firstTypes // nil when no entities are requested
	opts     dem.Options
	d        *dem.Decoder
	ev       dem.Event
	strings  stringTable
	entities entityFilter // with a filter
	maxTick  int32
	skipped  uint64 // events that the filter did not match
	samples  samples
	sieve    codec.Sieve
	wide     *wide       // nil without a table with a column for each field
	events   *eventTable // nil without a table with a column for each key of game events

	state   entityFilter // the filter for the state
	present int          // the entity slot at which Present continues

	keeper   keeper
	section  section
	restored bool         // the search for a checkpoint has ended
	proof    *codec.Proof // the check of the checkpoint that was found
	scout    *dem.Decoder // on its way to the start of delivery; nil if there is none
	scouted  bool         // it reached the start of delivery

	// open reports whether the present batch refers to names of this reader.
	open bool
}

func open(in source.Input, o codec.Options, schemas *dem.Schemas, types *firstTypes) (codec.Reader, error) {
	r := newReader(in, o, schemas)
	if slices.ContainsFunc(entityKinds, func(k uint8) bool { return o.Filter.Kind(k) }) {
		r.types = types
	}
	var err error
	if r.d, err = r.decoder(r.opts, nil); err != nil {
		return nil, err
	}
	return &frontReader{reader: r}, nil
}

// newReader returns a reader without a decoder.
func newReader(in source.Input, o codec.Options, schemas *dem.Schemas) *reader {
	r := &reader{
		Options: o, in: in, entities: entityFilter{Filter: o.Filter}, maxTick: o.Filter.MaxTick(),
		samples: newSamples(&o), sieve: codec.NewSieve(o.Where), state: entityFilter{Filter: o.StateFilter}, opts: dem.Options{Schemas: schemas, Yield: workBytes},
	}
	r.sieve.Names = func(id uint32) string { return r.d.Name(id) } // a snapshot may replace the decoder
	if o.Tables != nil {
		r.wide, r.events = newWide(o.Tables.Layout), newEventTable(o.Tables.Layout)
	}
	opts := &r.opts
	if o.Filter != nil {
		opts.Kinds = func(k dem.Kind) bool {
			return o.Filter.Kind(uint8(k)) ||
				k == dem.KindEntityEntered && (o.Filter.Kind(uint8(dem.KindSampleEntity)) || o.State && o.StateFilter.Kind(uint8(k)))
		}
		if o.Filter.HasTypes() {
			opts.Types = func(k dem.Kind, number int32, name []byte) bool {
				return o.Filter.Type(uint8(k), typeName(k, number, name))
			}
		}
		opts.UnknownFields = o.Filter.NamesType(uint8(dem.KindFault), typeName(dem.KindFault, int32(dem.FaultKindUnknownField), nil))
		opts.Classes = r.wantsClass
		if o.Filter.Narrows() {
			opts.Fields = r.wantsField
		}
	}
	return r
}

func (r *reader) Header(replay *replaydv1.Replay) error {
	if err := tellHeader(r.d, r.in.At, replay); err != nil {
		return err
	}
	if r.Tables != nil {
		r.Tables.Refs = func(id uint32) string { return r.d.Name(id) } // a snapshot may replace the decoder
	}
	if r.in.At == nil {
		return nil
	}
	if r.Checkpoints != nil {
		r.keeper.checkpoints = r.Checkpoints(replay.GetIdentity())
	}
	if r.types == nil {
		return nil
	}
	replay.GetDem().UnknownTypes = r.types.of(replay.GetIdentity(), r.in.At)
	return nil
}

// Seek decodes up to the start of delivery, from the last checkpoint before it, because entities and names are encoded as changes
// of earlier ones.
func (r *reader) Seek() error {
	if !r.restored {
		if err := r.restore(); err != nil {
			return err
		}
		r.restored = true
	}
	if err := r.seek(r.d); err != nil {
		return err
	}
	if r.Start.Tick != nil { // samples of earlier ticks, which the demo skips before the next record, are behind the start
		r.samples.ready = true
		r.samples.pause(r.d)
	}
	return nil
}

// seek moves a decoder to the start of delivery.
func (r *reader) seek(d *dem.Decoder) error {
	var err error
	switch {
	case r.Start.Now:
		if err = d.SeekEnd(); errors.Is(err, io.EOF) {
			err = nil
		}
	case r.Start.Tick != nil:
		err = d.SeekTick(*r.Start.Tick)
	default:
		to := r.Start.Position
		to.Index = max(to.Index, 0) // samples are before the record
		err = d.Seek(to)
	}
	return yield(err)
}

// yield converts an error of the decoder to one of package codec.
func yield(err error) error {
	if errors.Is(err, dem.ErrYield) {
		return codec.ErrYield
	}
	return err
}

// fill fills a batch. It returns errSection where the reader's section ends.
func (r *reader) fill(b *codec.Batch) error {
	if r.Filter.Nothing() {
		return codec.ErrDone
	}
	if r.section.over {
		return errSection
	}
	r.section.cuts, r.samples.ready = r.Tables == nil, true
	for range work {
		if err := r.sieve.Stop(); err != nil {
			return err
		}
		var at decoders.Position
		switch {
		case b.Full():
			return nil
		case r.samples.Pending():
			r.sample(b)
			continue
		case r.d.Tick() > r.maxTick:
			return codec.ErrDone
		default:
			if err := r.d.Next(&r.ev); err != nil {
				switch {
				case r.samples.Pending():
					continue
				case errors.Is(err, dem.ErrYield) && r.d.Tick() > r.maxTick:
					return codec.ErrDone
				case !r.section.reached():
					return yield(err)
				case b.Count > 0:
					return nil
				case r.section.over:
					return errSection
				}
				continue
			}
			at = r.d.EventPosition()
		}
		if r.Filter.Whole(uint8(r.ev.Kind)) && !b.KeepMarks {
			if r.add(b, at) {
				b.Place(at)
			}
			continue
		}
		r.pick(b, at)
	}
	return codec.ErrYield
}

// pick appends the event to the batch if the filter matches it and it passes the sieve, and reports whether it was. It counts an event that
// was not.
func (r *reader) pick(b *codec.Batch, at decoders.Position) bool {
	var e filter.Event
	properties.Set(&e, uint8(r.ev.Kind), r.ev.AtTick, &r.ev)
	if !r.match(&r.entities, &e) {
		r.skipped++
		return false
	}
	if !r.add(b, at) {
		return false
	}
	b.Place(at)
	e.Kind = uint8(r.ev.Kind) // of an event that was too large, a fault is delivered
	b.Mark(&e, at, r)
	return true
}

// wantsClass and wantsField report whether a class or a field has to be decoded, for delivery or for a state.
func (r *reader) wantsClass(name string) bool {
	return r.entities.wantsClass(name) || r.State && (r.state.Filter == nil || r.state.wantsClass(name))
}

func (r *reader) wantsField(class, field string) bool {
	return r.entities.wantsField(class, field) || r.State && (r.state.Filter == nil || r.state.wantsField(class, field))
}

// Present implements codec.Presenter. It appends an event of each entity in view.
func (r *reader) Present(b *codec.Batch) error {
	for range work {
		switch {
		case r.present == dem.MaxEntities:
			r.present = 0
			return io.EOF
		case b.Full():
			return nil
		}
		r.present++
		if !r.d.Present(r.present-1, &r.ev) {
			continue
		}
		if e := properties.Event(uint8(r.ev.Kind), r.ev.AtTick, &r.ev); r.match(&r.state, &e) {
			r.add(b, table.NoPosition)
		}
	}
	return codec.ErrYield
}

// add appends the event to the batch if it passes the sieve, and reports whether it does. It counts an event that does not. at is needed only
// for a table and for the sieve.
func (r *reader) add(b *codec.Batch, at decoders.Position) bool {
	redact(&r.ev, r.Secrets.Reveal)
	if r.sieve.Sifts() && at.Offset >= 0 && !r.passes(at) {
		r.skipped++
		return false
	}
	if r.Tables != nil {
		r.addRow(b, at)
		return true
	}
	if b.Count == 0 || !r.open {
		r.strings.begin()
		r.open = true
	}
	start := len(b.Events)
	if r.ev.Kind == dem.KindEntityUpdated && r.ev.AtTick >= 0 {
		appendUpdate(b, &r.strings, r.d, &r.ev)
	} else {
		r.strings.refer(b, r.d, &r.ev)
		b.Events = append(b.Events, codec.EventListField, 0)
		b.Events = protoappend.Close(AppendEvent(b.Events, &r.ev), start+2)
	}
	b.Count++
	if len(b.Events)-start > codec.MaxEventBytes {
		r.tooLarge()
		b.Events = append(b.Events[:start], codec.EventListField, 0)
		b.Events = protoappend.Close(AppendEvent(b.Events, &r.ev), start+2)
	}
	return true
}

// passes reports whether the event, whose names have the decoder's numbers, passes the sieve.
func (r *reader) passes(at decoders.Position) bool {
	r.sieve.TicksPerSecond = r.d.TicksPerSecond()
	message := AppendEvent(r.sieve.Memory(), &r.ev)
	r.sieve.Keep(message)
	return r.sieve.PassesMessage(uint8(r.ev.Kind), r.ev.AtTick, at, message)
}

// addRow appends the event to its table.
func (r *reader) addRow(b *codec.Batch, at decoders.Position) {
	r.Tables.TicksPerSecond = r.d.TicksPerSecond()
	switch {
	case r.wide != nil && r.ev.Kind == dem.KindSampleEntity:
		r.wide.add(r.Tables, at, r.ev.AtTick, &r.ev.SampleEntity, r.d.Name)
	case r.events != nil && r.ev.Kind == dem.KindGameEvent:
		r.events.add(r.Tables, at, r.ev.AtTick, &r.ev.GameEvent)
	default:
		AddRow(r.Tables, at, &r.ev)
	}
	b.Count++
	if r.Tables.LastSize() > table.MaxRowBytes {
		r.Tables.Undo()
		r.tooLarge()
		AddRow(r.Tables, at, &r.ev)
	}
}

// tooLarge replaces an event that is too large for a response by a fault. No game has such entities.
func (r *reader) tooLarge() {
	r.ev.Fault = dem.Fault{Kind: dem.FaultKindLimit, Detail: []byte("an event of kind " + r.ev.Kind.String() + " is too large to be sent"), Offset: r.d.EventPosition().Offset}
	r.ev.Kind = dem.KindFault
}

// match reports whether the event matches a filter. It removes the fields that do not match from an event of an entity.
func (r *reader) match(f *entityFilter, e *filter.Event) bool {
	if f.Filter == nil {
		return true
	}
	var class uint32
	var fields *[]dem.FieldValue
	switch ev := &r.ev; ev.Kind {
	case dem.KindEntityUpdated:
		class, fields = ev.EntityUpdated.Class, &ev.EntityUpdated.Fields
	case dem.KindEntityCreated:
		class, fields = ev.EntityCreated.Class, &ev.EntityCreated.Fields
	case dem.KindEntityEntered:
		class, fields = ev.EntityEntered.Class, &ev.EntityEntered.Fields
	case dem.KindSampleEntity:
		class, fields = ev.SampleEntity.Class, &ev.SampleEntity.Fields
	case dem.KindEntityLeft:
		class = ev.EntityLeft.Class
	case dem.KindEntityDeleted:
		class = ev.EntityDeleted.Class
	default:
		if typ, ok := properties.Type(uint8(ev.Kind), ev); ok {
			return f.MatchType(e, typ)
		}
		return f.Match(e)
	}
	n := f.class(class, r.d.Name).Match(e)
	switch {
	case n.None():
		return false
	case fields == nil:
		return true
	}
	removed := r.d.Narrowed()
	if !n.All() {
		kept := (*fields)[:0]
		for i := range *fields {
			if v := &(*fields)[i]; n.Keeps(*f.field(v.Field, r.d.Name)) {
				kept = append(kept, *v)
			}
		}
		removed = removed || len(kept) < len(*fields)
		*fields = kept
	}
	return len(*fields) > 0 || n.Empty(removed)
}

// held returns how much memory the reader holds, in bytes.
func (r *reader) held() int64 {
	if r.scout != nil {
		return r.d.Held() + r.scout.Held()
	}
	return r.d.Held()
}

// Position and Sum belong to the reader itself, whatever others read ahead.
func (r *reader) Position() decoders.Position { return r.samples.position(r.d.Position()) }
func (r *reader) Sum() decoders.Sum           { return r.d.Sum() }
