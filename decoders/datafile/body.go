package datafile

import (
	"bytes"
	"unicode/utf8"
)

// arena holds the structs that an event's slices refer to.
type arena struct {
	points   [5*quadsPerEvent + 4*quadsPerEvent]Point
	colors   [4 * quadsPerEvent]Color
	quads    [quadsPerEvent]Quad
	sources  [sourcesPerEvent]SoundSource
	envelope [pointsPerEvent]EnvelopePoint
	values   [(4 + bezierInts) * pointsPerEvent]int32
	commands [][]byte
}

// produceBody delivers the piece at place slot of an item's data, or an event that follows the data.
func (d *Decoder) produceBody(ev *Event, slot int64) error {
	skip := func() { d.slot = d.plan.own + d.plan.body + d.plan.tail }
	i, l := d.itemIndex(), &d.item
	if l.kind == KindEnvelopeBeziers {
		if !d.wants(KindRawItem) {
			skip()
			return nil
		}
		d.slot++
		d.texts = d.texts[:0]
		d.rawItem(ev, i, slot)
		return nil
	}
	if l.body == KindTiles {
		return d.produceTiles(ev, slot)
	}
	if !d.wants(l.body) {
		skip()
		return nil
	}
	blob := int(l.data)
	switch l.body {
	case KindSettings:
		d.slot++
		return d.produceSettings(ev, blob)
	case KindImageData, KindSoundData:
		return d.producePiece(ev, blob, slot)
	case KindQuads:
		return d.produceQuads(ev, blob, slot)
	case KindSoundSources:
		return d.produceSources(ev, blob, slot)
	}
	return nil
}

func (d *Decoder) producePiece(ev *Event, blob int, slot int64) error {
	l := &d.item
	offset := slot * ChunkSize
	data, ok, err := d.readAt(ev, blob, offset, min(l.bytes-offset, ChunkSize))
	if !ok || err != nil {
		return err
	}
	ev.Kind = l.body
	if l.body == KindImageData {
		ev.ImageData = ImageData{Image: d.file.ordinal(d.itemIndex(), typeImage), Offset: int32(offset), Data: data}
	} else {
		ev.SoundData = SoundData{Sound: d.file.ordinal(d.itemIndex(), typeSound), Offset: int32(offset), Data: data}
	}
	return nil
}

func (d *Decoder) produceSettings(ev *Event, blob int) error {
	d.texts = d.texts[:0]
	if err := d.readBlob(ev, blob); err != nil {
		return err
	}
	rest := d.texts
	ev.Kind = KindSettings
	d.commands = d.commands[:0]
	for len(rest) > 0 {
		end := bytes.IndexByte(rest, 0)
		if end < 0 {
			d.commands = append(d.commands, rest)
			d.warn(ev, WarningBadText)
			break
		}
		d.commands = append(d.commands, rest[:end:end])
		rest = rest[end+1:]
	}
	if len(ev.Warnings) == 0 && !utf8.Valid(d.texts) {
		d.warn(ev, WarningBadText)
	}
	ev.Settings = Settings{Commands: d.commands}
	return nil
}

func (d *Decoder) produceQuads(ev *Event, blob int, slot int64) error {
	first := slot * quadsPerEvent
	n := min(d.item.bytes/quadBytes-first, quadsPerEvent)
	data, ok, err := d.readAt(ev, blob, first*quadBytes, n*quadBytes)
	if !ok || err != nil {
		return err
	}
	n = int64(len(data)) / quadBytes
	points, colors := d.points[:0], d.colors[:0]
	point := func(v ints, i int) { points = append(points, Point{v.at(i), v.at(i + 1)}) }
	for k := range int(n) {
		v := ints(data[k*quadBytes:][:quadBytes])
		q := &d.quads[k]
		for i := range 5 {
			point(v, 2*i)
		}
		q.Points = points[len(points)-5:]
		for i := range 4 {
			colors = append(colors, colorAt(v, 10+4*i))
		}
		q.Colors = colors[len(colors)-4:]
		for i := range 4 {
			point(v, 26+2*i)
		}
		q.Texture = points[len(points)-4:]
		q.PositionEnvelope, q.PositionEnvelopeOffsetMs = v.at(34), v.at(35)
		q.ColorEnvelope, q.ColorEnvelopeOffsetMs = v.at(36), v.at(37)
	}
	ev.Kind = KindQuads
	ev.Quads = Quads{Layer: d.item.Layer, Group: d.item.Group, First: int32(first), Quads: d.quads[:n]}
	return nil
}

func colorAt(v ints, i int) Color {
	return Color{R: v.at(i), G: v.at(i + 1), B: v.at(i + 2), A: v.at(i + 3)}
}

// sourceBytes returns the size of a source, in bytes, in the sound layer that is item i.
func (f *File) sourceBytes(i int) int64 {
	if ints(f.Item(i).Data).at(1) == layerSoundsOriginal {
		return sourceOriginalBytes
	}
	return sourceBytes
}

func (d *Decoder) produceSources(ev *Event, blob int, slot int64) error {
	size := d.file.sourceBytes(d.itemIndex())
	first := slot * sourcesPerEvent
	n := min(d.item.bytes/size-first, sourcesPerEvent)
	data, ok, err := d.readAt(ev, blob, first*size, n*size)
	if !ok || err != nil {
		return err
	}
	n = int64(len(data)) / size
	for k := range n {
		v := ints(data[k*size:][:size])
		if size == sourceBytes {
			d.sources[k] = source(v)
		} else {
			d.sources[k] = originalSource(v)
		}
	}
	ev.Kind = KindSoundSources
	ev.SoundSources = SoundSources{
		Layer: d.item.Layer, Group: d.item.Group, First: int32(first), Sources: d.sources[:n],
	}
	return nil
}

func source(v ints) SoundSource {
	s := SoundSource{
		Position: Point{v.at(0), v.at(1)}, HasPosition: true,
		Loop: v.at(2) != 0, Pan: v.at(3) != 0, DelayS: v.at(4), Falloff: v.at(5),
		PositionEnvelope: v.at(6), PositionEnvelopeOffsetMs: v.at(7),
		SoundEnvelope: v.at(8), SoundEnvelopeOffsetMs: v.at(9),
		Shape: SoundShape(v.at(10)) + 1,
	}
	if s.Shape == SoundShapeCircle {
		s.Radius, s.HasRadius = v.at(11), true
	} else {
		s.Width, s.HasWidth, s.Height, s.HasHeight = v.at(11), true, v.at(12), true
	}
	return s
}

// originalSource reads a source of the first version of sound layers, where every source is a circle with panning.
func originalSource(v ints) SoundSource {
	return SoundSource{
		Position: Point{v.at(0), v.at(1)}, HasPosition: true,
		Loop: v.at(2) != 0, Pan: true, DelayS: v.at(3), Radius: v.at(4), HasRadius: true, Shape: SoundShapeCircle,
		PositionEnvelope: v.at(5), PositionEnvelopeOffsetMs: v.at(6),
		SoundEnvelope: v.at(7), SoundEnvelopeOffsetMs: v.at(8),
	}
}
