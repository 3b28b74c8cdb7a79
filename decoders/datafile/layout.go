package datafile

import "math"

// layout describes an item, derived from its integers alone: the kind of its event, the blobs that it refers to, and
// their contents.
type layout struct {
	kind  Kind // of the item's own event; KindRawItem if it does not fit its type
	known int  // number of known integers; the others are delivered as extra
	text  [5]int32
	texts int // used entries of text

	body   Kind   // the kind of the events with its data, or KindNone
	data   int32  // the blob with its data, or -1
	bytes  int64  // bytes of the blob that belong to the body; the rest is delivered raw
	want   int64  // bytes that the item requires
	warned uint32 // the item's Warnings, as bits

	Place // the part of the map that the item describes

	// Only for tile layers.
	tiles         LayerKind
	width, height int32
	stride        int32 // bytes per tile
	skips         bool  // tiles are stored with run lengths
}

// wholeMap is the place of events about the whole map.
var wholeMap = Place{Group: -1, Layer: -1, LayerInGroup: -1}

// The types of layers, as stored in items.
const (
	layerTiles          = 2
	layerQuads          = 3
	layerSoundsOriginal = 9
	layerSounds         = 10
)

// Sizes of the structs in blobs and items, in bytes or integers.
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

// The most that one event carries. Longer texts and settings are delivered as raw data. An item with more unknown
// integers is delivered as a raw item.
const (
	quadsPerEvent   = 128
	sourcesPerEvent = 128
	pointsPerEvent  = 128
	maxText         = 64 << 10  // bytes
	maxSettings     = 256 << 10 // bytes
	maxExtra        = 1 << 10   // integers
)

// physics describes the tile layers that keep their tiles in a separate blob. flag is their bit in the item's flags.
// tail is the position, in the item's tail, of the blob's index, where an index of -1 means no blob. stride is the
// number of bytes per tile. typeAt is the byte of a tile that holds its type.
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

// layoutOf returns the layout of the i-th item. It reads only the items and the tables.
func (f *File) layoutOf(i int) layout {
	item := f.Item(i)
	l := layout{kind: KindRawItem, body: KindNone, data: -1, Place: wholeMap}
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

// setBody sets the blob with the item's data. The data is want bytes of the blob, or all of it if want is negative.
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
		want = saturatingProduct(w, h, pixelBytes[format])
	}
	l.setBody(f, KindImageData, n.at(5), want)
}

var pixelBytes = [...]int64{PixelFormatRgb: 3, PixelFormatRgba: 4}

// pixelFormat returns the format of an embedded image's pixels.
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

// envelopeInts returns the number of known integers of an envelope. The name counts only if it is complete.
func envelopeInts(n ints) int {
	switch {
	case n.len() >= 13 && n.at(0) >= 2:
		return 13
	case n.len() >= 12:
		return 12
	}
	return 4
}

// groupInts returns the number of known integers of a group.
func groupInts(n ints) int {
	switch version := n.get(0, 1); {
	case version >= 3 && n.len() >= 15:
		return 15
	case version >= 2 && n.len() >= 12:
		return 12
	}
	return 7
}

// layoutLayer sets the layout of a layer. It reports whether the item fits its type.
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

// tileBytes returns the size of a layer's tiles, in bytes.
func (l *layout) tileBytes() int64 {
	return saturatingProduct(int64(l.width), int64(l.height), int64(l.stride))
}

// saturatingProduct multiplies two numbers below 2^31 and a small one. It returns math.MaxInt64 instead of overflowing.
func saturatingProduct(a, b, small int64) int64 {
	if area := a * b; area < math.MaxInt64/small {
		return area * small
	}
	return math.MaxInt64
}
