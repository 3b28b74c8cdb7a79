package service

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/internal/nearest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/describe"
	"github.com/replayd/replayd/service/fault"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/latest"
	"github.com/replayd/replayd/service/opened"
	"github.com/replayd/replayd/service/scope"
	"github.com/replayd/replayd/service/stream"
)

// boardCost is the memory that the board of a game takes besides its decoder.
const boardCost = 1 << 20

// WatchState implements the API.
func (s *Server) WatchState(req *replaydv1.WatchStateRequest, out grpc.ServerStreamingServer[replaydv1.WatchStateResponse]) (err error) {
	ctx := out.Context()
	defer func() { err = s.fail(ctx, err, req.GetDirectory()) }()
	if err := s.enter(ctx, streamCost); err != nil {
		return err
	}
	w, err := s.watchOf(ctx, req)
	if err != nil {
		return err
	}
	return w.Run(ctx, s.counted(out))
}

// watchOf returns the call that a request asks for.
func (s *Server) watchOf(ctx context.Context, req *replaydv1.WatchStateRequest) (w latest.Watch, err error) {
	for i, f := range req.GetInclude() {
		if !proto.Equal(f, &replaydv1.EventFilter{Players: f.GetPlayers(), Teams: f.GetTeams()}) {
			return w, fault.BadRequest(fmt.Sprintf("include[%d]", i), "has other conditions than players and teams")
		}
	}
	if err := s.index.CheckDirectory(ctx, req.GetDirectory(), scope.Of(ctx)); err != nil {
		return w, directoryError{err}
	}
	query, err := s.selected(ctx, &replaydv1.SubscribeEventsRequest{
		Directory: req.GetDirectory(), Formats: req.GetFormats(), Filter: req.GetFilter(),
	})
	if err != nil {
		return w, err
	}
	wish, err := latest.NewWish(req.GetInclude(), slices.Compact(slices.Sorted(slices.Values(req.GetColumns()))), req.GetResolvePlayers())
	if err != nil {
		return w, err
	}
	if query.Formats, err = usable(ctx, query.Formats, wish.Options()); err != nil {
		return w, err
	}
	if err := checkColumns(query.Formats, wish.Columns); err != nil {
		return w, err
	}
	w = latest.Watch{
		Boards: s.boards, Index: s.index, Query: query, Selection: s.index.Select(query), Wish: wish, Whole: req.GetWhole(),
		Grant: access.Of(ctx), Sees: func(e *index.Entry) bool { return scope.Seen(ctx, e.Name, e.Format) == nil }, Drain: s.drain,
	}
	if w.Interval, err = intervalOf(req); err != nil {
		return w, err
	}
	w.Heartbeat, err = opened.Heartbeat(req.GetHeartbeatInterval())
	return w, err
}

// intervalOf returns the time between responses that a request asks for, within the bounds.
func intervalOf(req *replaydv1.WatchStateRequest) (time.Duration, error) {
	interval, err := opened.Duration("interval", req.GetInterval())
	switch {
	case err != nil:
		return 0, err
	case interval == 0:
		return latest.DefaultInterval, nil
	}
	return min(max(interval.Round(latest.IntervalStep), latest.MinInterval), latest.MaxInterval), nil
}

// checkColumns refuses a column that the players of none of the formats have.
func checkColumns(formats []decoders.Format, columns []string) error {
	var known []string
	for _, c := range describe.Codecs() {
		if slices.Contains(formats, c.Format) {
			known = append(known, latest.Columns(c)...)
		}
	}
	for i, name := range columns {
		if !slices.Contains(known, name) {
			return fault.BadRequest("columns", fmt.Sprintf("%q is no field of %s%s", columns[i], latest.Kind, nearest.Hint(strings.ToLower(name), known...)))
		}
	}
	return nil
}

// openBoard implements latest.Config.Open. The memory is the daemon's, because a board outlives the call that begins it.
func (s *Server) openBoard(ctx context.Context, g *access.Grant, req *replaydv1.StreamEventsRequest) (*stream.Replay, func(), error) {
	ticket, err := s.Admission.Enter(admission.Who{}, admission.Feeds)
	if err == nil {
		err = ticket.Memory(boardCost)
	}
	if err != nil {
		ticket.Return()
		return nil, nil, err
	}
	c, err := s.opened.Open(access.With(admission.With(ctx, ticket), g), req)
	if err != nil {
		ticket.Return()
		return nil, nil, err
	}
	return c.Replay, func() { c.Replay.Close(); ticket.Return() }, nil
}

// turnOfBoards implements latest.Config.Turn.
func (s *Server) turnOfBoards(ctx context.Context, f func() error) error {
	if s.Turns == nil {
		return f()
	}
	turn := s.Turns.Take(ctx.Done(), s.drain, "boards")
	if turn == nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return stream.ErrDraining
	}
	defer s.Turns.Give(turn)
	return f()
}
