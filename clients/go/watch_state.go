package replayd

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"google.golang.org/protobuf/proto"

	demv1 "github.com/replayd/replayd/proto/replayd/dem/v1"
	sc2replayv1 "github.com/replayd/replayd/proto/replayd/sc2replay/v1"
	teehistorianv1 "github.com/replayd/replayd/proto/replayd/teehistorian/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// States are the latest states of games, by their numbers in a call of WatchState. Each has all players, by number, and its description.
type States map[uint32]*replaydv1.WatchedReplay

// Apply takes a response. It forgets the games that an earlier response has ended, so that the end of a game is seen once.
func (s States) Apply(r *replaydv1.WatchStateResponse) {
	for number, of := range s {
		if isOver(of) {
			delete(s, number)
		}
	}
	for _, news := range r.GetReplays() {
		of := s[news.GetReplay()]
		if of == nil {
			of = &replaydv1.WatchedReplay{Replay: news.GetReplay(), Whole: true}
			s[news.GetReplay()] = of
		}
		if news.GetDescription() != nil {
			of.Description = news.GetDescription()
		}
		if news.Tick != nil {
			of.Tick, of.Unfinished, of.Age = news.Tick, news.GetUnfinished(), news.GetAge()
			setPlayers(of, news)
		}
		of.End, of.Failure = news.GetEnd(), news.GetFailure()
	}
}

// isOver reports whether no more of a game follows.
func isOver(r *replaydv1.WatchedReplay) bool {
	return r.GetEnd() != 0 || r.GetFailure() != nil && !r.GetFailure().GetRetried()
}

// setPlayers applies the players of a response to those of a state.
func setPlayers(of, news *replaydv1.WatchedReplay) {
	if news.GetWhole() {
		of.Players = news.Players
		return
	}
	gone := news.GetRemoved()
	switch now := news.GetPlayers().(type) {
	case *replaydv1.WatchedReplay_Teehistorian:
		of.Players = &replaydv1.WatchedReplay_Teehistorian{Teehistorian: &teehistorianv1.EventList{Events: merge(
			of.GetTeehistorian().GetEvents(), now.Teehistorian.GetEvents(), gone,
			func(e *teehistorianv1.Event) int32 { return e.GetSamplePlayer().GetClientId() },
		)}}
	case *replaydv1.WatchedReplay_Dem:
		of.Players = &replaydv1.WatchedReplay_Dem{Dem: &demv1.EventList{Events: merge(
			of.GetDem().GetEvents(), now.Dem.GetEvents(), gone, func(e *demv1.Event) int32 { return e.GetSamplePlayer().GetPlayerId() },
		)}}
	case *replaydv1.WatchedReplay_Sc2Replay:
		of.Players = &replaydv1.WatchedReplay_Sc2Replay{Sc2Replay: &sc2replayv1.EventList{Events: merge(
			of.GetSc2Replay().GetEvents(), now.Sc2Replay.GetEvents(), gone,
			func(e *sc2replayv1.Event) int32 { return int32(e.GetSamplePlayer().GetPlayerId()) },
		)}}
	}
}

// merge returns the players after some have come, changed and left. It changes neither list.
func merge[E any](before, now []E, gone []int32, number func(E) int32) []E {
	all := slices.Clone(now)
	for _, e := range before {
		if n := number(e); !slices.Contains(gone, n) && !slices.ContainsFunc(now, func(other E) bool { return number(other) == n }) {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b E) int { return cmp.Compare(number(a), number(b)) })
	return all
}

// WatchState yields the latest states of live games after each response: a States that it goes on to change. A nil request selects all
// games. It goes on until ctx ends, or an error that is not [Transient]. When the daemon restarts or the connection breaks, it calls
// again as [WithRetry] says, and the games have other numbers.
func (c *Client) WatchState(ctx context.Context, req *replaydv1.WatchStateRequest) iter.Seq2[States, error] {
	return func(yield func(States, error) bool) {
		if req == nil {
			req = &replaydv1.WatchStateRequest{}
		}
		left, err := c.again(ctx, func(received func()) (bool, *Error) {
			states := States{}
			return c.watch(ctx, req, func(r *replaydv1.WatchStateResponse) bool {
				received()
				states.Apply(r)
				return yield(states, nil)
			})
		})
		if !left {
			yield(nil, err)
		}
	}
}

// watch makes one call. left reports whether each has returned false.
func (c *Client) watch(
	ctx context.Context, req *replaydv1.WatchStateRequest, each func(*replaydv1.WatchStateResponse) bool,
) (left bool, failed *Error) {
	return c.receive(ctx, replaydv1.ReplayService_WatchState_FullMethodName, req, max(
		silence(req.GetHeartbeatInterval()), silence(req.GetInterval()),
	), func(wire []byte) (bool, error) {
		r := &replaydv1.WatchStateResponse{}
		if err := proto.Unmarshal(wire, r); err != nil {
			return false, err
		}
		return each(r), nil
	})
}
