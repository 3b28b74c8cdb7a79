package datafile

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/datafile"
	datafilev1 "github.com/replayd/replayd/proto/replayd/datafile/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/filter"
	"github.com/replayd/replayd/replay/source"
)

// Codec is the format's codec.
var Codec = codec.Codec{
	Format:       decoders.Datafile,
	Filters:      filter.Format{Name: "map", Kinds: properties.Describe(Kinds), Timeless: true, Least: leastNumbers},
	NewEventList: func() proto.Message { return new(datafilev1.EventList) },
	Tables:       &Tables,
	RandomAccess: true,
	Cost:         cost,
	Open:         open,
	Report:       report,
	Describe:     describe,
}

// cost returns the memory that a reader needs: the tables, which are part of the file, and buffers.
func cost(size int64) int64 { return 2<<20 + min(max(size, 0), datafile.DefaultLimits.Tables) }

// describe reads the items and the map's texts, and hashes the file. It inflates nothing else.
func describe(ctx context.Context, in source.Input, r *replaydv1.Replay) error {
	f, err := datafile.Open(in.At, in.Size, datafile.DefaultLimits)
	if err != nil {
		return err
	}
	return addHeader(ctx, f, in, r)
}
