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
// The generated replaydv1.StreamEventsRequest says which replay to stream, where to start, whether to follow the replay
// while it grows, and which events to send. Its comments and docs/guarantees.md say what is promised.
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
// Each call unmarshals it, so look at Kind first where only some events matter, or better let the daemon filter.
// [Event.Unmarshal] uses a message again, without allocating. Events of Source 2 demos name classes and fields by numbers:
// [Event.StringAt] returns the name.
//
// # Batches and columns
//
// Events come in batches. [Client.Batches] yields these, with the cursor behind each: store it with what became of the
// events, and a program that is restarted resumes exactly there.
//
// For programs that compute, request ENCODING_COLUMNS: frequent and uniform kinds then come as arrays, one for each field,
// and [Columns] decodes those that are asked for:
//
//	for batch, err := range client.Batches(ctx, req) {
//		...
//		if c := batch.Columns("player_diff"); c != nil {
//			xs, err = c.AppendInt32(xs[:0], "x")
//			ys, err = c.AppendInt32(ys[:0], "y")
//		}
//	}
//
// [Batch.Events] still yields all events one by one, in their order.
//
// # Errors
//
// A stream that has begun is resumed behind the last event when the daemon restarts, when the connection breaks, and when
// nothing came for three heartbeats; [Retry] says how. Any other error ends the loop with an [*Error]. All events before a
// damaged place were yielded by then.
//
// [Client.Stream] yields the same events, and knows more: which replay is streamed, gaps, states, how the stream ended.
// [Stream.Responses] yields all responses of the daemon.
//
// # Ownership and concurrency
//
// A [Client] is safe for concurrent use; a [Stream] belongs to the goroutine that loops over it. Batches and Events never
// change and may be kept and shared; an Event keeps its whole batch in memory, some 10 KiB.
package replayd
