// Package sc2 computes facts of StarCraft II replays that take more than one event: what players have selected, what their
// control groups hold, actions per minute, and which units are alive.
//
//	var selections sc2.Selections
//	req.Include = replayd.Kinds("selection_delta", "control_group_update", "cmd")
//	for event, err := range client.Stream(ctx, req).Events() {
//		...
//		m := event.Message().(*sc2replayv1.Event)
//		selections.Apply(m)
//		if m.GetCmd() != nil {
//			fmt.Println(event.Tick, m.GetCmd().GetAbil().GetName(), selections.Selected(sc2.User(m)))
//		}
//	}
//
// Pass every event to each helper in turn; the helper's comment says which kinds it needs. The stream must begin at the
// replay's beginning, or, for a [GameState], with the state. The zero values are ready for use, by one goroutine at a time.
// Helpers keep parts of the messages: do not change a message that was passed to one.
package sc2
