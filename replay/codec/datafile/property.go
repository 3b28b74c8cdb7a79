package datafile

import (
	"github.com/replayd/replayd/decoders/datafile"
	"github.com/replayd/replayd/replay/filter"
)

// properties holds the properties of each kind of event that filters match: the group of a layer, and the layer.
var properties = filter.Table[datafile.Place]{
	datafile.KindGroup:        {Group: group},
	datafile.KindTileLayer:    {Group: group, Layer: layer},
	datafile.KindTiles:        {Group: group, Layer: layer},
	datafile.KindTileSummary:  {Group: group, Layer: layer},
	datafile.KindPhysicsTiles: {Group: group, Layer: layer},
	datafile.KindEntities:     {Group: group, Layer: layer},
	datafile.KindLink:         {Group: group, Layer: layer},
	datafile.KindLayerBounds:  {Group: group, Layer: layer},
	datafile.KindQuadLayer:    {Group: group, Layer: layer},
	datafile.KindQuads:        {Group: group, Layer: layer},
	datafile.KindSoundLayer:   {Group: group, Layer: layer},
	datafile.KindSoundSources: {Group: group, Layer: layer},
	datafile.KindAutomapper:   {Group: group, Layer: layer},
}

// leastNumbers holds the least indices of groups and layers.
var leastNumbers = map[filter.Property]int32{filter.Groups: 0, filter.Layers: 0}

func group(at *datafile.Place) int32 { return index(at.Group) }
func layer(at *datafile.Place) int32 { return index(at.Layer) }

func index(i int32) int32 {
	if i < 0 {
		return filter.None
	}
	return i
}
