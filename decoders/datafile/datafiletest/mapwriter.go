package datafiletest

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/replayd/replayd/decoders/datafile"
)

// MapWriter writes a map from events. It is the inverse of [datafile.Decoder]. It ignores an event's own index and
// number, and keeps references to others. So a decoded map can be written again with the same contents, but its blobs
// may get other numbers.
type MapWriter struct {
	// Writer writes the container. Its fields may be set before the first event is added.
	Writer

	counts  [numTypes]int // items of each type so far
	uuids   map[uuid]int  // numbers by UUID of the type
	perUUID map[uuid]int  // items of each such type so far
	beziers []int32
	inline  bool // points include their tangents, because an envelope has version 3

	// The current item, and the part of its data that has been added.
	open    *datafile.Event
	ints    []int32
	typ, id int
	dataAt  int // the position in ints of the data's index
	body    []byte
}

// Add adds an event. Events of data must follow the event of their item, as a Decoder delivers them. Headers, types and
// derived events like summaries are ignored, because the writer derives them.
func (m *MapWriter) Add(ev *datafile.Event) error {
	switch ev.Kind {
	case datafile.KindHeader, datafile.KindItemType, datafile.KindTileSummary, datafile.KindUuidType,
		datafile.KindEnvelopeBeziers, datafile.KindPhysicsTiles, datafile.KindEntities, datafile.KindLink, datafile.KindLayerBounds:
		return nil
	case datafile.KindTiles:
		return m.addTiles(&ev.Tiles)
	case datafile.KindImageData:
		return m.addBody(ev.Kind, ev.ImageData.Data)
	case datafile.KindSoundData:
		return m.addBody(ev.Kind, ev.SoundData.Data)
	case datafile.KindQuads:
		var b []byte
		for i := range ev.Quads.Quads {
			b = appendQuad(b, &ev.Quads.Quads[i])
		}
		return m.addBody(ev.Kind, b)
	case datafile.KindSoundSources:
		var b []byte
		for i := range ev.SoundSources.Sources {
			b = appendSource(b, &ev.SoundSources.Sources[i], m.open != nil && m.open.SoundLayer.Deprecated)
		}
		return m.addBody(ev.Kind, b)
	case datafile.KindSettings:
		var b []byte
		for _, command := range ev.Settings.Commands {
			b = append(append(b, command...), 0)
		}
		return m.addBody(ev.Kind, b)
	case datafile.KindEnvelopePoints:
		if m.open != nil && m.open.Kind == datafile.KindEnvelopePoints {
			return m.addPoints(&ev.EnvelopePoints)
		}
	case datafile.KindRawData:
		return m.addRawData(&ev.RawData)
	}
	if err := m.flush(); err != nil {
		return err
	}
	return m.begin(ev)
}

// WriteTo writes the map.
func (m *MapWriter) WriteTo(w io.Writer) (int64, error) {
	if err := m.flush(); err != nil {
		return 0, err
	}
	return m.Writer.WriteTo(w)
}

// begin starts an item and sets its integers. Its data follows.
func (m *MapWriter) begin(ev *datafile.Event) error {
	m.dataAt, m.body = -1, nil
	kept := *ev
	m.open = &kept
	switch ev.Kind {
	case datafile.KindVersion:
		m.item(typeVersion, ev.Version.Extra, ev.Version.Version)
	case datafile.KindInfo:
		v := &ev.Info
		m.item(typeInfo, v.Extra, 1,
			m.AddText(v.Author), m.AddText(v.MapVersion), m.AddText(v.Credits), m.AddText(v.License), -1)
		m.dataAt = 5
	case datafile.KindImage:
		v := &ev.Image
		m.item(typeImage, nil, v.Version, v.Width, v.Height, flag(v.External), m.AddText(v.Name), -1)
		if v.Version >= 2 {
			m.ints = append(m.ints, int32(max(v.Format, datafile.PixelFormatRgb))-1)
		}
		m.ints = append(m.ints, v.Extra...)
		m.dataAt = 5
	case datafile.KindEnvelope:
		v := &ev.Envelope
		m.inline = m.inline || v.Version >= 3
		m.item(typeEnvelope, nil, v.Version, v.Channels, v.FirstPoint, v.NumPoints)
		m.ints = append(m.ints, packText(string(v.Name), 8)...)
		if v.Version >= 2 {
			m.ints = append(m.ints, flag(v.Synchronized))
		}
		m.ints = append(m.ints, v.Extra...)
	case datafile.KindEnvelopePoints:
		m.item(typePoints, nil)
		return m.addPoints(&ev.EnvelopePoints)
	case datafile.KindGroup:
		m.beginGroup(&ev.Group)
	case datafile.KindTileLayer:
		m.beginTileLayer(&ev.TileLayer)
	case datafile.KindQuadLayer:
		v := &ev.QuadLayer
		m.item(typeLayer, nil, 0, layerQuads, flag(v.Detail), v.Version, v.NumQuads, -1, v.Image)
		if v.Version >= 2 {
			m.ints = append(m.ints, packText(string(v.Name), 3)...)
		}
		m.ints = append(m.ints, v.Extra...)
		m.dataAt = 5
	case datafile.KindSoundLayer:
		v := &ev.SoundLayer
		typ := int32(layerSounds)
		if v.Deprecated {
			typ = layerSoundsOriginal
		}
		m.item(typeLayer, nil, 0, typ, flag(v.Detail), v.Version, v.NumSources, -1, v.Sound)
		m.ints = append(append(m.ints, packText(string(v.Name), 3)...), v.Extra...)
		m.dataAt = 5
	case datafile.KindSound:
		v := &ev.Sound
		m.item(typeSound, v.Extra, v.Version, flag(v.External), m.AddText(v.Name), -1, v.DeclaredBytes)
		m.dataAt = 3
	case datafile.KindAutomapper:
		v := &ev.Automapper
		m.uuidItem(uuidAutomapper)
		m.ints = append(m.ints[:0], v.Version, v.Group, v.LayerInGroup, v.Config, v.Seed, v.Flags)
		m.ints = append(m.ints, v.Extra...)
	case datafile.KindRawItem:
		return m.rawItem(&ev.RawItem)
	default:
		return fmt.Errorf("datafiletest: an event of kind %v cannot be written here", ev.Kind)
	}
	return nil
}

// item starts an item of one of the types that all files share.
func (m *MapWriter) item(typ int, extra []int32, values ...int32) {
	m.typ, m.id = typ, m.counts[typ]
	m.counts[typ]++
	m.ints = append(append(m.ints[:0], values...), extra...)
}

// uuidItem starts an item of a type with a UUID. A new type gets the next number, from the highest downwards.
func (m *MapWriter) uuidItem(u uuid) {
	if m.uuids == nil {
		m.uuids, m.perUUID = map[uuid]int{}, map[uuid]int{}
	}
	typ, ok := m.uuids[u]
	if !ok {
		typ = typeUuidLast - len(m.uuids)
		m.uuids[u] = typ
		var index []int32
		for part := range slices.Chunk(u[:], 4) {
			index = append(index, int32(binary.BigEndian.Uint32(part)))
		}
		m.AddInts(typeUuidIndex, typ, index...)
	}
	m.typ, m.id = typ, m.perUUID[u]
	m.perUUID[u]++
	m.ints = m.ints[:0]
}

func (m *MapWriter) rawItem(v *datafile.RawItem) error {
	if v.Offset != 0 || int(v.Bytes) != len(v.Data) {
		return fmt.Errorf("datafiletest: raw items of more than %d bytes cannot be written", datafile.ChunkSize)
	}
	m.typ, m.id = int(v.Type), int(v.Id)
	if len(v.Uuid) > 0 {
		var u uuid
		if n, err := hex.Decode(u[:], []byte(strings.ReplaceAll(string(v.Uuid), "-", ""))); err != nil || n != len(u) {
			return fmt.Errorf("datafiletest: %q is not a UUID", v.Uuid)
		}
		m.uuidItem(u)
	} else if m.typ < numTypes {
		m.counts[m.typ]++
	}
	m.AddItem(m.typ, m.id, v.Data)
	m.open = nil
	return nil
}

func (m *MapWriter) beginGroup(v *datafile.Group) {
	m.item(typeGroup, nil, v.Version, v.OffsetX, v.OffsetY, v.ParallaxX, v.ParallaxY, v.FirstLayer, v.NumLayers)
	if v.Version >= 2 {
		m.ints = append(m.ints, flag(v.Clipped), v.Clip.X, v.Clip.Y, v.Clip.Width, v.Clip.Height)
	}
	if v.Version >= 3 {
		m.ints = append(m.ints, packText(string(v.Name), 3)...)
	}
	m.ints = append(m.ints, v.Extra...)
}

func (m *MapWriter) beginTileLayer(v *datafile.TileLayer) {
	m.item(typeLayer, nil, 0, layerTiles, flag(v.Detail), v.Version, v.Width, v.Height, v.Flags,
		v.Color.R, v.Color.G, v.Color.B, v.Color.A, v.ColorEnvelope, v.ColorEnvelopeOffsetMs, v.Image, -1)
	if v.Version >= 3 {
		m.ints = append(m.ints, packText(string(v.Name), 3)...)
	}
	m.dataAt = 14
	for i, flag := range physicsFlags {
		if v.Flags&flag != 0 {
			// DDNet requires the ordinary data of these layers, too.
			m.ints[14] = m.AddData(make([]byte, int(v.Width)*int(v.Height)*tileBytes))
			m.dataAt = len(m.ints) + i
		}
	}
	if v.Version < 4 {
		m.ints = append(m.ints, -1, -1, -1, -1, -1)
	}
	m.ints = append(m.ints, v.Extra...)
}

func (m *MapWriter) addPoints(v *datafile.EnvelopePoints) error {
	for i := range v.Points {
		p := &v.Points[i]
		if len(p.Values) != 4 {
			return fmt.Errorf("datafiletest: an envelope point with %d values", len(p.Values))
		}
		m.ints = append(append(m.ints, p.TimeMs, int32(p.Curve)-1), p.Values...)
		b := &p.Bezier
		switch tangents := slices.Concat(b.InDxMs, b.InDy, b.OutDxMs, b.OutDy); {
		case m.inline && len(tangents) != bezierInts, p.HasBezier && len(tangents) != bezierInts:
			return fmt.Errorf("datafiletest: a bezier with %d values", len(tangents))
		case m.inline:
			m.ints = append(m.ints, tangents...)
		case p.HasBezier:
			m.beziers = append(m.beziers, tangents...)
		}
	}
	return nil
}

// addBody adds data of the current item.
func (m *MapWriter) addBody(kind datafile.Kind, b []byte) error {
	if m.open == nil || m.dataAt < 0 {
		return fmt.Errorf("datafiletest: %v does not follow an item with such data", kind)
	}
	m.body = append(m.body, b...)
	return nil
}

func (m *MapWriter) addTiles(v *datafile.Tiles) error {
	if m.open == nil || m.open.Kind != datafile.KindTileLayer {
		return fmt.Errorf("datafiletest: %v does not follow a tile layer", datafile.KindTiles)
	}
	return m.addBody(datafile.KindTiles, v.Data)
}

// addRawData adds the rest of the current item's blob, or a piece of a blob without an item.
func (m *MapWriter) addRawData(v *datafile.RawData) error {
	if v.Offset > 0 && m.dataAt >= 0 {
		return m.addBody(datafile.KindRawData, v.Data)
	}
	if err := m.flush(); err != nil {
		return err
	}
	if int(v.Offset) != len(m.body) {
		return fmt.Errorf("datafiletest: raw data from byte %d on, expected from %d on", v.Offset, len(m.body))
	}
	m.body = append(m.body, v.Data...)
	if len(m.body) == int(v.Bytes) {
		m.AddData(m.body)
		m.body = nil
	}
	return nil
}

// flush adds the current item with its data.
func (m *MapWriter) flush() error {
	if m.open == nil {
		return nil
	}
	if m.body != nil {
		if m.open.Kind == datafile.KindTileLayer && m.open.TileLayer.Version >= 4 {
			m.body = packRuns(m.body)
		}
		m.ints[m.dataAt] = m.AddData(m.body)
	}
	m.AddInts(m.typ, m.id, m.ints...)
	kind := m.open.Kind
	m.open, m.dataAt, m.body = nil, -1, nil
	if kind == datafile.KindEnvelopePoints && len(m.beziers) > 0 {
		m.uuidItem(uuidBeziers)
		m.AddInts(m.typ, m.id, m.beziers...)
		m.beziers = nil
	}
	return nil
}
