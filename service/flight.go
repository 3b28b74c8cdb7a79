package service

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	flatbuffers "github.com/google/flatbuffers/go"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/codec"
	"github.com/replayd/replayd/service/frame"
	"github.com/replayd/replayd/service/stream"
	"github.com/replayd/replayd/service/table/arrowipc"
)

// flights serves tables by Arrow Flight. A ticket is a StreamEventsRequest as JSON that selects events of one kind. All else is as
// with StreamEvents: the same names, filters, limits, powers and errors.
type flights struct {
	flight.UnimplementedFlightServiceServer

	server *Server
}

// parseTicket parses a ticket, and returns the kind that it selects. Whether the format of its replay has the kind is not known
// before the replay is opened.
func parseTicket(b []byte) (*replaydv1.StreamEventsRequest, string, error) {
	req := new(replaydv1.StreamEventsRequest)
	if err := protojson.Unmarshal(b, req); err != nil {
		return nil, "", badRequest("ticket", "is no StreamEventsRequest as JSON: "+err.Error())
	}
	kind := ""
	for _, f := range req.GetInclude() {
		for _, k := range f.GetKinds() {
			if kind != "" && kind != k {
				return nil, "", badRequest("ticket.include", "has more than one kind: a flight is one table")
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
		return nil, "", badRequest("ticket.include", "must have the kind of the table in each filter")
	case req.GetFollowSuccessors():
		return nil, "", badRequest("ticket.follow_successors", "is not possible with Flight: the next replay is another flight")
	case req.GetStart().GetWithState():
		return nil, "", badRequest("ticket.start.with_state", "is not possible with Flight: its events would have no positions")
	case req.GetEncoding() != replaydv1.Encoding_ENCODING_UNSPECIFIED && req.GetEncoding() != replaydv1.Encoding_ENCODING_ARROW:
		return nil, "", badRequest("ticket.encoding", "must be ENCODING_ARROW")
	}
	req.Encoding = replaydv1.Encoding_ENCODING_ARROW
	return req, kind, nil
}

// ticketOf returns the ticket that a descriptor means: its command, or the path of a replay's name and a kind.
func ticketOf(d *flight.FlightDescriptor) ([]byte, error) {
	switch {
	case d.GetType() == flight.FlightDescriptor_CMD:
		return d.GetCmd(), nil
	case d.GetType() == flight.FlightDescriptor_PATH && len(d.GetPath()) == 2:
		return protojson.Marshal(&replaydv1.StreamEventsRequest{
			Replay: d.GetPath()[0], Include: []*replaydv1.EventFilter{{Kinds: []string{d.GetPath()[1]}}},
		})
	}
	return nil, badRequest("descriptor", "must be a command, or a path of a replay's name and a kind")
}

// schemaOf returns the IPC message of the schema of a kind's table, and whether the format has the kind.
func schemaOf(c *codec.Codec, kind string, resolved bool) ([]byte, bool, error) {
	for k := range c.Tables.Kinds {
		if k > 0 && c.Tables.Kinds[k].Name == kind {
			b, err := arrowipc.SchemaMessage(arrowipc.Schema(c.Tables, uint8(k), resolved))
			return b, true, err
		}
	}
	return nil, false, nil
}

// codecOfReplay returns the codec of a replay's format. The caller must be allowed to see it.
func (f *flights) codecOfReplay(ctx context.Context, name string) (*codec.Codec, error) {
	r, err := f.server.GetReplay(ctx, &replaydv1.GetReplayRequest{Replay: name})
	if err != nil {
		return nil, err
	}
	for _, c := range codecs {
		if formats.to[c.Format] == r.GetReplay().GetFormat() {
			return c, nil
		}
	}
	return nil, fmt.Errorf("no codec for %v", r.GetReplay().GetFormat())
}

// DoGet implements Flight: it sends the schema, and then the record batches with their cursors.
func (f *flights) DoGet(t *flight.Ticket, out flight.FlightService_DoGetServer) (err error) {
	s, ctx := f.server, out.Context()
	name := ""
	defer func() { err = s.fail(ctx, err, name) }()
	ctx, entered, err := s.enter(ctx, streamCost)
	if err != nil {
		return err
	}
	defer entered.Return()
	req, kind, err := parseTicket(t.GetTicket())
	if err != nil {
		return err
	}
	name = req.GetReplay()
	g := &flying{server: s, kind: kind, resolved: req.GetResolvePlayers(), use: access.UseOf(out.Context()), send: timed(ctx, out.Send)}
	return s.Stream(ctx, req, g.frame)
}

// flying is a running DoGet.
type flying struct {
	server   *Server
	kind     string
	resolved bool
	use      *access.Use
	send     func(*flight.FlightData) error
}

// frame sends what a response of the stream has. It consumes the frame.
func (g *flying) frame(f *frame.Frame) error {
	b := f.Buffer()
	r := new(replaydv1.StreamEventsResponse)
	err := proto.Unmarshal(b.ReadOnlyData(), r)
	b.Free()
	f.Free()
	if err != nil {
		return err
	}
	switch {
	case r.GetStart() != nil:
		for _, c := range codecs {
			if formats.to[c.Format] != r.GetStart().GetReplay().GetFormat() {
				continue
			}
			schema, _, err := schemaOf(c, g.kind, g.resolved)
			if err != nil {
				return err
			}
			return g.messages(schema, nil)
		}
	case r.GetEnd().GetReason() == replaydv1.EndReason_END_REASON_SERVER_DRAINING:
		return stream.ErrDraining // Flight has no other way to say that there is more
	}
	for _, t := range r.GetBatch().GetTables() {
		if err := g.messages(t.GetData(), r.GetCursor()); err != nil {
			return err
		}
	}
	return nil
}

// messages sends IPC messages. The last one has the cursor.
func (g *flying) messages(b, cursor []byte) error {
	for len(b) > 0 {
		header, body, rest, err := nextMessage(b)
		if err != nil {
			return err
		}
		data := &flight.FlightData{DataHeader: header, DataBody: body}
		if b = rest; len(b) == 0 {
			data.AppMetadata = cursor
		}
		if err := g.send(data); err != nil {
			return err
		}
		n := len(header) + len(body) + len(data.GetAppMetadata())
		g.server.sentBytes.Add(float64(n))
		g.server.sentResponses.Inc()
		g.use.Sent(n)
	}
	return nil
}

var errMessage = errors.New("a malformed message of Arrow")

// nextMessage splits off the first message of an IPC stream: 4 bytes of ones, the header's length, the header, the body.
func nextMessage(b []byte) (header, body, rest []byte, err error) {
	if len(b) < 8 {
		return nil, nil, nil, errMessage
	}
	n := int(binary.LittleEndian.Uint32(b[4:]))
	if n < 8 || n > len(b)-8 {
		return nil, nil, nil, errMessage
	}
	header, b = b[8:8+n], b[8+n:]
	t := flatbuffers.Table{Bytes: header, Pos: flatbuffers.GetUOffsetT(header)}
	const bodyLength = 4 + 2*3 // the fourth field of Message
	size := int64(0)
	if o := t.Offset(bodyLength); o != 0 {
		size = t.GetInt64(t.Pos + flatbuffers.UOffsetT(o))
	}
	if size < 0 || size > int64(len(b)) {
		return nil, nil, nil, errMessage
	}
	return header, b[:size], b[size:], nil
}

// info returns what is known of a flight without reading it.
func (f *flights) info(ctx context.Context, d *flight.FlightDescriptor) (*flight.FlightInfo, string, error) {
	t, err := ticketOf(d)
	if err != nil {
		return nil, "", err
	}
	req, kind, err := parseTicket(t)
	if err != nil {
		return nil, "", err
	}
	c, err := f.codecOfReplay(ctx, req.GetReplay())
	if err != nil {
		return nil, req.GetReplay(), err
	}
	schema, known, err := schemaOf(c, kind, req.GetResolvePlayers())
	if err == nil && !known {
		err = badRequest("ticket.include", fmt.Sprintf("%q is no kind of the replay's format", kind))
	}
	if err != nil {
		return nil, req.GetReplay(), err
	}
	return &flight.FlightInfo{
		Schema: schema, FlightDescriptor: d, TotalRecords: -1, TotalBytes: -1, Ordered: true,
		Endpoint: []*flight.FlightEndpoint{{Ticket: &flight.Ticket{Ticket: t}}},
	}, req.GetReplay(), nil
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

// failed returns the status of an error. That of GetReplay is one already.
func (f *flights) failed(ctx context.Context, err error, name string) error {
	if _, done := status.FromError(err); done {
		return err
	}
	return f.server.fail(ctx, err, name)
}

// ListFlights implements Flight: a flight for each kind of each replay. The criteria are a ListReplaysRequest as JSON.
func (f *flights) ListFlights(c *flight.Criteria, out flight.FlightService_ListFlightsServer) (err error) {
	ctx := out.Context()
	ctx, entered, err := f.server.enter(ctx, streamCost)
	if err != nil {
		return f.server.fail(ctx, err, "")
	}
	defer entered.Return()
	req := new(replaydv1.ListReplaysRequest)
	if e := bytes.TrimSpace(c.GetExpression()); len(e) > 0 {
		if err := protojson.Unmarshal(e, req); err != nil {
			return f.server.fail(ctx, badRequest("criteria", "is no ListReplaysRequest as JSON: "+err.Error()), "")
		}
	}
	send := timed(ctx, out.Send)
	for {
		page, err := f.server.ListReplays(ctx, req)
		if err != nil {
			return err
		}
		for _, r := range page.GetReplays() {
			if err := f.list(r, send); err != nil {
				return err
			}
		}
		if req.PageToken = page.GetNextPageToken(); req.GetPageToken() == "" {
			return nil
		}
	}
}

func (f *flights) list(r *replaydv1.Replay, send func(*flight.FlightInfo) error) error {
	for _, c := range codecs {
		if formats.to[c.Format] != r.GetFormat() {
			continue
		}
		for _, k := range c.Tables.Kinds[1:] {
			schema, _, err := schemaOf(c, k.Name, false)
			if err != nil {
				return err
			}
			d := &flight.FlightDescriptor{Type: flight.FlightDescriptor_PATH, Path: []string{r.GetName(), k.Name}}
			t, err := ticketOf(d)
			if err != nil {
				return err
			}
			if err := send(&flight.FlightInfo{
				Schema: schema, FlightDescriptor: d, TotalRecords: -1, TotalBytes: -1, Ordered: true,
				Endpoint: []*flight.FlightEndpoint{{Ticket: &flight.Ticket{Ticket: t}}},
			}); err != nil {
				return err
			}
		}
	}
	return nil
}
