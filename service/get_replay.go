package service

import (
	"context"

	"google.golang.org/protobuf/proto"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/service/describe"
	"github.com/replayd/replayd/service/fault"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/opened"
	"github.com/replayd/replayd/service/scope"
	"github.com/replayd/replayd/service/temporary"
)

// GetReplay implements the API.
func (s *Server) GetReplay(
	ctx context.Context, req *replaydv1.GetReplayRequest,
) (_ *replaydv1.GetReplayResponse, err error) {
	defer func() { err = s.fail(ctx, err, req.GetReplay()) }()
	if err := checkName(req.GetReplay()); err != nil {
		return nil, err
	}
	view, err := viewOf(req.GetView(), replaydv1.ReplayView_REPLAY_VIEW_FULL)
	if err != nil {
		return nil, err
	}
	if temporary.Is(req.GetReplay()) {
		replay, err := s.describeTemporary(ctx, req.GetReplay(), view)
		if err != nil {
			return nil, err
		}
		return &replaydv1.GetReplayResponse{Replay: replay}, nil
	}
	e, err := s.index.Get(ctx, req.GetReplay(), scope.Of(ctx))
	if err != nil {
		return nil, err
	}
	if err := scope.Seen(ctx, e.Name, e.Format); err != nil {
		return nil, err
	}
	replay, err := s.view(ctx, e, view)
	if err != nil {
		return nil, err
	}
	replay.MapReplay = s.maps.find(ctx, replay)
	return &replaydv1.GetReplayResponse{Replay: replay}, nil
}

// views maps a view to the function that adds its fields to a description from the index. If it fails, r keeps the fields that
// are known.
var views = map[replaydv1.ReplayView]func(s *Server, ctx context.Context, e *index.Entry, r *replaydv1.Replay) error{
	replaydv1.ReplayView_REPLAY_VIEW_BASIC:        (*Server).addNothing,
	replaydv1.ReplayView_REPLAY_VIEW_FULL:         (*Server).addHeader,
	replaydv1.ReplayView_REPLAY_VIEW_PLAYERS:      (*Server).addPlayers,
	replaydv1.ReplayView_REPLAY_VIEW_PARTICIPANTS: (*Server).addParticipants,
}

// viewOf returns the requested view, or the method's default.
func viewOf(asked, otherwise replaydv1.ReplayView) (replaydv1.ReplayView, error) {
	if asked == replaydv1.ReplayView_REPLAY_VIEW_UNSPECIFIED {
		return otherwise, nil
	}
	if views[asked] == nil {
		return asked, fault.BadRequest("view", "is unknown")
	}
	return asked, nil
}

// view returns the description of a replay with the fields of a view. With an error it returns the fields that are known.
func (s *Server) view(ctx context.Context, e *index.Entry, view replaydv1.ReplayView) (*replaydv1.Replay, error) {
	r := describe.Entry(s.index, e)
	return r, views[view](s, ctx, e, r)
}

func (s *Server) addNothing(context.Context, *index.Entry, *replaydv1.Replay) error { return nil }

// addHeader adds the fields that come from the file's header.
func (s *Server) addHeader(ctx context.Context, e *index.Entry, r *replaydv1.Replay) error {
	file, err := s.Catalog.OpenContext(ctx, r.GetName())
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	described, err := opened.Describe(ctx, file, describe.Replay)
	if err != nil {
		return err
	}
	proto.Reset(r)
	proto.Merge(r, described)
	describe.AddFound(s.index, e, r)
	return nil
}

// addPlayers adds the players.
func (s *Server) addPlayers(ctx context.Context, e *index.Entry, r *replaydv1.Replay) error {
	c, err := describe.CodecOf(e.Format)
	if err != nil {
		return err
	}
	if c.CarryRoster == nil {
		err := s.addHeader(ctx, e, r)
		r.Header = nil
		return err
	}
	if e = s.index.Refresh(ctx, e); e.Survey == nil {
		return nil
	}
	roster := e.Survey.Whole().Roster
	if before := s.index.Family(e.Name, scope.Of(ctx)).Roster(ctx, e.Previous); before != nil {
		roster, _ = c.CarryRoster(roster, before)
	}
	c.Players(r, roster)
	r.PlayersTick = &e.Survey.LastTick
	r.Lineup = codec.Lineup(r.GetPlayers())
	return nil
}

// addParticipants adds everybody who took part.
func (s *Server) addParticipants(ctx context.Context, e *index.Entry, r *replaydv1.Replay) error {
	c, err := describe.CodecOf(e.Format)
	if err != nil {
		return err
	}
	if c.Participants == nil {
		return s.addPlayers(ctx, e, r)
	}
	if e = s.index.Refresh(ctx, e); e.Survey == nil {
		return nil
	}
	c.Participants(r, e.Survey.Whole().Participants, s.index.Family(e.Name, scope.Of(ctx)).Roster(ctx, e.Previous), &s.Secrets)
	r.PlayersTick = &e.Survey.LastTick
	return nil
}
