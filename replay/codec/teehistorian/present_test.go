package teehistorian_test

import (
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	teehistorianv1 "github.com/replayd/replayd/proto/replayd/teehistorian/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/codectest"
	encoder "github.com/replayd/replayd/replay/codec/teehistorian"
	"github.com/replayd/replayd/replay/filter"
)

func TestAppendPresent(t *testing.T) {
	_, f, err := filter.CompileWithState(&encoder.Codec.Filters, []*replaydv1.EventFilter{{Players: []int32{1}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	zero := &teehistorianv1.Event{AtTick: 7, Kind: &teehistorianv1.Event_PlayerState{PlayerState: &teehistorianv1.PlayerState{
		ClientId: 0, Joined: true, Team: 7, Alive: true, X: 8, Y: 7,
	}}}
	one := &teehistorianv1.Event{AtTick: 7, Kind: &teehistorianv1.Event_PlayerState{PlayerState: &teehistorianv1.PlayerState{
		ClientId: 1, Joined: true, Alive: true, X: 9, Y: 10,
	}}}
	for name, test := range map[string]struct {
		filter *filter.Filter
		want   []*teehistorianv1.Event
	}{
		"all":      {nil, []*teehistorianv1.Event{zero, one}},
		"filtered": {f, []*teehistorianv1.Event{one}},
	} {
		t.Run(name, func(t *testing.T) {
			data := simple(t)
			data = data[:len(data)-1] // an unfinished game
			r := open(t, data, codec.Options{State: true, StateFilter: test.filter, Start: codec.Start{Now: true}})
			if err := codectest.Seek(r); err != nil {
				t.Fatal(err)
			}
			at := r.Position()
			b := codec.Batch{MaxEvents: 1, MaxBytes: 1 << 20}
			for err := error(nil); err == nil; b.MaxEvents++ {
				if err = r.(codec.Presenter).Present(&b); err != nil && !errors.Is(err, io.EOF) {
					t.Fatal(err)
				}
			}
			var got teehistorianv1.EventList
			if err := proto.Unmarshal(b.Events, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got.GetEvents(), protocmp.Transform()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if r.Position() != at || at.Offset != int64(len(data)) || b.Count != len(test.want) {
				t.Errorf("at %+v, not %+v, with %d events", r.Position(), at, b.Count)
			}
		})
	}
}
