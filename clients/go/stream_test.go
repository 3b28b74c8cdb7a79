package replayd_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	replayd "github.com/replayd/replayd/clients/go"
	teehistorianv1 "github.com/replayd/replayd/proto/replayd/teehistorian/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// TestEvents compares each event with its generated message.
func TestEvents(t *testing.T) {
	d := serve(t, samples)
	s := d.connect().Stream(soon(t), stream(finished))
	var sequence uint64
	kinds := map[string]int{}
	for e, err := range s.Events() {
		if err != nil {
			t.Fatal(err)
		}
		whole, ok := e.Message().(*teehistorianv1.Event)
		if !ok {
			t.Fatalf("event %d is a %T", e.Sequence, e.Message())
		}
		if e.Sequence != sequence || e.Tick != whole.GetAtTick() {
			t.Fatalf("event %d of tick %d; want %d, %d", e.Sequence, e.Tick, sequence, whole.GetAtTick())
		}
		kind := whole.ProtoReflect().WhichOneof(whole.ProtoReflect().Descriptor().Oneofs().ByName("kind"))
		if string(kind.Name()) != e.Kind {
			t.Fatalf("event %d is a %q, not a %q", e.Sequence, kind.Name(), e.Kind)
		}
		want := whole.ProtoReflect().Get(kind).Message().Interface()
		if !proto.Equal(e.Value(), want) {
			t.Fatalf("event %d: %v, want %v", e.Sequence, e.Value(), want)
		}
		into := want.ProtoReflect().New().Interface()
		if err := e.Unmarshal(into); err != nil || !proto.Equal(into, want) {
			t.Fatalf("event %d into a message: %v, %v; want %v", e.Sequence, into, err, want)
		}
		if err := e.Unmarshal(&replaydv1.Gap{}); err == nil {
			t.Fatal("an event was unmarshalled into a Gap")
		}
		kinds[e.Kind]++
		sequence++
	}
	if kinds["player_diff"] == 0 || kinds["finish"] != 1 {
		t.Errorf("kinds %v", kinds)
	}
	if s.End().GetReason() != replaydv1.EndReason_END_REASON_FINISHED || s.End().GetEventsSent() != sequence {
		t.Errorf("end %v after %d events", s.End(), sequence)
	}
	if s.Start().GetReplay().GetTeehistorian() == nil || s.Reconnects() != 0 || s.Missed() != 0 || len(s.Cursor()) == 0 {
		t.Errorf("start %v, %d reconnects, %d missed, cursor %x", s.Start(), s.Reconnects(), s.Missed(), s.Cursor())
	}
	for _, err := range s.Events() {
		if err == nil {
			t.Error("a second loop over the same stream")
		}
	}
}

// TestTables checks that batches of tables have as many rows as events, and that their schema comes once for each kind.
func TestTables(t *testing.T) {
	d := serve(t, samples)
	req := stream(finished)
	req.Encoding = replaydv1.Encoding_ENCODING_ARROW
	req.MaxBatchEvents = 500
	want := len(lines(t, d.connect().Events(soon(t), stream(finished))))
	rows, schemas := 0, map[string]int{}
	for b, err := range d.connect().Batches(soon(t), req) {
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range b.Tables() {
			rows += int(table.GetRows())
			if _, known := schemas[table.GetKind()]; known != (len(table.GetSchema()) == 0) || len(table.GetData()) == 0 {
				t.Errorf("table %s with a schema of %d bytes", table.GetKind(), len(table.GetSchema()))
			}
			schemas[table.GetKind()]++
		}
		for _, err := range b.Events() {
			if err == nil {
				t.Error("a batch of tables yields an event")
			}
		}
	}
	if rows != want || schemas["player_diff"] < 2 {
		t.Errorf("%d rows of %d events, tables %v", rows, want, schemas)
	}
}

// TestBatchEvents: batches are longer than those of the daemon's own default, unless the request says how long.
func TestBatchEvents(t *testing.T) {
	client := serve(t, samples).connect()
	for asked, least := range map[uint32]int{0: 513, 100: 100} {
		req, longest := stream(finished), 0
		req.MaxBatchEvents = asked
		for b, err := range client.Batches(soon(t), req) {
			if err != nil {
				t.Fatal(err)
			}
			longest = max(longest, b.Len())
		}
		if longest < least || asked > 0 && longest > int(asked) {
			t.Errorf("%d asked, %d sent", asked, longest)
		}
		if req.GetMaxBatchEvents() != asked {
			t.Error("the caller's request was changed")
		}
	}
}

// TestFollow follows a growing file while the daemon is drained, killed and restarted. Each event must arrive exactly once.
func TestFollow(t *testing.T) {
	whole := read(t, filepath.Join(samples, filepath.FromSlash(finished)))
	var want []string
	var offsets []int64
	for e, err := range serve(t, samples).connect().Events(soon(t), stream(finished)) {
		if err != nil {
			t.Fatal(err)
		}
		want, offsets = append(want, e.String()), append(offsets, e.Offset)
	}

	dir := t.TempDir()
	path := filepath.Join(dir, "live.teehistorian")
	if err := os.WriteFile(path, whole[:len(whole)/10], 0o600); err != nil {
		t.Fatal(err)
	}
	d := serve(t, dir)
	req := stream("live.teehistorian")
	req.Follow, req.MaxBatchEvents = true, 16
	ctx, cancel := context.WithCancel(soon(t))
	s := d.connect().Stream(ctx, req)

	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	var seen atomic.Int64
	wg.Go(func() {
		const steps = 30
		for i := 3; i <= steps; i++ {
			// What was written before the last step has arrived, so that there was a connection since the last restart.
			arrived, _ := slices.BinarySearch(offsets, int64(len(whole)*max(i-2, 0)/steps))
			for seen.Load() < int64(arrived-1) && ctx.Err() == nil {
				time.Sleep(time.Millisecond)
			}
			write(t, path, whole[:len(whole)*i/steps])
			switch i {
			case 8, 20:
				d.stop()
				d.start()
			case 12, 16, 24, 28:
				d.kill()
				d.start()
			}
		}
	})
	var got []string
	for e, err := range s.Events() {
		if err != nil {
			t.Fatalf("after %d events: %v", len(got), err)
		}
		got = append(got, e.String())
		seen.Add(1)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d events, want %d; or they differ", len(got), len(want))
	}
	if s.Reconnects() < 6 {
		t.Errorf("%d reconnects", s.Reconnects())
	}
	if s.End().GetReason() != replaydv1.EndReason_END_REASON_FINISHED {
		t.Errorf("end %v", s.End())
	}
	t.Logf("%d events over %d reconnects", len(want), s.Reconnects())
}

// write appends to a file the part of contents that it does not have yet.
func write(tb testing.TB, path string, contents []byte) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		tb.Error(err)
		return
	}
	defer f.Close()
	at, err := f.Seek(0, 2)
	if err == nil && at < int64(len(contents)) {
		_, err = f.Write(contents[at:])
	}
	if err != nil {
		tb.Error(err)
	}
}

// TestCutAnywhere breaks the connection repeatedly after a few kilobytes of responses. Each event, and the state, must arrive
// exactly once.
func TestCutAnywhere(t *testing.T) {
	t.Run("from the beginning", func(t *testing.T) { cutAnywhere(t, nil) })
	t.Run("with state", func(t *testing.T) {
		cutAnywhere(t, &replaydv1.Start{At: &replaydv1.Start_Tick{Tick: 100}, WithState: true})
	})
}

func cutAnywhere(t *testing.T, start *replaydv1.Start) {
	d := serve(t, samples)
	req := stream(killed)
	req.Start, req.MaxBatchEvents = start, 20
	want := lines(t, d.connect().Events(soon(t), req))
	if start.GetWithState() && !strings.HasPrefix(want[0], `{"state":true,"at_tick":`) {
		t.Errorf("the first line is %s", want[0])
	}
	proxy := newProxy(t, d.addr, 4000)
	client, err := replayd.Dial(proxy, replayd.WithRetry(replayd.Retry{Initial: time.Millisecond, Max: 5 * time.Millisecond}))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	s := client.Stream(soon(t), req)
	if got := lines(t, s.Events()); !slices.Equal(got, want) {
		t.Errorf("%d events, want %d; or they differ", len(got), len(want))
	}
	if s.Reconnects() == 0 {
		t.Error("nothing was cut")
	}
	t.Logf("%d events over %d reconnects", len(want), s.Reconnects())
}

// TestSilence checks that the client replaces a connection that has become silent.
func TestSilence(t *testing.T) {
	dir := t.TempDir()
	whole := read(t, filepath.Join(samples, filepath.FromSlash(finished)))
	path := filepath.Join(dir, "live.teehistorian")
	if err := os.WriteFile(path, whole[:len(whole)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	d := serve(t, dir)
	want := lines(t, serve(t, samples).connect().Events(soon(t), stream(finished)))
	proxy := newSilentProxy(t, d.addr)
	client, err := replayd.Dial(proxy.addr, replayd.WithRetry(replayd.Retry{Initial: time.Millisecond, Max: time.Millisecond}))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	req := stream("live.teehistorian")
	req.Follow, req.HeartbeatInterval = true, durationpb.New(time.Second)
	s := client.Stream(soon(t), req)
	got := 0
	for r, err := range s.Responses() {
		if err != nil {
			t.Fatal(err)
		}
		if r.Message.GetFollowStatus().GetState() == replaydv1.FollowState_FOLLOW_STATE_CAUGHT_UP {
			proxy.silence()
			write(t, path, whole)
		}
		if r.Batch == nil {
			continue
		}
		for e, err := range r.Batch.Events() {
			if err != nil || e.String() != want[got] {
				t.Fatalf("event %d: %v, %v", got, e, err)
			}
			got++
		}
	}
	if got != len(want) || s.Reconnects() == 0 {
		t.Errorf("%d events of %d over %d reconnects", got, len(want), s.Reconnects())
	}
}

// TestFinal checks that a permanent error ends a stream at once, with its code, reason and details.
func TestFinal(t *testing.T) {
	dir := t.TempDir()
	whole := read(t, filepath.Join(samples, filepath.FromSlash(finished)))
	damaged := append(slices.Clone(whole[:len(whole)/2]), bytes.Repeat([]byte{0x40}, 100)...)
	for name, contents := range map[string][]byte{
		"whole.teehistorian": whole, "cut.teehistorian": whole[:len(whole)/2], "damaged.teehistorian": damaged, "text": []byte("text"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), contents, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	client := serve(t, dir).connect()
	for _, test := range []struct {
		name   string
		req    *replaydv1.StreamEventsRequest
		code   codes.Code
		reason replaydv1.ErrorReason
	}{
		{"not found", stream("nothing"), codes.NotFound, replaydv1.ErrorReason_ERROR_REASON_REPLAY_NOT_FOUND},
		{"no request", nil, codes.InvalidArgument, replaydv1.ErrorReason_ERROR_REASON_BAD_REQUEST},
		{"bad kind", &replaydv1.StreamEventsRequest{Replay: root + "/whole.teehistorian", Include: replayd.Kinds("nonsense")},
			codes.InvalidArgument, replaydv1.ErrorReason_ERROR_REASON_BAD_REQUEST},
		{"unknown format", stream("text"), codes.InvalidArgument, replaydv1.ErrorReason_ERROR_REASON_UNKNOWN_FORMAT},
		{"truncated", &replaydv1.StreamEventsRequest{Replay: root + "/cut.teehistorian", Strict: true},
			codes.DataLoss, replaydv1.ErrorReason_ERROR_REASON_TRUNCATED},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := client.Stream(soon(t), test.req)
			var last error
			for _, err := range s.Events() {
				last = err
			}
			e, ok := errors.AsType[*replayd.Error](last)
			if !ok || e.Code != test.code || e.Reason != test.reason || replayd.ReasonOf(last) != test.reason {
				t.Fatalf("%v (%T)", last, last)
			}
			if status.Code(last) != test.code || e.Message == "" || s.Reconnects() != 0 || s.End() != nil {
				t.Errorf("status %v, %d reconnects, end %v", status.Code(last), s.Reconnects(), s.End())
			}
			if test.name == "bad kind" && (len(e.Fields) != 1 || e.Fields[0].Name == "") {
				t.Errorf("fields %v", e.Fields)
			}
			if test.reason == replaydv1.ErrorReason_ERROR_REASON_TRUNCATED && len(e.Cursor) == 0 {
				t.Errorf("metadata %v", e.Metadata)
			}
		})
	}
}

// TestNoDaemon checks that without a daemon a stream that has not begun ends at once, unless it follows. A stream that has begun
// ends after GiveUpAfter.
func TestNoDaemon(t *testing.T) {
	d := serve(t, samples)
	d.kill()
	for _, err := range d.connect().Events(soon(t), stream(finished)) {
		if status.Code(err) != codes.Unavailable {
			t.Errorf("got %v", err)
		}
	}
	follow := stream(finished)
	follow.Follow = true
	s := d.connect().Stream(soon(t), follow)
	var wg sync.WaitGroup
	wg.Go(func() {
		time.Sleep(300 * time.Millisecond)
		d.start()
	})
	if n := len(lines(t, s.Events())); n == 0 || s.Reconnects() != 0 {
		t.Errorf("%d events, %d reconnects of a stream that follows and had not begun", n, s.Reconnects())
	}
	wg.Wait()
	client := d.connect(replayd.WithRetry(replayd.Retry{Initial: time.Millisecond, Max: 10 * time.Millisecond, GiveUpAfter: 200 * time.Millisecond}))
	req := stream(finished)
	req.MaxBatchEvents = 1
	var last error
	n := 0
	for _, err := range client.Events(soon(t), req) {
		if n++; n == 5 {
			d.kill()
		}
		last = err
	}
	if status.Code(last) != codes.Unavailable {
		t.Errorf("got %v", last)
	}
}

// TestDrainWithoutRetry checks that a shutdown of the daemon is an error and not the end of the replay.
func TestDrainWithoutRetry(t *testing.T) {
	dir := t.TempDir()
	whole := read(t, filepath.Join(samples, filepath.FromSlash(finished)))
	if err := os.WriteFile(filepath.Join(dir, "live.teehistorian"), whole[:len(whole)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	d := serve(t, dir)
	req := stream("live.teehistorian")
	req.Follow = true
	s := d.connect(replayd.WithRetry(replayd.Retry{Never: true})).Stream(soon(t), req)
	var last error
	var wg sync.WaitGroup
	for r, err := range s.Responses() {
		if r.Message.GetFollowStatus() != nil {
			wg.Go(d.stop)
		}
		last = err
	}
	wg.Wait()
	if replayd.ReasonOf(last) != replaydv1.ErrorReason_ERROR_REASON_DRAINING {
		t.Errorf("got %v", last)
	}
	if s.State() != replaydv1.FollowState_FOLLOW_STATE_CAUGHT_UP {
		t.Errorf("state %v", s.State())
	}
}

// TestCancel checks that leaving the loop ends a stream, and so does the end of the caller's context.
func TestCancel(t *testing.T) {
	d := serve(t, samples)
	client := d.connect()
	for e, err := range client.Events(soon(t), stream(finished)) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Sequence == 10 {
			break
		}
	}
	ctx, cancel := context.WithCancel(soon(t))
	defer cancel()
	var last error
	follow := stream(killed)
	follow.Follow = true
	for _, err := range client.Events(ctx, follow) {
		cancel()
		last = err
	}
	if !errors.Is(last, context.Canceled) || status.Code(last) != codes.Canceled {
		t.Errorf("got %v", last)
	}
	ctx, cancel = context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	for _, err := range client.Events(ctx, follow) {
		last = err
	}
	if !errors.Is(last, context.DeadlineExceeded) || status.Code(last) != codes.DeadlineExceeded {
		t.Errorf("got %v", last)
	}
}

// TestCursor resumes in another stream, as a restarted program would, from the cursor of the last finished batch.
func TestCursor(t *testing.T) {
	d := serve(t, samples)
	client := d.connect()
	want := lines(t, client.Events(soon(t), stream(finished)))
	req := stream(finished)
	req.MaxBatchEvents = 7
	s := client.Stream(soon(t), req)
	var got []string
	batches := 0
	for b, err := range s.Batches() {
		if err != nil {
			t.Fatal(err)
		}
		if batches++; batches == 20 { // the loop does not finish this batch
			break
		}
		for e := range b.Events() {
			got = append(got, e.String())
		}
	}
	req.Start = &replaydv1.Start{At: &replaydv1.Start_Cursor{Cursor: s.Cursor()}}
	if got = append(got, lines(t, client.Events(soon(t), req))...); !slices.Equal(got, want) {
		t.Errorf("%d events, want %d; or they differ", len(got), len(want))
	}
}
