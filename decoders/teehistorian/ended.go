package teehistorian

import (
	"bufio"
	"io"
)

// Ended reports whether r has a recording with its own end, which one of a server that was killed lacks. It reads r up to that end.
func Ended(r io.Reader) bool {
	d := New(bufio.NewReaderSize(r, 64<<10), Options{})
	var ev Event
	for {
		if err := d.Next(&ev); err != nil {
			return d.finished
		}
	}
}
