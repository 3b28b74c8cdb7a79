package teehistorian_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/decoders/teehistorian"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/codectest"
	encoder "github.com/replayd/replayd/replay/codec/teehistorian"
	"github.com/replayd/replayd/replay/table"
	"github.com/replayd/replayd/replay/table/arrowipc"
)

// extended returns a recording with large extensions, some at once.
func extended(t *testing.T) []byte {
	t.Helper()
	d := teehistorian.New(bytes.NewReader(decodertest.Sample(t, "teehistorian", "finished", "4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian")), teehistorian.Options{})
	if _, err := d.Header(); err != nil {
		t.Fatal(err)
	}
	var to bytes.Buffer
	w, err := teehistorian.NewWriter(&to, d.HeaderText())
	var ev teehistorian.Event
	for n := 0; err == nil && ev.Kind != teehistorian.KindFinish; n++ {
		if err = errors.Join(d.Next(&ev), w.Write(&ev)); n%90 > 1 || ev.Kind == teehistorian.KindFinish {
			continue
		}
		id, long := []byte("01234567-89ab-cdef-0123-456789abcdef"), bytes.Repeat([]byte{'v'}, 1+n%7*30_000)
		err = w.Write(&teehistorian.Event{AtTick: d.Tick(), Kind: teehistorian.KindUnknownEx, UnknownEx: teehistorian.UnknownEx{Uuid: id, Data: long}})
		for client, c := range d.State().Clients() {
			if c.Present && n%4 == 1 {
				err = errors.Join(err, w.Write(&teehistorian.Event{AtTick: d.Tick(), Kind: teehistorian.KindDdnetver, Ddnetver: teehistorian.Ddnetver{
					ClientId: client, ConnectionId: id, VersionText: long,
				}}))
			}
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return to.Bytes()
}

// TestLeft: a large row for which a batch of tables has no room begins the next one. A reader that starts there delivers the same from there on.
func TestLeft(t *testing.T) {
	data := extended(t)
	layout := encoder.Codec.Tables.Layout(false)
	secrets := codec.Secrets{Reveal: decoders.AllSecrets &^ decoders.SecretConnectionID, Key: []byte("key")} // of an id that is gone there is no pseudonym
	for what, kinds := range map[string][]string{"all": nil, "facts": {"unknown_ex", "ddnetver", "fact_session", "player_diff"}, "samples": {"unknown_ex", "ddnetver", "sample_player"}} {
		selected := selecting(t, &replaydv1.EventFilter{Kinds: kinds})
		open := func(at decoders.Position) (codec.Reader, *codec.Batch) {
			o := codec.Options{Secrets: secrets, Filter: selected, Tables: table.NewSet(layout), Start: codec.Start{Position: at}}
			r := codectest.Open(t, encoder.Codec, data, o)
			if err := codectest.Seek(r); err != nil {
				t.Fatal(err)
			}
			return r, &codec.Batch{MaxEvents: 1 << 20, MaxBytes: 100 << 10, Tables: o.Tables}
		}
		fill := func(r codec.Reader, b *codec.Batch) (rows map[string][]json.RawMessage, ended bool) {
			b.Reset()
			err := codec.ErrYield
			for errors.Is(err, codec.ErrYield) {
				err = r.Fill(b)
			}
			return rowsOf(t, b.Tables), err != nil
		}
		whole, all := open(decoders.Position{})
		all.MaxBytes = 1 << 30
		want, _ := fill(whole, all)
		got, left := map[string][]json.RawMessage{}, 0
		r, b := open(decoders.Position{})
		for ended := false; !ended; {
			again, batch := open(r.Position())
			if again.Position() != r.Position() || again.Sum() != r.Sum() || again.Tick() != r.Tick() {
				t.Fatalf("%s: at %v, %x, tick %d, and then %v, %x, tick %d", what, r.Position(), r.Sum(), r.Tick(), again.Position(), again.Sum(), again.Tick())
			}
			var rows map[string][]json.RawMessage
			rows, ended = fill(r, b)
			if same, _ := fill(again, batch); !maps.EqualFunc(rows, same, slicesEqual) {
				t.Fatalf("%s: other rows from %v on", what, r.Position())
			}
			count := 0
			for kind, more := range rows {
				got[kind] = append(got[kind], more...)
				count += len(more)
			}
			if b.Count != count || count == 0 && !ended {
				t.Errorf("%s: %d rows, not %d", what, count, b.Count)
			}
			if b.Count > 1 && b.Tables.Size() > b.MaxBytes+codec.UsualRowBytes {
				t.Errorf("%s: %d bytes in a batch of %d", what, b.Tables.Size(), b.Count)
			}
			if !ended && b.Tables.Size() < b.MaxBytes {
				left++
			}
		}
		if left == 0 || len(want["ddnetver"]) < 10 || !maps.EqualFunc(got, want, slicesEqual) {
			t.Errorf("%s: %d rows were left, and %d kinds have other rows than %d", what, left, len(got), len(want))
		}
	}
}

func slicesEqual(a, b []json.RawMessage) bool {
	return slices.EqualFunc(a, b, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })
}

// rowsOf returns the rows of a set by their kinds.
func rowsOf(t *testing.T, s *table.Set) map[string][]json.RawMessage {
	t.Helper()
	rows := map[string][]json.RawMessage{}
	err := s.All(func(of *table.Table) error {
		b, err := arrowipc.Record(of, arrowipc.Schema(of.Layout, of.Kind)).MarshalJSON()
		var these []json.RawMessage
		err = errors.Join(err, json.Unmarshal(b, &these))
		rows[of.Layout.Format.Kinds[of.Kind].Name] = these
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}
