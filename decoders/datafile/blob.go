package datafile

import (
	"errors"

	"github.com/replayd/replayd/decoders"
)

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

// readBlob appends a whole blob to the texts; of one that is damaged, as much as can be read, and warns. Only blobs of at
// most maxSettings bytes come here.
func (d *Decoder) readBlob(ev *Event, blob int) error {
	d.in.open(blob)
	for d.in.left > 0 && d.in.err == nil {
		n, _ := d.in.read(d.chunk[:min(d.in.left, ChunkSize)])
		d.texts = append(d.texts, d.chunk[:n]...)
	}
	err := d.in.finish()
	if err != nil {
		d.warn(ev, WarningDamagedData)
	}
	return d.damaged(err)
}

// abandon goes on behind the places of the current blob, for no more of it can be read.
func (d *Decoder) abandon() {
	d.blobOpen = false
	d.slot = d.plan.total()
	if d.record == d.records()-1 {
		d.slot = d.looseSlot + looseChunks(d.file.DataSize(d.loose))
	}
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
