package streamtest

import (
	"context"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
)

// Opened is a stream.Opened that consists of readers alone: tests of streams give it the function that opens one.
type Opened func(codec.Options) (codec.Reader, error)

// Open implements stream.Opened.
func (o Opened) Open(options codec.Options) (codec.Reader, error) { return o(options) }

// Rest implements stream.Opened.
func (Opened) Rest() error { return nil }

// Await implements stream.Opened.
func (Opened) Await(func(ready <-chan struct{}) error) {}

// Complete implements stream.Opened.
func (Opened) Complete(context.Context, *replaydv1.Replay) error { return nil }

// Close implements stream.Opened.
func (Opened) Close() {}
