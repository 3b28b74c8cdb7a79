package decoders

import (
	"errors"
	"fmt"
)

// ErrMore says that the bytes present hold no further whole record. See the contract in the package documentation.
var ErrMore = errors.New("more bytes are needed")

// The kinds of failure, to be matched with errors.Is. Every *Error wraps exactly one of them.
var (
	// ErrTruncated: the bytes end inside a record or before the end that the format announces.
	ErrTruncated = errors.New("truncated")
	// ErrCorrupt: the bytes contradict the format.
	ErrCorrupt = errors.New("corrupt")
	// ErrUnsupported: a version or variant of the format that is not decoded.
	ErrUnsupported = errors.New("unsupported")
	// ErrLimit: decoding would exceed a limit on memory, size or work.
	ErrLimit = errors.New("limit exceeded")
)

// NoTick is the Tick of an Error, or of an event, that belongs to no tick.
const NoTick = -1 << 31

// Error is why a decoder stopped.
type Error struct {
	Format Format
	// Offset is where in the (decompressed) replay the offending record starts, in bytes.
	Offset int64
	// Tick is the replay's clock at the time, or NoTick.
	Tick int32
	// What names the thing that could not be read, such as "header" or "varint of EX".
	What string
	// Err wraps one of ErrTruncated, ErrCorrupt, ErrUnsupported and ErrLimit.
	Err error
}

var _ error = (*Error)(nil)

// Errorf makes an *Error whose cause is one of the kinds above with a detail: Errorf(Dem, off, NoTick, "packet",
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

// Position is a place in a replay. Positions are totally ordered, and every event has one, which depends on the replay
// alone: not on what is wanted of a decoder, nor on where decoding began. A decoder that starts at a position delivers
// exactly the events at that position and behind it.
type Position struct {
	// Offset is where the event's record starts, in bytes of the decompressed replay.
	Offset int64
	// Index orders the events of a record. Events that follow each other need not have consecutive ones. It is below 1<<53,
	// so that it fits a float64.
	Index int64
}

// Before reports whether p comes before q.
func (p Position) Before(q Position) bool {
	return p.Offset < q.Offset || p.Offset == q.Offset && p.Index < q.Index
}
