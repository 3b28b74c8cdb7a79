package teehistorian

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/teehistorian"
	conclude "github.com/replayd/replayd/decoders/teehistorian/facts"
	teehistorianv1 "github.com/replayd/replayd/proto/replayd/teehistorian/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/filter"
	"github.com/replayd/replayd/replay/source"
)

// Codec is the format's codec.
var Codec = codec.Codec{
	Format:          decoders.Teehistorian,
	Filters:         filter.Format{Name: "teehistorian file", Kinds: properties.Describe(Kinds), SampleTicks: ticksPerSecond},
	NewEventList:    func() proto.Message { return new(teehistorianv1.EventList) },
	FactsVersion:    conclude.Version,
	Tables:          &Tables,
	Shared:          true,
	ResolvesPlayers: true,
	Lineage:         lineage,
	Survey:          survey,
	CarryRoster:     carryRoster,
	Players:         players,
	Participants:    participants,
	Report:          report,
	Cost:            cost,
	Open:            open,
	Describe:        describe,
}

// cost returns the memory that a reader needs: the input buffer, the header, and the state of the clients.
func cost(int64) int64 { return 192 << 10 }

// describe reads the header. All other facts need the rest to be decoded.
func describe(ctx context.Context, in source.Input, r *replaydv1.Replay) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	src, err := in.From(0)
	if err != nil {
		return err
	}
	d := teehistorian.New(src, teehistorian.Options{})
	h, err := d.Header()
	if errors.Is(err, decoders.ErrMore) {
		err = d.Close()
	}
	if err != nil {
		return err
	}
	addHeader(r, h, false)
	return nil
}
