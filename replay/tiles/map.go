// Package tiles finds the maps of DDNet games, and reads their tiles for package physics.
package tiles

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/datafile"
	"github.com/replayd/replayd/decoders/teehistorian/physics"
)

// LayerOf has the layers that matter to characters.
var LayerOf = map[datafile.LayerKind]physics.Layer{
	datafile.LayerKindGame:    physics.LayerGame,
	datafile.LayerKindFront:   physics.LayerFront,
	datafile.LayerKindTele:    physics.LayerTele,
	datafile.LayerKindSpeedup: physics.LayerSpeedup,
	datafile.LayerKindSwitch:  physics.LayerSwitch,
	datafile.LayerKindTune:    physics.LayerTune,
}

// Open reads the tiles and zones of a map file.
func Open(r io.ReaderAt, size int64) (*physics.Map, error) {
	file, err := datafile.Open(r, size, datafile.DefaultLimits)
	if err != nil {
		return nil, fmt.Errorf("opening the map: %w", err)
	}
	var m *physics.Map
	var settings []string
	only := func(wanted ...datafile.Kind) datafile.Options {
		return datafile.Options{Want: func(kind datafile.Kind, _ datafile.Place) bool { return slices.Contains(wanted, kind) }}
	}
	for ev, err := range decoders.All(file.Events(only(datafile.KindTileLayer, datafile.KindSettings))) {
		if err != nil {
			return nil, fmt.Errorf("reading the map: %w", err)
		}
		switch l := &ev.TileLayer; {
		case ev.Kind == datafile.KindSettings:
			for _, command := range ev.Settings.Commands {
				settings = append(settings, string(command))
			}
		case ev.Kind == datafile.KindTileLayer && l.Kind == datafile.LayerKindGame && m == nil:
			if m, err = physics.NewMap(int(l.Width), int(l.Height)); err != nil {
				return nil, err
			}
		}
	}
	if m == nil {
		return nil, fmt.Errorf("%w: it has no game layer", physics.ErrMap)
	}
	for ev, err := range decoders.All(file.Events(only(datafile.KindTiles))) {
		if err != nil {
			return nil, fmt.Errorf("reading the map: %w", err)
		}
		setTiles(m, &ev.Tiles)
	}
	for _, command := range settings {
		set(m, command)
	}
	return m, nil
}

// set executes a setting of the map if it is about a zone's tuning or a switch.
func set(m *physics.Map, command string) {
	words := strings.Fields(command)
	if len(words) < 2 {
		return
	}
	number, err := strconv.ParseUint(words[1], 10, 8)
	switch {
	case err != nil:
	case words[0] == "tune_zone" && len(words) > 3:
		m.Tune(uint8(number), words[2], words[3])
	case words[0] == "switch_open":
		m.Open(uint8(number))
	}
}

func setTiles(m *physics.Map, t *datafile.Tiles) {
	layer, ok := LayerOf[t.Kind]
	each := int(t.BytesPerTile)
	if !ok || each < 2 || t.Columns <= 0 {
		return
	}
	for i := 0; (i+1)*each <= len(t.Data); i++ {
		b := t.Data[i*each : (i+1)*each]
		var tile physics.Tile
		switch {
		case layer <= physics.LayerFront:
			tile = physics.Tile{Index: b[0], Flags: b[1]}
		case layer == physics.LayerSpeedup && each >= 6:
			tile = physics.Tile{Force: b[0], MaxSpeed: b[1], Index: b[2], Angle: int16(binary.LittleEndian.Uint16(b[4:]))}
		case layer == physics.LayerSwitch && each >= 4:
			tile = physics.Tile{Number: b[0], Index: b[1], Flags: b[2], Delay: b[3]}
		case layer == physics.LayerTele || layer == physics.LayerTune:
			tile = physics.Tile{Number: b[0], Index: b[1]}
		}
		m.Set(layer, int(t.X)+i%int(t.Columns), int(t.Y)+i/int(t.Columns), tile)
	}
}
