package teehistorian_test

import (
	"errors"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	teehistorianv1 "github.com/replayd/replayd/proto/replayd/teehistorian/v1"
	"github.com/replayd/replayd/service/codec"
)

// TestColumns reads files with and without columns, and compares the events.
func TestColumns(t *testing.T) {
	corpus(t, func(t *testing.T, data []byte) {
		if len(data) > 1<<20 {
			data = data[:1<<20]
		}
		rows, columns := open(t, data, codec.Options{}), open(t, data, codec.Options{Columns: true})
		want := codec.Batch{MaxEvents: 300, MaxBytes: 1 << 20}
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

func fill(r codec.Reader, b *codec.Batch) error {
	for {
		if err := r.Fill(b); !errors.Is(err, codec.ErrYield) {
			return err
		}
	}
}

// unpack converts columns to events and inserts them in their places among the others.
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

// TestColumnsFillBatch checks that columns count towards the size of a batch.
func TestColumnsFillBatch(t *testing.T) {
	const events, maxBytes = 40_000, 128 << 10
	for what, value := range map[string]int32{"short": 0, "long": 1 << 30} {
		t.Run(what, func(t *testing.T) {
			data := simple(t)
			data = data[:len(data)-1]    // without FINISH
			data = append(data, 0x45, 0) // INPUT_NEW 0
			for range 10 {
				data = appendInt(data, value)
			}
			for i := range events {
				data = append(data, 0x44, 0) // INPUT_DIFF
				for range 10 {
					data = appendInt(data, value*int32(i%2*2-1)) // there and back again
				}
			}
			r := open(t, data, codec.Options{Columns: true})
			b := codec.Batch{MaxEvents: 16384, MaxBytes: maxBytes}
			total := 0
			for {
				err := fill(r, &b)
				size := len(b.Events) + len(b.Tail)
				if size > maxBytes+32<<10 {
					t.Fatalf("a batch of %d bytes, %d events", size, b.Count)
				}
				if err == nil && size < maxBytes && b.Count < b.MaxEvents {
					t.Fatalf("a batch was closed at %d bytes, %d events", size, b.Count)
				}
				total += b.Count
				b.Reset()
				if err != nil {
					break
				}
			}
			if total < events {
				t.Errorf("%d events", total)
			}
		})
	}
}

// appendInt appends an integer as the format packs it.
func appendInt(b []byte, v int32) []byte {
	sign := byte(0)
	if v < 0 {
		sign, v = 0x40, ^v
	}
	first := sign | byte(v&0x3f)
	if v >>= 6; v == 0 {
		return append(b, first)
	}
	b = append(b, first|0x80)
	for ; v >= 0x80; v >>= 7 {
		b = append(b, byte(v)|0x80)
	}
	return append(b, byte(v))
}
