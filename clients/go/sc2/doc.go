// Package sc2 computes facts of StarCraft II replays from several events: players' selections and control groups, actions per
// minute, and the units alive.
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
// Pass every event to each helper, in order. The helper's comment lists the kinds that it needs. The stream must start at the
// beginning of the replay, or, for a [GameState], with the state. The zero values are ready for use. A helper must not be used
// by several goroutines at once. Helpers keep parts of the messages, so do not modify a message that was passed to one.
package sc2
