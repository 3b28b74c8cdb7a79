package decoders

import (
	"errors"
	"io"
	"iter"
)

// Decoder is the interface that the decoders of all formats implement. E is the event struct of the format, such as
// dem.Event. The package documentation describes the contract.
//
// A decoder is not safe for concurrent use.
type Decoder[E any] interface {
	// Next decodes the next event into ev. The caller owns ev and may reuse it. Memory that ev refers to is valid
	// until the next call. Next returns ErrMore when the bytes present hold no further whole record. It returns
	// io.EOF after the last event, and an *Error when it cannot continue. It returns other errors of the source
	// unchanged.
	Next(ev *E) error
	// Position returns the position of the next event, or an earlier one with no event in between.
	Position() Position
	// Tick returns the tick of the last event, in the unit of the format. Formats without time return 0.
	Tick() int32
	// Close returns nil when the replay is complete. Otherwise it returns an error that describes what is missing.
	// Call it when no more bytes will arrive, after Next has returned ErrMore or io.EOF. It frees nothing.
	Close() error
}

// All returns an iterator over the remaining events of d. Each pair is an event and a nil error. If the replay is
// damaged or incomplete, the last pair is a nil event and the error of Next or Close.
//
// All is for replays that do not grow: it treats the end of the bytes present as the end of the replay. Every pair
// has the same event struct. Memory that it refers to is valid until the next iteration. After a break, d continues
// behind the event that was yielded last.
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
