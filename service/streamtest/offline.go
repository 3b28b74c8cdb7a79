package streamtest

import (
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/filter"
	"github.com/replayd/replayd/replay/source"
)

// Offline decodes a whole replay at once, only with the format's codec, and returns the events that a stream must deliver.
// For a damaged replay it returns the events before the damage, and the error.
func Offline(c *codec.Codec, in source.Input, include, exclude []*replaydv1.EventFilter) (Replay, error) {
	var o codec.Options
	var err error
	if o.Filter, err = filter.Compile(&c.Filters, include, exclude); err != nil {
		return Replay{}, err
	}
	return decode(c, in, o)
}

func decode(c *codec.Codec, in source.Input, o codec.Options) (Replay, error) {
	var replay Replay
	r, err := c.Open(in, o)
	if err != nil {
		return replay, err
	}
	var info replaydv1.Replay
	if err := again(func() error { return r.Header(&info) }); err != nil {
		return replay, fmt.Errorf("header: %w", err)
	}
	replay.Identity = info.GetIdentity()
	if err := again(r.Seek); err != nil {
		return replay, fmt.Errorf("seek: %w", err)
	}
	list, err := listField(c)
	if err != nil {
		return replay, err
	}
	var read canon
	b := codec.Batch{MaxEvents: 1000, MaxBytes: 1 << 20}
	for {
		err := again(func() error { return r.Fill(&b) })
		at := &batch{field: list, list: append(b.Events, b.Tail...)}
		events, bad := read.events(at)
		if bad == nil {
			bad = at.readPlaces(b.Places.Append(nil))
		}
		if bad != nil {
			return replay, bad
		}
		replay.Events = append(replay.Events, events...)
		for i := range at.offsets {
			replay.At = append(replay.At, decoders.Position{Offset: at.offsets[i], Index: at.indexes[i]})
		}
		b.Reset()
		switch {
		case err == nil:
		case errors.Is(err, codec.ErrDone):
			replay.End = replaydv1.EndReason_END_REASON_RANGE_DONE
			return replay, nil
		case errors.Is(err, io.EOF):
			replay.End = replaydv1.EndReason_END_REASON_FINISHED
			return replay, nil
		case errors.Is(err, decoders.ErrMore):
			replay.End = replaydv1.EndReason_END_REASON_FINISHED
			if err := r.Close(); errors.Is(err, decoders.ErrTruncated) {
				replay.End = replaydv1.EndReason_END_REASON_TRUNCATED
			} else if err != nil {
				return replay, err
			}
			return replay, nil
		default:
			return replay, err
		}
	}
}

func again(f func() error) error {
	for {
		if err := f(); !errors.Is(err, codec.ErrYield) {
			return err
		}
	}
}

// Describe returns a replay's description.
func Describe(c *codec.Codec, in source.Input) (*replaydv1.Replay, error) {
	r := new(replaydv1.Replay)
	return r, c.Describe(context.Background(), in, r)
}

// listField returns the field of EventBatch that holds a format's events.
func listField(c *codec.Codec) (protowire.Number, error) {
	name := c.NewEventList().ProtoReflect().Descriptor().FullName()
	all := (*replaydv1.EventBatch)(nil).ProtoReflect().Descriptor().Fields()
	for i := range all.Len() {
		if f := all.Get(i); f.Message() != nil && f.Message().FullName() == name {
			return f.Number(), nil
		}
	}
	return 0, fmt.Errorf("EventBatch has no field for %s", name)
}
