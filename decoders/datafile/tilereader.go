package datafile

// tileReader reads the tiles of a layer, one rectangle after another.
type tileReader struct {
	width, height int // rows of data that is stored plainly may be fewer than the layer's
	stride        int
	columns, rows int // of a rectangle, unless it is the last of the layer or of its row
	next          int64
	skips         bool

	// With run lengths: the tile that is repeated, how often, and stored tiles that are not yet looked at.
	tile    [tileBytes]byte
	repeat  int
	pending []byte
	buf     [4 << 10]byte
	dry     bool // the stored tiles ended too early
}

// rectangle is a part of a layer: whole rows, or a piece of one row.
type rectangle struct{ x, y, columns, rows int }

// reset begins a layer.
func (t *tileReader) reset(l *layout) {
	t.width, t.height, t.stride, t.skips = int(l.width), int(l.height), int(l.stride), l.skips
	t.columns, t.rows, t.next, t.repeat, t.pending, t.dry = 0, 0, 0, 0, nil, false
	row := t.width * t.stride
	if row == 0 || t.height == 0 {
		t.height = 0
		return
	}
	if !t.skips {
		t.height = int(l.bytes / int64(row))
	}
	t.columns, t.rows = t.width, ChunkSize/row
	if t.rows == 0 {
		t.columns, t.rows = ChunkSize/t.stride, 1
	}
}

// chunks is how many rectangles there are.
func (t *tileReader) chunks() int64 {
	if t.height == 0 {
		return 0
	}
	return chunks(int64(t.height), int64(t.rows)) * chunks(int64(t.width), int64(t.columns))
}

// rectangle is the i-th rectangle.
func (t *tileReader) rectangle(i int64) rectangle {
	across := chunks(int64(t.width), int64(t.columns))
	r := rectangle{x: int(i%across) * t.columns, y: int(i/across) * t.rows}
	r.columns, r.rows = min(t.columns, t.width-r.x), min(t.rows, t.height-r.y)
	return r
}

// read reads the next rectangle into buf, and returns its bytes. It is shorter than it should be, whole rows or a piece
// of one, where run lengths do not add up.
func (t *tileReader) read(in *inflater, buf []byte) (rectangle, []byte, error) {
	r := t.rectangle(t.next)
	t.next++
	buf = buf[:r.rows*r.columns*t.stride]
	if !t.skips {
		return r, buf, in.read(buf)
	}
	n, err := t.expand(in, buf)
	if err != nil || n == len(buf) {
		return r, buf, err
	}
	// What is there of the last row is filled up with air.
	t.dry = true
	row := r.columns * t.stride
	r.rows = (n + row - 1) / row
	buf = buf[:r.rows*row]
	clear(buf[n:])
	return r, buf, nil
}

// expand fills buf with tiles, each as often as its run length says. It returns how many bytes it could fill.
func (t *tileReader) expand(in *inflater, buf []byte) (int, error) {
	n := 0
	for n < len(buf) {
		if t.repeat > 0 {
			run := min(t.repeat*tileBytes, len(buf)-n)
			fill(buf[n:n+run], t.tile)
			n += run
			t.repeat -= run / tileBytes
			continue
		}
		if len(t.pending) == 0 {
			size := min(in.left-in.left%tileBytes, int64(len(t.buf)))
			if size == 0 {
				return n, nil
			}
			t.pending = t.buf[:size]
			if err := in.read(t.pending); err != nil {
				t.pending = nil
				return n, err
			}
		}
		copy(t.tile[:], t.pending)
		t.pending = t.pending[tileBytes:]
		t.repeat = int(t.tile[2]) + 1
		t.tile[2] = 0
	}
	return n, nil
}

// exact tells whether the run lengths, all rectangles having been read, add up to exactly the layer.
func (t *tileReader) exact(in *inflater) bool {
	return !t.dry && t.repeat == 0 && len(t.pending) == 0 && in.left == 0
}

// fill fills b with copies of a tile.
func fill(b []byte, tile [tileBytes]byte) {
	n := copy(b, tile[:])
	for n < len(b) {
		n += copy(b[n:], b[:n])
	}
}

// produceTiles delivers the next rectangle of a layer, or after the last one the verdict on run lengths (place 0 of the
// tail) and the summary (place 1).
func (d *Decoder) produceTiles(ev *Event, slot int64) error {
	l := &d.item
	summing := l.tiles != LayerKindTiles && d.wants(KindTileSummary)
	wanted := d.wants(KindTiles)
	if !wanted && !summing {
		d.slot = d.plan.own + d.plan.body + d.plan.tail
		return nil
	}
	if !d.blobOpen {
		d.tiles.reset(l)
		d.summary.reset(l)
		if err := d.in.open(int(l.data)); err != nil {
			return err
		}
		d.blobOpen = true
	}
	// After a restart, rectangles before the place are read again: one a step.
	if d.tiles.next < d.plan.body && d.tiles.next <= slot && !d.tiles.dry {
		mine := d.tiles.next == slot
		r, data, err := d.tiles.read(&d.in, d.chunk)
		if err != nil {
			return err
		}
		if summing {
			d.summary.add(r, data)
		}
		if !mine {
			return nil
		}
		if wanted && r.rows > 0 {
			d.rectangle(ev, r, data)
		}
	}
	d.slot++
	switch {
	case slot == d.plan.body && wanted && l.skips && !d.tiles.exact(&d.in):
		d.rectangle(ev, rectangle{y: d.tiles.height}, nil)
		d.warn(ev, WarningBadSkip)
	case slot > d.plan.body && summing:
		ev.Kind = KindTileSummary
		d.texts = d.texts[:0]
		ev.TileSummary = TileSummary{
			Layer: l.layer, Group: l.group, Kind: l.tiles, Counts: d.summary.counts(l.tiles, &d.texts),
		}
	}
	return nil
}

func (d *Decoder) rectangle(ev *Event, r rectangle, data []byte) {
	l := &d.item
	ev.Kind = KindTiles
	ev.Tiles = Tiles{
		Layer: l.layer, Group: l.group, Kind: l.tiles, BytesPerTile: l.stride, Data: data,
		X: int32(r.x), Y: int32(r.y), Columns: int32(r.columns), Rows: int32(r.rows),
	}
}
