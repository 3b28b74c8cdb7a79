package datafile

import (
	"io"

	"github.com/replayd/replayd/decoders"
)

// Place is which part of the map an event is about: indices, -1 where the event names none.
type Place struct {
	Group        int32
	Layer        int32 // over all groups
	LayerInGroup int32
}

// Options say which events a decoder delivers. The zero value delivers all.
type Options struct {
	// Want reports whether events of a kind that are about a place are wanted; nil means that all are. Positions are the
	// same, whatever is wanted. Data that is not wanted is not inflated, and so not checked either.
	Want func(kind Kind, at Place) bool
}

var _ decoders.Decoder[Event] = (*Decoder)(nil)

// Decoder streams a map as events, in the order of the file: the header; the table of types; the items, each followed by
// its data; at last the blobs that belong to no item.
//
// A record, to which [decoders.Position] refers, is the header, an entry of the table of types, an item with its data,
// or all blobs without an item together. Its Offset is where it starts in the file (for the blobs, where all blobs
// start). Its Index counts the places of events in the record, also of those that were not wanted or turn out to be
// empty, so that positions do not depend on the filter.
type Decoder struct {
	file   *File
	filter func(kind Kind, at Place) bool // Options.Want
	err    error

	damage   error             // the error of the first blob that could not be read, returned at the end
	begun    decoders.Position // where decoding began
	checking bool              // all events were delivered: what comes before begun is only looked at for damage
	later    error             // the damage that was found behind begun

	record int      // the current record: 0 header, then types, items, and the loose blobs as one
	slot   int64    // the next place in the record
	item   layout   // of the current record, when it is an item
	plan   segments // the places of the current record
	ready  bool     // item and plan are those of the current record

	in        inflater
	blobOpen  bool
	loose     int   // of the last record: the blob whose turn it is,
	looseSlot int64 // and the place where it begins
	tiles     tileReader
	summary   summary

	// Buffers that events point into.
	chunk    []byte
	texts    []byte
	warnings [8]Warning
	extra    []int32
	arena
}

// Events returns a decoder at the beginning of the file. A file may have many at once.
func (f *File) Events(opts Options) *Decoder {
	return &Decoder{file: f, filter: opts.Want, in: inflater{file: f}, chunk: make([]byte, ChunkSize)}
}

// Tick returns 0: nothing in a map has a time.
func (d *Decoder) Tick() int32 { return 0 }

// Next decodes the next event into ev. It returns io.EOF after the last one. A file is there as a whole, so there is no
// decoders.ErrMore. After any other error it returns that error again.
//
// Of a blob that cannot be read, or whose checksum is wrong, the events end where it is noticed, the last of them with
// WarningDamagedData, and decoding goes on behind it. After the last event Next returns, instead of io.EOF, the
// *decoders.Error of the first such blob that was wanted: also of one that comes before the position where decoding began,
// so that it ends in the same way wherever it began.
func (d *Decoder) Next(ev *Event) error {
	for {
		if ok, err := d.Step(ev); ok || err != nil {
			return err
		}
	}
}

// Step does a bounded amount of work, less than a megabyte of data, and reports whether that made an event. It is for
// callers that have to look at something else from time to time, for there may be many megabytes of data between two
// events that are wanted. The errors are those of Next.
func (d *Decoder) Step(ev *Event) (ok bool, err error) {
	if d.err != nil {
		return false, d.err
	}
	if !d.ready {
		d.prepare()
	}
	if d.checking && !d.place().Before(d.begun) {
		d.err = d.verdict()
		return false, d.err
	}
	if d.slot >= d.plan.total() {
		d.err = d.leave()
		return false, d.err
	}
	ev.AtTick, ev.Kind, ev.Warnings = 0, KindNone, d.warnings[:0]
	d.err = d.produce(ev)
	return d.err == nil && ev.Kind != KindNone && !d.checking, d.err
}

// Close ends the decoding. A file that could be opened is complete, so it returns nil unless Next failed.
func (d *Decoder) Close() error {
	if d.err == io.EOF { //nolint:errorlint // our own, never wrapped
		return nil
	}
	return d.err
}

// verdict is what there is to say when everything was looked at.
func (d *Decoder) verdict() error {
	switch {
	case d.damage != nil:
		return d.damage
	case d.later != nil:
		return d.later
	}
	return io.EOF
}

// leave goes on to the next record, or from the last one to what was left out before the first.
func (d *Decoder) leave() error {
	switch {
	case d.record < d.records()-1:
		d.enter(d.record + 1)
	case d.checking || d.begun == decoders.Position{}:
		return d.verdict()
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
