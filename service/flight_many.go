package service

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/table"
	"github.com/replayd/replayd/replay/table/arrowipc"
	"github.com/replayd/replayd/service/describe"
	"github.com/replayd/replayd/service/fault"
	"github.com/replayd/replayd/service/frame"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/opened"
	"github.com/replayd/replayd/service/scope"
	"github.com/replayd/replayd/service/stream"
)

// manyFlights is a flight of many replays, one after the other by name: the events of one kind up to their present ends. A ticket is a
// SubscribeEventsRequest as JSON.
type manyFlights struct {
	server *Server
	query  index.Query
	codec  *codec.Codec
	kind   uint8
	each   *replaydv1.StreamEventsRequest // the request for each replay
	first  string                         // the name of the first replay that is sent
	cursor []byte                         // where that begins; nil at its beginning
	out    *arrowipc.Flight
}

// manyOf returns the flight for a ticket of many replays.
func (s *Server) manyOf(ctx context.Context, t ticket) (*manyFlights, error) {
	req, each := t.many, t.req
	if req.GetParallel() != 0 {
		return nil, fault.BadRequest("ticket.parallel", "is not possible with Flight: replays come one after the other")
	}
	if req.GetSubscription() != "" {
		return nil, fault.BadRequest("ticket.subscription", "is not possible with Flight: a ticket goes on by its token")
	}
	if each.GetReplay() != "" || each.GetStart() != nil || each.GetFollow() {
		return nil, fault.BadRequest("ticket.options", "must have neither replay, start nor follow: a flight has each replay from its beginning to its present end")
	}
	if each.GetFieldColumns() {
		return nil, fault.BadRequest("ticket.options.field_columns", "is not possible with a flight of many replays, whose fields may have other types")
	}
	asked, err := formatsOf(req.GetFormats())
	if err != nil {
		return nil, err
	}
	m := &manyFlights{server: s, each: each}
	if m.codec, m.kind, err = codecOfKind(asked, t.kind); err != nil {
		return nil, err
	}
	if err := opened.Check(ctx, each, m.codec); err != nil {
		return nil, ofOptions(err)
	}
	if m.first, m.cursor, err = parsePlace(req.GetToken()); err != nil {
		return nil, err
	}
	m.query = index.Query{Scope: scope.Of(ctx), Dir: req.GetDirectory(), Formats: scope.Formats(ctx, []decoders.Format{m.codec.Format})}
	if m.query.Filter, err = filterOf(req.GetFilter()); err != nil {
		return nil, err
	}
	l, err := opened.Layout(m.codec.Tables, func(of uint8) bool { return of == m.kind }, each)
	if err != nil {
		return nil, err
	}
	m.out = arrowipc.NewFlight(l, m.kind, opened.Compresses(ctx, each), true)
	return m, nil
}

// codecOfKind returns the only one of some formats, of which none means all, that has a kind.
func codecOfKind(formats []decoders.Format, kind string) (found *codec.Codec, number uint8, err error) {
	for _, c := range describe.Codecs() {
		k := slices.IndexFunc(c.Tables.Kinds, func(k table.Kind) bool { return k.Name == kind })
		if k <= 0 || c.Filters.Kinds[k].State || len(formats) > 0 && !slices.Contains(formats, c.Format) {
			continue
		}
		if found != nil {
			return nil, 0, fault.BadRequest("ticket.formats", fmt.Sprintf(
				"must have one format: %s and %s have tables of the kind %s, and a flight is one table", found.Format, c.Format, kind))
		}
		found, number = c, uint8(k)
	}
	if found == nil {
		return nil, 0, fault.BadRequest("ticket.options.include", fmt.Sprintf("%q is no kind of the formats' tables", kind))
	}
	return found, number, nil
}

// The place behind rows of a replay is the length of its name, the name, and the cursor.
func appendPlace(b []byte, replay string, cursor []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(replay)))
	return append(append(b, replay...), cursor...)
}

func parsePlace(b []byte) (replay string, cursor []byte, err error) {
	if len(b) == 0 {
		return "", nil, nil
	}
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) || n == 0 {
		return "", nil, fault.BadRequest("ticket.token", "is no metadata of a flight of many replays")
	}
	b = b[size:]
	return string(b[:n]), bytes.Clone(b[n:]), nil
}

// flightPage is how many replays are listed at once.
const flightPage = 1000

// send sends the flight.
func (m *manyFlights) send(ctx context.Context, g *flying) error {
	if err := m.server.index.CheckDirectory(ctx, m.query.Dir, m.query.Scope); err != nil {
		return directoryError{err}
	}
	if err := g.begin(); err != nil {
		return err
	}
	var broken []string
	var first error
	for token := ""; ; {
		page, err := m.server.index.List(ctx, m.query, token, flightPage)
		if err != nil {
			return directoryError{err}
		}
		for _, e := range page.Replays {
			if e.Name < m.first {
				continue
			}
			fatal, err := m.one(ctx, e.Name, g)
			if fatal != nil {
				return fatal
			}
			if err != nil {
				if broken = append(broken, e.Name); first == nil {
					first = err
				}
			}
		}
		if token = page.Next; token == "" {
			break
		}
	}
	if first == nil {
		return nil
	}
	which := fmt.Sprintf("%d replays are not complete: %s", len(broken), strings.Join(broken[:min(len(broken), 3)], ", "))
	if errors.Is(first, codec.ErrNoMap) { // of which clients see the field and its problem alone
		return fault.BadRequest("ticket.options.include", which+": "+first.Error())
	}
	return fmt.Errorf("%s: %w", which, first)
}

// one sends the rows of one replay. It returns what ends the flight, and what is wrong with the replay alone.
func (m *manyFlights) one(ctx context.Context, name string, g *flying) (fatal, broken error) {
	s, req := m.server, proto.CloneOf(m.each)
	req.Replay = name
	if name == m.first && m.cursor != nil {
		req.Start = &replaydv1.Start{At: &replaydv1.Start_Cursor{Cursor: m.cursor}}
	}
	begun := false
	c, err := s.opened.Open(ctx, req)
	if err == nil {
		c.Replay.Tables.Encoder = nil // columns are passed on as they are
		err = s.run(ctx, c, func(f *frame.Frame) error {
			begun = begun || incomplete[f.Response().GetEnd().GetReason()] == nil
			return g.frame(f, name, appendPlace(nil, name, f.Cursor()))
		})
	}
	switch {
	case err == nil:
		return nil, nil
	case g.lost != nil, ctx.Err() != nil, errors.Is(err, stream.ErrDraining):
		return err, nil
	case errors.Is(err, codec.ErrNoMap):
		return nil, err
	}
	switch s.explain(ctx, err, name).GetReason() {
	case replaydv1.ErrorReason_ERROR_REASON_BAD_REQUEST, replaydv1.ErrorReason_ERROR_REASON_REPLAY_NOT_FOUND:
		if !begun { // no replay of its game has such events, or it was removed meanwhile
			return nil, nil
		}
	case replaydv1.ErrorReason_ERROR_REASON_CORRUPT, replaydv1.ErrorReason_ERROR_REASON_TRUNCATED,
		replaydv1.ErrorReason_ERROR_REASON_UNSUPPORTED_VERSION, replaydv1.ErrorReason_ERROR_REASON_TOO_LARGE:
		return nil, err
	}
	return err, nil
}
