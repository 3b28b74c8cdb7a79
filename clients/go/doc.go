// Package replayd reads typed events of game replays from a replayd daemon. A replay may be a finished file, a file that a game
// server is still writing, or a file that the program uploads.
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
// The generated replaydv1.StreamEventsRequest selects the replay to stream, where to start, whether to follow the replay while
// it grows, and which events to send. Its comments and docs/guarantees.md describe the guarantees.
//
// # Events
//
// An [Event] has a sequence number, a tick and a kind. [Event.Value] returns the kind's generated message:
//
//	switch v := event.Value().(type) {
//	case *teehistorianv1.PlayerDiff:
//		fmt.Println(v.GetClientId(), v.GetX(), v.GetY())
//	case *teehistorianv1.Join:
//		...
//	}
//
// Each call unmarshals the message. If only some events matter, check Kind first, or better, let the daemon filter.
// [Event.Unmarshal] reuses a message and does not allocate. Events of Source 2 demos name classes and fields by numbers;
// [Event.StringAt] returns the name of a number.
//
// # Batches and tables
//
// Events arrive in batches. [Client.Batches] yields each batch with the cursor after it. Store the cursor together with the
// results of the events, and a restarted program resumes exactly there.
//
// Programs that compute over many events should request ENCODING_ARROW. Events then arrive as record batches of Apache Arrow, one
// table for each kind: see [Batch.Tables]. A table's schema followed by its data is an IPC stream for any Arrow library.
//
// # Errors
//
// A stream that has begun is resumed after the last event when the daemon restarts, when the connection breaks, and when no
// response arrives for three heartbeats. [Retry] configures this. Any other error ends the loop with an [*Error]. If the replay
// is damaged, all events before the damage are yielded first.
//
// [Client.Stream] yields the same events and also reports which replay is streamed, gaps, states, and how the stream ended.
// [Stream.Responses] yields all responses of the daemon.
//
// # Ownership and concurrency
//
// A [Client] is safe for concurrent use. A [Stream] belongs to the goroutine that loops over it. Batches and Events are
// immutable and may be kept and shared. An Event keeps its whole batch in memory, at most
// some 130 KiB.
package replayd
