package teehistorian_test

import (
	"errors"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	teehistorianv1 "github.com/replayd/replayd/proto/replayd/teehistorian/v1"
	"github.com/replayd/replayd/service/encode"
)

// TestColumns reads files both ways and puts what came as columns together again.
func TestColumns(t *testing.T) {
	corpus(t, func(t *testing.T, data []byte) {
		if len(data) > 1<<20 {
			data = data[:1<<20]
		}
		rows, columns := open(t, data, encode.Options{}), open(t, data, encode.Options{Columns: true})
		want := encode.Batch{MaxEvents: 300, MaxBytes: 1 << 20}
		got := want
		total := 0
		for {
			wantErr, gotErr := fill(rows, &want), fill(columns, &got)
			if !errors.Is(gotErr, wantErr) || want.Count != got.Count || rows.Position() != columns.Position() {
				t.Fatalf("%d events at %+v, %v; %d as columns at %+v, %v", want.Count, rows.Position(), wantErr, got.Count,
					columns.Position(), gotErr)
			}
			var list, packed teehistorianv1.EventList
			if err := errors.Join(proto.Unmarshal(want.Events, &list), proto.Unmarshal(append(got.Events, got.Tail...), &packed)); err != nil {
				t.Fatal(err)
			}
			if unpacked := unpack(&packed, got.Count); !proto.Equal(&list, unpacked) {
				t.Fatalf("after %d events:\n%v\nnot\n%v", total, unpacked, &list)
			}
			total += want.Count
			want.Reset()
			got.Reset()
			if wantErr != nil {
				return
			}
		}
	})
}

func fill(r encode.Reader, b *encode.Batch) error {
	for {
		if err := r.Fill(b); !errors.Is(err, encode.ErrYield) {
			return err
		}
	}
}

// unpack makes events of columns and puts them in their places among the others.
func unpack(list *teehistorianv1.EventList, count int) *teehistorianv1.EventList {
	events := make([]*teehistorianv1.Event, count)
	c := list.GetTickColumns()
	for i, place := range c.GetPlace() {
		events[place] = &teehistorianv1.Event{AtTick: c.GetAtTick()[i], Kind: &teehistorianv1.Event_Tick{
			Tick: &teehistorianv1.Tick{Skipped: c.GetSkipped()[i], Implicit: c.GetImplicit()[i]},
		}}
	}
	p := list.GetPlayerDiffColumns()
	for i, place := range p.GetPlace() {
		events[place] = &teehistorianv1.Event{AtTick: p.GetAtTick()[i], Kind: &teehistorianv1.Event_PlayerDiff{
			PlayerDiff: &teehistorianv1.PlayerDiff{
				ClientId: p.GetClientId()[i], Dx: p.GetDx()[i], Dy: p.GetDy()[i], X: p.GetX()[i], Y: p.GetY()[i],
			},
		}}
	}
	in := list.GetInputDiffColumns()
	for i, place := range in.GetPlace() {
		events[place] = &teehistorianv1.Event{AtTick: in.GetAtTick()[i], Kind: &teehistorianv1.Event_InputDiff{
			InputDiff: &teehistorianv1.InputDiff{
				ClientId: in.GetClientId()[i],
				Input: &teehistorianv1.Input{
					Direction: in.GetInputDirection()[i], TargetX: in.GetInputTargetX()[i], TargetY: in.GetInputTargetY()[i],
					Jump: in.GetInputJump()[i], Fire: in.GetInputFire()[i], Hook: in.GetInputHook()[i],
					PlayerFlags: in.GetInputPlayerFlags()[i], WantedWeapon: in.GetInputWantedWeapon()[i],
					NextWeapon: in.GetInputNextWeapon()[i], PrevWeapon: in.GetInputPrevWeapon()[i],
				},
				Diff: &teehistorianv1.Input{
					Direction: in.GetDiffDirection()[i], TargetX: in.GetDiffTargetX()[i], TargetY: in.GetDiffTargetY()[i],
					Jump: in.GetDiffJump()[i], Fire: in.GetDiffFire()[i], Hook: in.GetDiffHook()[i],
					PlayerFlags: in.GetDiffPlayerFlags()[i], WantedWeapon: in.GetDiffWantedWeapon()[i],
					NextWeapon: in.GetDiffNextWeapon()[i], PrevWeapon: in.GetDiffPrevWeapon()[i],
				},
			},
		}}
	}
	others := slices.Clone(list.GetEvents())
	for i, ev := range events {
		if ev == nil && len(others) > 0 {
			events[i], others = others[0], others[1:]
		}
	}
	return &teehistorianv1.EventList{Events: append(events, others...)}
}
