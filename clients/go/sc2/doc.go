// Package sc2 computes from the events of StarCraft II replays what takes more than one event to tell: what players have
// selected and what their control groups hold, actions per minute, and which units are alive.
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
// Each helper is told of every event in turn; its comment says which kinds it needs. The stream must begin at the replay's
// beginning, or, for a [GameState], with the state. The zero values are ready for use, by one goroutine at a time. Messages that are handed in must not be changed
// afterwards: units of theirs are kept.
package sc2
