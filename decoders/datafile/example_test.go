package datafile_test

import (
	"fmt"
	"os"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/datafile"
)

func Example() {
	r, err := os.Open("../../testdata/datafile/sample.map")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	info, err := r.Stat()
	if err != nil {
		fmt.Println(err)
		return
	}
	f, err := datafile.Open(r, info.Size(), datafile.DefaultLimits)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("version %d, %d items, %d blobs\n", f.Header().Version, f.NumItems(), f.NumData())

	// Data that the filter drops is not inflated.
	want := func(kind datafile.Kind, _ datafile.Place) bool {
		return kind == datafile.KindInfo || kind == datafile.KindTileLayer
	}
	for ev, err := range decoders.All(f.Events(datafile.Options{Want: want})) {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch ev.Kind {
		case datafile.KindInfo:
			fmt.Printf("by %s\n", ev.Info.Author)
		case datafile.KindTileLayer:
			fmt.Printf("layer %d: %q, %d x %d tiles\n", ev.TileLayer.Layer, ev.TileLayer.Name, ev.TileLayer.Width, ev.TileLayer.Height)
		}
	}
	// Output:
	// version 4, 32 items, 29 blobs
	// by replayd
	// layer 1: "", 64 x 24 tiles
	// layer 2: "Game", 64 x 24 tiles
	// layer 3: "walls", 64 x 24 tiles
	// layer 4: "Front", 64 x 24 tiles
	// layer 5: "Tele", 64 x 24 tiles
	// layer 6: "Speedup", 64 x 24 tiles
	// layer 7: "Switch", 64 x 24 tiles
	// layer 8: "Tune", 64 x 24 tiles
}
