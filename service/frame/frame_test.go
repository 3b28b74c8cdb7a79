package frame_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"weak"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/replayd/replayd/proto/rawcodec"
	teehistorianv1 "github.com/replayd/replayd/proto/replayd/teehistorian/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/frame"
	"github.com/replayd/replayd/service/streamtest"
)

// TestBatch checks that a frame has the bytes that protobuf marshals for the same response without a cursor, followed by the
// cursor, for any number of parts, with fields behind the events and without.
func TestBatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := frame.Head{
			First: rapid.Uint64().Draw(t, "first"), Next: rapid.Uint64().Draw(t, "next"), List: 3,
		}
		cursor := rapid.SliceOfN(rapid.Byte(), 0, 48).Draw(t, "cursor")
		list := &teehistorianv1.EventList{}
		var parts []mem.Buffer
		for range rapid.IntRange(0, 5).Draw(t, "parts") {
			part := &teehistorianv1.EventList{}
			for range rapid.IntRange(1, 60).Draw(t, "events") {
				part.Events = append(part.Events, &teehistorianv1.Event{AtTick: rapid.Int32().Draw(t, "tick")})
			}
			list.Events = append(list.Events, part.GetEvents()...)
			b, err := proto.Marshal(part)
			if err != nil {
				t.Fatal(err)
			}
			parts = append(parts, mem.SliceBuffer(b))
			h.Size += len(b)
		}
		batch := &replaydv1.EventBatch{
			FirstSequence: h.First, NextSequence: h.Next, Events: &replaydv1.EventBatch_Teehistorian{Teehistorian: list},
		}
		if rapid.Bool().Draw(t, "more fields") {
			batch.Offsets = rapid.SliceOfN(rapid.Int64(), 1, 9).Draw(t, "offsets")
			b, err := proto.Marshal(&replaydv1.EventBatch{Offsets: batch.GetOffsets()})
			if err != nil {
				t.Fatal(err)
			}
			if last := len(parts) - 1; last >= 0 && rapid.Bool().Draw(t, "in one part") {
				parts[last] = mem.SliceBuffer(slices.Concat(parts[last].ReadOnlyData(), b))
			} else {
				parts = append(parts, mem.SliceBuffer(b))
			}
		}
		var o frame.Outbox
		var first []byte
		if len(parts) > 0 && rapid.Bool().Draw(t, "shared list") {
			first, parts = parts[0].ReadOnlyData(), parts[1:]
		}
		f := o.Batch(h, cursor, first, parts...)
		length := f.Len()
		b := f.Buffer()
		got := bytes.Clone(b.ReadOnlyData())
		b.Free()
		f.Free()
		want, err := proto.MarshalOptions{Deterministic: true}.Marshal(&replaydv1.StreamEventsResponse{
			Response: &replaydv1.StreamEventsResponse_Batch{Batch: batch},
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(cursor) > 0 {
			want = protowire.AppendBytes(protowire.AppendTag(want, 1, protowire.BytesType), cursor)
		}
		if len(batch.GetOffsets()) > 0 { // whose place among the fields is another
			var back, whole replaydv1.StreamEventsResponse
			if err := errors.Join(proto.Unmarshal(got, &back), proto.Unmarshal(want, &whole)); err != nil || !proto.Equal(&back, &whole) {
				t.Fatalf("got  %v\nwant %v: %v", &back, &whole, err)
			}
		} else if !bytes.Equal(got, want) || length != len(want) {
			t.Fatalf("got  % x (Len %d)\nwant % x", got, length, want)
		}
	})
}

// TestCodec checks that frames and raw messages pass unchanged, and that ordinary messages are marshalled by protobuf.
func TestCodec(t *testing.T) {
	c := rawcodec.New()
	r := &replaydv1.StreamEventsResponse{Cursor: []byte("c"), Response: &replaydv1.StreamEventsResponse_Heartbeat{
		Heartbeat: &replaydv1.Heartbeat{BytesRead: 5},
	}}
	var o frame.Outbox
	f, err := o.Of(&replaydv1.StreamEventsResponse{Response: r.GetResponse()}, r.GetCursor())
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]any{"frame": f, "message": r} {
		data, err := c.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var raw rawcodec.Message
		if err := c.Unmarshal(data, &raw); err != nil {
			t.Fatal(err)
		}
		var back replaydv1.StreamEventsResponse
		if err := proto.Unmarshal(raw.Bytes, &back); err != nil || !proto.Equal(&back, r) {
			t.Errorf("%s: %v, %v", name, &back, err)
		}
		var direct replaydv1.StreamEventsResponse
		if err := c.Unmarshal(data, &direct); err != nil || !proto.Equal(&direct, r) {
			t.Errorf("%s: %v, %v", name, &direct, err)
		}
		data.Free()
	}
}

// TestOutbox checks that a frame counts as written when the last reference to all of its bytes is freed.
func TestOutbox(t *testing.T) {
	var o frame.Outbox
	if !o.Empty() {
		t.Error("not empty at first")
	}
	part := frame.NewPool(2000).Buffer(&[]byte{1})
	batch := o.Batch(frame.Head{Next: 1, List: 3, Size: 1}, []byte("cursor"), nil, part)
	other, err := o.Of(new(replaydv1.StreamEventsResponse), []byte("cursor"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		what  string
		do    func()
		empty bool
	}{
		{"nothing was freed", func() {}, false},
		{"its bytes were copied", func() { batch.Buffer().Free() }, false},
		{"one of two was freed", other.Free, false},
		{"both were freed", batch.Free, true},
	} {
		if test.do(); o.Empty() != test.empty {
			t.Errorf("%s: empty %v", test.what, o.Empty())
		}
	}
}

// TestWaiting: frames of several streams that wait, and are freed in another order, keep their own bytes. Memory for them comes from a pool.
func TestWaiting(t *testing.T) {
	var streams [3]frame.Outbox
	type waiting struct {
		f      *frame.Frame
		cursor string
	}
	var all []waiting
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 3000 {
		cursor := fmt.Sprint("cursor ", i)
		if o := &streams[random.IntN(len(streams))]; i%2 == 0 {
			all = append(all, waiting{o.State(3, nil, true, []byte(cursor)), cursor})
		} else {
			all = append(all, waiting{o.Batch(frame.Head{First: uint64(i), List: 3}, []byte(cursor), nil), cursor})
		}
		for _, w := range all {
			var r replaydv1.StreamEventsResponse
			b := w.f.Buffer()
			if err := proto.Unmarshal(b.ReadOnlyData(), &r); err != nil || string(r.GetCursor()) != w.cursor {
				t.Fatalf("of %d frames that wait, the one with %q has %q: %v", len(all), w.cursor, r.GetCursor(), err)
			}
			b.Free()
		}
		for len(all) > random.IntN(8) {
			at := random.IntN(len(all))
			all[at].f.Free()
			all = slices.Delete(all, at, at+1)
		}
	}
	text := []byte("cursor")
	if n := testing.AllocsPerRun(100, func() { streams[0].State(3, nil, true, text).Free() }); n > 3 {
		t.Errorf("%v allocations", n)
	}
}

// TestKeepsUp: a stream whose frames are written before the next one is made allocates none, and keeps nothing of those that were.
func TestKeepsUp(t *testing.T) {
	var o frame.Outbox
	cursor, events := []byte("cursor"), []byte("events")
	if n := testing.AllocsPerRun(1000, func() { o.Batch(frame.Head{List: 3}, cursor, events).Free() }); n > 0 && !streamtest.Race {
		t.Errorf("%v allocations", n)
	}
	for range 2 { // also after frames that waited together
		large := new([1 << 20]byte)
		kept := weak.Make(large)
		both := []*frame.Frame{o.Batch(frame.Head{List: 3}, cursor, large[:]), o.Batch(frame.Head{List: 3}, cursor, events)}
		for _, f := range both {
			f.Free()
		}
		clear(both)
		if runtime.GC(); kept.Value() != nil {
			t.Error("the events of a frame that was freed are kept")
		}
		runtime.KeepAlive(&o)
	}
}

// TestFreedElsewhere: each frame has its own bytes while another goroutine writes and frees those before it.
func TestFreedElsewhere(t *testing.T) {
	const frames = 5000
	var o frame.Outbox
	written := make(chan *frame.Frame, 4)
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := range uint64(frames) {
			f := <-written
			var r replaydv1.StreamEventsResponse
			b := f.Buffer()
			if err := proto.Unmarshal(b.ReadOnlyData(), &r); err != nil || r.GetBatch().GetFirstSequence() != i+1 {
				t.Errorf("frame %d is that with %d: %v", i+1, r.GetBatch().GetFirstSequence(), err)
			}
			b.Free()
			f.Free()
		}
	})
	for i := range uint64(frames) {
		for i%3 > 0 && !o.Empty() { // else some wait
			runtime.Gosched()
		}
		written <- o.Batch(frame.Head{First: i + 1, List: 3}, []byte("cursor"), nil)
	}
	writer.Wait()
	first, second := o.Batch(frame.Head{First: 1, List: 3}, nil, nil), o.Batch(frame.Head{First: 300, List: 3}, nil, nil)
	if first.Len() == second.Len() {
		t.Error("frames without a cursor, which are not counted, share memory")
	}
}

// TestSameBytes: a response has the same bytes each time, whatever the order of the entries of a map.
func TestSameBytes(t *testing.T) {
	config := map[string]string{}
	for i := range 20 {
		config[strconv.Itoa(i)] = "value"
	}
	start := &replaydv1.StreamStart{Replay: &replaydv1.Replay{
		Header: &replaydv1.Replay_Teehistorian{Teehistorian: &teehistorianv1.Header{Config: config}},
	}}
	var o frame.Outbox
	seen := map[string]bool{}
	for range 20 {
		f, err := o.Of(&replaydv1.StreamEventsResponse{Response: &replaydv1.StreamEventsResponse_Start{Start: start}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		seen[string(f.Buffer().ReadOnlyData())] = true
		f.Free()
	}
	if len(seen) != 1 {
		t.Errorf("%d forms of one response", len(seen))
	}
}

// TestSubscribed: a response of a stream becomes one of a subscription, and others are those of a subscription alone.
func TestSubscribed(t *testing.T) {
	var o frame.Outbox
	streamed := &replaydv1.StreamEventsResponse{Response: &replaydv1.StreamEventsResponse_Heartbeat{Heartbeat: &replaydv1.Heartbeat{Tick: 7}}}
	of, err := o.Of(streamed, nil)
	if err != nil {
		t.Fatal(err)
	}
	of.Subscribed(300, []byte("token"))
	alone := &replaydv1.SubscribeEventsResponse{Token: []byte("t")}
	other, err := frame.OfSubscription(alone)
	if err != nil {
		t.Fatal(err)
	}
	for f, want := range map[*frame.Frame]*replaydv1.SubscribeEventsResponse{
		of:    {Replay: 300, Token: []byte("token"), Response: &replaydv1.SubscribeEventsResponse_Streamed{Streamed: streamed}},
		other: alone,
	} {
		got := new(replaydv1.SubscribeEventsResponse)
		if err := proto.Unmarshal(f.Buffer().ReadOnlyData(), got); err != nil || !proto.Equal(got, want) {
			t.Errorf("%v, %v, want %v", got, err, want)
		}
		f.Free()
	}
}

// TestStates: parts of a state, as events and as tables, are what protobuf makes of them, also while others wait to be written.
func TestStates(t *testing.T) {
	list, err := proto.Marshal(&teehistorianv1.EventList{Events: []*teehistorianv1.Event{{AtTick: 7}}})
	if err != nil {
		t.Fatal(err)
	}
	tables, err := proto.Marshal(&replaydv1.StateBatch{Tables: []*replaydv1.Table{{Kind: "join", Rows: 1, Data: []byte("rows")}}})
	if err != nil {
		t.Fatal(err)
	}
	field := (*replaydv1.StateBatch)(nil).ProtoReflect().Descriptor().Fields().ByName("teehistorian").Number()
	var o frame.Outbox
	var waiting []*frame.Frame
	for i := range byte(8) {
		complete, cursor := i&1 != 0, bytes.Repeat([]byte{i}, int(i)+1)
		if i&2 != 0 {
			waiting = append(waiting, o.StateTables(mem.SliceBuffer(tables), complete, cursor))
		} else {
			waiting = append(waiting, o.State(field, list, complete, cursor))
		}
	}
	for i, f := range waiting {
		b := f.Buffer()
		var got replaydv1.StreamEventsResponse
		if err := proto.Unmarshal(b.ReadOnlyData(), &got); err != nil {
			t.Fatalf("part %d: %v", i, err)
		}
		state := got.GetState()
		if state.GetComplete() != (i&1 != 0) || !bytes.Equal(got.GetCursor(), bytes.Repeat([]byte{byte(i)}, i+1)) ||
			len(state.GetTables()) != i>>1&1 || len(state.GetTeehistorian().GetEvents()) != 1-i>>1&1 {
			t.Errorf("part %d: %v", i, &got)
		}
		b.Free()
		f.Free()
	}
	if !o.Empty() {
		t.Error("some wait still")
	}
}

// TestPool checks that a buffer returns to the pool when its last reference is freed, unless it grew large.
func TestPool(t *testing.T) {
	p := frame.NewPool(1000)
	b := p.Get(0)
	if len(*b) != 0 || cap(*b) < 1000 {
		t.Errorf("a slice of %d, capacity %d", len(*b), cap(*b))
	}
	*b = append(*b, "some events"...)
	buffer := p.Buffer(b)
	buffer.Ref()
	buffer.Free()
	if got := string(buffer.ReadOnlyData()); got != "some events" {
		t.Errorf("a buffer that is still referred to holds %q", got)
	}
	buffer.Free()
	if large := p.Get(5000); len(*large) != 5000 {
		t.Errorf("a slice of %d, want 5000", len(*large))
	} else {
		p.Put(large)
	}
	for range 100 {
		if b := p.Get(10); len(*b) != 10 || cap(*b) > 4000 {
			t.Errorf("a slice of %d, capacity %d", len(*b), cap(*b))
		}
	}
}

// TestOf: senders that do not send protobuf's bytes find the response of which a frame was made, and the cursor. A frame of tables has both.
func TestOf(t *testing.T) {
	var out frame.Outbox
	r := &replaydv1.StreamEventsResponse{Response: &replaydv1.StreamEventsResponse_End{End: &replaydv1.StreamEnd{}}}
	for _, cursor := range []string{"", "cursor"} {
		f, err := out.Of(r, []byte(cursor))
		if err != nil || f.Response() != r || string(f.Cursor()) != cursor || f.Columns() != nil {
			t.Errorf("%v: %v, cursor %q", err, f.Response(), f.Cursor())
		}
		f.Free()
	}
	batch := &replaydv1.EventBatch{Tables: []*replaydv1.Table{{Kind: "join", Rows: 1, Data: []byte("rows")}}}
	encoded, err := proto.Marshal(batch)
	if err != nil {
		t.Fatal(err)
	}
	f := out.Tables(frame.Head{First: 1, Next: 5}, []byte("cursor"), mem.SliceBuffer(encoded))
	if string(f.Cursor()) != "cursor" || f.Response() != nil {
		t.Errorf("cursor %q", f.Cursor())
	}
	batch.FirstSequence, batch.NextSequence = 1, 5
	b := f.Buffer()
	var got replaydv1.StreamEventsResponse
	if err := proto.Unmarshal(b.ReadOnlyData(), &got); err != nil || !proto.Equal(got.GetBatch(), batch) || string(got.GetCursor()) != "cursor" {
		t.Errorf("%v, %v", &got, err)
	}
	b.Free()
	f.Free()
}
