// Package facts concludes what happened in a DDNet game from the events of its server's log: who was there, who
// finished the map, who died, what was said and commanded, and how the clients used their keys.
//
//	fold := facts.New(header, facts.Options{Inputs: true})
//	var fact teehistorian.Event
//	for ev, err := range decoders.All(d) {
//		...
//		fold.Apply(ev)
//		for fold.Next(&fact) {
//			fmt.Println(fact.AtTick, fact.Kind)
//		}
//	}
//
// A fact follows from the events before it alone, and stands behind the event that completes it: number i of the facts of an
// event at position p has the Index p.Index+1+i. So a file has the same facts at the same positions, whatever is delivered, and
// those of its beginning are a beginning of those of the whole. They are the same with and without the files of earlier games.
//
// Facts say only what the file tells, or what follows by a rule that the comments in events.proto name. Where neither holds, a
// field is absent. Damage makes the Fold forget what it knew of clients, because records that changed it are lost.
//
// [Fold.Snapshot] saves the state, and [Restore] returns a Fold that continues from it, as those of the decoder do.
//
//	fold.go      Fold: one event after the other
//	client.go    the known facts of each client
//	finish.go    finishes
//	session.go   stays of clients
//	team.go      teams, saved and loaded games
//	death.go     deaths and respawns
//	talk.go      chat, votes, commands
//	inputs.go    statistics of inputs
//	snapshot.go  the state as bytes
package facts
