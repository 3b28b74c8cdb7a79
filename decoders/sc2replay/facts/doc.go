// Package facts concludes what happened in a StarCraft II game from the events of its replay: the lives of units, the steps of
// build orders, fights, economies, whom an order was for, and each player's game in numbers.
//
//	fold := facts.New(replay)
//	var fact sc2replay.Event
//	for ev, err := range decoders.All(replay.Events(sc2replay.Options{})) {
//		...
//		fold.Apply(ev)
//		for fold.Next(&fact) {
//			fmt.Println(fact.AtTick, fact.Kind)
//		}
//	}
//
// A fact follows from the earlier events alone, and stands after the event that completes it: number i of the facts of an event
// at position p has the Index p.Index+1+i. So a replay has the same facts at the same positions, whatever is delivered, and those
// of its beginning are a beginning of those of the whole.
//
// Facts say only what the replay tells, or what follows by a rule that the comments in events.proto name. Where neither holds, a
// field is absent. No fact is made of an end that the decoder did not reach.
//
//	fold.go       Fold: one event after the other
//	unit.go       lives of units
//	build.go      steps of build orders
//	player.go     players' games in numbers
//	match.go      the game as a whole
//	chat.go       messages, and whom they reach
//	economy.go    economies, and times without supply
//	fight.go      fights
//	selection.go  selections, control groups and orders
package facts
