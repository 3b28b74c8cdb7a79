package datafile

import (
	"errors"
	"io"
	"sort"

	"github.com/replayd/replayd/decoders"
)

// Filter says whether the events of a kind are wanted. Group and layer are the indices that the events carry, -1 where
// they have none. Data that nobody wants is not inflated, and so not checked either.
type Filter func(kind Kind, group, layer int32) bool

// Decoder streams a map as events, in the order of the file: the header; the table of types; the items, each followed by
// its data; at last the blobs that belong to no item.
//
// A record, to which [decoders.Position] refers, is the header, an entry of the table of types, an item with its data,
// or all blobs without an item together. Its Offset is where it starts in the file (for the blobs, where all blobs
// start). Its Index counts the places of events in the record, also of those that were not wanted or turn out to be
// empty, so that positions do not depend on the filter.
type Decoder struct {
	file   *File
	filter Filter
	err    error

	damage   error             // the first blob that could not be read, as it is told at the end
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

// segments are the places for events of a record: first the record's own event or its pieces, then pieces of its data,
// what follows the data, and the rest of the blob.
type segments struct {
	own, body, tail, rest int64
}

func (s segments) total() int64 { return s.own + s.body + s.tail + s.rest }

// Decoder returns a decoder at the beginning of the file. A file may have many at once.
func (f *File) Decoder() *Decoder {
	return &Decoder{file: f, in: inflater{file: f}, chunk: make([]byte, ChunkSize)}
}

// Filter makes the decoder leave out events that are not wanted. Nil, as at the beginning, wants all.
func (d *Decoder) Filter(filter Filter) { d.filter = filter }

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

// Step does a bounded amount of work, less than a megabyte of data, and tells whether that made an event. It is for
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

// Checking tells that all events were delivered, and that what comes before the position where decoding began is being
// looked at, as far as the filter wants it. See Next.
func (d *Decoder) Checking() bool { return d.checking }

// End is the position after the last event.
func (d *Decoder) End() decoders.Position {
	return decoders.Position{Offset: d.file.dataAt, Index: int32(d.file.looseChunks())}
}

// Position says where the next event starts.
func (d *Decoder) Position() decoders.Position {
	if d.checking {
		return d.End()
	}
	return d.place()
}

// place is where the next event starts, delivered or not.
func (d *Decoder) place() decoders.Position {
	if d.ready && d.slot >= d.plan.total() && d.record < d.records()-1 {
		return decoders.Position{Offset: d.offset(d.record + 1)}
	}
	return decoders.Position{Offset: d.offset(d.record), Index: int32(d.slot)}
}

// Seek continues at a position that a decoder of the same file returned. The data of that record is inflated again up to
// there.
func (d *Decoder) Seek(p decoders.Position) error {
	n := d.records()
	record := sort.Search(n, func(i int) bool { return d.offset(i) >= p.Offset })
	if record == n || d.offset(record) != p.Offset || p.Index < 0 {
		return failure(p.Offset, "position", decoders.ErrCorrupt, "no record starts there")
	}
	d.err, d.damage, d.later, d.begun, d.checking = nil, nil, nil, p, false
	d.enter(record)
	d.prepare()
	if int64(p.Index) > d.plan.total() {
		return failure(p.Offset, "position", decoders.ErrCorrupt, "the record has %d places, not %d",
			d.plan.total(), p.Index)
	}
	d.slot = int64(p.Index)
	return nil
}

// Close ends the decoding. A file that could be opened is complete, so it returns nil unless Next failed.
func (d *Decoder) Close() error {
	if d.err == io.EOF { //nolint:errorlint // our own, never wrapped
		return nil
	}
	return d.err
}

// records is how many records there are.
func (d *Decoder) records() int { return 1 + d.file.NumTypes() + d.file.NumItems() + 1 }

// offset is where a record starts.
func (d *Decoder) offset(record int) int64 {
	f := d.file
	switch {
	case record == 0:
		return 0
	case record <= f.NumTypes():
		return f.typeAt(record - 1)
	case record <= f.NumTypes()+f.NumItems():
		return f.itemAt(record - 1 - f.NumTypes())
	}
	return f.dataAt
}

// itemIndex is the item that is the current record.
func (d *Decoder) itemIndex() int { return d.record - 1 - d.file.NumTypes() }

func (d *Decoder) enter(record int) {
	d.record, d.slot, d.ready, d.blobOpen = record, 0, false, false
	d.loose, d.looseSlot = 0, 0
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

// damaged takes note of an error of a blob, which is no reason not to go on behind it, and returns those that are.
func (d *Decoder) damaged(err error) error {
	if !errors.Is(err, decoders.ErrCorrupt) {
		return err
	}
	if d.damage == nil {
		d.damage = err
	}
	return nil
}

// abandon goes on behind the places of the current blob, for no more of it can be read.
func (d *Decoder) abandon() {
	d.blobOpen = false
	d.slot = d.plan.total()
	if d.record == d.records()-1 {
		d.slot = d.looseSlot + looseChunks(d.file.DataSize(d.loose))
	}
}

// prepare counts the places of the current record.
func (d *Decoder) prepare() {
	f := d.file
	d.ready = true
	d.plan = segments{own: 1}
	switch {
	case d.record <= f.NumTypes():
		return
	case d.record == d.records()-1:
		d.plan = segments{rest: f.looseChunks()}
		return
	}
	i := d.itemIndex()
	l := f.layoutOf(i)
	d.item = l
	size := int64(len(f.Item(i).Data))
	switch l.kind {
	case KindRawItem:
		d.plan.own = looseChunks(size)
	case KindEnvelopePoints:
		d.plan.own = chunks(size/4/int64(f.plan.pointInts), pointsPerEvent)
	case KindEnvelopeBeziers:
		if i != f.plan.beziers {
			d.plan.body = looseChunks(size) // the item itself, raw
		}
	}
	switch l.body {
	case KindSettings:
		d.plan.body = 1
	case KindImageData, KindSoundData:
		d.plan.body = chunks(l.bytes, ChunkSize)
	case KindQuads:
		d.plan.body = chunks(l.bytes/quadBytes, quadsPerEvent)
	case KindSoundSources:
		d.plan.body = chunks(l.bytes/f.sourceBytes(i), sourcesPerEvent)
	case KindTiles:
		d.tiles.reset(&d.item)
		d.plan.body = d.tiles.chunks()
		d.plan.tail = 2 // a verdict on run lengths, and the summary
	}
	if l.body != KindNone {
		d.plan.rest = chunks(f.DataSize(int(l.data))-l.bytes, ChunkSize)
	}
}

// chunks is how many events it takes to carry n things.
func chunks(n, perEvent int64) int64 { return (n + perEvent - 1) / perEvent }

// looseChunks is the same for bytes that are announced by nothing but the event itself: it takes one even for none.
func looseChunks(n int64) int64 { return max(chunks(n, ChunkSize), 1) }

// looseChunks is how many events it takes to carry the blobs that no item's event carries.
func (f *File) looseChunks() (n int64) {
	for i := range f.NumData() {
		if !f.isUsed(i) {
			n += looseChunks(f.DataSize(i))
		}
	}
	return n
}

// wants tells whether an event of the current record is wanted.
func (d *Decoder) wants(kind Kind) bool {
	if d.filter == nil {
		return true
	}
	if d.record <= d.file.NumTypes() || d.record == d.records()-1 {
		return d.filter(kind, -1, -1)
	}
	return d.filter(kind, d.item.group, d.item.layer)
}

// produce fills in the event of the next place, and goes on to the place after it. The event is of KindNone when it is
// not wanted or there is none.
func (d *Decoder) produce(ev *Event) error {
	f, slot, plan := d.file, d.slot, d.plan
	switch {
	case d.record == 0:
		d.slot++
		d.produceHeader(ev)
		return nil
	case d.record <= f.NumTypes():
		d.slot++
		d.produceType(ev, d.record-1)
		return nil
	case d.record == d.records()-1:
		return d.produceLoose(ev)
	}
	if slot < plan.own {
		d.slot++
		if !d.wants(d.item.kind) {
			if d.item.kind == KindRawItem || d.item.kind == KindEnvelopePoints {
				d.slot = plan.own
			}
			return nil
		}
		return d.produceItem(ev, slot)
	}
	slot -= plan.own
	if slot < plan.body+plan.tail {
		return d.produceBody(ev, slot)
	}
	slot -= plan.body + plan.tail
	if !d.wants(KindRawData) {
		d.slot = plan.total()
		return nil
	}
	return d.produceRawData(ev, int(d.item.data), d.item.bytes+slot*ChunkSize)
}

func (d *Decoder) produceHeader(ev *Event) {
	if !d.wants(KindHeader) {
		return
	}
	ev.Kind, ev.Header = KindHeader, d.file.header
	if d.file.excess {
		d.warn(ev, WarningExcessBytes)
	}
	switch p := &d.file.plan; {
	case p.legacy:
		d.warn(ev, WarningLegacy)
		return
	case p.noVersion:
		d.warn(ev, WarningNoVersion)
	}
	if !d.file.plan.hasGame {
		d.warn(ev, WarningNoGameLayer)
	}
}

func (d *Decoder) produceType(ev *Event, i int) {
	if !d.wants(KindItemType) {
		return
	}
	typ, count := d.file.Type(i)
	d.texts = d.texts[:0]
	name, uuid := d.typeName(typ)
	ev.Kind = KindItemType
	ev.ItemType = ItemType{Type: int32(typ), Count: int32(count), Name: name, Uuid: uuid}
}

// produceLoose delivers blobs that no item's event carries.
func (d *Decoder) produceLoose(ev *Event) error {
	f := d.file
	if !d.wants(KindRawData) {
		d.slot = d.plan.total()
		return nil
	}
	for ; d.loose < f.NumData(); d.loose++ {
		if f.isUsed(d.loose) {
			continue
		}
		n := looseChunks(f.DataSize(d.loose))
		if d.slot < d.looseSlot+n {
			break
		}
		d.looseSlot += n
	}
	return d.produceRawData(ev, d.loose, (d.slot-d.looseSlot)*ChunkSize)
}

// maxSkip is how many chunks of a blob are skipped in one step.
const maxSkip = 12

// take reads the bytes of a blob from an offset on, which it opens if it is not open. It never goes back in an open blob.
// It returns false when the offset is too far to be reached in one step; then it has come nearer. Otherwise it goes on to
// the next place. Of a blob that is damaged it returns what can be read, warns, and goes on behind the blob; it returns
// false when nothing can be read as far as the offset, for then the warning was an earlier event's.
func (d *Decoder) take(ev *Event, blob int, offset, size int64) (data []byte, ok bool, err error) {
	if !d.blobOpen || d.in.blob != blob {
		d.in.open(blob)
		d.blobOpen = true
	}
	skip := offset - (d.file.DataSize(blob) - d.in.left)
	for range maxSkip {
		if skip == 0 {
			break
		}
		n, err := d.in.read(d.chunk[:min(skip, ChunkSize)])
		if err != nil {
			d.abandon()
			return nil, false, d.damaged(err)
		}
		skip -= int64(n)
	}
	if skip > 0 {
		return nil, false, nil
	}
	d.slot++
	n, err := d.in.read(d.chunk[:size])
	if err == nil && d.in.left == 0 {
		err = d.in.finish()
	}
	if err != nil {
		d.warn(ev, WarningDamagedData)
		d.abandon()
	}
	return d.chunk[:n], true, d.damaged(err)
}

// produceRawData delivers the piece of a blob from an offset on.
func (d *Decoder) produceRawData(ev *Event, blob int, offset int64) error {
	size := d.file.DataSize(blob)
	data, ok, err := d.take(ev, blob, offset, min(size-offset, ChunkSize))
	if !ok || err != nil {
		return err
	}
	ev.Kind = KindRawData
	ev.RawData = RawData{Index: int32(blob), Offset: int32(offset), Bytes: int32(size), Data: data}
	return nil
}

// warn adds a warning to the event.
func (d *Decoder) warn(ev *Event, w Warning) {
	if len(ev.Warnings) < len(d.warnings) {
		ev.Warnings = append(ev.Warnings, w)
	}
}

// typeName puts a type's name and UUID into the texts.
func (d *Decoder) typeName(typ int) (name, uuid []byte) {
	f := d.file
	if f.plan.legacy {
		return nil, nil
	}
	start := len(d.texts)
	if u, ok := f.plan.uuids[typ]; ok && typ >= typeUuidFirst && typ <= typeUuidLast {
		d.texts = append(d.texts, uuidNames[u]...)
		middle := len(d.texts)
		d.texts = u.appendText(d.texts)
		return d.texts[start:middle:middle], d.texts[middle:]
	}
	n, _ := f.TypeName(typ)
	d.texts = append(d.texts, n...)
	return d.texts[start:], nil
}
