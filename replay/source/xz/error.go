package xz

import (
	"fmt"

	"github.com/replayd/replayd/decoders"
)

// Error describes why the bytes of a file cannot be unpacked.
type Error struct {
	// Kind is decoders.ErrCorrupt, ErrUnsupported or ErrLimit. ErrUnsupported means a filter other than LZMA2, or undefined
	// flags. ErrLimit means a dictionary that is larger than allowed, or much larger than the file.
	Kind error
	// Detail is a short message for people. "It" in the message is the file.
	Detail string
}

func (e *Error) Error() string { return fmt.Sprintf("xz: %v: %s", e.Kind, e.Detail) }

// Unwrap returns Kind.
func (e *Error) Unwrap() error { return e.Kind }

func corrupt(detail string) error { return &Error{decoders.ErrCorrupt, detail} }
