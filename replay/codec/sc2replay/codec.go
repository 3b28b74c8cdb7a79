package sc2replay

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/sc2replay"
	"github.com/replayd/replayd/decoders/sc2replay/facts"
	sc2replayv1 "github.com/replayd/replayd/proto/replayd/sc2replay/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/filter"
	"github.com/replayd/replayd/replay/source"
)

// Codec is the format's codec.
var Codec = codec.Codec{
	Format:       decoders.SC2Replay,
	Filters:      filter.Format{Name: "StarCraft II replay", Kinds: properties.Describe(Kinds), SampleTicks: 16, Least: leastNumbers},
	NewEventList: func() proto.Message { return new(sc2replayv1.EventList) },
	FactsVersion: facts.Version,
	Tables:       &Tables,
	LeavesRows:   true,
	RandomAccess: true,
	Cost:         cost,
	DescribeCost: describeCost,
	Open:         open,
	Report:       report,
	Describe:     describe,
}

// cost returns the memory that a reader needs for all events, unpacked. They are compressed to a tenth of their size at most.
func cost(size int64) int64 { return 1<<20 + min(32*max(size, 0), 64<<20) }

// describeCost returns the memory that describe needs for the header and the small members. The memory for searching a damaged
// archive is requested only when it is needed.
func describeCost(size int64) int64 { return 2<<20 + min(max(size, 0), 4<<20) }

// settled opens a replay. It unpacks the event streams, with memory more bytes, only if they are needed to find the right table
// or the players; otherwise they are nil.
func settled(in source.Input, memory int64) (*sc2replay.Replay, *sc2replay.Unpacked, error) {
	p, err := sc2replay.OpenWithin(in.At, in.Size, in.Memory)
	if err != nil || p.Settled() {
		return p, nil, err
	}
	if err := in.Memory(memory); err != nil {
		return nil, nil, err
	}
	unpacked, err := p.Unpack()
	if err != nil {
		return nil, nil, err
	}
	p = unpacked.Replay()
	return p, unpacked, nil
}

// describe reads the header and the small members, and the event streams only as far as settled does.
func describe(ctx context.Context, in source.Input, r *replaydv1.Replay) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p, _, err := settled(in, max(cost(in.Size)-describeCost(in.Size), 0))
	if err != nil {
		return err
	}
	if err := addHeader(r, p, in); err != nil {
		return err
	}
	return p.Damage
}
