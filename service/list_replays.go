package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/describe"
	"github.com/replayd/replayd/service/fault"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/scope"
)

// ListReplays implements the API.
func (s *Server) ListReplays(
	ctx context.Context, req *replaydv1.ListReplaysRequest,
) (_ *replaydv1.ListReplaysResponse, err error) {
	defer func() { err = s.fail(ctx, err, req.GetDirectory()) }()
	size, err := pageSize(req.GetPageSize())
	if err != nil {
		return nil, err
	}
	query := index.Query{Scope: scope.Of(ctx), Dir: req.GetDirectory()}
	wanted, err := formatsOf(req.GetFormats())
	if err != nil {
		return nil, err
	}
	query.Formats = scope.Formats(ctx, wanted)
	if query.Filter, err = filterOf(req.GetFilter()); err != nil {
		return nil, err
	}
	if query.Order, err = orderOf(req.GetOrder()); err != nil {
		return nil, err
	}
	view, err := viewOf(req.GetView(), replaydv1.ReplayView_REPLAY_VIEW_BASIC)
	if err != nil {
		return nil, err
	}
	if view == replaydv1.ReplayView_REPLAY_VIEW_PARTICIPANTS {
		return nil, fault.BadRequest("view", "is only for GetReplay")
	}
	if view != replaydv1.ReplayView_REPLAY_VIEW_BASIC && size > maxViewPage {
		return nil, fault.BadRequest("page_size", fmt.Sprintf("must be %d at most with this view", maxViewPage))
	}
	page, err := s.index.List(ctx, query, req.GetPageToken(), size)
	if err != nil {
		return nil, directoryError{err}
	}
	resp := &replaydv1.ListReplaysResponse{NextPageToken: page.Next}
	for _, e := range page.Replays {
		r, err := s.view(ctx, e, view)
		if refused, ok := errors.AsType[*admission.RefusedError](err); ok && !refused.Never || err != nil && ctx.Err() != nil {
			return nil, err
		}
		resp.Replays = append(resp.Replays, r) // even if it is damaged, too large or just removed
	}
	if req.GetFilter() != nil || query.Order != index.ByName {
		resp.Coverage = &replaydv1.SearchCoverage{TotalFiles: int64(page.Total), SearchedFiles: int64(page.Searched)}
	}
	if query.Order != index.ByName {
		matching := int64(page.Matching)
		resp.Coverage.MatchingFiles = &matching
	}
	return resp, nil
}

// Bounds of a page of replays.
const (
	defaultPage = 100
	maxPage     = 1000
	maxViewPage = 100 // for a view for which each file is read
)

// pageSize returns the number of replays on a page.
func pageSize(asked int32) (int, error) {
	switch {
	case asked < 0:
		return 0, fault.BadRequest("page_size", "must not be negative")
	case asked == 0:
		return defaultPage, nil
	}
	return min(int(asked), maxPage), nil
}

// orderOf returns the order that a request names.
func orderOf(asked replaydv1.ReplayOrder) (index.Order, error) {
	order, known := describe.Orders.From[asked]
	if !known {
		return 0, fault.BadRequest("order", "is unknown")
	}
	return order, nil
}

// formatsOf returns the formats that a request names.
func formatsOf(asked []replaydv1.Format) ([]decoders.Format, error) {
	var known []decoders.Format
	for i, f := range asked {
		format, ok := describe.Formats.From[f]
		if !ok {
			return nil, fault.BadRequest(fmt.Sprintf("formats[%d]", i), "is no known format")
		}
		known = append(known, format)
	}
	return known, nil
}

// filterOf returns a request's conditions on replays.
func filterOf(asked *replaydv1.ReplayFilter) (f index.Filter, err error) {
	f = index.Filter{Map: asked.GetMapName(), Server: asked.GetServer(), Player: asked.GetPlayerName(), Text: asked.GetText()}
	for field, text := range map[string]string{"map_name": f.Map, "server": f.Server, "player_name": f.Player, "text": f.Text} {
		if len(text) > maxPattern {
			return f, fault.BadRequest("filter."+field, fmt.Sprintf("is longer than %d bytes", maxPattern))
		}
	}
	for field, t := range map[string]struct {
		asked *timestamppb.Timestamp
		to    *time.Time
	}{
		"earliest_start_time": {asked.GetEarliestStartTime(), &f.From}, "latest_start_time": {asked.GetLatestStartTime(), &f.Until},
	} {
		if t.asked == nil {
			continue
		}
		if err := t.asked.CheckValid(); err != nil {
			return f, fault.BadRequest("filter."+field, err.Error())
		}
		*t.to = t.asked.AsTime()
	}
	for i, asked := range asked.GetStates() {
		state, known := describe.States.From[asked]
		if !known {
			return f, fault.BadRequest(fmt.Sprintf("filter.states[%d]", i), "is unknown")
		}
		f.States = append(f.States, state)
	}
	return f, nil
}

// maxPattern limits the length of a pattern, in bytes.
const maxPattern = 256
