package command

import (
	"context"
	"io"

	client "github.com/replayd/replayd/clients/go"
	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/proto/protoscan"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// streaming passes the responses of one stream to each. The stream comes from a daemon or from a local decoder.
type streaming struct {
	target  *Target
	program Program
	in      io.Reader        // the standard input
	reveal  decoders.Secrets // the secrets to reveal; ignored with a daemon
	each    func(client.Response) error
	wire    bool              // it reads only the bytes of responses
	note    func(text string) // prints a note for the user

	cursor []byte // the cursor after the last response that was passed on; empty before the first
	some   bool   // whether the stream had events besides those of a state
}

// run streams until the stream ends. It resumes a daemon's stream that follows, without a time limit. It does not resume other
// streams.
func (s *streaming) run(ctx context.Context, req *replaydv1.StreamEventsRequest) error {
	if s.target.Addr != "" {
		return s.remote(ctx, req)
	}
	return localResponses(ctx, s.program, s.in, req, s.reveal, func(wire []byte) error {
		if s.wire {
			return s.pass(wire)
		}
		r, err := client.ParseResponse(wire)
		if err != nil {
			return err
		}
		return s.response(r)
	})
}

// pass passes on a response that this process has made, and reads only its cursor, and whether it has events.
func (s *streaming) pass(wire []byte) error {
	r := client.Response{Wire: wire}
	for rest := wire; len(rest) > 0; {
		field, left, _ := protoscan.Next(rest)
		switch rest = left; field.Number {
		case protoscan.ResponseCursor:
			r.Cursor = field.Bytes
		case protoscan.ResponseBatch:
			s.some = true
		}
	}
	return s.response(r)
}

func (s *streaming) remote(ctx context.Context, req *replaydv1.StreamEventsRequest) error {
	c, err := s.target.Dial(client.WithRetry(s.retry(req.GetFollow())))
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	stream := c.Stream(ctx, req)
	for r, err := range stream.Responses() {
		if err != nil {
			s.cursor = stream.Cursor()
			return s.target.Explain(err)
		}
		if err := s.response(r); err != nil {
			return err
		}
	}
	return nil
}

// retry returns how to resume a daemon's stream. It notes when the stream breaks and when it resumes.
func (s *streaming) retry(follow bool) client.Retry {
	waiting := false
	return client.Retry{
		Never: !follow, GiveUpAfter: -1,
		OnBreak: func(stream *client.Stream, err *client.Error) bool {
			if stream.Start() == nil { // the stream never began; most likely the address is wrong
				return false
			}
			if !waiting {
				s.note(Message(s.target.Explain(err)) + "; waiting to resume")
			}
			waiting = true
			return true
		},
		OnResume: func(*client.Stream) {
			s.note("resumed")
			waiting = false
		},
	}
}

func (s *streaming) response(r client.Response) error {
	s.some = s.some || r.Batch != nil && !r.Batch.State
	if err := s.each(r); err != nil {
		return err
	}
	if len(r.Cursor) > 0 {
		s.cursor = append(s.cursor[:0], r.Cursor...)
	}
	return nil
}

// resumableError is the error of an interrupted stream, with the cursor that resumes it.
type resumableError struct {
	error

	cursor []byte
}

func (e resumableError) Unwrap() error { return e.error }

// resumable adds the cursor to the error of a stream that the daemon or the user interrupted.
func (s *streaming) resumable(ctx context.Context, follow bool, err error) error {
	if err != nil && len(s.cursor) > 0 && (client.Transient(err) || ctx.Err() != nil && follow) {
		return resumableError{err, s.cursor}
	}
	return err
}
