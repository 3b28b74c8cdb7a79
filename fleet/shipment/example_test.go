package shipment_test

import (
	"bytes"
	"fmt"

	"github.com/replayd/replayd/fleet/shipment"
)

// The subject of a message says which part of which file it belongs to.
func ExampleSubject() {
	file, err := shipment.Subject(shipment.StreamName, "eu1", "2026/a.teehistorian")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(file)
	source, path, part, err := shipment.ParseSubject(shipment.StreamName, file+"."+string(shipment.Tail))
	fmt.Println(source, path, part, err)
	// Output:
	// replayd.live.eu1.2026%2Fa%2Eteehistorian
	// eu1 2026/a.teehistorian tail <nil>
}

// A sender that was started again recognises a file by its first bytes.
func ExampleGeneration_Begins() {
	generation := shipment.NewGeneration([]byte("the header"), 1)
	fmt.Println(generation.Begins(bytes.NewReader([]byte("the header, and more since"))))
	fmt.Println(generation.Begins(bytes.NewReader([]byte("another file at the path"))))
	// Output:
	// true <nil>
	// false <nil>
}
