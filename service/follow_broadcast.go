package service

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/fault"
	"github.com/replayd/replayd/service/playcast"
	"github.com/replayd/replayd/service/scope"
)

// errFollowsNone is the error of a server that follows no broadcasts that clients name.
var errFollowsNone = notImplemented("FollowBroadcast", "this server follows no broadcasts that clients name")

// FollowBroadcast implements the API.
func (s *Server) FollowBroadcast(
	ctx context.Context, req *replaydv1.FollowBroadcastRequest,
) (_ *replaydv1.FollowBroadcastResponse, err error) {
	defer func() { err = s.fail(ctx, err, "") }()
	if s.Broadcasts == nil {
		return nil, errFollowsNone
	}
	if err := scope.Takes(ctx, decoders.Dem); err != nil {
		return nil, err
	}
	if !scope.Reaches(access.Of(ctx), s.Broadcasts.Name()) {
		return nil, access.Forbid()
	}
	replay, err := s.Broadcasts.Follow(req.GetUrl())
	switch { // none repeats the URL, which may have a secret
	case errors.Is(err, playcast.ErrURL):
		return nil, fault.BadRequest("url", "want http://HOST/PATH or https://HOST/PATH, without credentials")
	case errors.Is(err, playcast.ErrAllowed):
		return nil, status.Error(codes.PermissionDenied, err.Error())
	case errors.Is(err, playcast.ErrMax):
		return nil, &fault.Error{
			Code: codes.ResourceExhausted, Reason: replaydv1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED, Message: err.Error(),
		}
	case err != nil:
		return nil, err
	case !scope.Reaches(access.Of(ctx), replay): // one that the operator follows elsewhere
		return nil, access.Forbid()
	}
	return &replaydv1.FollowBroadcastResponse{Replay: replay}, nil
}
