package index

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/source"
)

// FuzzParse parses arbitrary stored bytes. An entry that is accepted must be encoded to the same entry again.
func FuzzParse(f *testing.F) {
	e := &Entry{Identified: true}
	e.Info = source.Info{Name: "r/a", Format: decoders.Teehistorian, ID: source.ID{Device: 1, Inode: 1 << 60}, Size: 1 << 40, Modified: time.Unix(0, 1)}
	e.Facts = Facts{Identity: "id", Lineage: codec.Lineage{Previous: "before", Server: "s"}, MapName: "m", Started: time.Unix(5, 0), LastTick: -1, cast: castOf([]string{"p", ""}, "p vs q")}
	f.Add(e.encoded())
	e.Survey = newSurvey(&codec.Survey{Offset: 5, LastTick: 7, Ended: true, Names: []string{"n"}, Roster: []byte{1}, State: []byte{}})
	f.Add(e.encoded())
	f.Add([]byte{storedVersion})
	f.Add(bytes.Repeat([]byte{0xff}, 100))
	f.Fuzz(func(t *testing.T, value []byte) {
		e := parse("r/a", value)
		if e == nil {
			return
		}
		again := parse("r/a", e.encoded())
		if again == nil || !same(e, again) {
			t.Errorf("%+v, then %+v", e, again)
		}
	})
}

func same(a, b *Entry) bool {
	a2, b2 := *a, *b
	a2.TicksPerSecond, b2.TicksPerSecond = 0, 0 // it may be no number
	return reflect.DeepEqual(&a2, &b2)
}
