package arrowipc

import (
	"bytes"
	"runtime"
	"testing"
	"weak"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/replay/table"
)

func things() *table.Format {
	return &table.Format{Name: "things", Kinds: []table.Kind{{}, {Name: "thing", Fields: []table.Field{{Name: "n", Type: table.Int64}}}}}
}

// TestSchemaOnce: streams with one layout make the message of a schema once, in each form.
func TestSchemaOnce(t *testing.T) {
	l := things().Layout(false)
	var sent [2][]byte
	for i := range 5 {
		set := table.NewSet(l)
		e := &Encoder{Narrow: i%2 == 1}
		e.AppendEmpty(nil, 1, set, 1)
		message := e.kinds[1].message()
		if i > 1 && &message[0] != &sent[i%2][0] {
			t.Errorf("stream %d has a message of its own", i)
		}
		sent[i%2] = message
	}
	if bytes.Equal(sent[0], sent[1]) {
		t.Error("narrow columns have the types of wide ones")
	}
}

// TestMessagesBound: however many forms the columns of tables have, a layout keeps few messages.
func TestMessagesBound(t *testing.T) {
	l := things().Layout(false)
	for _, offset := range []int64{1, 1 << 10, 1 << 20, 1 << 40} {
		for _, n := range []int64{1, 1 << 10, 1 << 20, 1 << 40} {
			set := table.NewSet(l)
			set.Begin(1, decoders.Position{Offset: offset}, 0)[0].Int64(n)
			(&Encoder{Narrow: true}).Append(nil, 1, set)
		}
	}
	if n := len(aboutOf(l, 1).messages); n == 0 || n > maxMessages {
		t.Errorf("%d messages are kept", n)
	}
}

// TestLayoutsEnd: nothing is kept of a format that is over, such as one with columns that a replay has told.
func TestLayoutsEnd(t *testing.T) {
	f := things()
	of := weak.Make(f)
	Schema(f.Layout(true), 1)
	runtime.KeepAlive(f)
	runtime.GC()
	if of.Value() != nil {
		t.Error("the format is kept")
	}
}
