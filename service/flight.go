package service

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/replay/table"
	"github.com/replayd/replayd/replay/table/arrowipc"
	"github.com/replayd/replayd/service/describe"
	"github.com/replayd/replayd/service/fault"
	"github.com/replayd/replayd/service/frame"
	"github.com/replayd/replayd/service/opened"
	"github.com/replayd/replayd/service/stream"
)

// flights serves tables by Arrow Flight. A ticket is a StreamEventsRequest as JSON that selects events of one kind, or of many replays a
// SubscribeEventsRequest with options that do. Names, filters, limits, powers and errors are those of StreamEvents.
type flights struct {
	flight.UnimplementedFlightServiceServer

	server *Server
}

// ticket is a parsed ticket.
type ticket struct {
	req  *replaydv1.StreamEventsRequest
	kind string                            // which it selects
	many *replaydv1.SubscribeEventsRequest // nil for one replay; req is its options
}

// parseTicket parses a ticket. Only opening a replay shows whether its format has the kind.
func parseTicket(b []byte) (t ticket, err error) {
	var form struct {
		Options json.RawMessage `json:"options"`
	}
	if json.Unmarshal(b, &form) == nil && form.Options != nil {
		t.many = new(replaydv1.SubscribeEventsRequest)
		if err := protojson.Unmarshal(b, t.many); err != nil {
			return t, fault.BadRequest("ticket", "is no SubscribeEventsRequest as JSON: "+err.Error())
		}
		t.req, t.kind, err = tableOf(t.many.GetOptions(), "ticket.options.")
		return t, err
	}
	req := new(replaydv1.StreamEventsRequest)
	if err := protojson.Unmarshal(b, req); err != nil {
		return t, fault.BadRequest("ticket", "is no StreamEventsRequest as JSON: "+err.Error())
	}
	t.req, t.kind, err = tableOf(req, "ticket.")
	return t, err
}

// tableOf returns a request for tables, and the only kind that it selects. field is what stands before the names of its fields.
func tableOf(req *replaydv1.StreamEventsRequest, field string) (*replaydv1.StreamEventsRequest, string, error) {
	kind := ""
	for _, f := range req.GetInclude() {
		for _, k := range f.GetKinds() {
			if kind != "" && kind != k {
				return nil, "", fault.BadRequest(field+"include", "has more than one kind: a flight is one table")
			}
			kind = k
		}
		if len(f.GetKinds()) == 0 {
			kind = ""
			break
		}
	}
	switch {
	case kind == "":
		return nil, "", fault.BadRequest(field+"include", "must have the kind of the table in each filter")
	case req.GetFollowSuccessors():
		return nil, "", fault.BadRequest(field+"follow_successors", "is not possible with Flight: the next replay is another flight")
	case req.GetStart().GetWithState():
		return nil, "", fault.BadRequest(field+"start.with_state", "is not possible with Flight: its events would have no positions")
	case req.GetNarrowColumns():
		return nil, "", fault.BadRequest(field+"narrow_columns", "is not possible with Flight: a flight has one schema")
	case req.GetEncoding() != replaydv1.Encoding_ENCODING_UNSPECIFIED && req.GetEncoding() != replaydv1.Encoding_ENCODING_ARROW:
		return nil, "", fault.BadRequest(field+"encoding", "must be ENCODING_ARROW")
	}
	req.Encoding = replaydv1.Encoding_ENCODING_ARROW
	return req, kind, nil
}

// ticketOf returns the ticket for a descriptor: its command, or one made of its path, a replay's name and that of a table, as opened.Choose has it.
func ticketOf(d *flight.FlightDescriptor) ([]byte, error) {
	switch {
	case d.GetType() == flight.FlightDescriptor_CMD:
		return d.GetCmd(), nil
	case d.GetType() == flight.FlightDescriptor_PATH && len(d.GetPath()) == 2:
		req := &replaydv1.StreamEventsRequest{Replay: d.GetPath()[0]}
		opened.Choose(req, d.GetPath()[1])
		return protojson.Marshal(req)
	}
	return nil, fault.BadRequest("descriptor", "must be a command, or a path of a replay's name and a kind, a class or game_event.NAME")
}

// tableKind returns the number of the kind of a table that a ticket selects.
func tableKind(c *codec.Codec, kind string) (uint8, error) {
	k := slices.IndexFunc(c.Tables.Kinds, func(k table.Kind) bool { return k.Name == kind })
	if k <= 0 {
		return 0, fault.BadRequest("ticket.include", fmt.Sprintf("%q is no kind of the replay's format", kind))
	}
	if c.Filters.Kinds[k].State {
		return 0, fault.BadRequest("ticket.include", fmt.Sprintf("%s only describes a state, which flights do not have", kind))
	}
	return uint8(k), nil
}

// codecOfFormat returns the codec of a format.
func codecOfFormat(f replaydv1.Format) (*codec.Codec, error) {
	for _, c := range describe.Codecs() {
		if describe.Formats.To[c.Format] == f {
			return c, nil
		}
	}
	return nil, fmt.Errorf("no codec for %v", f)
}

// DoGet implements Flight: it sends the schema, and then the record batches with their cursors.
func (f *flights) DoGet(t *flight.Ticket, out flight.FlightService_DoGetServer) (err error) {
	s, ctx := f.server, out.Context()
	name := ""
	defer func() { err = s.fail(ctx, err, name) }()
	if err := s.enter(ctx, streamCost); err != nil {
		return err
	}
	of, err := parseTicket(t.GetTicket())
	if err != nil {
		return err
	}
	g := &flying{write: timed(ctx, out.SendMsg), sent: s.sent(ctx)}
	if of.many != nil {
		name = of.many.GetDirectory()
		m, err := s.manyOf(ctx, of)
		if err != nil {
			return err
		}
		g.kind, g.out = m.kind, m.out
		return m.send(ctx, g)
	}
	name = of.req.GetReplay()
	c, err := s.open(ctx, of.req)
	if err != nil {
		return err
	}
	if g.kind, err = tableKind(c.Replay.Codec, of.kind); err != nil {
		c.Replay.Close()
		return err
	}
	g.out = arrowipc.NewFlight(c.Replay.Tables.Layout, g.kind, opened.Compresses(ctx, of.req), false)
	c.Replay.Tables.Encoder = nil // columns are passed on as they are
	return s.run(ctx, c, func(f *frame.Frame) error { return g.frame(f, "", f.Cursor()) })
}

// flying is a running DoGet.
type flying struct {
	kind  uint8
	out   *arrowipc.Flight
	begun bool  // the schema was sent
	lost  error // why nothing can be sent
	write func(any) error
	sent  func(n int)
}

// frame sends the contents of a response of the stream of a replay, with the metadata of those who go on behind them. It consumes the frame.
func (g *flying) frame(f *frame.Frame, replay string, metadata []byte) error {
	defer f.Free()
	if f.Response().GetStart() != nil && !g.begun {
		return g.begin()
	}
	set := f.Columns()
	if set == nil {
		return incomplete[f.Response().GetEnd().GetReason()]
	}
	return set.All(func(t *table.Table) error {
		if t.Kind != g.kind { // what takes the place of an event that is too large
			return nil
		}
		return g.out.Each(replay, t, metadata, g.message)
	})
}

// begin sends the schema.
func (g *flying) begin() error {
	g.begun = true
	return g.message(g.out.AppendSchema)
}

// flightData is the pool of messages of flights.
var flightData = frame.NewPool(stream.DefaultTableBytes)

// message sends a message, which something appends.
func (g *flying) message(something func(b []byte) []byte) error {
	b := flightData.Get(0)
	*b = something(*b)
	n := len(*b)
	if g.lost = g.write(marshalled{flightData.Buffer(b)}); g.lost == nil {
		g.sent(n)
	}
	return g.lost
}

// marshalled is a message as wire bytes.
type marshalled struct{ mem.Buffer }

// WireBytes implements [rawcodec.Marshaled].
func (m marshalled) WireBytes() mem.BufferSlice { return mem.BufferSlice{m.Buffer} }

// incomplete maps the ends of streams before the end of their replay to errors. Flight has no other way to report them.
var incomplete = map[replaydv1.EndReason]error{
	replaydv1.EndReason_END_REASON_SERVER_DRAINING: stream.ErrDraining,
	replaydv1.EndReason_END_REASON_SHRUNK:          source.ErrShrunk,
	replaydv1.EndReason_END_REASON_REPLACED:        source.ErrReplaced,
	replaydv1.EndReason_END_REASON_REMOVED:         source.ErrRemoved,
}

// infoOf returns the description of a flight of a replay without reading it.
func infoOf(d *flight.FlightDescriptor, format replaydv1.Format) (*flight.FlightInfo, error) {
	b, err := ticketOf(d)
	if err != nil {
		return nil, err
	}
	t, err := parseTicket(b)
	if err != nil {
		return nil, err
	}
	return t.info(d, b, format, nil)
}

// info returns the description of a flight of a replay. wide is the layout of a table with a
// column for each field of entities; nil for other tables.
func (t *ticket) info(d *flight.FlightDescriptor, b []byte, format replaydv1.Format, wide *table.Layout) (*flight.FlightInfo, error) {
	c, err := codecOfFormat(format)
	if err != nil {
		return nil, err
	}
	k, err := tableKind(c, t.kind)
	if err != nil {
		return nil, err
	}
	l := wide
	if l == nil {
		if l, err = opened.Layout(c.Tables, func(of uint8) bool { return of == k }, t.req); err != nil {
			return nil, err
		}
	}
	return infoWith(d, b, arrowipc.SchemaMessage(arrowipc.Schema(l, k))), nil
}

// infoWith returns the description of a flight with a ticket and a schema.
func infoWith(d *flight.FlightDescriptor, ticket, schema []byte) *flight.FlightInfo {
	return &flight.FlightInfo{
		Schema: schema, FlightDescriptor: d, TotalRecords: -1, TotalBytes: -1, Ordered: true,
		Endpoint: []*flight.FlightEndpoint{{Ticket: &flight.Ticket{Ticket: ticket}}},
	}
}

// info returns the description of a flight, and the name of its replay or directory.
func (f *flights) info(ctx context.Context, d *flight.FlightDescriptor) (*flight.FlightInfo, string, error) {
	b, err := ticketOf(d)
	if err != nil {
		return nil, "", err
	}
	t, err := parseTicket(b)
	if err != nil {
		return nil, "", err
	}
	if t.many != nil {
		m, err := f.server.manyOf(ctx, t)
		if err != nil {
			return nil, t.many.GetDirectory(), err
		}
		return infoWith(d, b, m.out.Schema), t.many.GetDirectory(), nil
	}
	r, err := f.server.GetReplay(ctx, &replaydv1.GetReplayRequest{Replay: t.req.GetReplay()})
	if err != nil {
		return nil, t.req.GetReplay(), err
	}
	wide, err := f.wide(ctx, t.req)
	if err != nil {
		return nil, t.req.GetReplay(), err
	}
	info, err := t.info(d, b, r.GetReplay().GetFormat(), wide)
	return info, t.req.GetReplay(), err
}

// wide returns the layout of a table with a column for each field of entities, nil for other tables. It reads the beginning of the replay.
func (f *flights) wide(ctx context.Context, req *replaydv1.StreamEventsRequest) (*table.Layout, error) {
	if !req.GetFieldColumns() {
		return nil, nil
	}
	if err := f.server.enter(ctx, streamCost); err != nil {
		return nil, err
	}
	req = proto.CloneOf(req)
	req.Follow, req.Start = false, nil
	c, err := f.server.open(ctx, req)
	if err != nil {
		return nil, err
	}
	defer c.Replay.Close()
	return c.Replay.Tables.Layout, nil
}

// GetFlightInfo implements Flight.
func (f *flights) GetFlightInfo(ctx context.Context, d *flight.FlightDescriptor) (_ *flight.FlightInfo, err error) {
	info, name, err := f.info(ctx, d)
	return info, f.failed(ctx, err, name)
}

// GetSchema implements Flight.
func (f *flights) GetSchema(ctx context.Context, d *flight.FlightDescriptor) (_ *flight.SchemaResult, err error) {
	info, name, err := f.info(ctx, d)
	if err != nil {
		return nil, f.failed(ctx, err, name)
	}
	return &flight.SchemaResult{Schema: info.GetSchema()}, nil
}

// failed returns the status of an error. An error of GetReplay has one already.
func (f *flights) failed(ctx context.Context, err error, name string) error {
	if _, done := status.FromError(err); done {
		return err
	}
	return f.server.fail(ctx, err, name)
}

// ListFlights implements Flight: a flight for each kind of each replay. The criteria are a ListReplaysRequest as JSON. If they have a
// page size, it lists one page of replays, and the metadata of each flight is the token of the next page.
func (f *flights) ListFlights(c *flight.Criteria, out flight.FlightService_ListFlightsServer) (err error) {
	ctx := out.Context()
	if err := f.server.enter(ctx, streamCost); err != nil {
		return f.server.fail(ctx, err, "")
	}
	req := new(replaydv1.ListReplaysRequest)
	if e := bytes.TrimSpace(c.GetExpression()); len(e) > 0 {
		if err := protojson.Unmarshal(e, req); err != nil {
			return f.server.fail(ctx, fault.BadRequest("criteria", "is no ListReplaysRequest as JSON: "+err.Error()), "")
		}
	}
	send, paged := timed(ctx, out.Send), req.GetPageSize() > 0
	for {
		page, err := f.server.ListReplays(ctx, req)
		if err != nil {
			return err
		}
		for _, r := range page.GetReplays() {
			if err := list(r, func(info *flight.FlightInfo) error {
				if paged {
					info.AppMetadata = []byte(page.GetNextPageToken())
				}
				return send(info)
			}); err != nil {
				return err
			}
		}
		if req.PageToken = page.GetNextPageToken(); req.GetPageToken() == "" || paged { // a page with another after it has replays
			return nil
		}
	}
}

// list sends the flights of a replay: those that need no other file.
func list(r *replaydv1.Replay, send func(*flight.FlightInfo) error) error {
	c, err := codecOfFormat(r.GetFormat())
	if err != nil {
		return nil //nolint:nilerr // a file of an unknown format has no flights
	}
	for i, k := range c.Tables.Kinds[1:] {
		if kind := &c.Filters.Kinds[i+1]; kind.State || kind.Map { // no flight has a state, and the map may not be there
			continue
		}
		info, err := infoOf(&flight.FlightDescriptor{Type: flight.FlightDescriptor_PATH, Path: []string{r.GetName(), k.Name}}, r.GetFormat())
		if err != nil {
			return err
		}
		if err := send(info); err != nil {
			return err
		}
	}
	return nil
}
