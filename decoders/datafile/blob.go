package datafile

import (
	"errors"

	"github.com/replayd/replayd/decoders"
)

// produceRawData delivers the chunk of a blob that begins at offset.
func (d *Decoder) produceRawData(ev *Event, blob int, offset int64) error {
	size := d.file.DataSize(blob)
	data, ok, err := d.readAt(ev, blob, offset, min(size-offset, ChunkSize))
	if !ok || err != nil {
		return err
	}
	ev.Kind = KindRawData
	ev.RawData = RawData{Index: int32(blob), Offset: int32(offset), Bytes: int32(size), Data: data}
	return nil
}

// maxSkip is the number of chunks of a blob that one step may skip.
const maxSkip = 12

// readAt reads the bytes of a blob at offset and moves on to the next place. It opens the blob if necessary. It never moves backwards in an open blob. It returns false when the offset is too far away for one step;
// the next call continues from there.
//
// If the blob is damaged, it returns the bytes that can be read, adds a warning, and skips the rest of the blob. If the
// damage is before the offset, it returns false, because an earlier event had the warning.
func (d *Decoder) readAt(ev *Event, blob int, offset, size int64) (data []byte, ok bool, err error) {
	if !d.blobOpen || d.in.blob != blob {
		d.in.open(blob)
		d.blobOpen = true
	}
	skip := offset - (d.file.DataSize(blob) - d.in.left)
	for range maxSkip {
		if skip == 0 {
			break
		}
		p, err := d.in.next(min(skip, ChunkSize))
		if err != nil {
			d.skipBlob()
			return nil, false, d.recordDamage(err)
		}
		skip -= int64(len(p))
	}
	if skip > 0 {
		return nil, false, nil
	}
	d.slot++
	data, err = d.in.next(size)
	if err == nil && d.in.left == 0 {
		err = d.in.finish()
	}
	if err != nil {
		d.warn(ev, WarningDamagedData)
		d.skipBlob()
	}
	return data, true, d.recordDamage(err)
}

// readBlob appends a whole blob to the texts. Of a damaged blob it appends the bytes that can be read, and adds a
// warning. The blob must have at most maxSettings bytes.
func (d *Decoder) readBlob(ev *Event, blob int) error {
	d.in.open(blob)
	for d.in.left > 0 && d.in.err == nil {
		p, _ := d.in.next(min(d.in.left, ChunkSize))
		d.texts = append(d.texts, p...)
	}
	err := d.in.finish()
	if err != nil {
		d.warn(ev, WarningDamagedData)
	}
	return d.recordDamage(err)
}

// skipBlob moves behind the places of the current blob, because no more of it can be read.
func (d *Decoder) skipBlob() {
	d.blobOpen = false
	d.slot = d.plan.total() - d.plan.derived
	if d.record == d.records()-1 {
		d.slot = d.looseSlot + looseChunks(d.file.DataSize(d.loose))
	}
}

// recordDamage stores the first error of a damaged blob and returns nil, because decoding continues behind the blob. It
// returns all other errors.
func (d *Decoder) recordDamage(err error) error {
	if !errors.Is(err, decoders.ErrCorrupt) {
		return err
	}
	if d.damage == nil {
		d.damage = err
	}
	return nil
}
