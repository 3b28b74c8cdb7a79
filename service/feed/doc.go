// Package feed shares the work on a live replay: however many clients follow it, the file is read once, decoded once and
// encoded once.
//
// A Feed decodes without a filter and keeps the last few MiB of encoded events as segments, each event with what filters
// ask of it. A Reader is one subscriber's view: it implements codec.Reader by copying the events that its filter lets
// through out of the segments. Nothing is encoded again.
//
// A subscriber that waits need not be woken for every tick. It can leave a function with the feed (see codec.Pusher), which
// the feed's goroutine calls for each new segment.
//
// A Reader that is not (or no longer) where the segments are reads the file by itself, by the format's own reader, until
// it gets there: the file is the log, so no subscriber loses anything or slows another. Segments never change once they
// are published, so no lock is held while a subscriber works with them; the garbage collector frees a segment when the
// last subscriber has left it.
package feed
