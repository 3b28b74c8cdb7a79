package teehistorian

import (
	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders"
	conclude "github.com/replayd/replayd/decoders/teehistorian/facts"
	teehistorianv1 "github.com/replayd/replayd/proto/replayd/teehistorian/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/filter"
)

// Codec is the format's codec.
var Codec = codec.Codec{
	Format:          decoders.Teehistorian,
	Filters:         filter.Format{Name: "teehistorian file", Kinds: properties.Describe(Kinds), SampleTicks: ticksPerSecond},
	NewEventList:    func() proto.Message { return new(teehistorianv1.EventList) },
	FactsVersion:    conclude.Version,
	Tables:          &Tables,
	LeavesRows:      true,
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
	Describe:        codec.DescribeBy(open), // all facts but those of the header need the rest to be decoded
}

// cost returns the memory that a reader needs: the input buffer, the header, and the state of the clients.
func cost(int64) int64 { return 192 << 10 }
