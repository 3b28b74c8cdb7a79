package datafile

import (
	"context"
	"io"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/datafile"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/protoappend"
	"github.com/replayd/replayd/replay/source"
)

// work is the largest number of decoder steps in one call. They take some milliseconds.
const work = 64

// reader reads one map. See codec.Reader.
type reader struct {
	codec.Options

	in      source.Input
	file    *datafile.File
	d       *datafile.Decoder
	ev      datafile.Event
	sieve   codec.Sieve
	skipped uint64 // events that the filter did not match
	nothing bool   // the requested start is after the last event
}

func open(in source.Input, o codec.Options) (codec.Reader, error) {
	return &reader{Options: o, in: in, sieve: codec.NewSieve(o.Where)}, nil
}

func (r *reader) Header(replay *replaydv1.Replay) error {
	f, err := datafile.Open(r.in.At, r.in.Size, datafile.DefaultLimits)
	if err != nil {
		return err
	}
	if err := addHeader(context.Background(), f, r.in, replay); err != nil {
		return err
	}
	var opts datafile.Options
	if r.Filter != nil {
		opts.Want = r.match
	}
	r.file, r.d = f, f.Events(opts)
	return nil
}

// match applies the filter before the event is decoded, so that dropped data is not inflated.
func (r *reader) match(kind datafile.Kind, at datafile.Place) bool {
	if r.Filter.Kind(uint8(kind)) {
		if e := properties.Event(uint8(kind), 0, &at); r.Filter.Match(&e) {
			return true
		}
	}
	if !r.d.Checking() {
		r.skipped++
	}
	return false
}

func (r *reader) Seek() error {
	to := r.Start.Position
	end := r.d.End()
	switch {
	case r.Start.Now, r.Start.Tick != nil && *r.Start.Tick > 0: // all events have tick 0
		to, r.nothing = end, true
	case r.Start.Tick != nil:
		to = decoders.Position{}
	case to.Offset > end.Offset:
		return io.EOF
	}
	return r.d.Seek(to)
}

func (r *reader) Fill(b *codec.Batch) error {
	switch {
	case r.Filter.Nothing():
		return codec.ErrDone
	case r.nothing:
		return io.EOF
	}
	for range work {
		if b.Full() {
			return nil
		}
		if err := r.sieve.Stop(); err != nil {
			return err
		}
		at := r.d.Position()
		ok, err := r.d.Step(&r.ev)
		if err != nil {
			return err
		}
		if !ok || !r.passes(at) {
			continue
		}
		b.Count++
		if r.Tables != nil {
			AddRow(r.Tables, at, &r.ev)
		} else {
			b.Events = append(b.Events, codec.EventListField, 0)
			b.Events = protoappend.Close(AppendEvent(b.Events, &r.ev), len(b.Events))
			b.Place(at)
		}
		if b.KeepMarks {
			place := r.d.Place()
			e := properties.Event(uint8(r.ev.Kind), 0, &place)
			b.Mark(&e, at, r)
		}
	}
	return codec.ErrYield
}

// passes reports whether the event passes the sieve, and counts it otherwise.
func (r *reader) passes(at decoders.Position) bool {
	if !r.sieve.Sifts() {
		return true
	}
	message := AppendEvent(r.sieve.Memory(), &r.ev)
	r.sieve.Keep(message)
	if r.sieve.PassesMessage(uint8(r.ev.Kind), 0, at, message) {
		return true
	}
	r.skipped++
	return false
}

// Held implements codec.Holder.
func (r *reader) Held() int64 {
	if r.file == nil {
		return 0
	}
	return r.file.Held()
}

// Close returns nil. Opening a file checks that it is whole, and Fill reports damage in it.
func (r *reader) Close() error { return nil }

func (r *reader) Position() decoders.Position {
	if r.d == nil {
		return r.Start.Position
	}
	return r.d.Position()
}

// Sum returns 0: a map's identity covers all of it.
func (r *reader) Sum() decoders.Sum { return 0 }

// Tick returns 0: a map has no clock.
func (r *reader) Tick() int32 { return 0 }

func (r *reader) Filtered() uint64 { return r.skipped }

// Summarize adds nothing, because the format has no summary.
func (r *reader) Summarize(*replaydv1.StreamEnd) {}
