package codectest

import (
	"bytes"
	"errors"
	"io"
	"testing"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/codec"
	"github.com/replayd/replayd/service/source"
)

// Input is a replay's bytes as a codec takes them.
func Input(data []byte) source.Input {
	return source.Input{At: bytes.NewReader(data), Size: int64(len(data))}
}

// Open returns a reader of a replay's bytes that has read the header.
func Open(tb testing.TB, c codec.Codec, data []byte, o codec.Options) codec.Reader {
	tb.Helper()
	r, err := c.Open(Input(data), o)
	if err != nil {
		tb.Fatal(err)
	}
	if err := r.Header(new(replaydv1.Replay)); err != nil {
		tb.Fatal(err)
	}
	return r
}

// Seek seeks to where delivery starts, however long that takes.
func Seek(r codec.Reader) error {
	for {
		if err := r.Seek(); !errors.Is(err, codec.ErrYield) {
			return err
		}
	}
}

// Read seeks, and reads all in batches of at most so many events. It returns the events' wire bytes, their marks with End
// counted in those bytes, and the error that ended it: io.EOF also when nothing more can match the filter.
func Read(tb testing.TB, r codec.Reader, batch int) (events []byte, marks []codec.Mark, err error) {
	tb.Helper()
	if err := Seek(r); err != nil {
		return nil, nil, err
	}
	b := codec.Batch{MaxEvents: batch, MaxBytes: 256 << 10, KeepMarks: true}
	for {
		err := r.Fill(&b)
		if b.Count != len(b.Marks) || b.Count > batch {
			tb.Fatalf("a batch of %d has %d events and %d marks", batch, b.Count, len(b.Marks))
		}
		for _, m := range b.Marks {
			m.End += len(events)
			marks = append(marks, m)
		}
		events = append(events, b.Events...)
		b.Reset()
		if errors.Is(err, codec.ErrDone) {
			err = io.EOF
		}
		if err != nil && !errors.Is(err, codec.ErrYield) {
			return events, marks, err
		}
	}
}
