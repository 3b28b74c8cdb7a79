package datafile

import "slices"

// tileReader reads the tiles of a layer, one rectangle at a time.
type tileReader struct {
	width, height int // without run lengths, there may be fewer rows than the layer has
	stride        int
	columns, rows int // of a rectangle; the last one of a layer or row may be smaller
	next          int64
	skips         bool

	// With run lengths: the repeated tile, its remaining repetitions, and stored tiles that are not yet parsed.
	tile     [tileBytes]byte
	repeat   int
	pending  []byte
	expanded []byte // a rectangle
	err      error  // the error that ended reading stored tiles
	short    bool   // the stored tiles ended too early
	damaged  bool   // stored tiles are unreadable, or their checksum is wrong
	done     bool   // all rectangles were read,
	exact    bool   // and the run lengths match the layer exactly
}

// rectangle is a part of a layer: whole rows, or a piece of one row.
type rectangle struct{ x, y, columns, rows int }

// reset begins a layer.
func (t *tileReader) reset(l *layout) { t.resetTo(l, ChunkSize) }

// resetTo begins a layer, with rectangles of at most size bytes.
func (t *tileReader) resetTo(l *layout, size int) {
	t.width, t.height, t.stride, t.skips = int(l.width), int(l.height), int(l.stride), l.skips
	t.columns, t.rows, t.next, t.repeat, t.pending = 0, 0, 0, 0, nil
	t.err, t.short, t.damaged, t.done, t.exact = nil, false, false, false, false
	row := t.width * t.stride
	if row == 0 || t.height == 0 {
		t.height = 0
		return
	}
	if !t.skips {
		t.height = int(l.bytes / int64(row))
	}
	t.columns, t.rows = t.width, size/row
	if t.rows == 0 {
		t.columns, t.rows = size/t.stride, 1
	}
}

// chunks returns the number of rectangles.
func (t *tileReader) chunks() int64 {
	if t.height == 0 {
		return 0
	}
	return chunks(int64(t.height), int64(t.rows)) * chunks(int64(t.width), int64(t.columns))
}

// rectangle returns the i-th rectangle.
func (t *tileReader) rectangle(i int64) rectangle {
	across := chunks(int64(t.width), int64(t.columns))
	r := rectangle{x: int(i%across) * t.columns, y: int(i/across) * t.rows}
	r.columns, r.rows = min(t.columns, t.width-r.x), min(t.rows, t.height-r.y)
	return r
}

// read reads the next rectangle and returns its bytes, valid until the next read. The rectangle is shorter than planned if the run
// lengths do not add up, or if there is an error. It still consists of whole rows or a piece of one.
func (t *tileReader) read(in *inflater) (r rectangle, buf []byte, err error) {
	r = t.rectangle(t.next)
	t.next++
	size := r.rows * r.columns * t.stride
	if t.skips {
		t.expanded = slices.Grow(t.expanded[:0], size)[:size]
		buf, err = t.expand(in, t.expanded)
	} else {
		buf, err = in.next(int64(size))
	}
	n := len(buf)
	if n == size {
		return r, buf, err
	}
	// Fill the incomplete last row with air.
	t.short = true
	row := r.columns * t.stride
	r.rows = (n + row - 1) / row
	buf = buf[:r.rows*row]
	clear(buf[n:])
	return r, buf, err
}

// expand fills buf with tiles, each repeated by its run length. It returns what it filled.
func (t *tileReader) expand(in *inflater, buf []byte) ([]byte, error) {
	n := 0
	for n < len(buf) {
		if t.repeat > 0 {
			run := min(t.repeat*tileBytes, len(buf)-n)
			fill(buf[n:n+run], t.tile)
			n += run
			t.repeat -= run / tileBytes
			continue
		}
		if len(t.pending) < tileBytes {
			size := min(in.left-in.left%tileBytes, 4<<10)
			if size == 0 || t.err != nil {
				return buf[:n], t.err
			}
			t.pending, t.err = in.next(size)
			continue
		}
		copy(t.tile[:], t.pending)
		t.pending = t.pending[tileBytes:]
		t.repeat = int(t.tile[2]) + 1
		t.tile[2] = 0
	}
	return buf, nil
}

// fill fills b with copies of a tile.
func fill(b []byte, tile [tileBytes]byte) {
	n := copy(b, tile[:])
	for n < len(b) {
		n += copy(b[n:], b[:n])
	}
}

// produceTiles delivers the next rectangle of a layer. After the last one, the tail has two places: a warning about run
// lengths (place 0) and the summary (place 1).
func (d *Decoder) produceTiles(ev *Event, slot int64) error {
	l := &d.item
	summing := l.tiles != LayerKindTiles && d.wants(KindTileSummary)
	wanted := d.wants(KindTiles)
	bounding := !l.unpacked() && d.wants(KindLayerBounds)
	if !wanted && !summing {
		d.slot = d.plan.own + d.plan.body + d.plan.tail
		return nil
	}
	if !d.blobOpen {
		d.tiles.reset(l)
		d.summary.reset(l)
		d.bounds = bounds{}
		d.in.open(int(l.data))
		d.blobOpen = true
	}
	// After a restart, the rectangles before the place are read again, one per step.
	if d.tiles.next < d.plan.body && d.tiles.next <= slot && !d.tiles.short {
		mine := d.tiles.next == slot
		r, data, err := d.tiles.read(&d.in)
		if d.tiles.damaged = err != nil; d.tiles.damaged {
			if err := d.recordDamage(err); err != nil {
				return err
			}
		}
		if summing {
			d.summary.add(r, data)
		}
		if bounding {
			d.bounds.includeTiles(l, r, data)
		}
		if !mine {
			return nil
		}
		if wanted && r.rows > 0 {
			d.rectangle(ev, r, data)
		}
	}
	if slot >= d.plan.body {
		if whole, err := d.checkTiles(); !whole || err != nil {
			return err
		}
		d.bounded = bounding && !d.tiles.damaged && d.plan.rest == 0
	}
	d.slot++
	switch {
	case slot == d.plan.body && wanted && d.tiles.damaged:
		d.rectangle(ev, rectangle{y: d.tiles.height}, nil)
		d.warn(ev, WarningDamagedData)
	case slot == d.plan.body && wanted && l.skips && !d.tiles.exact:
		d.rectangle(ev, rectangle{y: d.tiles.height}, nil)
		d.warn(ev, WarningBadSkip)
	case slot > d.plan.body && summing:
		ev.Kind = KindTileSummary
		d.texts = d.texts[:0]
		ev.TileSummary = TileSummary{
			Layer: l.Layer, Group: l.Group, Kind: l.tiles, Counts: d.summary.counts(l.tiles, &d.texts),
		}
		if d.tiles.damaged {
			d.warn(ev, WarningDamagedData)
		}
	}
	return nil
}

// checkTiles runs after all rectangles were read. It checks whether the run lengths add up. If no events follow the
// tiles, it also checks that the blob is intact to its end. It returns false when that takes another step.
func (d *Decoder) checkTiles() (whole bool, err error) {
	t := &d.tiles
	if !t.done {
		t.done = true
		t.exact = !t.short && t.repeat == 0 && len(t.pending) == 0 && d.in.left == 0
	}
	if t.damaged || d.plan.rest > 0 {
		return true, nil
	}
	for range maxSkip {
		if d.in.left == 0 {
			err = d.in.finish()
			break
		}
		if _, err = d.in.next(min(d.in.left, ChunkSize)); err != nil {
			break
		}
	}
	t.damaged = err != nil
	return t.damaged || d.in.left == 0, d.recordDamage(err)
}

func (d *Decoder) rectangle(ev *Event, r rectangle, data []byte) {
	l := &d.item
	ev.Kind = KindTiles
	ev.Tiles = Tiles{
		Layer: l.Layer, Group: l.Group, Kind: l.tiles, BytesPerTile: l.stride, Data: data,
		X: int32(r.x), Y: int32(r.y), Columns: int32(r.columns), Rows: int32(r.rows),
	}
}
