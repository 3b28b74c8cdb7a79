package service_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/teehistorian/teetest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/checkpoint"
	"github.com/replayd/replayd/replay/cursor"
	"github.com/replayd/replayd/service/streamtest"
)

// The samples that most tests use.
var (
	finishedSample = samples("teehistorian", "finished", "4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian")
	killedSample   = samples("teehistorian", "killed", "d3a324eb-75e3-43b2-8684-d2cb343e85ec.teehistorian")
)

// TestStream streams every recording whole, in batches of several sizes, and compares it with what it decodes to.
func TestStream(t *testing.T) {
	for _, path := range recordings(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			dir := t.TempDir()
			replay := copyIn(t, dir, path)
			d := start(t, dir)
			want := offline(t, path, nil)
			for _, size := range []uint32{0, 1, 7, 512, 4096, 1 << 31} {
				if size == 1 && len(want.Events) > 50_000 {
					continue
				}
				req := &replaydv1.StreamEventsRequest{Replay: replay, MaxBatchEvents: size}
				first := streamtest.History{d.Session(timeout(t), req, nil)}
				check(t, first, []streamtest.Replay{want}, streamtest.Options{})
				second := d.Session(timeout(t), req, nil)
				if !sameResponses(t, first[0].Responses, second.Responses) {
					t.Errorf("batches of %d: the same request got other bytes the second time", size)
				}
			}
		})
	}
}

func kinds(names ...string) *replaydv1.EventFilter { return &replaydv1.EventFilter{Kinds: names} }

func ticks(low, high int32) *replaydv1.EventFilter {
	return &replaydv1.EventFilter{Ticks: &replaydv1.TickRange{Min: &low, Max: &high}}
}

// filterings are requests with several kinds of filters.
var filterings = map[string]*replaydv1.StreamEventsRequest{
	"all":          {},
	"one kind":     {Include: []*replaydv1.EventFilter{kinds("player_diff")}},
	"rare kinds":   {Include: []*replaydv1.EventFilter{kinds("join", "drop", "finish")}},
	"no ticks":     {Exclude: []*replaydv1.EventFilter{kinds("tick")}},
	"one player":   {Include: []*replaydv1.EventFilter{{Players: []int32{0}}}},
	"two sorts":    {Include: []*replaydv1.EventFilter{kinds("message"), {Players: []int32{1}}}},
	"some ticks":   {Include: []*replaydv1.EventFilter{ticks(20, 60)}},
	"ticks but":    {Include: []*replaydv1.EventFilter{ticks(20, 60)}, Exclude: []*replaydv1.EventFilter{kinds("tick")}},
	"nobody":       {Include: []*replaydv1.EventFilter{{Players: []int32{1023}}}},
	"nothing":      {Include: []*replaydv1.EventFilter{kinds("tick")}, Exclude: []*replaydv1.EventFilter{kinds("tick")}},
	"the far end":  {Include: []*replaydv1.EventFilter{ticks(1<<30, 1<<31-1)}},
	"before it":    {Include: []*replaydv1.EventFilter{ticks(-10, -5)}},
	"not a player": {Exclude: []*replaydv1.EventFilter{{Players: []int32{0}}}},
	"facts":        {Include: []*replaydv1.EventFilter{facts}},
	"with facts":   {Include: []*replaydv1.EventFilter{{}, facts}},
}

// facts selects all facts of recordings.
var facts = streamtest.Everything(replaydv1.Format_FORMAT_TEEHISTORIAN)[1]

// TestStartFromCheckpoints makes requests that use checkpoints on a larger file, first without checkpoints and then with them.
func TestStartFromCheckpoints(t *testing.T) {
	streamtest.SkipLong(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "long.teehistorian")
	data := longRecording(t, finishedSample, beyondCheckpoint())
	write(t, path, data)
	d := start(t, dir)
	want := offlineBytes(t, data, nil)
	replay := name("long.teehistorian")
	whole := d.Session(timeout(t), &replaydv1.StreamEventsRequest{Replay: replay, MaxBatchEvents: 4096}, nil)
	check(t, streamtest.History{whole}, []streamtest.Replay{want}, streamtest.Options{})
	for round := range 2 {
		for n := 1; n < len(whole.Responses); n += len(whole.Responses)/3 + 1 {
			begun := streamtest.Session{Responses: whole.Responses[:n], Cut: true}
			req := streamtest.Resumed(&replaydv1.StreamEventsRequest{Replay: replay}, streamtest.History{begun})
			h := streamtest.History{begun, d.Session(timeout(t), req, nil)}
			check(t, h, []streamtest.Replay{want}, streamtest.Options{})
		}
		for _, n := range []int{1000, 300_000} {
			req := &replaydv1.StreamEventsRequest{
				Replay: replay, Start: &replaydv1.Start{At: &replaydv1.Start_LastEvents{LastEvents: uint32(n)}},
			}
			h := streamtest.History{d.Session(timeout(t), req, nil)}
			check(t, h, []streamtest.Replay{want}, streamtest.Options{From: max(0, len(want.Events)-n)})
		}
		for _, tick := range []int32{1000, 20_000} {
			later := offlineBytes(t, data, &replaydv1.StreamEventsRequest{Include: []*replaydv1.EventFilter{ticks(tick, 1<<31-1)}})
			req := &replaydv1.StreamEventsRequest{Replay: replay, Start: &replaydv1.Start{At: &replaydv1.Start_Tick{Tick: tick}}}
			h := streamtest.History{d.Session(timeout(t), req, nil)}
			check(t, h, []streamtest.Replay{want}, streamtest.Options{From: len(want.Events) - len(later.Events)})
		}
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
}

// beyondCheckpoint returns the size of a file that leaves checkpoints: two, or one with the race detector.
func beyondCheckpoint() int {
	if streamtest.Race {
		return checkpoint.Spacing + 1<<16
	}
	return 5 * checkpoint.Spacing / 2
}

// longRecording returns a file of about that many bytes that repeats the records of a sample. So the moves and inputs of its
// players repeat.
func longRecording(tb testing.TB, sample string, size int) []byte {
	tb.Helper()
	return teetest.Repeat(read(tb, sample), size)
}

// TestTruncated: a stream of a truncated file ends with that reason.
func TestTruncated(t *testing.T) {
	dir := t.TempDir()
	data := read(t, finishedSample)
	header := bytes.IndexByte(data[16:], 0) + 17
	d := start(t, dir)
	for n := header; n < len(data); n += 101 {
		write(t, filepath.Join(dir, "cut.teehistorian"), data[:n])
		want := offlineBytes(t, data[:n], nil)
		h := streamtest.History{d.Session(timeout(t), &replaydv1.StreamEventsRequest{Replay: name("cut.teehistorian")}, nil)}
		check(t, h, []streamtest.Replay{want}, streamtest.Options{})
		if end := h.End(); end.GetReason() != replaydv1.EndReason_END_REASON_TRUNCATED || end.GetDetail() == "" {
			t.Errorf("%d bytes: end %v", n, end)
		}
	}
}

// TestCorrupt: the events before the damage are delivered, and the error's cursor continues there.
func TestCorrupt(t *testing.T) {
	dir := t.TempDir()
	good := read(t, finishedSample)
	bad := corrupt(good)
	write(t, filepath.Join(dir, "bad.teehistorian"), bad)
	d := start(t, dir)
	want := offlineBytes(t, good[:len(good)-1], nil)
	s := d.Session(timeout(t), &replaydv1.StreamEventsRequest{Replay: name("bad.teehistorian")}, nil)
	if got := explainFailure(t, s.Err); got.code != codes.DataLoss || got.reason != "CORRUPT" {
		t.Errorf("got %+v", got)
	}
	check(t, streamtest.History{s}, []streamtest.Replay{want}, streamtest.Options{})
	// The last cursor leads to the same damage, and to nothing else.
	h := streamtest.History{s}
	again := d.Session(timeout(t), streamtest.Resumed(&replaydv1.StreamEventsRequest{Replay: name("bad.teehistorian")}, h), nil)
	if again.Err == nil || again.Err.Error() != s.Err.Error() {
		t.Errorf("at first %v\nthen     %v", s.Err, again.Err)
	}
	check(t, append(h, again), []streamtest.Replay{want}, streamtest.Options{})
}

// TestNothingToSend tests edge cases of requests.
func TestNothingToSend(t *testing.T) {
	dir := t.TempDir()
	replay := copyIn(t, dir, finishedSample)
	d := start(t, dir)
	far := int32(1 << 30)
	for name, test := range map[string]struct {
		req  *replaydv1.StreamEventsRequest
		want replaydv1.EndReason
	}{
		"tick behind the end": {
			&replaydv1.StreamEventsRequest{Start: &replaydv1.Start{At: &replaydv1.Start_Tick{Tick: far}}},
			replaydv1.EndReason_END_REASON_FINISHED,
		},
		"range that is over": {
			&replaydv1.StreamEventsRequest{Include: []*replaydv1.EventFilter{ticks(-5, -1)}},
			replaydv1.EndReason_END_REASON_RANGE_DONE,
		},
		"range behind the end": {
			&replaydv1.StreamEventsRequest{Include: []*replaydv1.EventFilter{ticks(far, far)}},
			replaydv1.EndReason_END_REASON_FINISHED,
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.req.Replay = replay
			s := d.Session(timeout(t), test.req, nil)
			h := streamtest.History{s}
			if s.Err != nil || h.End().GetReason() != test.want || len(s.Responses) != 2 {
				t.Errorf("%d responses, end %v, error %v; want a start and %v", len(s.Responses), h.End(), s.Err, test.want)
			}
		})
	}
}

// TestCursorsOfOthers: forged cursors with a correct checksum are refused or lead to some place in the file. They never lead to
// events that do not exist.
func TestCursorsOfOthers(t *testing.T) {
	dir := t.TempDir()
	replay := copyIn(t, dir, finishedSample)
	d := start(t, dir)
	data, err := os.ReadFile(finishedSample)
	if err != nil {
		t.Fatal(err)
	}
	step := int64(13) // not a multiple of a record's length, so that offsets are anywhere in records
	if streamtest.Race {
		step = 131
	}
	for offset := int64(-3); offset < 5000; offset += step {
		for _, index := range []int64{0, 1, 2, 1<<31 - 1, 1<<63 - 1} {
			c := cursor.Cursor{
				Format: decoders.Teehistorian, Replay: cursor.HashOf(goodIdentity), Position: decoders.Position{Offset: offset, Index: index},
				Sum: decoders.Sum(0).Add(data[:max(offset, 0)]),
			}
			req := &replaydv1.StreamEventsRequest{Replay: replay, Start: &replaydv1.Start{At: &replaydv1.Start_Cursor{Cursor: c.Append(nil)}}}
			s := d.Session(timeout(t), req, nil)
			if s.Err == nil {
				continue
			}
			if got := explainFailure(t, s.Err); got.reason != "CURSOR_BEYOND_END" && got.reason != "CURSOR_MISMATCH" && got.reason != "BAD_REQUEST" {
				t.Fatalf("offset %d, index %d: %v", offset, index, s.Err)
			}
		}
	}
}

// TestSequenceOverflow: numbering continues from a cursor's sequence number, whatever it is.
func TestSequenceGoesOn(t *testing.T) {
	dir := t.TempDir()
	replay := copyIn(t, dir, finishedSample)
	d := start(t, dir)
	want := offline(t, finishedSample, nil)
	const sequence = 1<<63 + 5
	at := cursor.Cursor{Format: decoders.Teehistorian, Replay: cursor.HashOf(goodIdentity), Sequence: sequence}
	whole := d.Session(timeout(t), &replaydv1.StreamEventsRequest{Replay: replay}, nil)
	var first replaydv1.StreamEventsResponse
	if err := proto.Unmarshal(whole.Responses[0], &first); err != nil {
		t.Fatal(err)
	}
	at.Position.Offset = first.GetStart().GetOffset()
	data, err := os.ReadFile(finishedSample)
	if err != nil {
		t.Fatal(err)
	}
	at.Sum = decoders.Sum(0).Add(data[:at.Position.Offset])
	req := &replaydv1.StreamEventsRequest{Replay: replay, Start: &replaydv1.Start{At: &replaydv1.Start_Cursor{Cursor: at.Append(nil)}}}
	check(t, streamtest.History{d.Session(timeout(t), req, nil)}, []streamtest.Replay{want}, streamtest.Options{Sequence: sequence})
}

// TestSmallDelay shows only that a delayed batch is still sent at the end.
func TestBatchDelayOfWholeFile(t *testing.T) {
	dir := t.TempDir()
	replay := copyIn(t, dir, killedSample)
	d := start(t, dir)
	req := &replaydv1.StreamEventsRequest{Replay: replay, MaxBatchDelay: durationpb.New(10e9), MaxBatchEvents: 4096}
	check(t, streamtest.History{d.Session(timeout(t), req, nil)}, []streamtest.Replay{offline(t, killedSample, nil)}, streamtest.Options{})
}
