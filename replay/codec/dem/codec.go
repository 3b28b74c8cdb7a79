package dem

import (
	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/dem"
	demv1 "github.com/replayd/replayd/proto/replayd/dem/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/filter"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/replay/table"
)

// Codec is the format's codec.
var Codec = codec.Codec{
	Format:       decoders.Dem,
	Filters:      filter.Format{Name: "Source 2 demo", Kinds: properties.Describe(Kinds), SampleTicks: sampleTicks, Least: leastNumbers},
	Lacks:        lacks,
	FactsVersion: dem.FactsVersion,
	NewEventList: func() proto.Message { return new(demv1.EventList) },
	Tables:       &Tables,
	MaxRow:       table.MaxRowBytes,
	Shared:       true,
	Selector:     newSelector,
	Cost:         cost,
	Spacing:      spacing,
	Noted:        true,
	Open:         opener,
	Report:       report,
	Describe:     describe,
	Survey:       survey,
	Players:      players,
	Widen:        widen,
}

// sampleTicks is the number of ticks between samples: a second of Dota, and half of one of the other games.
const sampleTicks = 30

// cost returns the memory that a reader needs for schema, tables and entities, which grow with the length of a game.
func cost(size int64) int64 { return 8<<20 + min(max(size, 0)/2, 24<<20) }

// schemas are compiled schemas, which readers share: files of one build of a game have the same schema.
var schemas = new(dem.Schemas)

// newOpener returns a function that opens readers.
func newOpener() func(source.Input, codec.Options) (codec.Reader, error) {
	types := &firstTypes{schemas: schemas}
	return func(in source.Input, o codec.Options) (codec.Reader, error) { return open(in, o, schemas, types) }
}

// lacks reports whether demos of the replay's game have no events of a kind.
func lacks(r *replaydv1.Replay, kind uint8) bool {
	told := r.GetDem().GetFileHeader()
	h := dem.FileHeader{Game: []byte(told.GetGame()), GameDirectory: []byte(told.GetGameDirectory())}
	return !h.Has(dem.Kind(kind))
}
