package service

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/describe"
	"github.com/replayd/replayd/service/scope"
	"github.com/replayd/replayd/service/stream"
	"github.com/replayd/replayd/service/temporary"
)

// GetReport implements the API.
func (s *Server) GetReport(ctx context.Context, req *replaydv1.GetReportRequest) (_ *replaydv1.GetReportResponse, err error) {
	defer func() { err = s.fail(ctx, err, req.GetReplay()) }()
	if err := checkName(req.GetReplay()); err != nil {
		return nil, err
	}
	file, complete, err := s.openReported(ctx, req.GetReplay())
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	if err := scope.Seen(ctx, req.GetReplay(), file.Info().Format); err != nil {
		return nil, err
	}
	var report *replaydv1.Report
	err = s.inTurns(ctx, func(pause func() error) (err error) {
		report, err = s.opened.Report(ctx, file, req.Tick, pause)
		return err
	})
	if err != nil {
		return nil, err
	}
	complete(report.GetReplay())
	report.Replay.MapReplay = s.maps.find(ctx, report.GetReplay())
	return &replaydv1.GetReportResponse{Report: report}, nil
}

// openReported opens a replay. complete adds facts to its description that its file does not tell.
func (s *Server) openReported(ctx context.Context, name string) (file *source.File, complete func(*replaydv1.Replay), err error) {
	if temporary.Is(name) {
		file, expires, err := s.temporary.Open(access.Of(ctx).Key(), name)
		return file, func(r *replaydv1.Replay) { r.ExpireTime = timestamppb.New(expires) }, err
	}
	e, err := s.index.Get(ctx, name, scope.Of(ctx))
	if err != nil {
		return nil, nil, err
	}
	if err := scope.Seen(ctx, e.Name, e.Format); err != nil {
		return nil, nil, err
	}
	file, err = s.Catalog.OpenContext(ctx, e.Name)
	return file, func(r *replaydv1.Replay) { r.State = describe.Entry(s.index, e).GetState() }, err
}

// inTurns runs work in turns of the caller. Each call of pause ends a turn.
func (s *Server) inTurns(ctx context.Context, work func(pause func() error) error) error {
	if s.Turns == nil {
		return work(ctx.Err)
	}
	caller := s.callerKey(ctx)
	var turn *admission.Turn
	give := func() {
		if turn != nil {
			s.Turns.Give(turn)
		}
	}
	defer give()
	next := func() error {
		give()
		if turn = s.Turns.Take(ctx.Done(), s.drain, caller); turn != nil {
			return ctx.Err()
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		return stream.ErrDraining
	}
	if err := next(); err != nil {
		return err
	}
	return work(next)
}
