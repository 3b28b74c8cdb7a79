package service_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders/decodertest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// pawns returns a request for a wide table of players' bodies.
func pawns(replay string, fields ...string) *replaydv1.StreamEventsRequest {
	return &replaydv1.StreamEventsRequest{
		Replay: replay, FieldColumns: true, Encoding: replaydv1.Encoding_ENCODING_ARROW,
		Include: []*replaydv1.EventFilter{{
			Kinds: []string{"sample_entity"}, Ticks: &replaydv1.TickRange{Every: proto.Int32(8)},
			Dem: &replaydv1.DemFilter{Classes: []string{"CCSPlayerPawn"}, Fields: fields},
		}},
	}
}

// wideTicket returns the ticket of a request.
func wideTicket(t *testing.T, req proto.Message) *flight.Ticket {
	t.Helper()
	b, err := protojson.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	return &flight.Ticket{Ticket: b}
}

// TestFieldColumns: a table with a column for each field is the same by each door, of plain and of compressed demos, from any cursor, and
// without rows, too. It has a row for each sample of the class.
func TestFieldColumns(t *testing.T) {
	dir := t.TempDir()
	d := startPlain(t, dir)
	replay := copyIn(t, dir, filepath.Join(samples("dem"), "cs2.dem"))
	if err := os.WriteFile(filepath.Join(dir, "packed.dem.gz"), decodertest.Gzip(t, read(t, filepath.Join(samples("dem"), "cs2.dem"))), 0o600); err != nil {
		t.Fatal(err)
	}
	fields := []string{"m_iHealth", "CBodyComponent.m_cellX", "CBodyComponent.place"}
	samples := pawns(replay)
	samples.FieldColumns = false
	count := len(tablesOf(t, d.daemon, samples)["sample_entity"])
	tables := tablesOf(t, d.daemon, pawns(replay, fields...))
	want := tables["CCSPlayerPawn"]
	if len(want) != count || count == 0 || len(tables) != 1 || !strings.Contains(want[0], `"CBodyComponent.place":{"x":`) || !strings.Contains(want[0], `"m_iHealth":`) {
		t.Fatalf("%d rows in %d tables, such as %s; there are %d samples", len(want), len(tables), want[:min(1, len(want))], count)
	}
	query := "?every=8&field=" + strings.Join(fields, ",")
	for _, name := range []string{replay, name("packed.dem.gz")} {
		if got := tablesOf(t, d.daemon, pawns(name, fields...))["CCSPlayerPawn"]; !slices.Equal(got, want) {
			t.Errorf("%s: %d rows, want %d", name, len(got), len(want))
		}
		code, _, file := d.table(t, tablePath(name, "CCSPlayerPawn.arrow")+query, nil)
		if got := arrowRows(t, file); code != http.StatusOK || !slices.Equal(got, want) {
			t.Errorf("%s by HTTP: %d, %d rows", name, code, len(got))
		}
	}
	_, _, text := d.table(t, tablePath(replay, "CCSPlayerPawn.csv")+query+"&columns=m_iHealth,CBodyComponent.place.x", nil)
	if head, _, _ := strings.Cut(string(text), "\n"); head != "m_iHealth,CBodyComponent.place" {
		t.Errorf("the columns are %s", head)
	}
	checkWideFlights(t, d, replay, want, fields)

	// Without rows the client still knows the columns.
	code, _, file := d.table(t, tablePath(replay, "CCSPlayerPawn.csv")+query+"&from-tick=1000000", nil)
	if code != http.StatusOK || strings.Count(string(file), "\n") != 1 {
		t.Errorf("without rows: %d %s", code, file)
	}
}

// TestEventColumns: a table of game events with a column for each key is the same by each door.
func TestEventColumns(t *testing.T) {
	dir := t.TempDir()
	d := startPlain(t, dir)
	replay, table := copyIn(t, dir, filepath.Join(samples("dem"), "cs2.dem")), "game_event.player_death"
	req := &replaydv1.StreamEventsRequest{
		Replay: replay, FieldColumns: true, Encoding: replaydv1.Encoding_ENCODING_ARROW,
		Include: []*replaydv1.EventFilter{{Kinds: []string{"game_event"}, Dem: &replaydv1.DemFilter{Types: []string{"player_death"}}}},
	}
	want := tablesOf(t, d.daemon, req)[table]
	if len(want) != 1 || !strings.Contains(want[0], `"attacker_name":"Larry"`) || !strings.Contains(want[0], `"weapon":"ak47"`) {
		t.Fatalf("%d rows: %v", len(want), want)
	}
	code, _, file := d.table(t, tablePath(replay, table+".arrow"), nil)
	if got := arrowRows(t, file); code != http.StatusOK || !slices.Equal(got, want) {
		t.Errorf("by HTTP: %d, %v", code, got)
	}
	_, _, text := d.table(t, tablePath(replay, table+".csv")+"?columns=weapon,userid_name&where=event.keys.exists(k,k.bool)", nil)
	if string(text) != "userid_name,weapon\nsomebody,ak47\n" {
		t.Errorf("two columns are %s", text)
	}
	c := flight.NewFlightServiceClient(d.conn)
	info, err := c.GetFlightInfo(timeout(t), &flight.FlightDescriptor{Type: flight.DescriptorPATH, Path: []string{replay, table}})
	if err != nil {
		t.Fatal(err)
	}
	schema, err := flight.DeserializeSchema(info.GetSchema(), memory.DefaultAllocator)
	if err != nil || len(schema.FieldIndices("headshot")) != 1 || len(schema.FieldIndices("keys")) != 0 {
		t.Errorf("the schema is %v, %v", schema, err)
	}
	if rows, _, err := fly(timeout(t), c, info.GetEndpoint()[0].GetTicket(), 0); err != nil || !slices.Equal(rows, want) {
		t.Errorf("by Flight: %v, %v", rows, err)
	}
	if code, _, text := d.table(t, tablePath(replay, "game_event.player_deth.csv"), nil); code != http.StatusBadRequest || !strings.Contains(string(text), "player_death") {
		t.Errorf("a name that is wrong: %d %s", code, text)
	}
}

// checkWideFlights checks a wide table by Arrow Flight: by the path of a class, by a ticket, resumed behind each record batch.
func checkWideFlights(t *testing.T, d plainDaemon, replay string, want, fields []string) {
	t.Helper()
	c := flight.NewFlightServiceClient(d.conn)
	req := pawns(replay, fields...)
	req.MaxBatchEvents = 7
	var got []string
	for range want {
		some, cursor, err := fly(timeout(t), c, wideTicket(t, req), 1)
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, some...); len(some) == 0 {
			break
		}
		req.Start = &replaydv1.Start{At: &replaydv1.Start_Cursor{Cursor: cursor}}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d rows by flights that are resumed, want %d", len(got), len(want))
	}
	path := &flight.FlightDescriptor{Type: flight.DescriptorPATH, Path: []string{replay, "CCSPlayerController"}}
	info, err := c.GetFlightInfo(timeout(t), path)
	if err != nil {
		t.Fatal(err)
	}
	schema, err := flight.DeserializeSchema(info.GetSchema(), memory.DefaultAllocator)
	if err != nil || len(schema.FieldIndices("m_iszPlayerName")) != 1 || len(schema.FieldIndices("fields")) != 0 {
		t.Errorf("the schema is %v, %v", schema, err)
	}
	if rows, _, err := fly(timeout(t), c, info.GetEndpoint()[0].GetTicket(), 0); err != nil || len(rows) == 0 || !strings.Contains(rows[0], `"m_iszPlayerName":`) {
		t.Errorf("%d rows of the flight of a class, %v", len(rows), err)
	}
}

// TestFieldColumnsRefusals: what cannot be a table with a column for each field is refused, with the name of the field of the request.
func TestFieldColumnsRefusals(t *testing.T) {
	dir := t.TempDir()
	d := start(t, dir)
	demo, game := copyIn(t, dir, filepath.Join(samples("dem"), "cs2.dem")), copyIn(t, dir, finishedSample)
	for what, test := range map[string]struct {
		change func(*replaydv1.StreamEventsRequest)
		field  string
	}{
		"rows":           {func(r *replaydv1.StreamEventsRequest) { r.Encoding = 0 }, "field_columns"},
		"another format": {func(r *replaydv1.StreamEventsRequest) { r.Replay, r.Include = game, nil }, "field_columns"},
		"all events":     {func(r *replaydv1.StreamEventsRequest) { r.Include = nil }, "field_columns"},
		"two filters":    {func(r *replaydv1.StreamEventsRequest) { r.Include = append(r.Include, r.GetInclude()[0]) }, "field_columns"},
		"another kind":   {func(r *replaydv1.StreamEventsRequest) { r.Include[0].Kinds = []string{"entity_updated"} }, "field_columns"},
		"no type": {func(r *replaydv1.StreamEventsRequest) {
			r.Include[0] = &replaydv1.EventFilter{Kinds: []string{"game_event"}}
		}, "field_columns"},
		"no class":       {func(r *replaydv1.StreamEventsRequest) { r.Include[0].Dem.Classes = nil }, "field_columns"},
		"a state":        {func(r *replaydv1.StreamEventsRequest) { r.Start = &replaydv1.Start{WithState: true} }, "field_columns"},
		"successors":     {func(r *replaydv1.StreamEventsRequest) { r.Follow, r.FollowSuccessors = true, true }, "field_columns"},
		"no such class":  {func(r *replaydv1.StreamEventsRequest) { r.Include[0].Dem.Classes = []string{"CNobody"} }, "include[0].dem.classes[0]"},
		"no such field":  {func(r *replaydv1.StreamEventsRequest) { r.Include[0].Dem.Fields = []string{"m_iHealth", "m_iHelth"} }, "include[0].dem.fields[1]"},
		"no such column": {func(r *replaydv1.StreamEventsRequest) { r.Columns = []string{"m_iTeamNum"} }, "columns"},
	} {
		req := pawns(demo, "m_iHealth")
		test.change(req)
		s := d.Session(timeout(t), req, nil)
		if status.Code(s.Err) != codes.InvalidArgument || !strings.Contains(fmt.Sprint(status.Convert(s.Err).Details()), test.field) {
			t.Errorf("%s: %v, %v", what, s.Err, status.Convert(s.Err).Details())
		}
	}
	many := &replaydv1.SubscribeEventsRequest{Options: pawns("", "m_iHealth")}
	if _, _, err := fly(timeout(t), flight.NewFlightServiceClient(d.conn), wideTicket(t, many), 0); status.Code(err) != codes.InvalidArgument {
		t.Errorf("of many replays: %v", err)
	}
}
