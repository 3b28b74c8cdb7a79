package decoders

import (
	"errors"
	"fmt"
)

// ErrMore reports that the bytes present hold no further whole record. The package documentation describes the
// contract.
var ErrMore = errors.New("more bytes are needed")

// The kinds of failure, for use with errors.Is. Every *Error wraps exactly one of them.
var (
	// ErrTruncated means that the bytes end inside a record, or before the end that the format announces.
	ErrTruncated = errors.New("truncated")
	// ErrCorrupt means that the bytes contradict the format.
	ErrCorrupt = errors.New("corrupt")
	// ErrUnsupported means that this version or variant of the format is not decoded.
	ErrUnsupported = errors.New("unsupported")
	// ErrLimit means that decoding would exceed a limit on memory, size or work.
	ErrLimit = errors.New("limit exceeded")
)

// NoTick is the Tick of an Error, or of an event, that has no tick.
const NoTick = -1 << 31

// Error describes why a decoder stopped.
type Error struct {
	Format Format
	// Offset is the byte offset, in the decompressed replay, at which the record in question starts.
	Offset int64
	// Tick is the tick at which decoding stopped, or NoTick.
	Tick int32
	// What names the element that could not be read, such as "header" or "varint of EX".
	What string
	// Err wraps one of ErrTruncated, ErrCorrupt, ErrUnsupported and ErrLimit.
	Err error
}

var _ error = (*Error)(nil)

// Errorf returns an *Error that wraps one of the kinds above and adds a detail: Errorf(Dem, off, NoTick, "packet",
// ErrLimit, "declares %d bytes", n).
func Errorf(f Format, offset int64, tick int32, what string, kind error, detail string, args ...any) *Error {
	return &Error{Format: f, Offset: offset, Tick: tick, What: what, Err: &cause{kind, fmt.Sprintf(detail, args...)}}
}

func (e *Error) Error() string {
	if e.Tick == NoTick {
		return fmt.Sprintf("%v: %s at byte %d: %v", e.Format, e.What, e.Offset, e.Err)
	}
	return fmt.Sprintf("%v: %s at byte %d, tick %d: %v", e.Format, e.What, e.Offset, e.Tick, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// cause is a kind of failure with a detail.
type cause struct {
	kind   error
	detail string
}

func (c *cause) Error() string { return c.kind.Error() + ": " + c.detail }
func (c *cause) Unwrap() error { return c.kind }

// Position is a place in a replay. Positions are totally ordered. Each event has one, and it depends on the replay alone: not on
// the decoder's options, nor on where decoding began. A decoder that starts at a position delivers exactly the events at or after
// it.
type Position struct {
	// Offset is the byte offset, in the decompressed replay, at which the event's record starts.
	Offset int64
	// Index orders the events of one record. It is a multiple of Room for the events that the file contains, which need
	// not have successive multiples. The numbers behind it, up to the next multiple, are the places of what is derived from
	// the event. Samples, which say how things stood before the record, have negative ones. Index is between -1<<53 and 1<<53, so that a
	// float64 can hold it.
	Index int64
}

// Room is the number of places of an event in Position.Index: one for the event, and Room-1 for events that are derived from it.
const Room = 1 << 7

// Own returns the position of the event from which the event at p is derived. It is p for an event that the file contains, and for a
// sample, which is derived from no event.
func (p Position) Own() Position {
	if p.Index > 0 {
		p.Index -= p.Index % Room
	}
	return p
}

// Before reports whether p comes before q.
func (p Position) Before(q Position) bool {
	return p.Offset < q.Offset || p.Offset == q.Offset && p.Index < q.Index
}
