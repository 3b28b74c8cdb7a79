package opened

import (
	"context"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/filter"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/replay/table"
	"github.com/replayd/replayd/replay/table/arrowipc"
	"github.com/replayd/replayd/replay/where"
	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/describe"
	"github.com/replayd/replayd/service/fault"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/scope"
	"github.com/replayd/replayd/service/stream"
)

// wanted is the selection of a request for one replay.
type wanted struct {
	info    source.Info
	codec   *codec.Codec
	options codec.Options
	tables  *stream.Tables // nil for rows
	req     *replaydv1.StreamEventsRequest
	ahead   bool // see stream.Replay.Ahead
}

// wantedOf returns the selection of a request for the replay in a file. It reads nothing of the file. whole says that the replay
// is streamed in its present state.
func wantedOf(file *source.File, q *request, secrets codec.Secrets, whole bool) (*wanted, error) {
	if err := file.Recognized(); err != nil {
		return nil, err
	}
	info := file.Info()
	c, err := describe.CodecOf(info.Format)
	if err != nil {
		return nil, err
	}
	return ofCodec(c, info, q, secrets, whole)
}

// Check returns the error that a request for any replay of a format gets, whatever is in it, or nil.
func Check(ctx context.Context, req *replaydv1.StreamEventsRequest, c *codec.Codec) error {
	q, err := requestOf(ctx, req)
	if err != nil {
		return err
	}
	_, err = ofCodec(c, source.Info{Format: c.Format}, q, codec.Secrets{}, false)
	return err
}

// ofCodec returns the selection of a request for a replay of a format.
func ofCodec(c *codec.Codec, info source.Info, q *request, secrets codec.Secrets, whole bool) (w *wanted, err error) {
	if q.req.GetResolvePlayers() && !c.ResolvesPlayers {
		return nil, fault.BadRequest("resolve_players", fmt.Sprintf("events of format %v cannot be resolved: GetReplay has its players", info.Format))
	}
	w = &wanted{info: info, codec: c, req: q.req, options: codec.Options{Secrets: secrets, ResolvePlayers: q.req.GetResolvePlayers()}}
	if q.State || q.Start.Cursor != nil && q.Start.Cursor.State {
		w.options.Filter, w.options.StateFilter, err = filter.CompileWithState(&c.Filters, q.req.GetInclude(), q.req.GetExclude())
	} else {
		w.options.Filter, err = filter.Compile(&c.Filters, q.req.GetInclude(), q.req.GetExclude())
	}
	if err != nil {
		return nil, err
	}
	if err := checkFieldColumns(c, q.req); err != nil {
		return nil, err
	}
	if w.tables, err = tablesOf(c, w.options.Filter, q, whole); err != nil || q.req.GetWhere() == "" {
		return w, err
	}
	x, err := where.Compile(c, w.options.Filter, q.req.GetWhere())
	if err != nil {
		return nil, err
	}
	w.options.Where = x
	w.options.Filter, err = w.options.Filter.Only(&c.Filters, x.May)
	return w, err
}

// kept returns the selection of a request for the replay in a file that the daemon has. It charges the call's ticket for the
// memory of unpacking the file, which the file's Close returns.
func (o *Opener) kept(ctx context.Context, file *source.File, q *request, whole bool) (*wanted, error) {
	info := file.Info()
	if err := scope.Seen(ctx, info.Name, info.Format); err != nil {
		return nil, err
	}
	spend(ctx, file)
	w, err := wantedOf(file, q, o.Secrets, whole)
	if err != nil {
		return nil, err
	}
	w.ahead = !file.Waits() // only the stream's own goroutine may wait for bytes
	w.options.Roster = roster(ctx, w.codec, o.Index.Family(info.Name, scope.Of(ctx)))
	w.options.Checkpoints = o.checkpointsOf(file, w.codec)
	w.options.Map = func(r *replaydv1.Replay, use func(file io.ReaderAt, size int64) error) error {
		return o.Map(ctx, r, use)
	}
	return w, nil
}

// fileKey is a file under one of its names.
type fileKey struct {
	id   source.ID
	name string
}

func fileKeyOf(info *source.Info) fileKey { return fileKey{info.ID, info.Name} }

// checkpointKey identifies the replay in a file. The file may get other contents under the same name and id.
type checkpointKey struct {
	file     fileKey
	identity string
}

// roster returns the function for codec.Options.Roster, nil for formats without rosters.
func roster(ctx context.Context, c *codec.Codec, family index.Family) func(*replaydv1.Replay) []byte {
	if c.CarryRoster == nil {
		return nil
	}
	return func(r *replaydv1.Replay) []byte { return family.Roster(ctx, c.Lineage(r).Previous) }
}

// tablesCost is the memory that a stream of tables needs beyond that of one of rows, in full batches: for columns, which append
// makes larger than necessary, and for encoded tables, of which one waits to be sent.
const tablesCost = 4

// tablesOf returns the configuration of the tables that a request asks for, nil if it asks for rows.
func tablesOf(c *codec.Codec, f *filter.Filter, q *request, whole bool) (*stream.Tables, error) {
	req := q.req
	compression := req.GetArrowCompression()
	if _, known := replaydv1.ArrowCompression_name[int32(compression)]; !known {
		return nil, fault.BadRequest("arrow_compression", "is unknown")
	}
	switch req.GetEncoding() {
	case replaydv1.Encoding_ENCODING_UNSPECIFIED, replaydv1.Encoding_ENCODING_ROWS:
		if compression != replaydv1.ArrowCompression_ARROW_COMPRESSION_UNSPECIFIED {
			return nil, fault.BadRequest("arrow_compression", "needs ENCODING_ARROW")
		}
		if len(req.GetColumns()) > 0 {
			return nil, fault.BadRequest("columns", "needs ENCODING_ARROW")
		}
		if req.GetNarrowColumns() {
			return nil, fault.BadRequest("narrow_columns", "needs ENCODING_ARROW")
		}
		return nil, nil
	case replaydv1.Encoding_ENCODING_ARROW:
	default:
		return nil, fault.BadRequest("encoding", "is unknown")
	}
	layout := c.Tables.Layout(req.GetResolvePlayers())
	if !req.GetFieldColumns() { // otherwise the file tells the columns
		var err error
		if layout, err = Layout(c.Tables, f.Kind, req); err != nil {
			return nil, err
		}
	}
	t := &stream.Tables{Layout: layout, Bytes: stream.DefaultTableBytes, Encoder: &arrowipc.Encoder{
		Compress: q.compress, Narrow: req.GetNarrowColumns(),
	}}
	if whole { // other streams may last long, and need few large batches
		t.Bytes = stream.TableBytes(c, layout, f.Kind)
	}
	return t, nil
}

// Compresses reports whether tables are compressed for a request. For a call from this machine that takes longer than sending them.
func Compresses(ctx context.Context, req *replaydv1.StreamEventsRequest) bool {
	switch req.GetArrowCompression() {
	case replaydv1.ArrowCompression_ARROW_COMPRESSION_UNSPECIFIED:
		return !access.UseOf(ctx).Near()
	case replaydv1.ArrowCompression_ARROW_COMPRESSION_NONE:
		return false
	default:
		return true
	}
}

// maxColumns limits the columns that a request names.
const maxColumns = 256

// Layout returns the layout of the tables that a request asks for, of all that there are. of reports the kinds that it is for.
func Layout(all *table.Format, of func(kind uint8) bool, req *replaydv1.StreamEventsRequest) (*table.Layout, error) {
	l := all.Layout(req.GetResolvePlayers())
	switch n := len(req.GetColumns()); {
	case n == 0:
		return l, nil
	case n > maxColumns:
		return nil, fault.BadRequest("columns", fmt.Sprintf("has more than %d names", maxColumns))
	}
	some, err := l.Select(req.GetColumns(), of)
	if err != nil {
		return nil, fault.BadRequest("columns", err.Error())
	}
	return some, nil
}

// Choose makes a request one for the table of that name: of a kind; if it begins with an upper-case letter, as no kind does, of a class of
// entities, with a column for each field; or of the game events with the name behind game_event and a dot, with a column for each key.
func Choose(req *replaydv1.StreamEventsRequest, name string) {
	if len(req.GetInclude()) == 0 {
		req.Include = []*replaydv1.EventFilter{{}}
	}
	in := req.GetInclude()[0]
	in.Kinds = []string{name}
	event, ofEvent := strings.CutPrefix(name, gameEvents+".")
	first, _ := utf8.DecodeRuneInString(name)
	if !ofEvent && !unicode.IsUpper(first) {
		return
	}
	if in.Dem == nil {
		in.Dem = &replaydv1.DemFilter{}
	}
	if ofEvent {
		in.Kinds, in.Dem.Types, req.FieldColumns = []string{gameEvents}, []string{event}, true
		return
	}
	in.Dem.Classes = []string{name}
	Widen(req)
}

// Widen makes a request that selects classes of entities one for the table of them with a column for each field.
func Widen(req *replaydv1.StreamEventsRequest) {
	req.GetInclude()[0].Kinds, req.FieldColumns = []string{sampledEntities}, true
}

// The kinds of which there may be a column for each field, or for each key.
const (
	sampledEntities = "sample_entity"
	gameEvents      = "game_event"
)

// checkFieldColumns checks a request for a column for each field, whatever is in the replay.
func checkFieldColumns(c *codec.Codec, req *replaydv1.StreamEventsRequest) error {
	if !req.GetFieldColumns() {
		return nil
	}
	var problem string
	in := req.GetInclude()
	of := func(kind string) bool {
		return len(in) == 1 && len(in[0].GetKinds()) == 1 && in[0].GetKinds()[0] == kind
	}
	switch {
	case c.Widen == nil:
		problem = "only demos have fields of entities, and game events"
	case req.GetEncoding() != replaydv1.Encoding_ENCODING_ARROW:
		problem = "needs ENCODING_ARROW"
	case !of(sampledEntities) && !of(gameEvents):
		problem = "needs one include filter, of the kind " + sampledEntities + " or " + gameEvents + " alone"
	case of(sampledEntities) && len(in[0].GetDem().GetClasses()) == 0:
		problem = "needs classes of entities in the filter"
	case of(gameEvents) && len(in[0].GetDem().GetTypes()) != 1:
		problem = "needs one type of game events in the filter"
	case req.GetFollowSuccessors():
		problem = "is not possible with follow_successors: the next replay may have other fields"
	case req.GetStart().GetWithState():
		problem = "is not possible with a state, whose table has a list of fields"
	default:
		return nil
	}
	return fault.BadRequest("field_columns", problem)
}

// widen sets the layout of tables with a column for each field, of which it reads the types in the input. It returns an input to go on
// with.
func (w *wanted) widen(in source.Input) (source.Input, error) {
	in, all, err := w.codec.Widen(in, w.options.Filter, w.req.GetInclude()[0].GetDem())
	if err != nil {
		return in, err
	}
	w.tables.Layout, err = Layout(all, w.options.Filter.Kind, w.req)
	return in, err
}

// widenCost is the memory for what is read of an input that can be read only once, to be read again.
const widenCost = 16 << 20
