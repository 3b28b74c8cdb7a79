package sc2

import sc2replayv1 "github.com/replayd/replayd/proto/replayd/sc2replay/v1"

// ActionsPerMinute counts actions as two programs do. It needs the kinds start, player_info, cmd, cmd_update_target_point,
// cmd_update_target_unit, selection_delta, control_group_update, game_user_leave and player_leave.
type ActionsPerMinute struct {
	actions  map[uint32]int
	left     map[uint32]int // seconds of the game, when a user left
	blizzard map[uint32]float64
	seconds  int // how long the game took
}

// Apply updates the counts by an event. Events of other kinds change nothing.
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
	gameLoops   = 16    // of a second of the game's own time
	faster      = 1.4   // the speed "Faster"
	firstScaled = 34784 // the first build for which sc2reader takes the game's length by that speed's clock
)

// Blizzard returns a user's actions per minute as Blizzard's client counts them: every click and key, more than a replay
// has. The number comes from the summary that clients add to replays since 3.7; ok is false without one.
func (a *ActionsPerMinute) Blizzard(user uint32) (perMinute float64, ok bool) {
	perMinute, ok = a.blizzard[user]
	return perMinute, ok
}

// SC2Reader returns a user's actions per minute as sc2reader's APMTracker counts them (avg_apm): orders and changes of their
// targets, selections and uses of control groups, by the clock of the speed "Faster". It is 0 for a user without actions.
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
