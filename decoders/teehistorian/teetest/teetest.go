// Package teetest makes recordings for tests out of sound ones, as a server could write them, or as a damaged disk could return
// them.
package teetest

import (
	"bytes"
	"slices"

	"github.com/replayd/replayd/decoders/teehistorian"
)

// Records that this package writes, by their first byte.
const (
	finish    = 0x40
	playerOld = 0x43
	drop      = 0x48
)

// Parts returns the header of a recording, and its records without the finish record. After the records all clients have left, so
// a recording may repeat them any number of times. Neither result shares memory with the recording. It panics if the recording
// cannot be decoded.
func Parts(recording []byte) (header, round []byte) {
	d := teehistorian.New(bytes.NewReader(recording), teehistorian.Options{})
	_, err := d.Header()
	start, end := d.Position().Offset, int64(0)
	var ev teehistorian.Event
	for ; err == nil && ev.Kind != teehistorian.KindFinish; err = d.Next(&ev) {
		end = d.Position().Offset
	}
	if start == 0 || ev.Kind == teehistorian.KindDamage {
		panic(err)
	}
	var dead, gone []byte
	for id, client := range d.State().Clients() {
		if client.Alive {
			dead = appendID(append(dead, playerOld), id)
		}
		if client.Present {
			gone = append(appendID(append(gone, drop), id), 0)
		}
	}
	return slices.Clone(recording[:start]), slices.Concat(recording[start:end], dead, gone)
}

// appendID appends a client id, below 1<<13, as an integer of a recording.
func appendID(b []byte, id int32) []byte {
	if id < 1<<6 {
		return append(b, byte(id))
	}
	return append(b, byte(id&0x3f|0x80), byte(id>>6))
}

// Repeat returns a finished recording of about size bytes that plays the records of another one over and over.
func Repeat(recording []byte, size int) []byte {
	long, round := Parts(recording)
	for len(long) < size {
		long = append(long, round...)
	}
	return append(long, finish)
}

// Damage returns a recording as if the disk had been full twice: some bytes are missing after a third of it, and zeros replace
// others after two thirds. The recording must have some 30 KB, so that enough records follow both places.
func Damage(recording []byte) []byte {
	damaged := slices.Clone(recording)
	clear(damaged[len(damaged)/3*2:][:3000])
	return slices.Delete(damaged, len(damaged)/3, len(damaged)/3+701)
}
