package dem_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/decoders/dem/demtest"
)

// known is what a client knows of an entity.
type known struct {
	Serial uint32
	Class  string
	InView bool
	Fields clientState
}

// client keeps the state of all entities from events alone.
type client struct {
	entities map[uint32]*known
	parents  map[string]bool
}

func newClient() *client { return &client{map[uint32]*known{}, map[string]bool{}} }

func (c *client) take(d *dem.Decoder, ev *dem.Event) {
	switch ev.Kind {
	case dem.KindEntityCreated:
		e := &known{ev.EntityCreated.Serial, d.Name(ev.EntityCreated.Class), true, clientState{}}
		c.entities[ev.EntityCreated.Index] = e
		e.Fields.take(d, ev.EntityCreated.Fields, c.parents)
	case dem.KindEntityUpdated:
		if e := c.entities[ev.EntityUpdated.Index]; e != nil {
			e.Fields.take(d, ev.EntityUpdated.Fields, c.parents)
		}
	case dem.KindEntityEntered:
		n := &ev.EntityEntered
		if c.entities[n.Index] == nil {
			c.entities[n.Index] = &known{n.Serial, d.Name(n.Class), true, clientState{}}
		}
		e := c.entities[n.Index]
		if e.InView = !n.OutOfView; n.Full {
			clear(e.Fields)
		}
		e.Fields.take(d, n.Fields, c.parents)
	case dem.KindEntityLeft:
		c.entities[ev.EntityLeft.Index].InView = false
	case dem.KindEntityDeleted:
		delete(c.entities, ev.EntityDeleted.Index)
	}
}

// TestStateAnywhere: wherever decoding begins, the state that is told there is what a client knows who read from the front.
func TestStateAnywhere(t *testing.T) {
	for name, data := range map[string][]byte{
		"sample": demtest.Sample(), "keyframes": keyFrames(-1), "world": demtest.World(false), "odd world": demtest.World(true),
	} {
		t.Run(name, func(t *testing.T) { testStateAnywhere(t, data, 200) })
	}
}

// states is how many places of each real file are tried; each costs a decoding up to there.
var states = flag.Int("states", 3, "at how many places of each real file to compare the state")

// TestCorpusStateAnywhere is TestStateAnywhere of real files.
func TestCorpusStateAnywhere(t *testing.T) {
	for name, data := range someSource2(t) {
		t.Run(name, func(t *testing.T) {
			testStateAnywhere(t, data, *states)
		})
	}
}

func testStateAnywhere(t *testing.T, data []byte, n int) {
	all := walk(t, data, dem.Options{}, nil)
	random := rand.New(rand.NewPCG(uint64(n), uint64(len(data))))
	// The places, in order, so that one client does for all of them.
	places := map[int]bool{}
	for range n {
		places[1+random.IntN(len(all)-1)] = true
	}
	front, c := dem.New(bytes.NewReader(data), dem.Options{}), newClient()
	var ev dem.Event
	for i := range all {
		if places[i] {
			at := all[i].at
			if i%3 == 0 {
				at = all[i-1].next // where a cursor behind the event before leads
			}
			compareState(t, fmt.Sprintf("at %v", at), data, c, func(d *dem.Decoder) error {
				err := d.Seek(at)
				if err == nil && d.Position() != at {
					err = fmt.Errorf("the position is %v", d.Position())
				}
				return err
			}, all[i].text)
		}
		if i > 0 && all[i].at.Offset != all[i-1].at.Offset && random.IntN(max(1, len(all)/n/4)) == 0 {
			// A tick begins with the first record that has it.
			var tick, before int32
			_, _ = fmt.Sscan(all[i].text, &tick)
			_, _ = fmt.Sscan(all[i-1].text, &before)
			if tick > before {
				compareState(t, fmt.Sprintf("at tick %d", tick), data, c, func(d *dem.Decoder) error { return d.SeekTick(tick) }, all[i].text)
			}
		}
		if err := front.Next(&ev); err != nil {
			t.Fatal(err)
		}
		c.take(front, &ev)
	}
	compareState(t, "at the end", data, c, func(d *dem.Decoder) error {
		err := d.SeekEnd()
		if errors.Is(err, io.EOF) || errors.Is(err, decoders.ErrMore) {
			err = nil
		}
		return err
	}, "")
}

// compareState compares the state where seek leads to with what a client knows, and looks whether the next event is the one
// that begins with text.
func compareState(t *testing.T, what string, data []byte, want *client, seek func(*dem.Decoder) error, text string) {
	t.Helper()
	d := dem.New(bytes.NewReader(data), dem.Options{})
	if err := seek(d); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	got := newClient()
	var ev dem.Event
	at := d.Position()
	for i := range dem.MaxEntities {
		if d.Present(i, &ev) {
			got.take(d, &ev)
		}
	}
	if diff := cmp.Diff(want.entities, got.entities); diff != "" {
		t.Fatalf("%s (-from the front +told):\n%.3000s", what, diff)
	}
	if d.Position() != at {
		t.Fatalf("%s: the position moved to %v", what, d.Position())
	}
	if text == "" {
		return
	}
	if err := d.Next(&ev); err != nil || eventText(d, &ev) != text {
		t.Fatalf("%s: the next event is %.200s, %v, not %.200s", what, eventText(d, &ev), err, text)
	}
}
