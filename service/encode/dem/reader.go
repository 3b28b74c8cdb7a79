package dem

import (
	"errors"
	"io"
	"math"
	"slices"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/dem"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/encode"
	"github.com/replayd/replayd/service/encode/wire"
	"github.com/replayd/replayd/service/filter"
)

// work and workBytes are how much one call decodes at most: some milliseconds.
const (
	work      = 16 << 10 // events
	workBytes = 1 << 20  // of the file, without an event
)

// reader reads one replay. See encode.Reader.
type reader struct {
	encode.Options

	in      encode.Input
	d       *dem.Decoder
	ev      dem.Event
	strings stringTable
	classes map[string]*classFilter
	byID    []*classFilter // by the decoder's number of the class's name
	maxTick int32
	skipped uint64 // events that the filter did not match

	// held says that ev is decoded but not delivered yet.
	held bool
	// present is the slot of the next entity whose state is to be told to somebody who starts now. They are told by Fill
	// and not by encode.Presenter, because they need more than one batch.
	present int
	// open says that the present batch has names of this reader.
	open bool
}

func open(in encode.Input, o encode.Options, schemas *dem.Schemas) (encode.Reader, error) {
	src, err := in.From(0)
	if err != nil {
		return nil, err
	}
	r := &reader{
		Options: o, in: in, classes: map[string]*classFilter{}, maxTick: o.Filter.MaxTick(), present: dem.MaxEntities,
	}
	opts := dem.Options{
		From: o.Start.Position, FromTick: o.Start.Tick, At: in.At, Schemas: schemas, Yield: workBytes,
	}
	if o.Start.Now {
		opts.From = decoders.Position{Offset: math.MaxInt64}
	}
	if o.Filter != nil {
		// What has no class is not let through by conditions on classes, and need not be decoded for them.
		classless := o.Filter.Class("")
		opts.Kinds = func(k dem.Kind) bool {
			return o.Filter.Kind(uint8(k)) && (slices.Contains(entityKinds[:], k) || classless.Kind(uint8(k)))
		}
		opts.Classes = func(class string) bool { return r.class(class).wanted }
		if r.narrows() {
			opts.Fields = func(class, field string) bool { return r.class(class).wants(field) }
		}
	}
	r.d = dem.New(src, opts)
	return r, nil
}

func (r *reader) Header(replay *replaydv1.Replay) error {
	return tellHeader(r.d, r.in.At, replay)
}

// Seek decodes up to where delivery starts: entities and names are changes of earlier ones. From a tick on it begins at
// the last key frame before.
func (r *reader) Seek() error {
	if r.held || r.Start == (encode.Start{}) || r.Filter.Nothing() {
		return nil
	}
	switch err := r.next(); {
	case err == nil:
		r.held = true
		return nil
	case errors.Is(err, encode.ErrYield):
		if r.d.Tick() > r.maxTick {
			return nil // Fill will say that there is nothing more
		}
		return err
	case errors.Is(err, decoders.ErrMore) && r.Start.Now:
		r.d.StartHere()
		r.Start = encode.Start{}
		r.present = 0
		return nil
	case errors.Is(err, decoders.ErrMore), errors.Is(err, io.EOF):
		if r.arrived() {
			return nil
		}
		return err
	default:
		return err
	}
}

// arrived tells whether delivery starts at the end of what is there.
func (r *reader) arrived() bool {
	if r.Start.Now || r.Start.Tick != nil {
		return r.Start.Tick != nil && r.d.Tick() >= *r.Start.Tick
	}
	return !r.d.Position().Before(r.Start.Position)
}

func (r *reader) next() error {
	err := r.d.Next(&r.ev)
	if errors.Is(err, dem.ErrYield) {
		return encode.ErrYield
	}
	return err
}

func (r *reader) Fill(b *encode.Batch) error {
	if r.Filter.Nothing() {
		return io.EOF
	}
	for range work {
		switch {
		case b.Full():
			return nil
		case r.present < dem.MaxEntities:
			r.present++
			if !r.d.Present(r.present-1, &r.ev) {
				continue
			}
		case r.held:
			r.held = false
		case r.d.Tick() > r.maxTick:
			return io.EOF
		default:
			if err := r.next(); err != nil {
				if errors.Is(err, encode.ErrYield) && r.d.Tick() > r.maxTick {
					return io.EOF
				}
				return err
			}
		}
		if r.Filter == nil && !b.KeepMarks {
			r.add(b)
			continue
		}
		property := properties(&r.ev)
		if r.Filter != nil && !r.match(&property) {
			r.skipped++
			continue
		}
		r.add(b)
		if b.KeepMarks {
			b.Marks = append(b.Marks, encode.Mark{Event: property, End: len(b.Events), Next: r.d.Position()})
		}
	}
	return encode.ErrYield
}

// add appends the event to the batch.
func (r *reader) add(b *encode.Batch) {
	if b.Count == 0 || !r.open {
		r.strings.begin()
		r.open = true
	}
	if !r.RevealSecrets {
		redact(&r.ev)
	}
	start := len(b.Events)
	if r.ev.Kind == dem.KindEntityUpdated && r.ev.AtTick >= 0 {
		appendUpdate(b, &r.strings, r.d, &r.ev)
	} else {
		r.strings.refer(b, r.d, &r.ev)
		b.Events = append(b.Events, encode.EventListField, 0)
		b.Events = wire.Close(AppendEvent(b.Events, &r.ev), start+2)
	}
	b.Count++
	if len(b.Events)-start > encode.MaxEventBytes {
		// No game has such entities.
		r.ev.Fault = dem.Fault{Kind: dem.FaultKindLimit, Detail: []byte("an event of kind " + r.ev.Kind.String() + " is too large to be sent"), Offset: r.d.EventPosition().Offset}
		r.ev.Kind = dem.KindFault
		b.Events = append(b.Events[:start], encode.EventListField, 0)
		b.Events = wire.Close(AppendEvent(b.Events, &r.ev), start+2)
	}
}

// match tells whether the filter lets the event through, and narrows an event of an entity to the fields that it lets
// through.
func (r *reader) match(p *filter.Event) bool {
	var class uint32
	var fields *[]dem.FieldValue
	switch ev := &r.ev; ev.Kind {
	case dem.KindEntityUpdated:
		class, fields = ev.EntityUpdated.Class, &ev.EntityUpdated.Fields
	case dem.KindEntityCreated:
		class, fields = ev.EntityCreated.Class, &ev.EntityCreated.Fields
	case dem.KindEntityEntered:
		class, fields = ev.EntityEntered.Class, &ev.EntityEntered.Fields
	case dem.KindEntityLeft:
		class = ev.EntityLeft.Class
	case dem.KindEntityDeleted:
		class = ev.EntityDeleted.Class
	default:
		return r.Filter.Match(p)
	}
	c := r.classByID(class)
	wants := c.fields[r.ev.Kind]
	if wants == nil {
		return c.filter.Match(p)
	}
	if fields == nil {
		return false // of its fields none is left
	}
	kept := (*fields)[:0]
	for i := range *fields {
		if f := (*fields)[i]; wants.ask(r.d, f.Field) {
			kept = append(kept, f)
		}
	}
	*fields = kept
	return len(kept) > 0 && c.without.Match(p)
}

func (r *reader) Close() error { return r.d.Close() }

func (r *reader) Position() decoders.Position {
	switch {
	case !r.held:
		return r.d.Position()
	case r.Start.Tick == nil && !r.Start.Now:
		// Behind a record's last event and before the next record's first one there are several places that mean the
		// same. Whoever starts at one of them is at that one.
		return r.Start.Position
	}
	return r.d.EventPosition()
}

func (r *reader) Tick() int32 { return r.d.Tick() }

func (r *reader) Filtered() uint64 { return r.skipped }

func (r *reader) Summarize(end *replaydv1.StreamEnd) { end.Summary = summary(r.d.Stats()) }
