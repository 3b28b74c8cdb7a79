package dem

import (
	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/dem"
	demv1 "github.com/replayd/replayd/proto/replayd/dem/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/codec"
	"github.com/replayd/replayd/service/filter"
	"github.com/replayd/replayd/service/source"
)

// Codec is the format for the daemon. Batches bring the names that their events refer to, so that the work of one stream
// is not another's.
var Codec = codec.Codec{
	Format:       decoders.Dem,
	Filters:      filter.Format{Name: "Source 2 demo", Kinds: properties.Describe(Kinds)},
	Lacks:        lacks,
	NewEventList: func() proto.Message { return new(demv1.EventList) },
	Cost:         func(size int64) int64 { return 8<<20 + min(size/2, 24<<20) },
	Open:         newOpener(),
	Describe:     describe,
}

// newOpener returns a function that opens readers which share compiled schemas: files of one build of a game have the
// same.
func newOpener() func(source.Input, codec.Options) (codec.Reader, error) {
	schemas := new(dem.Schemas)
	types := &firstTypes{schemas: schemas}
	return func(in source.Input, o codec.Options) (codec.Reader, error) { return open(in, o, schemas, types) }
}

// lacks reports whether demos of a replay's game have no events of a kind.
func lacks(r *replaydv1.Replay, kind uint8) bool {
	told := r.GetDem().GetFileHeader()
	h := dem.FileHeader{Game: []byte(told.GetGame()), GameDirectory: []byte(told.GetGameDirectory())}
	return !h.Has(dem.Kind(kind))
}
