// Package replayd reads typed events of game replays from a replayd daemon: of files, of files that a game server is
// still writing, and of files that the program itself has.
//
//	client, err := replayd.Dial("localhost:7171")
//	if err != nil {
//		return err
//	}
//	defer client.Close()
//	req := &replaydv1.StreamEventsRequest{Replay: "samples/my.teehistorian", Include: replayd.Kinds("join", "drop")}
//	for event, err := range client.Events(ctx, req) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(event.Tick, event.Kind, event)
//	}
//
// # Requests
//
// What to stream is said by the generated replaydv1.StreamEventsRequest: which replay, where to start, whether to
// follow it while it grows, which events. Its comments, and docs/guarantees.md, say what is promised.
//
// # Events
//
// An [Event] knows its number, its tick and its kind. [Event.Value] is the kind's generated message:
//
//	switch v := event.Value().(type) {
//	case *teehistorianv1.PlayerDiff:
//		fmt.Println(v.GetClientId(), v.GetX(), v.GetY())
//	case *teehistorianv1.Join:
//		...
//	}
//
// It is unmarshalled when it is asked for, so look at Kind first where only some events matter, or better let the
// daemon filter. [Event.Unmarshal] uses a message again, without allocating. Events of Source 2 demos name classes and
// fields by numbers: [Event.StringAt] is the name.
//
// # Batches and columns
//
// Events come in batches. [Client.Batches] hands these out, with the cursor behind each: store it with what became of
// the events, and the program goes on exactly there when it is started again.
//
// Who wants numbers by the million asks for ENCODING_COLUMNS: frequent and uniform kinds then come as arrays, one for
// each field, and [Columns] decodes those that are wanted:
//
//	for batch, err := range client.Batches(ctx, req) {
//		...
//		if c := batch.Columns("player_diff"); c != nil {
//			xs, err = c.AppendInt32(xs[:0], "x")
//			ys, err = c.AppendInt32(ys[:0], "y")
//		}
//	}
//
// [Batch.Events] still gives all events one by one, in their order.
//
// # Trouble
//
// A stream that has begun goes on by itself, behind the last event, when the daemon is restarted, when the connection
// breaks, and when nothing was heard for three heartbeats; [Retry] says how. What trying again would not cure ends the
// loop with an [*Error]. Events before a damaged place have been handed out by then.
//
// [Client.Stream] gives the same events, and says what else is known: what is streamed, gaps, states, how it ended.
// [Stream.Responses] hands out all that the daemon says.
//
// # Ownership and concurrency
//
// A [Client] is safe for concurrent use, a [Stream] belongs to the goroutine that loops over it. Batches and Events
// never change and may be kept and shared; an Event keeps its whole batch alive, some 10 KiB.
package replayd
