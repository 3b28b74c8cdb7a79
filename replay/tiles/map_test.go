package tiles_test

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/datafile"
	"github.com/replayd/replayd/decoders/datafile/datafiletest"
	"github.com/replayd/replayd/decoders/teehistorian/physics"
	"github.com/replayd/replayd/replay/tiles"
)

func TestOpenRefused(t *testing.T) {
	var empty datafiletest.MapWriter
	if err := empty.Add(&datafile.Event{Kind: datafile.KindVersion, Version: datafile.Version{Version: 1}}); err != nil {
		t.Fatal(err)
	}
	var without bytes.Buffer
	if _, err := empty.WriteTo(&without); err != nil {
		t.Fatal(err)
	}
	course, err := os.ReadFile("../../cmd/internal/demo/race/course.map")
	if err != nil {
		t.Fatal(err)
	}
	var broken *decoders.Error
	for _, test := range []struct {
		name string
		data []byte
		is   func(error) bool
	}{
		{"no game layer", without.Bytes(), func(err error) bool { return errors.Is(err, physics.ErrMap) }},
		{"no map", []byte("nothing of this kind"), func(err error) bool { return errors.As(err, &broken) }},
		{"cut", course[:len(course)-20], func(err error) bool { return errors.As(err, &broken) }},
	} {
		if _, err := tiles.Open(bytes.NewReader(test.data), int64(len(test.data))); !test.is(err) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}
