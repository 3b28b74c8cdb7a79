package service_test

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// TestColumnsOfState streams columns with a state, whose kind the filters do not let through: it has all of its columns.
func TestColumnsOfState(t *testing.T) {
	dir := t.TempDir()
	replay := copyIn(t, dir, finishedSample)
	d := start(t, dir)
	s := d.Session(timeout(t), &replaydv1.StreamEventsRequest{
		Replay: replay, Encoding: replaydv1.Encoding_ENCODING_ARROW, Include: []*replaydv1.EventFilter{kinds("player_diff")},
		Columns: []string{"dx"}, Start: &replaydv1.Start{At: &replaydv1.Start_Tick{Tick: 150}, WithState: true},
	}, nil)
	columns := map[string]int{}
	for _, b := range s.Responses {
		r := new(replaydv1.StreamEventsResponse)
		if err := proto.Unmarshal(b, r); err != nil {
			t.Fatal(err)
		}
		for _, table := range append(r.GetState().GetTables(), r.GetBatch().GetTables()...) {
			if len(table.GetSchema()) > 0 {
				schema, err := flight.DeserializeSchema(table.GetSchema(), nil)
				if err != nil {
					t.Fatal(err)
				}
				columns[table.GetKind()] = schema.NumFields()
			}
		}
	}
	if columns["player_diff"] != 1 || columns["player_state"] < 6 || len(columns) != 2 {
		t.Errorf("numbers of columns: %v", columns)
	}
}

// TestColumnRefusals checks that columns which a table does not have are refused by name.
func TestColumnRefusals(t *testing.T) {
	dir := t.TempDir()
	replay, drawn := copyIn(t, dir, finishedSample), copyIn(t, dir, "../testdata/datafile/sample.map")
	d := start(t, dir)
	arrowEncoding, moves := replaydv1.Encoding_ENCODING_ARROW, []*replaydv1.EventFilter{kinds("player_diff")}
	for what, test := range map[string]struct {
		req  *replaydv1.StreamEventsRequest
		says string
	}{
		"no such column":  {&replaydv1.StreamEventsRequest{Include: moves, Columns: []string{"dx", "dz"}}, `player_diff has no column "dz"; its columns are offset, index, at_tick, time, warnings, client_id, dx, dy, x, y`},
		"of another kind": {&replaydv1.StreamEventsRequest{Include: []*replaydv1.EventFilter{kinds("player_diff", "drop")}, Columns: []string{"dx"}}, `drop has no column "dx"`},
		"of all kinds":    {&replaydv1.StreamEventsRequest{Columns: []string{"dx"}}, `has no column "dx"`},
		"in a number":     {&replaydv1.StreamEventsRequest{Include: moves, Columns: []string{"dx.y"}}, `no column "dx.y"; its columns are offset, index,`},
		"in a list":       {&replaydv1.StreamEventsRequest{Include: moves, Columns: []string{"warnings.item"}}, `no column "warnings.item"; its columns are offset,`},
		"in a list of messages": {
			&replaydv1.StreamEventsRequest{
				Start: &replaydv1.Start{WithState: true}, Include: []*replaydv1.EventFilter{kinds("player_state")}, Columns: []string{"skin_parts.dz"},
			},
			`no column "skin_parts.dz"; its columns are skin_parts.name`,
		},
		"two levels down": {
			&replaydv1.StreamEventsRequest{Replay: drawn, Include: []*replaydv1.EventFilter{kinds("quads")}, Columns: []string{"quads.points.z"}},
			`no column "quads.points.z"; its columns are quads.points.x, quads.points.y`,
		},
		"no such member":     {&replaydv1.StreamEventsRequest{Include: []*replaydv1.EventFilter{kinds("input_new")}, Columns: []string{"input.x"}}, `no column "input.x"; its columns are input.direction, input.target_x,`},
		"an empty name":      {&replaydv1.StreamEventsRequest{Include: moves, Columns: []string{""}}, `no column ""`},
		"a dot at the end":   {&replaydv1.StreamEventsRequest{Include: []*replaydv1.EventFilter{kinds("input_new")}, Columns: []string{"input."}}, `no column "input."; its columns are input.direction,`},
		"of players":         {&replaydv1.StreamEventsRequest{Include: moves, Columns: []string{"player.name"}}, `no column "player.name"`},
		"too many":           {&replaydv1.StreamEventsRequest{Include: moves, Columns: slices.Repeat([]string{"dx"}, 257)}, "more than 256"},
		"all of these there": {&replaydv1.StreamEventsRequest{Include: moves, Columns: slices.Repeat([]string{"dx"}, 256)}, ""},
	} {
		test.req.Replay = cmp.Or(test.req.GetReplay(), replay)
		test.req.Encoding = arrowEncoding
		in, err := d.client.StreamEvents(timeout(t), test.req)
		if err != nil {
			t.Fatal(err)
		}
		_, err = in.Recv()
		if test.says == "" {
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
			continue
		}
		field := ""
		for _, detail := range status.Convert(err).Details() {
			if bad, ok := detail.(*errdetails.BadRequest); ok {
				field = bad.GetFieldViolations()[0].GetField()
			}
		}
		if status.Code(err) != codes.InvalidArgument || !strings.Contains(status.Convert(err).Message(), test.says) || field != "columns" {
			t.Errorf("%s: %v, field %q", what, err, field)
		}
	}
}

// TestCompression: tables are compressed unless the client wants none, and this one is not known to be on this machine.
func TestCompression(t *testing.T) {
	dir := t.TempDir()
	replay := copyIn(t, dir, finishedSample)
	d := start(t, dir)
	flown := func(c replaydv1.ArrowCompression) (n int) {
		in, err := flight.NewFlightServiceClient(d.conn).DoGet(timeout(t), flightOf(t, &replaydv1.StreamEventsRequest{Replay: replay, ArrowCompression: c}, "player_diff"))
		for err == nil {
			var data *flight.FlightData
			data, err = in.Recv()
			n += len(data.GetDataBody())
		}
		if !errors.Is(err, io.EOF) {
			t.Error(err)
		}
		return n
	}
	size := func(c replaydv1.ArrowCompression) (n int) {
		s := d.Session(timeout(t), &replaydv1.StreamEventsRequest{Replay: replay, Encoding: replaydv1.Encoding_ENCODING_ARROW, ArrowCompression: c}, nil)
		for _, r := range s.Responses {
			n += len(r)
		}
		return n
	}
	for what, size := range map[string]func(replaydv1.ArrowCompression) int{"a stream": size, "a flight": flown} {
		none, lz4 := size(replaydv1.ArrowCompression_ARROW_COMPRESSION_NONE), size(replaydv1.ArrowCompression_ARROW_COMPRESSION_LZ4)
		if unsaid := size(replaydv1.ArrowCompression_ARROW_COMPRESSION_UNSPECIFIED); unsaid != lz4 || lz4 >= none || lz4 == 0 {
			t.Errorf("%s: %d bytes, %d compressed, %d if nothing is said", what, none, lz4, unsaid)
		}
	}
}

// TestArrowOptions: what only tables have is refused for rows, with the name of the field.
func TestArrowOptions(t *testing.T) {
	dir := t.TempDir()
	replay := copyIn(t, dir, finishedSample)
	d := start(t, dir)
	for field, req := range map[string]*replaydv1.StreamEventsRequest{
		"columns":           {Columns: []string{"dx"}},
		"narrow_columns":    {NarrowColumns: true},
		"arrow_compression": {ArrowCompression: replaydv1.ArrowCompression_ARROW_COMPRESSION_NONE},
	} {
		for _, encoding := range []replaydv1.Encoding{replaydv1.Encoding_ENCODING_UNSPECIFIED, replaydv1.Encoding_ENCODING_ROWS} {
			req.Replay, req.Encoding = replay, encoding
			s := d.Session(timeout(t), req, nil)
			if status.Code(s.Err) != codes.InvalidArgument || !strings.Contains(s.Err.Error(), field) {
				t.Errorf("%s, %v: %v", field, encoding, s.Err)
			}
		}
	}
}

// TestEmptyTables checks that a kind without events has a table without rows, if the filters name it, and no other kind has one.
func TestEmptyTables(t *testing.T) {
	dir := t.TempDir()
	replay := copyIn(t, dir, finishedSample)
	d := start(t, dir)
	drop := []string{"at_tick", "reason"}
	begun := d.Session(timeout(t), &replaydv1.StreamEventsRequest{Replay: replay}, nil)
	from := &replaydv1.Start{At: &replaydv1.Start_Cursor{Cursor: response(t, begun, 1).GetCursor()}}
	for what, test := range map[string]struct {
		req  *replaydv1.StreamEventsRequest
		want map[string]int // the numbers of columns of the empty tables
	}{
		"named":         {&replaydv1.StreamEventsRequest{Include: []*replaydv1.EventFilter{kinds("player_diff", "unknown_ex")}}, map[string]int{"unknown_ex": 10}},
		"some columns":  {&replaydv1.StreamEventsRequest{Include: []*replaydv1.EventFilter{{Kinds: []string{"drop"}, Ticks: &replaydv1.TickRange{Min: proto.Int32(1 << 30)}}}, Columns: drop}, map[string]int{"drop": 2}},
		"not named":     {&replaydv1.StreamEventsRequest{}, map[string]int{}},
		"excluded":      {&replaydv1.StreamEventsRequest{Include: []*replaydv1.EventFilter{kinds("tick", "unknown_ex")}, Exclude: []*replaydv1.EventFilter{kinds("unknown_ex")}}, map[string]int{}},
		"beyond cursor": {&replaydv1.StreamEventsRequest{Include: []*replaydv1.EventFilter{kinds("tick")}, Start: &replaydv1.Start{At: &replaydv1.Start_Now{Now: &replaydv1.Now{}}}}, map[string]int{"tick": 7}},
		"resumed":       {&replaydv1.StreamEventsRequest{Include: []*replaydv1.EventFilter{kinds("player_diff", "unknown_ex")}, Start: from}, map[string]int{}},
	} {
		test.req.Replay, test.req.Encoding = replay, replaydv1.Encoding_ENCODING_ARROW
		s := d.Session(timeout(t), test.req, nil)
		if s.Err != nil {
			t.Errorf("%s: %v", what, s.Err)
		}
		got := map[string]int{}
		for _, b := range s.Responses {
			r := new(replaydv1.StreamEventsResponse)
			if err := proto.Unmarshal(b, r); err != nil {
				t.Fatal(err)
			}
			for _, table := range r.GetBatch().GetTables() {
				if table.GetRows() > 0 {
					continue
				}
				in, err := ipc.NewReader(bytes.NewReader(append(table.GetSchema(), table.GetData()...)))
				if err != nil || !in.Next() || in.RecordBatch().NumRows() != 0 {
					t.Fatalf("%s: %s: %v", what, table.GetKind(), err)
				}
				got[table.GetKind()] = int(in.RecordBatch().NumCols())
				in.Release()
			}
		}
		if !maps.Equal(got, test.want) {
			t.Errorf("%s: empty tables with columns %v, want %v", what, got, test.want)
		}
	}
}
