package datafile

import (
	"io"

	"github.com/replayd/replayd/decoders"
)

// Place is the part of the map that an event describes. Each index is -1 if the event has none.
type Place struct {
	Group        int32
	Layer        int32 // index over all groups
	LayerInGroup int32
}

// Options configure a Decoder. With the zero value, it delivers all events.
type Options struct {
	// Want reports whether to deliver the events of a kind at a place. Nil delivers all. Positions do not depend on it.
	// Data that is not delivered is not inflated, and so not checked.
	Want func(kind Kind, at Place) bool
}

var _ decoders.Decoder[Event] = (*Decoder)(nil)

// Decoder decodes a map as events, in the order of the file: the header, the table of types, the items, each followed
// by its data, and then the loose blobs, which belong to no item.
//
// [decoders.Position] refers to records. A record is the header, an entry of the table of types, an item with its data,
// or all loose blobs together. Its Offset is where it starts in the file; the loose blobs' record starts where all
// blobs start. Its Index counts the places of events in the record. A place counts even if the filter drops its event,
// or it turns out to be empty, so that positions do not depend on the filter.
type Decoder struct {
	file   *File
	filter func(kind Kind, at Place) bool // Options.Want
	err    error

	damage   error             // the error of the first blob that could not be read, returned at the end
	begun    decoders.Position // the position at which decoding began
	checking bool              // all events were delivered; data before begun is now checked for damage
	later    error             // the first damage after begun

	record int      // the current record: 0 is the header, then types, items, and one for the loose blobs
	slot   int64    // the next place in the record
	item   layout   // the layout of the current record, if it is an item
	plan   segments // the places of the current record
	ready  bool     // item and plan are valid for the current record

	in        inflater
	blobOpen  bool
	loose     int   // in the last record: the next blob,
	looseSlot int64 // and its first place
	tiles     tileReader
	summary   summary

	bounds     bounds   // of the current layer,
	bounded    bool     // which are known from the pass that delivers the tiles
	second     *derived // nil before the first derived event
	secondOpen bool     // it reads the current record

	// Buffers that events refer to.
	texts    []byte
	warnings [8]Warning
	extra    []int32
	arena
}

// Events returns a decoder at the beginning of the file. A file may have several decoders at once.
func (f *File) Events(opts Options) *Decoder {
	return &Decoder{file: f, filter: opts.Want, in: inflater{file: f}}
}

// Tick returns 0, because maps have no time.
func (d *Decoder) Tick() int32 { return 0 }

// Next decodes the next event into ev. It returns io.EOF after the last one. Files do not grow, so it never returns
// decoders.ErrMore. After any other error it returns that error again.
//
// If a blob cannot be read, or has a wrong checksum, its events end where the damage is detected. The last of them has
// WarningDamagedData. Decoding continues behind the blob. After the last event, Next then returns the *decoders.Error
// of the first damaged blob instead of io.EOF. It considers only blobs that the filter delivers. It also considers
// blobs before the position at which decoding began, so the final error does not depend on that position.
func (d *Decoder) Next(ev *Event) error {
	for {
		if ok, err := d.Step(ev); ok || err != nil {
			return err
		}
	}
}

// Step does a bounded amount of work, less than a megabyte of data, and reports whether it produced an event. It serves
// callers that must check for other things from time to time. Between two events that the filter delivers there may be
// many megabytes of data. Its errors are those of Next.
func (d *Decoder) Step(ev *Event) (ok bool, err error) {
	if d.err != nil {
		return false, d.err
	}
	if !d.ready {
		d.prepare()
	}
	if d.checking && !d.place().Before(d.begun) {
		d.err = d.finalError()
		return false, d.err
	}
	if d.slot >= d.plan.total() {
		d.err = d.nextRecord()
		return false, d.err
	}
	ev.AtTick, ev.Kind, ev.Warnings = 0, KindNone, d.warnings[:0]
	d.err = d.produce(ev)
	return d.err == nil && ev.Kind != KindNone && !d.checking, d.err
}

// Close ends decoding. An open file is complete, so Close returns nil unless Next failed.
func (d *Decoder) Close() error {
	if d.err == io.EOF { //nolint:errorlint // set here, never wrapped
		return nil
	}
	return d.err
}

// finalError returns the error that ends decoding, or io.EOF if there was no damage.
func (d *Decoder) finalError() error {
	switch {
	case d.damage != nil:
		return d.damage
	case d.later != nil:
		return d.later
	}
	return io.EOF
}

// nextRecord moves to the next record. From the last record it moves to the first, to check the data before begun.
func (d *Decoder) nextRecord() error {
	switch {
	case d.record < d.records()-1:
		d.enter(d.record + 1)
	case d.checking || d.begun == decoders.Position{}:
		return d.finalError()
	default:
		d.checking, d.damage, d.later = true, nil, d.damage
		d.enter(0)
	}
	return nil
}

func (d *Decoder) enter(record int) {
	d.record, d.slot, d.ready, d.blobOpen = record, 0, false, false
	d.loose, d.looseSlot = 0, 0
}
