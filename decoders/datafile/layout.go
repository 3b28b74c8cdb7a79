package datafile

import "math"

// layout is what an item is, as far as its integers say: which event stands for it, which blobs it refers to, and what
// they hold.
type layout struct {
	kind  Kind // of the item's own event; KindRawItem when it does not fit its type
	known int  // how many of its integers mean something; the others are sent as extra
	text  [5]int32
	texts int // how many of text are in use

	body   Kind   // of the events that carry its data, or KindNone
	data   int32  // the blob with its data, or -1
	bytes  int64  // how many bytes of the blob belong to the body; the rest goes out raw
	want   int64  // how many bytes the item asks for
	warned uint32 // what is odd about the item: the bits of the Warnings

	Place // what the item is about

	// Of tile layers.
	tiles         LayerKind
	width, height int32
	stride        int32 // bytes of a tile
	skips         bool  // runs of equal tiles are stored once
}

// nowhere is the place of what is about the whole map.
var nowhere = Place{Group: -1, Layer: -1, LayerInGroup: -1}

// Layers' types as their items spell them.
const (
	layerTiles          = 2
	layerQuads          = 3
	layerSoundsOriginal = 9
	layerSounds         = 10
)

// Bytes and integers of the structs in blobs and items.
const (
	tileBytes            = 4
	quadBytes            = 38 * 4
	sourceBytes          = 13 * 4
	sourceOriginalBytes  = 9 * 4
	pointInts            = 6
	pointWithBezierInts  = 22
	bezierInts           = 16
	uuidItemInts         = 4
	automapperItemInts   = 6
	tileLayerPrefixInts  = 15
	soundLayerPrefixInts = 7
)

// What one event carries at most. Longer texts and settings come as raw data, and an item with more integers that nobody
// knows as a raw item.
const (
	quadsPerEvent   = 128
	sourcesPerEvent = 128
	pointsPerEvent  = 128
	maxText         = 64 << 10  // bytes
	maxSettings     = 256 << 10 // bytes
	maxExtra        = 1 << 10   // integers
)

// physics are the kinds of tile layers that keep their tiles in a blob of their own: the bit of the item's flags, where
// in the item's tail the blob's index is (-1 for nowhere), how many bytes a tile has, and which of them says what it is.
var physics = [...]struct {
	kind               LayerKind
	flag, tail, stride int32
	typeAt             int
}{
	{LayerKindGame, 1, -1, tileBytes, 0},
	{LayerKindTele, 2, 0, 2, 1},
	{LayerKindSpeedup, 4, 1, 6, 2},
	{LayerKindFront, 8, 2, tileBytes, 0},
	{LayerKindSwitch, 16, 3, 4, 1},
	{LayerKindTune, 32, 4, 2, 1},
}

// layoutOf returns what the i-th item is. It looks at nothing but the items and the tables.
func (f *File) layoutOf(i int) layout {
	item := f.Item(i)
	l := layout{kind: KindRawItem, body: KindNone, data: -1, Place: nowhere}
	if f.plan.legacy {
		return l
	}
	n := ints(item.Data)
	fits := true
	switch item.Type {
	case typeVersion:
		fits = n.len() >= 1
		l.set(KindVersion, 1)
	case typeInfo:
		fits = n.len() >= 5 && n.at(0) == 1
		if fits {
			f.layoutInfo(&l, n)
		}
	case typeImage:
		fits = n.len() >= 6
		if fits {
			f.layoutImage(&l, n)
		}
	case typeEnvelope:
		fits = n.len() >= 4
		l.set(KindEnvelope, envelopeInts(n))
	case typeGroup:
		fits = n.len() >= 7
		l.set(KindGroup, groupInts(n))
		l.Group = f.ordinal(i, typeGroup)
	case typeLayer:
		l.Layer = f.ordinal(i, typeLayer)
		l.Group, l.LayerInGroup = f.plan.groupOf[l.Layer], f.LayerInGroup(l.Layer)
		fits = f.layoutLayer(&l, n)
	case typePoints:
		fits = n.len()%f.plan.pointInts == 0
		l.set(KindEnvelopePoints, n.len())
	case typeSound:
		fits = n.len() >= 5
		if fits {
			l.set(KindSound, 5)
			l.addText(n.at(2))
			if n.at(1) == 0 {
				l.setBody(f, KindSoundData, n.at(3), -1)
			}
		}
	case typeUuidIndex:
		fits = n.len() >= uuidItemInts
		l.set(KindUuidType, n.len())
	default:
		switch f.plan.uuids[item.Type] {
		case uuidAutomapper:
			fits = n.len() >= automapperItemInts
			l.set(KindAutomapper, automapperItemInts)
			if fits {
				l.Group, l.LayerInGroup = n.at(1), n.at(2)
				l.Layer = f.layerOf(l.Group, l.LayerInGroup)
			}
		case uuidBeziers:
			l.set(KindEnvelopeBeziers, n.len())
		}
	}
	if !fits || n.len()-l.known > maxExtra && l.kind != KindRawItem {
		return layout{kind: KindRawItem, data: -1, Place: l.Place, warned: 1 << WarningMalformedItem}
	}
	return l
}

func (l *layout) set(kind Kind, known int) { l.kind, l.known = kind, known }

func (l *layout) warn(w Warning) { l.warned |= 1 << w }

func (l *layout) addText(blob int32) {
	l.text[l.texts] = blob
	l.texts++
}

// setBody says that a blob holds the item's data: want bytes of it, or all when want is negative.
func (l *layout) setBody(f *File, body Kind, blob int32, want int64) {
	if blob < 0 || int(blob) >= f.NumData() {
		if want != 0 {
			l.warn(WarningMissingData)
		}
		return
	}
	size := f.DataSize(int(blob))
	if want < 0 {
		want = size
	}
	l.body, l.data, l.want, l.bytes = body, blob, want, min(want, size)
	switch {
	case size < want:
		l.warn(WarningShortData)
	case size > want:
		l.warn(WarningLongData)
	}
}

func (f *File) layoutInfo(l *layout, n ints) {
	l.set(KindInfo, min(n.len(), 6))
	for i := 1; i <= 4; i++ {
		l.addText(n.at(i))
	}
	settings := n.get(5, -1)
	if settings < 0 {
		return
	}
	l.setBody(f, KindSettings, settings, -1)
	if l.body != KindNone && l.want > maxSettings {
		l.body, l.data = KindNone, -1
		l.warn(WarningLongText)
	}
}

func (f *File) layoutImage(l *layout, n ints) {
	l.set(KindImage, 6)
	l.addText(n.at(4))
	format := pixelFormat(n)
	if n.at(0) >= 2 && n.len() >= 7 {
		l.known = 7
	}
	if n.at(3) != 0 {
		return // external
	}
	want := int64(-1)
	if w, h := int64(n.at(1)), int64(n.at(2)); format != PixelFormatUnspecified && w >= 0 && h >= 0 {
		want = product(w, h, pixelBytes[format])
	}
	l.setBody(f, KindImageData, n.at(5), want)
}

var pixelBytes = [...]int64{PixelFormatRgb: 3, PixelFormatRgba: 4}

// pixelFormat is how an embedded image's pixels are stored.
func pixelFormat(n ints) PixelFormat {
	switch {
	case n.at(3) != 0:
		return PixelFormatUnspecified
	case n.at(0) < 2 || n.len() < 7:
		return PixelFormatRgba
	case n.at(6) == 0:
		return PixelFormatRgb
	case n.at(6) == 1:
		return PixelFormatRgba
	}
	return PixelFormatUnspecified
}

// envelopeInts is how many integers of an envelope are understood: the name only counts when it is complete.
func envelopeInts(n ints) int {
	switch {
	case n.len() >= 13 && n.at(0) >= 2:
		return 13
	case n.len() >= 12:
		return 12
	}
	return 4
}

// groupInts is how many integers of a group are understood.
func groupInts(n ints) int {
	switch version := n.get(0, 1); {
	case version >= 3 && n.len() >= 15:
		return 15
	case version >= 2 && n.len() >= 12:
		return 12
	}
	return 7
}

// layoutLayer reports whether a layer's item fits its type.
func (f *File) layoutLayer(l *layout, n ints) bool {
	switch n.get(1, -1) {
	case layerTiles:
		return n.len() >= tileLayerPrefixInts && f.layoutTiles(l, n)
	case layerQuads:
		if n.len() < 7 || n.at(4) < 0 {
			return false
		}
		l.set(KindQuadLayer, 7)
		if n.at(3) >= 2 && n.len() >= 10 {
			l.known = 10
		}
		l.setBody(f, KindQuads, n.at(5), int64(n.at(4))*quadBytes)
		l.bytes -= l.bytes % quadBytes
	case layerSounds, layerSoundsOriginal:
		if n.len() < soundLayerPrefixInts || n.at(4) < 0 {
			return false
		}
		l.set(KindSoundLayer, 7)
		if n.len() >= 10 {
			l.known = 10
		}
		size := int64(sourceBytes)
		if n.at(1) == layerSoundsOriginal {
			size = sourceOriginalBytes
		}
		l.setBody(f, KindSoundSources, n.at(5), int64(n.at(4))*size)
		l.bytes -= l.bytes % size
	default:
		return false
	}
	return true
}

func (f *File) layoutTiles(l *layout, n ints) bool {
	l.width, l.height = n.at(4), n.at(5)
	if l.width < 0 || l.height < 0 {
		return false
	}
	tail := tileLayerPrefixInts
	if n.at(3) >= 3 && n.len() >= 18 {
		tail = 18
	}
	l.set(KindTileLayer, min(n.len(), tail+5))
	l.tiles, l.stride = LayerKindTiles, tileBytes
	data := n.at(14)
	for _, p := range physics {
		if n.at(6)&p.flag == 0 {
			continue
		}
		l.tiles, l.stride = p.kind, p.stride
		if p.tail >= 0 {
			if at := tail + int(p.tail); at < n.len() {
				data = n.at(at)
			} else {
				l.stride = tileBytes
				l.warn(WarningMissingPhysicsData)
			}
		}
		break
	}
	l.skips = n.at(3) >= 4 && (l.tiles == LayerKindTiles || l.tiles == LayerKindGame)
	if l.skips {
		l.setBody(f, KindTiles, data, -1)
	} else {
		l.setBody(f, KindTiles, data, l.tileBytes())
		if row := int64(l.width) * int64(l.stride); row > 0 {
			l.bytes -= l.bytes % row
		}
	}
	return true
}

// tileBytes is how many bytes a layer's tiles have.
func (l *layout) tileBytes() int64 { return product(int64(l.width), int64(l.height), int64(l.stride)) }

// product multiplies two numbers below 2^31 and a small one, and stays at the largest number where that is too much.
func product(a, b, small int64) int64 {
	if area := a * b; area < math.MaxInt64/small {
		return area * small
	}
	return math.MaxInt64
}
