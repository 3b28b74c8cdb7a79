package sc2

import sc2replayv1 "github.com/replayd/replayd/proto/replayd/sc2replay/v1"

// ActionsPerMinute computes actions per minute in two ways: as Blizzard's client and as sc2reader do. It needs the kinds start,
// player_info, cmd, cmd_update_target_point, cmd_update_target_unit, selection_delta, control_group_update, game_user_leave and
// player_leave.
type ActionsPerMinute struct {
	actions  map[uint32]int
	left     map[uint32]int // when a user left, in seconds of game time
	blizzard map[uint32]float64
	seconds  int // length of the game as sc2reader computes it
}

// Apply updates the counts with an event. It ignores events of other kinds.
func (a *ActionsPerMinute) Apply(e *sc2replayv1.Event) {
	if a.actions == nil {
		a.actions, a.left, a.blizzard = map[uint32]int{}, map[uint32]int{}, map[uint32]float64{}
	}
	switch k := e.GetKind().(type) {
	case *sc2replayv1.Event_Cmd, *sc2replayv1.Event_CmdUpdateTargetPoint, *sc2replayv1.Event_CmdUpdateTargetUnit,
		*sc2replayv1.Event_SelectionDelta, *sc2replayv1.Event_ControlGroupUpdate:
		a.actions[User(e)]++
	case *sc2replayv1.Event_GameUserLeave, *sc2replayv1.Event_PlayerLeave:
		a.left[User(e)] = int(e.GetAtTick()) / gameLoops
	case *sc2replayv1.Event_PlayerInfo:
		if k.PlayerInfo.Apm != nil {
			a.blizzard[User(e)] = k.PlayerInfo.GetApm()
		}
	case *sc2replayv1.Event_Start:
		perSecond := float64(gameLoops)
		if k.Start.GetVersion().GetBuild() >= firstScaled {
			perSecond *= faster
		}
		a.seconds = int(float64(k.Start.GetElapsedGameLoops()) / perSecond)
	}
}

const (
	gameLoops   = 16    // per second of game time
	faster      = 1.4   // game seconds per real second at the speed "Faster"
	firstScaled = 34784 // from this build on, sc2reader divides the length of the game by faster
)

// Blizzard returns a user's actions per minute as Blizzard's client counts them: every click and key press, of which a replay
// holds only a part. The number comes from the summary that clients add to replays since version 3.7. ok is false without one.
func (a *ActionsPerMinute) Blizzard(user uint32) (perMinute float64, ok bool) {
	perMinute, ok = a.blizzard[user]
	return perMinute, ok
}

// SC2Reader returns a user's actions per minute as sc2reader's APMTracker computes them (avg_apm). It counts orders, changes of
// their targets, selections and uses of control groups, per minute at the speed "Faster". It returns 0 for a user without
// actions.
func (a *ActionsPerMinute) SC2Reader(user uint32) float64 {
	seconds, ok := a.left[user]
	if !ok {
		seconds = a.seconds
	}
	if seconds == 0 {
		return 0
	}
	return float64(a.actions[user]) * faster / float64(seconds) * 60
}
