package dem_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/decoders/dem/demtest"
)

// TestAlone: events that have the time on the clock or the names of players are the same when nothing else is asked for, and most
// entities are not even looked at.
func TestAlone(t *testing.T) {
	t.Run("match", func(t *testing.T) { testAlone(t, demtest.Match()) })
	t.Run("corpus", func(t *testing.T) { testAlone(t, readCorpus(t, autoDem)) })
}

func testAlone(t *testing.T, data []byte) {
	all := map[dem.Kind][]string{}
	tell := func(d *dem.Decoder, ev *dem.Event) {
		at := d.EventPosition()
		all[ev.Kind] = append(all[ev.Kind], fmt.Sprintf("%d/%d %s", at.Offset, at.Index, readable(d, ev)))
	}
	whole := decode(t, data, dem.Options{}, tell)
	want := all
	for _, kind := range []dem.Kind{dem.KindTick, dem.KindCombatLog, dem.KindChat, dem.KindChatEvent, dem.KindPing, dem.KindMapLine, dem.KindChatWheel, dem.KindOrder} {
		all = map[dem.Kind][]string{}
		d := decode(t, data, dem.Options{Kinds: func(k dem.Kind) bool { return k == kind }}, tell)
		if diff := cmp.Diff(want[kind], all[kind]); diff != "" {
			t.Errorf("%v (-among all +alone):\n%s", kind, diff)
		}
		if s, w := d.Stats(), whole.Stats(); s.EntityUpdates+s.EntitySkips > w.EntityUpdates*2/3 {
			t.Errorf("%v: of %d entries %d are looked at", kind, w.EntityUpdates, s.EntityUpdates+s.EntitySkips)
		}
	}
}

// TestFaultsAlone checks that every fault of a damaged demo is delivered, whatever else is wanted: entities behind those of Dota's
// clock and players are looked at then.
func TestFaultsAlone(t *testing.T) {
	data := demtest.Match()
	faults := func(data []byte, kinds ...dem.Kind) (found []string) {
		opts := dem.Options{}
		if len(kinds) > 0 {
			opts.Kinds = func(k dem.Kind) bool { return slices.Contains(kinds, k) }
		}
		d := dem.New(bytes.NewReader(data), opts)
		var ev dem.Event
		for d.Next(&ev) == nil {
			if ev.Kind == dem.KindFault {
				at := d.EventPosition()
				found = append(found, fmt.Sprintf("%d/%d %s", at.Offset, at.Index, readable(d, &ev)))
			}
		}
		return found
	}
	damaged := 0
	for at := 0; at < len(data); at += 5 {
		bad := bytes.Clone(data)
		bad[at] ^= 0x15
		want := faults(bad)
		if len(want) > 0 {
			damaged++
		}
		for _, kinds := range [][]dem.Kind{{dem.KindFault}, {dem.KindFault, dem.KindCombatLog}, {dem.KindFault, dem.KindChat}} {
			if diff := cmp.Diff(want, faults(bad, kinds...)); diff != "" {
				t.Fatalf("byte %d, %v (-among all +alone):\n%s", at, kinds, diff)
			}
		}
	}
	if damaged < 100 {
		t.Errorf("only %d of the damaged demos have faults", damaged)
	}
}
