package main

import (
	_ "embed"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/replayd/replayd/decoders/datafile"
	"github.com/replayd/replayd/decoders/datafile/datafiletest"
)

// course is the game layer of the map of the demonstration: '#' solid, '=' unhookable, 'x' death, 'f' freeze, 'u' unfreeze, 'S' start,
// 'F' finish, '1' checkpoint, '@' spawn.
//
//go:embed course.txt
var course string

var courseTiles = map[byte]byte{' ': 0, '#': 1, 'x': 2, '=': 3, 'f': 9, 'u': 11, 'S': 33, 'F': 34, '1': 35, '@': 192}

const courseName = "course"

// drawCourse writes the map of the demonstration.
func drawCourse(path string) (err error) {
	rows := strings.Split(strings.TrimSpace(course), "\n")
	width, height := len(rows[0]), len(rows)
	tiles := make([]byte, 0, width*height*4)
	for _, row := range rows {
		for _, tile := range []byte(row) {
			tiles = append(tiles, courseTiles[tile], 0, 0, 0)
		}
	}
	writer := datafiletest.MapWriter{}
	for _, ev := range []datafile.Event{
		{Kind: datafile.KindVersion, Version: datafile.Version{Version: 1}},
		{Kind: datafile.KindInfo, Info: datafile.Info{Author: []byte("replayd"), License: []byte("CC0")}},
		{Kind: datafile.KindGroup, Group: datafile.Group{Version: 3, NumLayers: 1, Name: []byte("Game"), ParallaxX: 100, ParallaxY: 100}},
		{Kind: datafile.KindTileLayer, TileLayer: datafile.TileLayer{
			Kind: datafile.LayerKindGame, Version: 3, Flags: 1, Width: int32(width), Height: int32(height), Name: []byte("Game"),
			Color: datafile.Color{R: 255, G: 255, B: 255, A: 255}, HasColor: true, ColorEnvelope: -1, Image: -1,
		}},
		{Kind: datafile.KindTiles, Tiles: datafile.Tiles{Columns: int32(width), Rows: int32(height), BytesPerTile: 4, Data: tiles}},
	} {
		if err := writer.Add(&ev); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	_, err = writer.WriteTo(file)
	return err
}
