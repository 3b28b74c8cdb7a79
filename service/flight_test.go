package service_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/decodertest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec/registry"
	"github.com/replayd/replayd/service/streamtest"
)

// flightOf returns a ticket for the events of a kind.
func flightOf(t *testing.T, req *replaydv1.StreamEventsRequest, kind string) *flight.Ticket {
	t.Helper()
	req.Include = append(req.GetInclude(), kinds(kind))
	b, err := protojson.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	return &flight.Ticket{Ticket: b}
}

// fly reads a flight with Arrow's own reader, up to a number of record batches; 0 means all. It returns the rows as JSON and the
// last cursor.
func fly(ctx context.Context, c flight.FlightServiceClient, ticket *flight.Ticket, most int) (rows []string, cursor []byte, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	in, err := c.DoGet(ctx, ticket)
	if err != nil {
		return nil, nil, err
	}
	r, err := flight.NewRecordReader(in)
	if err != nil {
		return nil, nil, err
	}
	defer r.Release()
	for n := 1; r.Next(); n++ {
		rows, err = appendRows(rows, r.RecordBatch())
		if cursor = r.LatestAppMetadata(); err != nil || n == most {
			return rows, cursor, err
		}
	}
	if err := r.Err(); err != nil && !errors.Is(err, io.EOF) {
		return rows, cursor, err
	}
	return rows, cursor, nil
}

func appendRows(rows []string, r arrow.RecordBatch) ([]string, error) {
	var b bytes.Buffer
	if err := array.RecordToJSON(r, &b); err != nil {
		return rows, err
	}
	for line := range bytes.Lines(b.Bytes()) {
		rows = append(rows, string(line))
	}
	return rows, nil
}

// tablesOf reads the tables of a replay by StreamEvents, as rows by kind.
func tablesOf(t *testing.T, d *daemon, req *replaydv1.StreamEventsRequest) map[string][]string {
	t.Helper()
	req.Encoding = replaydv1.Encoding_ENCODING_ARROW
	rows, schemas := map[string][]string{}, map[string][]byte{}
	in, err := d.client.StreamEvents(timeout(t), req)
	if err != nil {
		t.Fatal(err)
	}
	for {
		r, err := in.Recv()
		if err != nil {
			return rows // a damaged replay has fewer
		}
		for _, table := range r.GetBatch().GetTables() {
			if len(table.GetSchema()) > 0 {
				schemas[table.GetKind()] = table.GetSchema()
			}
			from, err := ipc.NewReader(bytes.NewReader(append(bytes.Clone(schemas[table.GetKind()]), table.GetData()...)))
			if err != nil {
				t.Fatal(err)
			}
			for from.Next() {
				if rows[table.GetKind()], err = appendRows(rows[table.GetKind()], from.RecordBatch()); err != nil {
					t.Fatal(err)
				}
			}
			from.Release()
		}
	}
}

// TestFlight reads all kinds of the samples of all formats with Arrow's own client, whole and resumed by cursors: the rows are those
// of StreamEvents. A kind without events is an empty table.
func TestFlight(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	names := []string{
		copyIn(t, dir, finishedSample), copyIn(t, dir, find(t, samples("datafile"), ".map")[0]),
		copyIn(t, dir, filepath.Join(samples("dem"), "dota.dem")), copyIn(t, dir, filepath.Join(samples("sc2replay"), "5.0.SC2Replay")),
	}
	d := start(t, dir)
	c := flight.NewFlightServiceClient(d.conn)
	list, err := c.ListFlights(timeout(t), &flight.Criteria{Expression: []byte(`{"directory": "` + alias + `"}`)})
	if err != nil {
		t.Fatal(err)
	}
	flights, withRows := map[string]int{}, 0
	want := map[string]map[string][]string{}
	for _, replay := range names {
		req := &replaydv1.StreamEventsRequest{Replay: replay}
		if strings.HasSuffix(replay, ".SC2Replay") {
			req.Include = streamtest.Everything(replaydv1.Format_FORMAT_SC2REPLAY)
		}
		if strings.HasSuffix(replay, ".teehistorian") {
			req.Include = streamtest.Everything(replaydv1.Format_FORMAT_TEEHISTORIAN)
		}
		if strings.HasSuffix(replay, ".dem") {
			req.Include = streamtest.Everything(replaydv1.Format_FORMAT_DEM)
		}
		if n := len(req.GetInclude()); n > 0 {
			req.Include[n-1].Ticks = nil // a flight has as many samples as without a number
		}
		want[replay] = tablesOf(t, d, req)
	}
	for {
		info, err := list.Recv()
		if err != nil {
			break
		}
		replay, kind := info.GetFlightDescriptor().GetPath()[0], info.GetFlightDescriptor().GetPath()[1]
		flights[replay]++
		rows, _, err := fly(timeout(t), c, info.GetEndpoint()[0].GetTicket(), 0)
		expected := want[replay][kind]
		if status.Code(err) == codes.InvalidArgument && len(expected) == 0 {
			continue // a kind that no demo of the game has
		}
		if err != nil || !slices.Equal(rows, expected) {
			t.Fatalf("%s, %s: %d rows, %v; want %d", replay, kind, len(rows), err, len(expected))
		}
		if len(rows) > 0 {
			withRows++
		}
		schema, err := c.GetSchema(timeout(t), info.GetFlightDescriptor())
		if err != nil || !bytes.Equal(schema.GetSchema(), info.GetSchema()) {
			t.Errorf("%s, %s: another schema, %v", replay, kind, err)
		}
		if len(rows) < 200 {
			continue
		}
		var all []string
		req := &replaydv1.StreamEventsRequest{Replay: replay, MaxBatchEvents: uint32(len(rows)/3 + 1)}
		for range 4 {
			some, cursor, err := fly(timeout(t), c, flightOf(t, proto.CloneOf(req), kind), 1)
			if err != nil {
				t.Fatal(err)
			}
			if all = append(all, some...); cursor != nil {
				req.Start = &replaydv1.Start{At: &replaydv1.Start_Cursor{Cursor: cursor}}
			}
		}
		if !slices.Equal(all, expected) {
			t.Errorf("%s, %s: resumed, %d rows of %d, or others", replay, kind, len(all), len(expected))
		}
	}
	paged := map[string]int{}
	for token := ""; len(paged) <= len(names); {
		list, err := c.ListFlights(timeout(t), &flight.Criteria{Expression: []byte(`{"directory": "` + alias + `", "page_size": 1, "page_token": "` + token + `"}`)})
		if err != nil {
			t.Fatal(err)
		}
		replays := map[string]bool{}
		for {
			info, err := list.Recv()
			if err != nil {
				break
			}
			replay := info.GetFlightDescriptor().GetPath()[0]
			replays[replay], token = true, string(info.GetAppMetadata())
			paged[replay]++
		}
		if len(replays) != 1 {
			t.Fatalf("a page of one replay has %d", len(replays))
		}
		if token == "" {
			break
		}
	}
	if !maps.Equal(paged, flights) {
		t.Errorf("by pages: %v; at once: %v", paged, flights)
	}
	if len(flights) != len(names) || withRows < 20 || flights[names[0]] != len(registry.Of(decoders.Teehistorian).Tables.Kinds)-11 { // one only describes a state, nine need a map
		t.Errorf("flights %v, %d of them with rows", flights, withRows)
	}
}

// TestFlightMany reads flights of many replays: their rows are those of the flights of each, one after the other, with its name, whole and
// from any place between, and what is damaged is told at the end.
func TestFlightMany(t *testing.T) {
	dir := t.TempDir()
	for i, to := range []string{"b.teehistorian", "a/2.teehistorian", "a/1.teehistorian"} {
		write(t, filepath.Join(dir, to), gameOf{number: i + 1, server: to, start: time.Now()}.data(t))
	}
	write(t, filepath.Join(dir, "a", "no replay"), []byte("text"))
	copyIn(t, dir, samples("dem", "round.dem"))
	copyIn(t, dir, samples("dem", "dota.dem"))
	d := start(t, dir)
	c := flight.NewFlightServiceClient(d.conn)
	ticketOf := func(req *replaydv1.SubscribeEventsRequest) *flight.Ticket {
		b, err := protojson.Marshal(req)
		if err != nil {
			t.Fatal(err)
		}
		return &flight.Ticket{Ticket: b}
	}
	parted := func(rows []string) (replays, rest []string) { // the replay of each row, and the row without it
		for _, row := range rows {
			before, after, _ := strings.Cut(row, `"replay":"`)
			replay, after, _ := strings.Cut(after, `"`)
			replays, rest = append(replays, replay), append(rest, before+strings.TrimPrefix(after, ","))
		}
		return replays, rest
	}
	for what, test := range map[string]struct {
		directory, kind string
		options         *replaydv1.StreamEventsRequest
		replays         []string
	}{
		"all":         {"", "player_diff", &replaydv1.StreamEventsRequest{}, []string{name("a", "1.teehistorian"), name("a", "2.teehistorian"), name("b.teehistorian")}},
		"a directory": {name("a"), "player_diff", &replaydv1.StreamEventsRequest{Columns: []string{"x", "offset"}}, []string{name("a", "1.teehistorian"), name("a", "2.teehistorian")}},
		"an expression": {"", "player_diff", &replaydv1.StreamEventsRequest{Where: "event.client_id == 0 && at_tick % 2 == 0", MaxBatchEvents: 50}, []string{
			name("a", "1.teehistorian"), name("a", "2.teehistorian"), name("b.teehistorian"),
		}},
		"of one game": {"", "combat_log", &replaydv1.StreamEventsRequest{}, []string{name("dota.dem")}}, // Counter-Strike 2 has none
	} {
		var want, of []string
		for _, replay := range test.replays {
			one := proto.CloneOf(test.options)
			one.Replay = replay
			rows, _, err := fly(timeout(t), c, flightOf(t, one, test.kind), 0)
			if err != nil || len(rows) == 0 {
				t.Fatal(replay, err)
			}
			want, of = append(want, rows...), append(of, slices.Repeat([]string{replay}, len(rows))...)
		}
		test.options.Include = []*replaydv1.EventFilter{{Kinds: []string{test.kind}}}
		req := &replaydv1.SubscribeEventsRequest{Directory: test.directory, Options: test.options}
		got, _, err := fly(timeout(t), c, ticketOf(req), 0)
		replays, got := parted(got)
		if err != nil || !slices.Equal(got, want) || !slices.Equal(replays, of) {
			t.Errorf("%s: %d rows, %v; want %d", what, len(got), err, len(want))
		}
		info, err := c.GetFlightInfo(timeout(t), &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: ticketOf(req).GetTicket()})
		if err != nil {
			t.Fatal(err)
		}
		if schema, err := flight.DeserializeSchema(info.GetSchema(), memory.DefaultAllocator); err != nil || schema.Field(0).Name != "replay" {
			t.Errorf("%s: the schema is %v, %v", what, schema, err)
		}
		got = nil
		for flights := 0; ; flights++ {
			some, place, err := fly(timeout(t), c, ticketOf(req), 1)
			if err != nil || flights > len(want) {
				t.Fatal(what, flights, err)
			}
			if len(some) == 0 {
				break
			}
			got, req.Token = append(got, some...), place
		}
		if replays, got = parted(got); !slices.Equal(got, want) || !slices.Equal(replays, of) {
			t.Errorf("%s: resumed, %d rows of %d, or others", what, len(got), len(want))
		}
	}

	// What is damaged is told behind the rows of all.
	all := &replaydv1.SubscribeEventsRequest{Options: &replaydv1.StreamEventsRequest{Include: []*replaydv1.EventFilter{kinds("player_diff")}}}
	before, _, err := fly(timeout(t), c, ticketOf(all), 0)
	if err != nil {
		t.Fatal(err)
	}
	packed := decodertest.Gzip(t, read(t, finishedSample))
	write(t, filepath.Join(dir, "a", "damaged.teehistorian.gz"), packed[:len(packed)/2])
	got, _, err := fly(timeout(t), c, ticketOf(all), 0)
	damaged := name("a", "damaged.teehistorian.gz")
	if status.Code(err) != codes.DataLoss || !strings.Contains(err.Error(), "1 replays are not complete: "+damaged) {
		t.Errorf("of a damaged replay: %v", err)
	}
	own := 0
	got = slices.DeleteFunc(got, func(row string) bool {
		is := strings.Contains(row, `"replay":"`+damaged+`"`)
		if is {
			own++
		}
		return is
	})
	if own == 0 || !slices.Equal(got, before) {
		t.Errorf("%d rows of the damaged replay, and %d of the others; want %d", own, len(got), len(before))
	}

	sample := []*replaydv1.EventFilter{kinds("sample_player")}
	for field, req := range map[string]*replaydv1.SubscribeEventsRequest{
		"ticket.formats":         {Options: &replaydv1.StreamEventsRequest{Include: sample}},
		"ticket.options.include": {Options: &replaydv1.StreamEventsRequest{Include: []*replaydv1.EventFilter{kinds("nothing")}}},
		"ticket.subscription":    {Options: all.GetOptions(), Subscription: "name"},
		"ticket.parallel":        {Options: all.GetOptions(), Parallel: 2},
		"ticket.options":         {Options: &replaydv1.StreamEventsRequest{Include: all.GetOptions().GetInclude(), Follow: true}},
		"ticket.token":           {Options: all.GetOptions(), Token: []byte{9, 'x'}},
		"formats[0]":             {Options: all.GetOptions(), Formats: []replaydv1.Format{99}},
		"options.where":          {Options: &replaydv1.StreamEventsRequest{Include: all.GetOptions().GetInclude(), Where: "event.nothing == 1"}},
		"options.columns":        {Options: &replaydv1.StreamEventsRequest{Include: all.GetOptions().GetInclude(), Columns: []string{"nothing"}}},
	} {
		_, _, err := fly(timeout(t), c, ticketOf(req), 0)
		_, info := c.GetFlightInfo(timeout(t), &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: ticketOf(req).GetTicket()})
		for _, err := range []error{err, info} {
			if got := explainFailure(t, err); got.field != field {
				t.Errorf("%s: %v", field, err)
			}
		}
	}
}

// TestFlightRefusals checks that flights are refused as streams are.
func TestFlightRefusals(t *testing.T) {
	dir := t.TempDir()
	replay := copyIn(t, dir, finishedSample)
	d := start(t, dir)
	c := flight.NewFlightServiceClient(d.conn)
	for what, test := range map[string]struct {
		ticket string
		code   codes.Code
	}{
		"no JSON":            {"player_diff", codes.InvalidArgument},
		"no kind":            {`{"replay": "` + replay + `"}`, codes.InvalidArgument},
		"a filter without":   {`{"replay": "` + replay + `", "include": [{"kinds": ["tick"]}, {"players": [1]}]}`, codes.InvalidArgument},
		"two kinds":          {`{"replay": "` + replay + `", "include": [{"kinds": ["tick", "join"]}]}`, codes.InvalidArgument},
		"no such kind":       {`{"replay": "` + replay + `", "include": [{"kinds": ["entity_updated"]}]}`, codes.InvalidArgument},
		"rows":               {`{"replay": "` + replay + `", "include": [{"kinds": ["tick"]}], "encoding": "ENCODING_ROWS"}`, codes.InvalidArgument},
		"a state":            {`{"replay": "` + replay + `", "include": [{"kinds": ["tick"]}], "start": {"with_state": true}}`, codes.InvalidArgument},
		"narrow columns":     {`{"replay": "` + replay + `", "include": [{"kinds": ["tick"]}], "narrow_columns": true}`, codes.InvalidArgument},
		"successors":         {`{"replay": "` + replay + `", "include": [{"kinds": ["tick"]}], "follow": true, "follow_successors": true}`, codes.InvalidArgument},
		"a bad cursor":       {`{"replay": "` + replay + `", "include": [{"kinds": ["tick"]}], "start": {"cursor": "AAAA"}}`, codes.InvalidArgument},
		"no such replay":     {`{"replay": "` + name("nowhere.dem") + `", "include": [{"kinds": ["tick"]}]}`, codes.NotFound},
		"outside the root":   {`{"replay": "` + name("..", "x") + `", "include": [{"kinds": ["tick"]}]}`, codes.NotFound},
		"outside, with dots": {`{"replay": "` + "../x" + `", "include": [{"kinds": ["tick"]}]}`, codes.NotFound},
	} {
		_, _, err := fly(timeout(t), c, &flight.Ticket{Ticket: []byte(test.ticket)}, 0)
		if status.Code(err) != test.code {
			t.Errorf("%s: %v, want %v", what, err, test.code)
		}
		if what == "a bad cursor" {
			continue // it is no matter of what the flight is
		}
		if _, err := c.GetFlightInfo(timeout(t), &flight.FlightDescriptor{
			Type: flight.DescriptorCMD, Cmd: []byte(test.ticket),
		}); status.Code(err) != test.code {
			t.Errorf("info of %s: %v, want %v", what, err, test.code)
		}
	}
	for _, d := range []*flight.FlightDescriptor{{}, {Type: flight.DescriptorPATH, Path: []string{replay}}} {
		if _, err := c.GetSchema(timeout(t), d); status.Code(err) != codes.InvalidArgument {
			t.Errorf("the schema of %v: %v", d, err)
		}
	}
}

// TestFlightOutsideOfScope checks that a token that does not cover a replay finds it by no method of Flight.
func TestFlightOutsideOfScope(t *testing.T) {
	dir, secret := t.TempDir(), t.TempDir()
	write(t, filepath.Join(secret, "secret.teehistorian"), read(t, finishedSample))
	g := startGuarded(t, dir, secret, "all\nsome roots="+alias+"\n")
	c := flight.NewFlightServiceClient(g.conn)
	hidden := others + "/secret.teehistorian"
	path := &flight.FlightDescriptor{Type: flight.DescriptorPATH, Path: []string{hidden, "tick"}}
	for token, want := range map[string]codes.Code{"some": codes.NotFound, "all": codes.OK} {
		ctx := as(timeout(t), token)
		_, _, got := fly(ctx, c, flightOf(t, &replaydv1.StreamEventsRequest{Replay: hidden}, "tick"), 0)
		_, info := c.GetFlightInfo(ctx, path)
		_, schema := c.GetSchema(ctx, path)
		for what, err := range map[string]error{"DoGet": got, "GetFlightInfo": info, "GetSchema": schema} {
			if status.Code(err) != want {
				t.Errorf("%s with the token %s: %v", what, token, err)
			}
		}
		many, err := protojson.Marshal(&replaydv1.SubscribeEventsRequest{Formats: []replaydv1.Format{replaydv1.Format_FORMAT_TEEHISTORIAN}, Options: &replaydv1.StreamEventsRequest{Include: []*replaydv1.EventFilter{kinds("tick")}}})
		if err != nil {
			t.Fatal(err)
		}
		if rows, _, err := fly(ctx, c, &flight.Ticket{Ticket: many}, 0); err != nil || (len(rows) > 0) != (token == "all") {
			t.Errorf("of many replays, with the token %s: %d rows, %v", token, len(rows), err)
		}
		list, err := c.ListFlights(ctx, &flight.Criteria{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := list.Recv(); (err == nil) != (token == "all") {
			t.Errorf("ListFlights with the token %s: %v", token, err)
		}
	}
}

// TestFlightLosesFile checks that a flight whose file is lost does not seem complete. (TestFollowLoss has all ways to lose one.)
func TestFlightLosesFile(t *testing.T) {
	for what, test := range map[string]struct {
		remove func(path string) error
		want   codes.Code
	}{
		"shrunk":   {func(path string) error { return os.Truncate(path, 3000) }, codes.Unavailable},
		"replaced": {func(path string) error { return os.Rename(path+".new", path) }, codes.Unavailable},
		"removed":  {os.Remove, codes.NotFound},
	} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "live.teehistorian")
			write(t, path, read(t, killedSample))
			write(t, path+".new", read(t, finishedSample))
			d := start(t, dir)
			ticket := flightOf(t, &replaydv1.StreamEventsRequest{Replay: name("live.teehistorian"), Follow: true}, "player_diff")
			in, err := flight.NewFlightServiceClient(d.conn).DoGet(timeout(t), ticket)
			if err != nil {
				t.Fatal(err)
			}
			r, err := flight.NewRecordReader(in)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Release()
			if !r.Next() {
				t.Fatal(r.Err())
			}
			if err := test.remove(path); err != nil {
				t.Fatal(err)
			}
			for r.Next() {
			}
			if code := status.Code(r.Err()); code != test.want {
				t.Errorf("%v, want %v", r.Err(), test.want)
			}
		})
	}
}

// TestFlightFollows reads a flight of a growing file, and checks that it does not seem complete when the daemon shuts down.
func TestFlightFollows(t *testing.T) {
	dir := t.TempDir()
	whole := read(t, finishedSample)
	write(t, filepath.Join(dir, "live.teehistorian"), whole[:len(whole)/2])
	d := start(t, dir)
	c := flight.NewFlightServiceClient(d.conn)
	in, err := c.DoGet(timeout(t), flightOf(t, &replaydv1.StreamEventsRequest{Replay: name("live.teehistorian"), Follow: true}, "player_diff"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := flight.NewRecordReader(in)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	if !r.Next() {
		t.Fatal(r.Err())
	}
	first := r.RecordBatch().NumRows()
	f, err := os.OpenFile(filepath.Join(dir, "live.teehistorian"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	half := whole[len(whole)/2 : len(whole)*3/4]
	if _, err := f.Write(half); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if !r.Next() || first == 0 || len(r.LatestAppMetadata()) == 0 {
		t.Fatalf("%d rows, then %v", first, r.Err())
	}
	d.stop()
	for r.Next() {
	}
	if code := status.Code(r.Err()); code != codes.Unavailable {
		t.Errorf("the daemon shut down: %v", r.Err())
	}
}
