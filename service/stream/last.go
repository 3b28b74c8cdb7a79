package stream

import (
	"errors"
	"io"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/replay/codec"
)

// counting limits how many streams look for their last events at once: each may take 16 MiB for a million positions.
var counting = make(chan struct{}, 4)

// findLast returns the position of the first of the last n events that match the filter, up to the present end. It decodes from
// checkpoints further and further back until n events follow, and finally from the beginning.
func (s *stream) findLast(options codec.Options, n int) (decoders.Position, error) {
	points, err := s.checkpoints(options)
	if err != nil {
		return decoders.Position{}, err
	}
	from := int64(-1) // look for a checkpoint before this offset; -1: anywhere
	for step := 1; ; step *= 2 {
		start := decoders.Position{}
		if points != nil {
			for range step {
				c, ok := points.Last(func(c *codec.Checkpoint) bool {
					return from < 0 || c.Position.Offset < from
				})
				if start = (decoders.Position{}); !ok {
					break
				}
				start, from = c.Position, c.Position.Offset
			}
		}
		options.Start.Position = start
		at, enough, err := s.countLast(options, n)
		if err != nil || enough || start == (decoders.Position{}) {
			return at, err
		}
	}
}

// checkpoints returns the checkpoints of the replay that the file holds now, nil if none are kept.
func (s *stream) checkpoints(options codec.Options) (codec.Checkpoints, error) {
	if options.Checkpoints == nil {
		return nil, nil
	}
	r, err := s.replay.Open(options)
	if err != nil {
		return nil, err
	}
	if err := s.header(r); err != nil {
		return nil, err
	}
	return options.Checkpoints(s.replay.Info.GetIdentity()), nil
}

// countLast decodes from the options' start to the present end. It returns the position of the first of the last n events,
// and whether there are n.
func (s *stream) countLast(options codec.Options, n int) (at decoders.Position, enough bool, err error) {
	options.Tables, options.State = nil, false // only marks are needed
	r, err := s.replay.Open(options)
	if err != nil {
		return at, false, err
	}
	if err := s.header(r); err != nil {
		return at, false, err
	}
	if how, err := s.present(r.Seek); err != nil || how != done {
		return r.Position(), false, err
	}
	select {
	case counting <- struct{}{}:
		defer func() { <-counting }()
	case <-s.canceled:
		return at, false, s.ctx.Err()
	}
	// For each of the last n events: the position after the event delivered before it.
	ring, oldest := make([]decoders.Position, 0, min(n, 4096)), 0
	reached := r.Position()
	batch := codec.Batch{KeepMarks: true, MaxEvents: MaxBatchEvents, MaxBytes: batchBytes}
	for {
		how, err := s.present(func() error { return r.Fill(&batch) })
		for i := range batch.Marks {
			if len(ring) < n {
				ring = append(ring, reached)
			} else {
				ring[oldest] = reached
				oldest = (oldest + 1) % n
			}
			reached = batch.Marks[i].Next
		}
		batch.Reset()
		switch {
		case err != nil:
			return at, false, err
		case how == done:
		case len(ring) == 0:
			return r.Position(), false, nil
		default:
			return ring[oldest], len(ring) == n, nil
		}
	}
}

// present calls f until it succeeds or reaches the present end. Damage counts as an end: delivery reaches it again and reports
// it.
func (s *stream) present(f func() error) (outcome, error) {
	for {
		if err := s.ctx.Err(); err != nil {
			return over, err
		}
		err := f()
		_, damaged := errors.AsType[*decoders.Error](err)
		switch {
		case err == nil:
			return done, nil
		case errors.Is(err, codec.ErrYield):
		case damaged, errors.Is(err, decoders.ErrMore), errors.Is(err, codec.ErrDone), errors.Is(err, io.EOF):
			return over, nil
		default:
			return over, err
		}
	}
}
