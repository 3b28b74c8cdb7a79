//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/dotabuff/manta"
	"github.com/icza/s2prot/rep"

	"github.com/replayd/replayd/decoders/datafile"
	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/decoders/sc2replay"
	"github.com/replayd/replayd/decoders/teehistorian"
)

// mapped are the kinds of events of a map that have what twmap reads, too.
var mapped = map[datafile.Kind]bool{
	datafile.KindInfo: true, datafile.KindTileLayer: true, datafile.KindTiles: true, datafile.KindImageData: true, datafile.KindSoundData: true,
	datafile.KindQuads: true, datafile.KindSoundSources: true, datafile.KindRawData: true,
}

// ofHeroes are the six fields of the heroes.
var ofHeroes = map[string]bool{
	"m_iHealth": true, "m_flMana": true, "m_iCurrentLevel": true, "m_lifeState": true, "CBodyComponent.m_cellX": true, "CBodyComponent.m_cellY": true,
}

// decode does a task with a file, and returns how many events there were.
func decode(task string, data []byte) (count int, err error) {
	defer func() { // peers panic
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	entities := func(kind dem.Kind) bool { return kind <= dem.KindEntityDeleted }
	switch task {
	case "teehistorian":
		d := teehistorian.New(bytes.NewReader(data), teehistorian.Options{})
		n, err := all(moving(d, &count))
		return n + count, errors.Join(err, d.Close())
	case "map", "map-all":
		o := datafile.Options{}
		if task == "map" {
			o.Want = func(kind datafile.Kind, _ datafile.Place) bool { return mapped[kind] }
		}
		f, err := datafile.Open(bytes.NewReader(data), int64(len(data)), datafile.DefaultLimits)
		if err != nil {
			return 0, err
		}
		return all(f.Events(o).Next)
	case "sc2":
		f, err := sc2replay.Open(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return 0, err
		}
		return all(f.Events(sc2replay.Options{}).Next)
	case "dem":
		return all(dem.New(bytes.NewReader(data), dem.Options{Kinds: entities}).Next)
	case "dem-heroes":
		return all(dem.New(bytes.NewReader(data), dem.Options{
			Kinds:   entities,
			Classes: func(class string) bool { return strings.HasPrefix(class, "CDOTA_Unit_Hero_") },
			Fields:  func(_, field string) bool { return ofHeroes[field] },
		}).Next)
	case "s2prot":
		return s2prot(data)
	case "manta":
		p, err := manta.NewParser(data)
		if err != nil {
			return 0, err
		}
		p.OnEntity(func(*manta.Entity, manta.EntityOp) error { count++; return nil })
		return count, p.Start()
	default:
		return 0, fmt.Errorf("no task %q", task)
	}
}

// all counts the events of a decoder of replayd.
func all[E any](next func(*E) error) (count int, err error) {
	var event E
	for {
		if err := next(&event); errors.Is(err, io.EOF) {
			return count, nil
		} else if err != nil {
			return count, err
		}
		count++
	}
}

// moving returns what decodes the next event that is no usual move or input: those come before it, in batches, and are counted.
func moving(d *teehistorian.Decoder, count *int) func(*teehistorian.Event) error {
	var moves [512]teehistorian.PlayerDiff
	var inputs [64]teehistorian.InputDiff
	var offsets [64]int64
	return func(ev *teehistorian.Event) error {
		for some := true; some; {
			n, began := d.Moves(moves[:], true)
			if some = n > 0; began {
				n++
			}
			changes := d.Inputs(inputs[:], offsets[:])
			some = some || changes > 0
			*count += n + changes
		}
		return d.Next(ev)
	}
}

func s2prot(data []byte) (count int, err error) {
	r, err := rep.New(bytes.NewReader(data))
	if err != nil {
		return 0, err
	}
	defer r.Close() //nolint:errcheck // it was only read
	if r.GameEvtsErr || r.MessageEvtsErr || r.TrackerEvtsErr {
		return 0, errors.New("some events cannot be decoded")
	}
	count = len(r.GameEvts) + len(r.MessageEvts)
	if r.TrackerEvts != nil {
		count += len(r.TrackerEvts.Evts)
	}
	return count, nil
}
