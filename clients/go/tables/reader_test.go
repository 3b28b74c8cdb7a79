package tables_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"

	replayd "github.com/replayd/replayd/clients/go"
	"github.com/replayd/replayd/clients/go/tables"
	"github.com/replayd/replayd/internal/daemontest"
	teehistorianv1 "github.com/replayd/replayd/proto/replayd/teehistorian/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const name = "r/teehistorian/finished/4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian"

var samples = filepath.Join("..", "..", "..", "testdata")

func serve(t *testing.T) (*daemontest.Daemon, *replayd.Client, context.Context) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	d := daemontest.New("r", samples)
	check(t, d.Start())
	t.Cleanup(func() { check(t, d.Kill()) })
	client, err := replayd.Dial(d.Addr, replayd.WithRetry(replayd.Retry{Initial: time.Millisecond, Max: 50 * time.Millisecond}))
	check(t, err)
	t.Cleanup(func() { check(t, client.Close()) })
	return d, client, ctx
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// request asks for batches of 100 events.
func request() *replaydv1.StreamEventsRequest {
	return &replaydv1.StreamEventsRequest{Replay: name, MaxBatchEvents: 100}
}

// xs appends the values of a column of int32.
func xs(to []int32, r arrow.RecordBatch, column string) []int32 {
	at := r.Schema().FieldIndices(column)[0]
	return append(to, r.Column(at).(*array.Int32).Int32Values()...)
}

// moves returns the x of each move, as events.
func moves(ctx context.Context, t *testing.T, client *replayd.Client) []int32 {
	t.Helper()
	var want []int32
	for e, err := range client.Events(ctx, &replaydv1.StreamEventsRequest{Replay: name, Include: replayd.Kinds("player_diff")}) {
		check(t, err)
		want = append(want, e.Value().(*teehistorianv1.PlayerDiff).GetX())
	}
	return want
}

// TestReader: the rows are the events, a stream goes on exactly behind each cursor, and what was retained stays as it was.
func TestReader(t *testing.T) {
	_, client, ctx := serve(t)
	want := moves(ctx, t, client)
	r, err := tables.NewReader(ctx, client, "player_diff", request())
	check(t, err)
	if r.Schema() == nil || r.RecordBatch() != nil || r.Schema().Field(0).Name != "offset" {
		t.Errorf("before the first Next: schema %v, record %v", r.Schema(), r.RecordBatch())
	}
	var got []int32
	var kept []arrow.RecordBatch
	for r.Next() {
		got = xs(got, r.RecordBatch(), "x")
		r.RecordBatch().Retain()
		kept = append(kept, r.RecordBatch())
		rest := request()
		rest.Start = &replaydv1.Start{At: &replaydv1.Start_Cursor{Cursor: r.Cursor()}}
		after, err := tables.NewReader(ctx, client, "player_diff", rest)
		check(t, err)
		whole := slices.Clone(got)
		for after.Next() {
			whole = xs(whole, after.RecordBatch(), "x")
		}
		check(t, after.Err())
		after.Release()
		if !slices.Equal(whole, want) {
			t.Fatalf("after %d rows, the rows up to a cursor and those behind it are %d, want %d", len(got), len(whole), len(want))
		}
	}
	check(t, r.Err())
	if !slices.Equal(got, want) || len(kept) < 5 {
		t.Errorf("%d rows in %d record batches, want %d", len(got), len(kept), len(want))
	}
	if r.Stream().End().GetEventsSent() != uint64(len(want)) {
		t.Errorf("the stream's end is %v", r.Stream().End())
	}
	table := array.NewTableFromRecords(r.Schema(), kept)
	r.Release()
	got = nil
	for _, record := range kept {
		got = xs(got, record, "x")
		record.Release()
	}
	if !slices.Equal(got, want) || table.NumRows() != int64(len(want)) {
		t.Error("record batches that were retained have changed")
	}
	table.Release()
}

// TestReaderColumns: the daemon makes only the columns that are asked for.
func TestReaderColumns(t *testing.T) {
	_, client, ctx := serve(t)
	req := request()
	req.Columns = []string{"x", "at_tick"}
	r, err := tables.NewReader(ctx, client, "player_diff", req)
	check(t, err)
	defer r.Release()
	if !r.Next() || r.Schema().NumFields() != 2 || r.RecordBatch().ColumnName(1) != "x" || r.RecordBatch().NumRows() != 100 {
		t.Errorf("%v %v", r.RecordBatch(), r.Err())
	}
}

// TestReaderWithoutRows: a kind without events has a schema and no record batch.
func TestReaderWithoutRows(t *testing.T) {
	_, client, ctx := serve(t)
	r, err := tables.NewReader(ctx, client, "antibot", request())
	check(t, err)
	defer r.Release()
	if r.Schema() == nil || len(r.Schema().FieldIndices("data")) != 1 || r.Next() || r.RecordBatch() != nil || r.Err() != nil {
		t.Errorf("schema %v, record batch %v, error %v", r.Schema(), r.RecordBatch(), r.Err())
	}
}

// TestReaderResumes: a daemon that starts again in the middle loses no row and repeats none.
func TestReaderResumes(t *testing.T) {
	d, client, ctx := serve(t)
	want := moves(ctx, t, client)
	r, err := tables.NewReader(ctx, client, "player_diff", request())
	check(t, err)
	defer r.Release()
	var got []int32
	for i := 0; r.Next(); i++ {
		if got = xs(got, r.RecordBatch(), "x"); i%4 == 1 {
			check(t, d.Kill())
			check(t, d.Start())
		}
	}
	check(t, r.Err())
	if !slices.Equal(got, want) {
		t.Errorf("%d rows, want %d", len(got), len(want))
	}
}

func TestUploadReader(t *testing.T) {
	_, client, ctx := serve(t)
	file, err := os.ReadFile(filepath.Join(samples, name[2:]))
	check(t, err)
	r, err := tables.NewUploadReader(ctx, client, "player_diff", bytes.NewReader(file), nil)
	check(t, err)
	defer r.Release()
	var got []int32
	for r.Next() {
		got = xs(got, r.RecordBatch(), "x")
	}
	check(t, r.Err())
	if !slices.Equal(got, moves(ctx, t, client)) {
		t.Errorf("%d rows", len(got))
	}
}

// TestReaderFilters: filters narrow the kind, and states come first, without positions.
func TestReaderFilters(t *testing.T) {
	_, client, ctx := serve(t)
	req := request()
	req.Include = []*replaydv1.EventFilter{{Players: []int32{1}}}
	req.Start = &replaydv1.Start{At: &replaydv1.Start_Tick{Tick: 500}, WithState: true}
	r, err := tables.NewReader(ctx, client, "player_diff", req)
	check(t, err)
	for r.Next() {
		for _, id := range xs(nil, r.RecordBatch(), "client_id") {
			if id != 1 || r.IsState() {
				t.Fatalf("a row of player %d, of a state: %v", id, r.IsState())
			}
		}
	}
	check(t, r.Err())
	r.Release()
	if len(req.GetInclude()[0].GetKinds()) > 0 || req.GetEncoding() != 0 {
		t.Error("the request was changed")
	}
	r, err = tables.NewReader(ctx, client, "player_state", req)
	check(t, err)
	if !r.Next() || !r.IsState() || r.RecordBatch().Column(0).NullN() != int(r.RecordBatch().NumRows()) {
		t.Errorf("no state, or with positions: %v %v", r.RecordBatch(), r.Err())
	}
	r.Release() // in the middle
}

func TestReaderErrors(t *testing.T) {
	_, client, ctx := serve(t)
	for what, req := range map[string]*replaydv1.StreamEventsRequest{
		"two kinds":      {Include: replayd.Kinds("drop")},
		"narrow columns": {NarrowColumns: true},
	} {
		if _, err := tables.NewReader(ctx, client, "join", req); err == nil {
			t.Errorf("%s are not refused", what)
		}
	}
	for kind, replay := range map[string]string{"nonsense": name, "join": "r/none"} {
		r, err := tables.NewReader(ctx, client, kind, &replaydv1.StreamEventsRequest{Replay: replay})
		check(t, err)
		var e *replayd.Error
		if r.Schema() != nil || r.Next() || r.Next() || !errors.As(r.Err(), &e) || e.Code != codes.InvalidArgument && e.Code != codes.NotFound {
			t.Errorf("%s of %s: %v", kind, replay, r.Err())
		}
		r.Release()
	}
	r, err := tables.NewReader(ctx, client, "join", request())
	check(t, err)
	r.Retain()
	r.Release()
	if !r.Next() {
		t.Errorf("released once of two references: %v", r.Err())
	}
	r.Release()
}
