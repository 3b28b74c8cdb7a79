package datafile

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"sync"
)

// Sizes of derived events.
const (
	tilesPerEvent = 2048 // tiles of a layer that one event of unpacked tiles covers
	runsPerLink   = 32   // runs in each list of a Link
	numbers       = 256  // of teleporters and switches
)

// tileUnits is the size of a tile in world units.
const tileUnits = 32

// derived makes the events that are derived from a layer's data: unpacked tiles, entities, links and bounds. They follow all
// others of the layer, from a second pass over its data, unless they are only bounds, which the first pass finds.
type derived struct {
	ended   bool // all data of the layer was read,
	checked bool // and the rest of the blob, which checks its checksum
	damaged bool
	tiles   tileReader
	runs    []tileRun // of the last rectangle that was read

	ends [2 * numbers]linkEnds // by number; checkpoints after the others

	// Memory that events refer to.
	list     [tilesPerEvent]PhysicsTile
	entities [tilesPerEvent]Entity
	from, to [runsPerLink]LinkTile
}

// linkEnds collects the tiles of a link.
type linkEnds struct{ from, to linkEnd }

type linkEnd struct {
	count int32
	runs  []linkRun // runsPerLink at most
}

type linkRun struct {
	x, y, columns int32
	tile          byte
}

// tileRun is a run of equal tiles that are not air.
type tileRun struct {
	x, y, columns int32
	tile          []byte
}

// bounds is a rectangle that grows.
type bounds struct {
	any                    bool
	minX, minY, maxX, maxY int32
}

func (b *bounds) include(x, y int32) {
	if !b.any {
		*b = bounds{true, x, y, x, y}
	}
	b.minX, b.minY, b.maxX, b.maxY = min(b.minX, x), min(b.minY, y), max(b.maxX, x), max(b.maxY, y)
}

// includeTiles includes the tiles of a rectangle that are not air, from the first of each row to its last.
func (b *bounds) includeTiles(l *layout, r rectangle, data []byte) {
	stride, at := int(l.stride), typeByte(l.tiles, l.stride)
	for y := range int32(r.rows) {
		row := data[:r.columns*stride]
		data = data[len(row):]
		start, end := 0, len(row)
		for start < end && row[start+at] == AirTile {
			start += stride * repeated(row[start:], stride)
		}
		for end >= start+8 && binary.LittleEndian.Uint64(row[end-8:]) == 0 {
			end -= 8
		}
		for end = (end + stride - 1) / stride * stride; end > start && row[end-stride+at] == AirTile; {
			end -= stride
		}
		if start < end {
			b.include(int32(r.x+start/stride)*tileUnits, (int32(r.y)+y)*tileUnits)
			b.include(saturated(int32(r.x+end/stride)), saturated(int32(r.y)+y+1))
		}
	}
}

// repeated returns how many equal tiles of stride bytes row begins with.
func repeated(row []byte, stride int) int {
	if bytes.Equal(row[stride:], row[:len(row)-stride]) { // as in most rows
		return len(row) / stride
	}
	n := 0 // bytes that equal those of the tile before
	for ; stride+n+8 <= len(row); n += 8 {
		if differ := binary.LittleEndian.Uint64(row[n:]) ^ binary.LittleEndian.Uint64(row[stride+n:]); differ != 0 {
			return 1 + (n+bits.TrailingZeros64(differ)/8)/stride
		}
	}
	for stride+n < len(row) && row[n] == row[stride+n] {
		n++
	}
	return 1 + n/stride
}

// unpacked reports whether the layer's tiles are unpacked: it affects play, and has the tiles of its kind.
func (l *layout) unpacked() bool {
	return l.body == KindTiles && l.tiles != LayerKindTiles && l.warned&(1<<WarningMissingPhysicsData) == 0
}

// derivedPlaces returns the number of places for derived events: for each rectangle one of tiles and one of entities, then the
// links, and then the bounds.
func (d *Decoder) derivedPlaces() int64 {
	l := &d.item
	switch {
	case l.body == KindQuads:
		return 1
	case l.body != KindTiles:
		return 0
	}
	d.tiles.resetTo(l, tilesPerEvent*int(l.stride)) // it is reset again before the tiles are read
	return 2*d.tiles.chunks() + l.links() + 1
}

// links returns the number of places for links.
func (l *layout) links() int64 {
	switch {
	case !l.unpacked():
		return 0
	case l.tiles == LayerKindTele:
		return 2 * numbers
	case l.tiles == LayerKindSwitch:
		return numbers
	}
	return 0
}

// produceDerived delivers the derived event at a place. It reads one rectangle of the layer at most.
func (d *Decoder) produceDerived(ev *Event, slot int64) error {
	l, s := &d.item, d.second
	unpack := l.unpacked() && (d.wants(KindPhysicsTiles) || d.wants(KindEntities) || l.links() > 0 && d.wants(KindLink))
	if !unpack && !d.wants(KindLayerBounds) {
		d.slot = d.plan.total()
		return nil
	}
	if !unpack && d.bounded {
		if last := d.plan.total() - 1; d.slot < last {
			d.slot = last // the place that bounds have in every stream
			return nil
		}
		d.slot++
		d.layerBounds(ev)
		return nil
	}
	if s == nil {
		s = &derived{}
		d.second = s
	}
	if !d.secondOpen {
		s.begin(l)
		d.secondOpen, d.bounds = true, bounds{}
		d.in.open(int(l.data))
		d.blobOpen = false
	}
	rectangles := int64(0)
	if l.body == KindTiles {
		rectangles = s.tiles.chunks()
	}
	if !s.ended && slot/2 >= s.tiles.next { // after a restart, the rectangles before the place are read again, one per step
		if err := d.readDerived(); err != nil {
			return err
		}
		if !s.ended && s.tiles.next-1 != slot/2 {
			return nil
		}
	}
	if slot < 2*rectangles && s.ended && s.tiles.next-1 != slot/2 {
		d.slot = d.plan.total() - 1 - l.links() // damage: there are no more rectangles
		return nil
	}
	if slot >= 2*rectangles && !s.checked {
		if err := d.checkDerived(); !s.checked || err != nil {
			return err
		}
	}
	d.slot++
	switch at := slot - 2*rectangles; {
	case at < 0 && !l.unpacked():
	case at < 0 && slot%2 == 0:
		if d.wants(KindPhysicsTiles) {
			d.physicsTiles(ev)
		}
	case at < 0:
		if d.wants(KindEntities) {
			d.produceEntities(ev)
		}
	case at < l.links():
		if d.wants(KindLink) {
			d.link(ev, int(at))
		}
	case d.wants(KindLayerBounds):
		d.layerBounds(ev)
	}
	if s.damaged && ev.Kind != KindNone {
		d.warn(ev, WarningDamagedData)
	}
	return nil
}

// begin starts the pass over a layer.
func (s *derived) begin(l *layout) {
	s.ended, s.checked, s.damaged, s.runs = false, false, false, s.runs[:0]
	if l.body == KindTiles {
		s.tiles.resetTo(l, tilesPerEvent*int(l.stride))
	} else {
		s.tiles = tileReader{expanded: s.tiles.expanded}
	}
	for i := range s.ends {
		e := &s.ends[i]
		e.from.count, e.to.count, e.from.runs, e.to.runs = 0, 0, e.from.runs[:0], e.to.runs[:0]
	}
}

// readDerived reads the next rectangle, or the next quads.
func (d *Decoder) readDerived() error {
	l, s := &d.item, d.second
	var err error
	switch {
	case l.body == KindQuads:
		left := l.bytes - (d.file.DataSize(int(l.data)) - d.in.left)
		var data []byte
		if size := min(left, ChunkSize/quadBytes*quadBytes); size > 0 {
			data, err = d.in.next(size)
		}
		for k := range len(data) / quadBytes {
			v := ints(data[k*quadBytes:][:quadBytes])
			for i := range 4 {
				d.bounds.include(v.at(2*i)>>fixedBits, v.at(2*i+1)>>fixedBits)
				d.bounds.include(roundUp(v.at(2*i)), roundUp(v.at(2*i+1)))
			}
		}
		s.ended = err != nil || left <= int64(len(data))
	case s.tiles.next < s.tiles.chunks():
		var r rectangle
		var data []byte
		r, data, err = s.tiles.read(&d.in)
		d.bounds.includeTiles(l, r, data)
		if l.unpacked() {
			s.collect(l, r, data)
		}
		s.ended = err != nil || s.tiles.short || s.tiles.next == s.tiles.chunks()
	default:
		s.ended = true
	}
	s.damaged = err != nil
	return d.recordDamage(err)
}

// checkDerived reads the rest of the blob, to check that it is intact. It reads maxSkip chunks at most.
func (d *Decoder) checkDerived() (err error) {
	s := d.second
	for n := 0; !s.damaged && !s.checked && n < maxSkip; n++ {
		if d.in.left == 0 {
			err, s.checked = d.in.finish(), true
		} else {
			_, err = d.in.next(min(d.in.left, ChunkSize))
		}
		s.damaged = err != nil
	}
	s.checked = s.checked || s.damaged
	return d.recordDamage(err)
}

// fixedBits is the number of bits behind the point of positions in quads.
const fixedBits = 10

func roundUp(v int32) int32 { return int32((int64(v) + 1<<fixedBits - 1) >> fixedBits) }

// collect finds the runs of a rectangle, and adds them to the links.
func (s *derived) collect(l *layout, r rectangle, data []byte) {
	stride, at := int(l.stride), typeByte(l.tiles, l.stride)
	s.runs = s.runs[:0]
	for y := r.y; y < r.y+r.rows; y++ {
		row := data[:r.columns*stride]
		data = data[len(row):]
		for x := 0; x < r.columns; {
			tile := row[x*stride:]
			n := repeated(tile, stride)
			if tile[at] != AirTile {
				s.runs = append(s.runs, tileRun{int32(r.x + x), int32(y), int32(n), tile[:stride]})
			}
			x += n
		}
	}
	if l.links() == 0 {
		return
	}
	for _, r := range s.runs {
		kind := r.tile[at]
		if end := s.endOf(l.tiles, kind, int(r.tile[0])); end != nil {
			end.count += r.columns
			if len(end.runs) < runsPerLink {
				end.runs = append(end.runs, linkRun{r.x, r.y, r.columns, kind})
			}
		}
	}
}

// saturated returns a column or row in world units, at most the largest number.
func saturated(n int32) int32 { return int32(min(int64(n)*tileUnits, math.MaxInt32)) }

// endOf returns the end of a link to which a tile belongs, nil for none.
func (s *derived) endOf(layer LayerKind, tile byte, number int) *linkEnd {
	if layer == LayerKindSwitch {
		switch TileName(layer, tile) {
		case "switch_jump":
			return nil
		case "switch_timed_open", "switch_timed_close", "switch_open", "switch_close", "switch_add_time", "switch_subtract_time":
			return &s.ends[number].from
		}
		return &s.ends[number].to
	}
	switch TileName(layer, tile) {
	case "tele_in", "tele_evil_in", "tele_weapon_in", "tele_hook_in":
		return &s.ends[number].from
	case "tele_out":
		return &s.ends[number].to
	case "tele_checkpoint":
		return &s.ends[numbers+number].from
	case "tele_checkpoint_out":
		return &s.ends[numbers+number].to
	}
	return nil // entrances for all checkpoints
}

// names holds the names of tiles as bytes, by kind of layer.
var names = sync.OnceValue(func() *nameTable {
	names := &nameTable{}
	for kind := range names {
		for tile := range names[kind] {
			names[kind][tile] = []byte(TileName(LayerKind(kind), byte(tile)))
		}
	}
	return names
})

type nameTable [LayerKindSounds + 1][256][]byte

// nameOf returns the name of a tile. It must not be modified.
func nameOf(kind LayerKind, tile byte) []byte { return names()[kind][tile] }

// layerBounds delivers the bounds of the layer, if anything is in it.
func (d *Decoder) layerBounds(ev *Event) {
	l, b := &d.item, d.bounds
	if !b.any {
		return
	}
	ev.Kind = KindLayerBounds
	ev.LayerBounds = LayerBounds{Layer: l.Layer, Group: l.Group, Kind: l.tiles, MinX: b.minX, MinY: b.minY, MaxX: b.maxX, MaxY: b.maxY}
	if l.body == KindQuads {
		ev.LayerBounds.Kind = LayerKindQuads
	}
}

func (d *Decoder) physicsTiles(ev *Event) {
	l, s := &d.item, d.second
	at := typeByte(l.tiles, l.stride)
	for i, r := range s.runs {
		tile, kind := r.tile, r.tile[at]
		p := PhysicsTile{X: r.x, Y: r.y, Columns: r.columns, Tile: int32(kind), Name: nameOf(l.tiles, kind)}
		switch l.tiles {
		case LayerKindGame, LayerKindFront:
			p.Flags = int32(tile[1])
		case LayerKindTele, LayerKindTune:
			p.Number = int32(tile[0])
		case LayerKindSwitch:
			p.Number, p.Flags, p.DelayS = int32(tile[0]), int32(tile[2]), int32(tile[3])
		case LayerKindSpeedup:
			p.Force, p.MaxSpeed = int32(tile[0]), int32(tile[1])
			p.Angle = int32(int16(binary.LittleEndian.Uint16(tile[4:])))
		}
		s.list[i] = p
	}
	if n := len(s.runs); n > 0 {
		ev.Kind = KindPhysicsTiles
		ev.PhysicsTiles = PhysicsTiles{Layer: l.Layer, Group: l.Group, Kind: l.tiles, Tiles: s.list[:n]}
	}
}

func (d *Decoder) produceEntities(ev *Event) {
	l, s := &d.item, d.second
	if l.tiles != LayerKindGame && l.tiles != LayerKindFront && l.tiles != LayerKindSwitch {
		return
	}
	n, at := 0, typeByte(l.tiles, l.stride)
	for _, r := range s.runs {
		tile, kind := r.tile, r.tile[at]
		if kind < entities {
			continue
		}
		e := Entity{Name: nameOf(l.tiles, kind), Tile: int32(kind), HasPosition: true, Flags: int32(tile[1])}
		if l.tiles == LayerKindSwitch {
			e.Number, e.Flags, e.DelayS = int32(tile[0]), int32(tile[2]), int32(tile[3])
		}
		for i := range r.columns {
			e.Position = Point{(r.x+i)*tileUnits + tileUnits/2, r.y*tileUnits + tileUnits/2}
			s.entities[n] = e
			n++
		}
	}
	if n > 0 {
		ev.Kind = KindEntities
		ev.Entities = Entities{Layer: l.Layer, Group: l.Group, Kind: l.tiles, Entities: s.entities[:n]}
	}
}

func (d *Decoder) link(ev *Event, at int) {
	l, s := &d.item, d.second
	ends := &s.ends[at]
	if ends.from.count == 0 && ends.to.count == 0 || l.tiles == LayerKindSwitch && at == 0 { // 0 is not a switch
		return
	}
	list := func(to []LinkTile, end *linkEnd) []LinkTile {
		for i, r := range end.runs {
			to[i] = LinkTile{X: r.x, Y: r.y, Columns: r.columns, Tile: int32(r.tile), Name: nameOf(l.tiles, r.tile)}
		}
		return to[:len(end.runs)]
	}
	ev.Kind = KindLink
	ev.Link = Link{
		Layer: l.Layer, Group: l.Group, Kind: l.tiles, Number: int32(at % numbers), Checkpoint: at >= numbers,
		NumFrom: ends.from.count, NumTo: ends.to.count, From: list(s.from[:], &ends.from), To: list(s.to[:], &ends.to),
	}
}
