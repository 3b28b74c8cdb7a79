package decoders

import (
	"errors"
	"io"
	"iter"
)

// Decoder is what the decoders of all formats have in common. E is the event struct of the format, such as dem.Event. See
// the contract in the package documentation.
//
// A decoder is not safe for concurrent use.
type Decoder[E any] interface {
	// Next decodes the next event into ev. The caller owns ev and may reuse it: what it refers to is valid until the next
	// call. Next returns ErrMore when the bytes present hold no further whole record, io.EOF after the last event, an
	// *Error when decoding cannot go on, and other errors of the source as they are.
	Next(ev *E) error
	// Position returns where the next event is, or a place before it with no event in between.
	Position() Position
	// Tick returns the tick of the last event, in the unit of the format. Formats without time return 0.
	Tick() int32
	// Close returns nil when the replay is complete, and otherwise the error that says what is missing. It is called when no
	// more bytes will come: when Next has returned ErrMore or io.EOF. It frees nothing.
	Close() error
}

// All returns an iterator over the remaining events of d. Each pair has an event and no error, but for the last pair of a
// replay that is damaged or incomplete: it has no event, and the error of Next or Close.
//
// All is for replays that do not grow: it takes the end of the bytes present for the end of the replay. The event is the
// same struct each time; what it refers to is valid until the next iteration. Breaking out of the loop leaves d behind
// the event that was yielded last.
func All[E any](d Decoder[E]) iter.Seq2[*E, error] {
	return func(yield func(*E, error) bool) {
		var ev E
		for {
			err := d.Next(&ev)
			switch {
			case err == nil:
				if !yield(&ev, nil) {
					return
				}
				continue
			case errors.Is(err, io.EOF):
				return
			case errors.Is(err, ErrMore):
				err = d.Close()
			}
			if err != nil {
				yield(nil, err)
			}
			return
		}
	}
}
