package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/describe"
	"github.com/replayd/replayd/service/fault"
	"github.com/replayd/replayd/service/opened"
	"github.com/replayd/replayd/service/scope"
	"github.com/replayd/replayd/service/temporary"
)

// CreateReplay implements the API.
func (s *Server) CreateReplay(
	in grpc.ClientStreamingServer[replaydv1.CreateReplayRequest, replaydv1.CreateReplayResponse],
) (err error) {
	ctx := in.Context()
	defer func() { err = s.fail(ctx, err, "") }()
	if s.TemporaryLife < 0 {
		return errKeepsNone
	}
	if err := s.enter(ctx, uploadCost); err != nil {
		return err
	}
	s.failures.uploads.Inc()
	defer s.failures.uploads.Dec()
	first, err := first(ctx, s, in.Recv)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if first.GetOptions() == nil {
		return fault.BadRequest("options", "must come first")
	}
	life, err := opened.Duration("options.time_to_live", first.GetOptions().GetTimeToLive())
	switch {
	case err != nil:
		return err
	case first.GetOptions().GetTimeToLive() == nil:
		life = s.TemporaryLife
	case life < minLife:
		return fault.BadRequest("options.time_to_live", "must be a second or more")
	}
	name, err := s.store(ctx, min(life, s.TemporaryLife), func() (part, error) {
		msg, err := in.Recv()
		return part{msg.GetData(), msg.GetOptions() != nil}, err
	})
	if err != nil {
		return err
	}
	replay, err := s.describeTemporary(ctx, name, replaydv1.ReplayView_REPLAY_VIEW_FULL)
	if err != nil {
		_ = s.temporary.Delete(access.Of(ctx).Key(), name)
		return err
	}
	return in.SendAndClose(&replaydv1.CreateReplayResponse{Replay: replay})
}

// minLife is the shortest time for which a replay is kept: the answer names it, so it must still be there then.
const minLife = time.Second

// errKeepsNone is the error of a server that stores no replays.
var errKeepsNone = notImplemented("CreateReplay", "this server keeps no replays that clients send; DecodeReplay streams them")

// store receives a replay, unpacks it, keeps it for a time, and returns its name. It does not decode the replay.
func (s *Server) store(ctx context.Context, life time.Duration, recv func() (part, error)) (name string, err error) {
	who := s.whoOf(ctx)
	who.Rate = 0 // the call's rate was counted already
	kept, err := s.Admission.Enter(who, admission.Temporary)
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			kept.Return()
		}
	}()
	limits := source.Limits{Inflated: s.MaxInflated, Budget: shared{admission.Of(ctx), kept}}
	file, err := source.FromReadCloser(s.newUpload(ctx, recv), "", limits)
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			_ = file.Close()
		}
	}()
	if err := file.Recognized(); err != nil {
		return "", err
	}
	if err := scope.Takes(ctx, file.Info().Format); err != nil {
		return "", err
	}
	if err := file.Spool(ctx); err != nil {
		return "", err
	}
	file.Detach()
	name, _ = s.temporary.Keep(access.Of(ctx).Key(), file, life, kept.Return)
	return name, nil
}

// shared is a budget that charges memory to a call, and space on disk to the stored replay.
type shared struct{ call, kept *admission.Ticket }

// Memory implements source.Budget.
func (b shared) Memory(n int64) error { return b.call.Memory(n) }

// Spool implements source.Budget.
func (b shared) Spool(n int64) error { return b.kept.Spool(n) }

// describeTemporary returns the description of a temporary replay of the caller.
func (s *Server) describeTemporary(ctx context.Context, name string, view replaydv1.ReplayView) (*replaydv1.Replay, error) {
	file, expires, err := s.temporary.Open(access.Of(ctx).Key(), name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	if err := scope.Seen(ctx, name, file.Info().Format); err != nil {
		return nil, err
	}
	with := describe.Replay
	if view == replaydv1.ReplayView_REPLAY_VIEW_PARTICIPANTS {
		with = func(ctx context.Context, file *source.File) (*replaydv1.Replay, error) {
			return describe.Participants(ctx, file, s.Secrets)
		}
	}
	replay, err := opened.Describe(ctx, file, with)
	if err != nil {
		return nil, err
	}
	replay.ExpireTime = timestamppb.New(expires)
	replay.MapReplay = s.maps.find(ctx, replay)
	return replay, nil
}

// DeleteReplay implements the API.
func (s *Server) DeleteReplay(
	ctx context.Context, req *replaydv1.DeleteReplayRequest,
) (_ *replaydv1.DeleteReplayResponse, err error) {
	defer func() { err = s.fail(ctx, err, req.GetReplay()) }()
	if err := checkName(req.GetReplay()); err != nil {
		return nil, err
	}
	if !temporary.Is(req.GetReplay()) {
		return nil, fault.BadRequest("replay", fmt.Sprintf("is not temporary: names of temporary replays begin with %q", temporary.Prefix))
	}
	if err := s.temporary.Delete(access.Of(ctx).Key(), req.GetReplay()); err != nil {
		return nil, err
	}
	return &replaydv1.DeleteReplayResponse{}, nil
}
