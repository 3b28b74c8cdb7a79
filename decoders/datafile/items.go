package datafile

import (
	"slices"
	"unicode/utf8"
)

// produceItem delivers the event of the current item, or event number slot if the item has several.
func (d *Decoder) produceItem(ev *Event, slot int64) error {
	i, l := d.itemIndex(), &d.item
	item := d.file.Item(i)
	n := ints(item.Data)
	d.texts = d.texts[:0]
	ev.Kind = l.kind
	for w := range d.warningBits() {
		d.warn(ev, w)
	}
	switch l.kind {
	case KindVersion:
		ev.Version = Version{Version: n.at(0), Extra: d.extraOf(n)}
	case KindInfo:
		return d.produceInfo(ev, n)
	case KindImage:
		return d.produceImage(ev, n)
	case KindSound:
		return d.produceSound(ev, n)
	case KindEnvelope:
		d.produceEnvelope(ev, n)
	case KindEnvelopePoints:
		d.producePoints(ev, n, slot)
	case KindGroup:
		d.produceGroup(ev, n)
	case KindTileLayer:
		d.produceTileLayer(ev, n)
	case KindQuadLayer:
		ev.QuadLayer = QuadLayer{
			Layer: l.Layer, Group: l.Group, Version: n.at(3), NumQuads: n.at(4), Detail: n.at(2)&1 != 0,
			Image: n.at(6), Data: l.data, Extra: d.extraOf(n), LayerInGroup: l.LayerInGroup,
		}
		if l.known == 10 {
			ev.QuadLayer.Name = d.packed(ev, n, 7, 3)
		}
	case KindSoundLayer:
		ev.SoundLayer = SoundLayer{
			Layer: l.Layer, Group: l.Group, Version: n.at(3), NumSources: n.at(4), Detail: n.at(2)&1 != 0,
			Sound: n.at(6), Data: l.data, Extra: d.extraOf(n), Deprecated: n.at(1) == layerSoundsOriginal,
			LayerInGroup: l.LayerInGroup,
		}
		if l.known == 10 {
			ev.SoundLayer.Name = d.packed(ev, n, 7, 3)
		}
	case KindAutomapper:
		ev.Automapper = Automapper{
			Version: n.at(0), Group: n.at(1), LayerInGroup: n.at(2), Config: n.at(3), Seed: n.at(4),
			Flags: n.at(5), Automatic: n.at(5)&1 != 0, Extra: d.extraOf(n), Layer: l.Layer,
		}
	case KindEnvelopeBeziers:
		ev.EnvelopeBeziers = EnvelopeBeziers{NumPoints: int32(n.len() / bezierInts), Used: i == d.file.plan.beziers}
	case KindUuidType:
		name, uuid := d.indexed(n)
		ev.UuidType = UuidType{Type: int32(item.ID), Uuid: uuid, Name: name}
	default:
		d.rawItem(ev, i, slot)
	}
	return nil
}

// warningBits returns an iterator over the warnings in the layout of the current item.
func (d *Decoder) warningBits() func(yield func(Warning) bool) {
	return func(yield func(Warning) bool) {
		for w := Warning(1); d.item.warned>>w != 0; w++ {
			if d.item.warned&(1<<w) != 0 && !yield(w) {
				return
			}
		}
	}
}

// extraOf returns the integers beyond the known ones.
func (d *Decoder) extraOf(n ints) []int32 {
	d.extra = d.extra[:0]
	for i := d.item.known; i < n.len(); i++ {
		d.extra = append(d.extra, n.at(i))
	}
	return d.extra
}

// text returns the text in a blob, without its final NUL. It omits an unsuitable text and adds a warning; the blob is
// then delivered as raw data.
func (d *Decoder) text(ev *Event, blob int32) ([]byte, error) {
	f := d.file
	switch {
	case blob < 0:
		return nil, nil
	case int(blob) >= f.NumData():
		d.warn(ev, WarningMissingData)
		return nil, nil
	case !f.isText(blob):
		d.warn(ev, WarningLongText)
		return nil, nil
	}
	start := len(d.texts)
	if err := d.readBlob(ev, int(blob)); err != nil {
		return nil, err
	}
	text := d.texts[start:]
	if n := len(text); n > 0 && text[n-1] == 0 {
		text = text[:n-1]
	} else {
		d.warn(ev, WarningBadText)
		return text, nil
	}
	if !utf8.Valid(text) || slices.Contains(text, 0) {
		d.warn(ev, WarningBadText)
	}
	return text, nil
}

// packed returns a text that is packed into integers.
func (d *Decoder) packed(ev *Event, n ints, first, count int) []byte {
	start := len(d.texts)
	var ok bool
	d.texts, ok = packedText(d.texts, n, first, count)
	if !ok {
		d.warn(ev, WarningBadText)
	}
	return d.texts[start:]
}

func (d *Decoder) produceInfo(ev *Event, n ints) error {
	ev.Info = Info{Extra: d.extraOf(n), HasSettings: d.item.body == KindSettings}
	for i, to := range [...]*[]byte{&ev.Info.Author, &ev.Info.MapVersion, &ev.Info.Credits, &ev.Info.License} {
		var err error
		if *to, err = d.text(ev, d.item.text[i]); err != nil {
			return err
		}
	}
	return nil
}

func (d *Decoder) produceImage(ev *Event, n ints) (err error) {
	ev.Image = Image{
		Image: d.file.ordinal(d.itemIndex(), typeImage), Version: n.at(0), Width: n.at(1), Height: n.at(2),
		External: n.at(3) != 0, Format: pixelFormat(n), Bytes: int32(d.item.bytes), Extra: d.extraOf(n),
	}
	ev.Image.Name, err = d.text(ev, d.item.text[0])
	return err
}

func (d *Decoder) produceSound(ev *Event, n ints) (err error) {
	ev.Sound = Sound{
		Sound: d.file.ordinal(d.itemIndex(), typeSound), Version: n.at(0), External: n.at(1) != 0,
		Bytes: int32(d.item.bytes), DeclaredBytes: n.at(4), Extra: d.extraOf(n),
	}
	ev.Sound.Name, err = d.text(ev, d.item.text[0])
	return err
}

func (d *Decoder) produceEnvelope(ev *Event, n ints) {
	ev.Envelope = Envelope{
		Envelope: d.file.ordinal(d.itemIndex(), typeEnvelope), Version: n.at(0), Channels: n.at(1), Kind: envelopeKind(n.at(1)),
		FirstPoint: n.at(2), NumPoints: n.at(3), Extra: d.extraOf(n),
	}
	if d.item.known >= 12 {
		ev.Envelope.Name = d.packed(ev, n, 4, 8)
	}
	if d.item.known >= 13 {
		ev.Envelope.Synchronized = n.at(12) != 0
	}
}

// envelopeKind returns what an envelope animates, which follows from the number of its channels.
func envelopeKind(channels int32) EnvelopeKind {
	switch channels {
	case 1:
		return EnvelopeKindVolume
	case 3:
		return EnvelopeKindPosition
	case 4:
		return EnvelopeKindColor
	}
	return EnvelopeKindUnspecified
}

func (d *Decoder) producePoints(ev *Event, n ints, slot int64) {
	f := d.file
	size := f.plan.pointInts
	first := int(slot) * pointsPerEvent
	count := min(n.len()/size-first, pointsPerEvent)
	var beziers ints
	if f.plan.beziers >= 0 {
		beziers = f.Item(f.plan.beziers).Data
	}
	values := d.values[:0]
	take := func(v ints, from int) []int32 {
		for i := range 4 {
			values = append(values, v.at(from+i))
		}
		return values[len(values)-4:]
	}
	for k := range count {
		v := n[(first+k)*size*4:][:size*4]
		p := EnvelopePoint{TimeMs: v.at(0), Curve: Curve(v.at(1)) + 1, Values: take(v, 2)}
		tangents := v[pointInts*4:]
		if beziers != nil {
			tangents = beziers[(first+k)*bezierInts*4:][:bezierInts*4]
		}
		if len(tangents) > 0 {
			p.HasBezier = true
			p.Bezier = Bezier{
				InDxMs: take(tangents, 0), InDy: take(tangents, 4), OutDxMs: take(tangents, 8), OutDy: take(tangents, 12),
			}
		}
		d.envelope[k] = p
	}
	ev.EnvelopePoints = EnvelopePoints{First: int32(first), Points: d.envelope[:count]}
}

func (d *Decoder) produceGroup(ev *Event, n ints) {
	g := d.item.Group
	ev.Group = Group{
		Group: g, Version: n.at(0), OffsetX: n.at(1), OffsetY: n.at(2), ParallaxX: n.at(3), ParallaxY: n.at(4),
		FirstLayer: n.at(5), NumLayers: n.at(6), Extra: d.extraOf(n),
	}
	if d.item.known >= 12 {
		ev.Group.Clipped, ev.Group.HasClip = n.at(7) != 0, true
		ev.Group.Clip = Clip{X: n.at(8), Y: n.at(9), Width: n.at(10), Height: n.at(11)}
	}
	if d.item.known >= 15 {
		ev.Group.Name = d.packed(ev, n, 12, 3)
	}
	if d.file.plan.badGroups[g/64]&(1<<(g%64)) != 0 {
		d.warn(ev, WarningBadLayerRange)
	}
}

func (d *Decoder) produceTileLayer(ev *Event, n ints) {
	l := &d.item
	ev.TileLayer = TileLayer{
		Layer: l.Layer, Group: l.Group, Kind: l.tiles, Version: n.at(3), Width: l.width, Height: l.height,
		Detail: n.at(2)&1 != 0, Color: colorAt(n, 7), HasColor: true, ColorEnvelope: n.at(11),
		ColorEnvelopeOffsetMs: n.at(12), Image: n.at(13), Data: l.data, BytesPerTile: l.stride, Flags: n.at(6),
		Extra: d.extraOf(n), LayerInGroup: l.LayerInGroup,
	}
	if n.at(3) >= 3 && n.len() >= 18 {
		ev.TileLayer.Name = d.packed(ev, n, 15, 3)
	}
}

// indexed returns the UUID of an index item and the UUID's name, both in d.texts.
func (d *Decoder) indexed(n ints) (name, uuid []byte) {
	u, _ := uuidOf(n)
	start := len(d.texts)
	d.texts = append(d.texts, uuidNames[u]...)
	middle := len(d.texts)
	d.texts = u.appendText(d.texts)
	return d.texts[start:middle:middle], d.texts[middle:]
}

// rawItem delivers piece number slot of an unparsed item.
func (d *Decoder) rawItem(ev *Event, i int, slot int64) {
	item := d.file.Item(i)
	offset := min(slot*ChunkSize, int64(len(item.Data)))
	name, uuid := d.typeName(item.Type)
	ev.Kind = KindRawItem
	ev.RawItem = RawItem{
		Index: int32(i), Type: int32(item.Type), Id: int32(item.ID), Name: name, Uuid: uuid, Offset: int32(offset),
		Bytes: int32(len(item.Data)), Data: item.Data[offset:min(offset+ChunkSize, int64(len(item.Data)))],
	}
}
