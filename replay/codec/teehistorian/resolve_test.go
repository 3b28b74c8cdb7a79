package teehistorian_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/replayd/replayd/decoders/teehistorian"
	teehistorianv1 "github.com/replayd/replayd/proto/replayd/teehistorian/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/codectest"
)

// TestResolve reads every file with and without players. The events must be the same except for the players, and each player
// must be the one in the decoder's state after the event.
func TestResolve(t *testing.T) {
	corpus(t, func(t *testing.T, data []byte) {
		if len(data) > 300_000 {
			t.Skip("long")
		}
		rows := messages(t, data, codec.Options{})
		resolved := messages(t, data, codec.Options{ResolvePlayers: true})
		d := teehistorian.New(bytes.NewReader(data), teehistorian.Options{})
		var ev teehistorian.Event
		for i, got := range resolved {
			if err := d.Next(&ev); err != nil {
				t.Fatal(err)
			}
			want := (*teehistorianv1.Player)(nil)
			if id := clientOf(got); id >= 0 {
				c := d.State().Client(id)
				want = &teehistorianv1.Player{Name: valid(c.Name), Clan: valid(c.Clan), Team: &c.Team, Role: codec.Known(valid(c.Role))}
			}
			if !proto.Equal(got.GetPlayer(), want) {
				t.Fatalf("event %d, %v: %v, want %v", i, got, got.GetPlayer(), want)
			}
			got.Player, got.OtherPlayer = nil, nil
		}
		if !slices.EqualFunc(rows, resolved, func(a, b *teehistorianv1.Event) bool { return proto.Equal(a, b) }) {
			t.Errorf("without players -want +got:\n%s", cmp.Diff(rows, resolved, protocmp.Transform()))
		}
	})
}

func valid(text []byte) string { return strings.ToValidUTF8(string(text), "\uFFFD") }

// messages returns a file's events.
func messages(t *testing.T, data []byte, o codec.Options) []*teehistorianv1.Event {
	t.Helper()
	r := open(t, data, o)
	if err := codectest.Seek(r); err != nil {
		t.Fatal(err)
	}
	var all []*teehistorianv1.Event
	b := codec.Batch{MaxEvents: 512, MaxBytes: 256 << 10}
	for {
		err := r.Fill(&b)
		var list teehistorianv1.EventList
		if err := proto.Unmarshal(b.Events, &list); err != nil {
			t.Fatal(err)
		}
		all = append(all, list.GetEvents()...)
		b.Reset()
		if err != nil && !errors.Is(err, codec.ErrYield) {
			return all
		}
	}
}

// clientOf returns the client id in an event's field, or -1.
func clientOf(ev *teehistorianv1.Event) int32 {
	m := ev.ProtoReflect()
	kind := m.WhichOneof(m.Descriptor().Oneofs().ByName("kind"))
	if kind == nil {
		return -1
	}
	of := m.Get(kind).Message()
	if f := of.Descriptor().Fields().ByName("client_id"); f != nil {
		return int32(of.Get(f).Int())
	}
	return -1
}

// game returns a file of some records.
func game(records ...string) []byte {
	magic := teehistorian.NameUUID("teehistorian@ddnet.tw")
	return []byte(string(magic[:]) + `{"version":"2","game_uuid":"01020304-0506-4708-890a-0b0c0d0e0f10"}` + "\x00" + strings.Join(records, ""))
}

// ex is an extension record; its data is below 64 bytes.
func ex(name, data string) string {
	uuid := teehistorian.NameUUID(name)
	return "\x4a" + string(uuid[:]) + string(rune(len(data))) + data
}

// keeper keeps every checkpoint.
type keeper struct{ all []codec.Checkpoint }

func (k *keeper) Last(before func(*codec.Checkpoint) bool) (last codec.Checkpoint, ok bool) {
	for i := range k.all {
		if before(&k.all[i]) {
			last, ok = k.all[i], true
		}
	}
	return last, ok
}

func (k *keeper) After(int64) (c codec.Checkpoint, ok bool) { return c, false }
func (k *keeper) Wanted(int64) bool                         { return true }
func (k *keeper) Add(c codec.Checkpoint)                    { k.all = append(k.all, c) }
func (k *keeper) Proven(*codec.Checkpoint) bool             { return true }
func (k *keeper) Prove(*codec.Checkpoint)                   {}
func (k *keeper) Drop()                                     { k.all = nil }

// TestRoster checks the players at the end of a game with a roster of the game before. It also starts from a checkpoint of a
// reader without the roster. The file repeats no login, so that of the game before has ended.
func TestRoster(t *testing.T) {
	before := teehistorian.New(bytes.NewReader(game("\x47\x00",
		ex("teehistorian-player-name@ddnet.org", "\x00effective\x00"),
		ex("teehistorian-auth-login-role@ddnet.org", "\x00boss\x00key\x00"))), teehistorian.Options{})
	for ev := new(teehistorian.Event); before.Next(ev) == nil; {
	}
	roster := before.Roster(nil)
	data := game("\x47\x00", "\x42\x00\x05\x06", strings.Repeat("\x00\x01\x01", 100_000))
	points := &keeper{}
	codectest.Read(t, open(t, data, codec.Options{Checkpoints: func(string) codec.Checkpoints { return points }}), 512)
	if len(points.all) == 0 {
		t.Fatal("no checkpoint was left")
	}
	for _, from := range []func(string) codec.Checkpoints{nil, func(string) codec.Checkpoints { return points }} {
		r := open(t, data, codec.Options{
			Checkpoints: from, Start: codec.Start{Now: true}, State: true, ResolvePlayers: true,
			Roster: func(*replaydv1.Replay) []byte { return roster },
		})
		if err := codectest.Seek(r); err != nil {
			t.Fatal(err)
		}
		b := codec.Batch{MaxEvents: 512, MaxBytes: 1 << 20}
		if err := r.(codec.Presenter).Present(&b); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		var list teehistorianv1.EventList
		if err := proto.Unmarshal(b.Events, &list); err != nil {
			t.Fatal(err)
		}
		if len(list.GetEvents()) != 1 {
			t.Fatalf("got %v", &list)
		}
		state := list.GetEvents()[0]
		if p := state.GetPlayerState(); p.GetName() != "effective" || !p.GetNameEffective() || p.GetRole() != "" ||
			state.GetPlayer().GetName() != "effective" {
			t.Errorf("got %v", state)
		}
	}
}
