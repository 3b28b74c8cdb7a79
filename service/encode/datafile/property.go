package datafile

import (
	"github.com/replayd/replayd/decoders/datafile"
	"github.com/replayd/replayd/service/encode"
	"github.com/replayd/replayd/service/filter"
)

// property is what filters can ask of an event of a kind, of a group and of a layer (its index over all layers): -1 for
// none.
func property(f *datafile.File, kind datafile.Kind, group, layer int32) filter.Event {
	e := encode.None(uint8(kind))
	if group >= 0 {
		e.Group = group
	}
	if in := f.LayerInGroup(layer); in >= 0 {
		e.Layer = in
	}
	return e
}

// place is the group and the layer that an event names, -1 where it names none.
func place(ev *datafile.Event) (group, layer int32) {
	switch ev.Kind {
	case datafile.KindGroup:
		return ev.Group.Group, -1
	case datafile.KindTileLayer:
		return ev.TileLayer.Group, ev.TileLayer.Layer
	case datafile.KindTiles:
		return ev.Tiles.Group, ev.Tiles.Layer
	case datafile.KindTileSummary:
		return ev.TileSummary.Group, ev.TileSummary.Layer
	case datafile.KindQuadLayer:
		return ev.QuadLayer.Group, ev.QuadLayer.Layer
	case datafile.KindQuads:
		return ev.Quads.Group, ev.Quads.Layer
	case datafile.KindSoundLayer:
		return ev.SoundLayer.Group, ev.SoundLayer.Layer
	case datafile.KindSoundSources:
		return ev.SoundSources.Group, ev.SoundSources.Layer
	}
	return -1, -1
}
