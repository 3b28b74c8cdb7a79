// Package feed shares the work on a live replay: however many clients follow it, the file is read once, decoded once and
// encoded once.
//
// A Feed decodes all events, and facts if its subscribers want them, and keeps the last few MiB of encoded events as segments. Beside each event it keeps the
// values that filters match against. A Reader is one subscriber's view. It implements codec.Reader by copying the events that
// its filter matches out of the segments. Nothing is encoded again.
//
// A waiting subscriber need not be woken for every tick. It can register a function with the feed (see codec.Pusher), and
// the feed's goroutine calls it for each new segment.
//
// A Reader whose position is outside the kept segments reads the file itself, with the format's own reader, until it
// reaches them. The file is the log, so no subscriber misses an event or slows another. Segments never change once they
// are published, so no lock is held while a subscriber works with them. The garbage collector frees a segment when the
// last subscriber has left it.
package feed
