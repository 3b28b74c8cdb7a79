package xz

import (
	"fmt"

	"github.com/replayd/replayd/decoders"
)

// Error is why what is there of a file cannot be unpacked.
type Error struct {
	// Kind is decoders.ErrCorrupt; ErrUnsupported for a filter other than LZMA2 and for flags that are not defined; or
	// ErrLimit for a dictionary that is larger than allowed, or that would cost much more than the file is long.
	Kind error
	// Detail says it to people, in a few words about "it", the file.
	Detail string
}

func (e *Error) Error() string { return fmt.Sprintf("xz: %v: %s", e.Kind, e.Detail) }

// Unwrap returns the kind.
func (e *Error) Unwrap() error { return e.Kind }

func corrupt(detail string) error { return &Error{decoders.ErrCorrupt, detail} }
