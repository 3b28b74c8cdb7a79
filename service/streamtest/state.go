package streamtest

import (
	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders"
	sc2replayv1 "github.com/replayd/replayd/proto/replayd/sc2replay/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// SC2State computes the events that the state of a StarCraft II replay must have. It applies the replay's events from the
// beginning, like a client.
type SC2State struct {
	game game
	tick int32
	refs map[uint32]*sc2replayv1.PlayerRef
}

// NewSC2State returns the state before a replay's first event. It needs all events of the replay to find the players.
func NewSC2State(events []*sc2replayv1.Event) *SC2State {
	s := &SC2State{refs: map[uint32]*sc2replayv1.PlayerRef{}}
	for _, e := range events {
		player := e.GetPlayer()
		if player == nil || player.PlayerId == nil {
			continue
		}
		if _, known := s.refs[player.GetPlayerId()]; known && e.GetPlayerStats() == nil {
			continue // if two players share a number, the tracker has the leader
		}
		s.refs[player.GetPlayerId()] = player
	}
	return s
}

// Apply updates the state with an event.
func (s *SC2State) Apply(e *sc2replayv1.Event) {
	s.game.apply(e)
	s.tick = e.GetAtTick()
}

// Events returns the events of the present state.
func (s *SC2State) Events() (told []*sc2replayv1.Event) {
	for _, p := range sorted(s.game.players) {
		told = append(told, proto.CloneOf(&sc2replayv1.Event{
			AtTick: s.tick, Player: s.refs[p.GetPlayerId()], Kind: &sc2replayv1.Event_PlayerState{PlayerState: p},
		}))
	}
	for _, u := range sorted(s.game.units) {
		told = append(told, proto.CloneOf(&sc2replayv1.Event{
			AtTick: s.tick, Player: s.refs[u.GetControlPlayerId()], Kind: &sc2replayv1.Event_UnitState{UnitState: u},
		}))
	}
	return told
}

// SumSC2 returns a function that returns a session with the state at a position. It computes the state from a session with all
// events of a StarCraft II replay, with positions.
func SumSC2(whole *Session) (func(at decoders.Position) *Session, error) {
	var events []*sc2replayv1.Event
	var places []decoders.Position
	for _, raw := range whole.Responses {
		var r replaydv1.StreamEventsResponse
		if err := proto.Unmarshal(raw, &r); err != nil {
			return nil, err
		}
		var b batch
		if err := b.place(r.GetBatch().GetOffsets(), r.GetBatch().GetIndexes()); err != nil {
			return nil, err
		}
		for i, e := range r.GetBatch().GetSc2Replay().GetEvents() {
			events = append(events, e)
			places = append(places, decoders.Position{Offset: b.offsets[i], Index: b.indexes[i]})
		}
	}
	return func(at decoders.Position) *Session {
		state := NewSC2State(events)
		for i, e := range events {
			if !places[i].Before(at) {
				break
			}
			if e.GetSamplePlayer() == nil { // it is of no record
				state.Apply(e)
			}
		}
		part := &replaydv1.StateBatch{
			Complete: true, Events: &replaydv1.StateBatch_Sc2Replay{Sc2Replay: &sc2replayv1.EventList{Events: state.Events()}},
		}
		raw, err := proto.Marshal(&replaydv1.StreamEventsResponse{Response: &replaydv1.StreamEventsResponse_State{State: part}})
		if err != nil {
			return nil
		}
		return &Session{Responses: [][]byte{raw}}
	}, nil
}
