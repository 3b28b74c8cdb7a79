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

// course is the game layer of the map of the demonstration (scenery.go has the others): '#' solid, '=' unhookable, 'x' death, 'f' freeze, 'u' unfreeze, 'S' start,
// 'F' finish, '1' checkpoint, '@' spawn.
//
//go:embed course.txt
var course string

var courseTiles = map[byte]byte{' ': 0, '#': 1, 'x': 2, '=': 3, 'f': 9, 'u': 11, 'S': 33, 'F': 34, '1': 35, '@': 192}

const courseName = "course"

// drawRace writes the map of the race into a directory.
func drawRace(dir string) error { return drawCourse(filepath.Join(dir, courseName+".map")) }

// drawCourse writes the map of the demonstration.
func drawCourse(path string) error {
	rows := strings.Split(strings.TrimSpace(course), "\n")
	tiles := make([]byte, 0, len(rows)*len(rows[0])*4)
	for _, row := range rows {
		for _, tile := range []byte(row) {
			tiles = append(tiles, courseTiles[tile], 0, 0, 0)
		}
	}
	return writeMap(path, newScene(rows).events(tiles))
}

// writeMap writes a map of these events.
func writeMap(path string, events []datafile.Event) (err error) {
	writer := datafiletest.MapWriter{}
	for i := range events {
		if err := writer.Add(&events[i]); err != nil {
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
