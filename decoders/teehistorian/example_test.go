package teehistorian_test

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/teehistorian"
)

// tiny is a file of two ticks, made by hand.
const tiny = "\x69\x9d\xb1\x7b\x8e\xfb\x34\xff\xb1\xd8\xda\x6f\x60\xc1\x5d\xd1" + // the magic
	`{"version":"2","map_name":"dm1","game_uuid":"9c8c0e60-3b6c-4b7a-8d3c-0f4f7f0f9f00"}` + "\x00" +
	"\x47\x00" + // client 0 joins
	"\x42\x00\xa8\x0f\x90\x0c" + // its character appears
	"\x00\x05\x40" + // it moves: a new tick, as its id is not above the last one
	"\x40" // the end

func Example() {
	d := teehistorian.New(strings.NewReader(tiny), teehistorian.Options{})
	header, err := d.Header()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("map", header.MapName)

	var ev teehistorian.Event
	for {
		err := d.Next(&ev)
		if errors.Is(err, io.EOF) {
			break
		}
		if errors.Is(err, decoders.ErrMore) { // a reader of a growing file would wait here
			err = d.Close()
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		switch ev.Kind {
		case teehistorian.KindJoin:
			fmt.Println("tick", ev.AtTick, "client", ev.Join.ClientId, "joins")
		case teehistorian.KindPlayerNew:
			fmt.Println("tick", ev.AtTick, "client", ev.PlayerNew.ClientId, "at", ev.PlayerNew.X, ev.PlayerNew.Y)
		case teehistorian.KindPlayerDiff:
			fmt.Println("tick", ev.AtTick, "client", ev.PlayerDiff.ClientId, "at", ev.PlayerDiff.X, ev.PlayerDiff.Y)
		}
	}
	// Output:
	// map dm1
	// tick 0 client 0 joins
	// tick 1 client 0 at 1000 784
	// tick 2 client 0 at 1005 783
}

// A file that a server is still writing may end anywhere.
func ExampleDecoder_Close() {
	for _, end := range []int{1, 3} {
		d := teehistorian.New(strings.NewReader(tiny[:len(tiny)-end]), teehistorian.Options{})
		var ev teehistorian.Event
		for d.Next(&ev) == nil {
		}
		fmt.Println(d.Close())
	}
	// Output:
	// teehistorian: finish at byte 111, tick 2: truncated: the file ends between two records, without this last one
	// teehistorian: player_diff at byte 108, tick 1: truncated: the file ends after 1 bytes of it
}
