package opened

import (
	"context"
	"fmt"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/filter"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/replay/table"
	"github.com/replayd/replayd/replay/table/arrowipc"
	"github.com/replayd/replayd/replay/where"
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
	ahead   bool           // see stream.Replay.Ahead
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
func Check(req *replaydv1.StreamEventsRequest, c *codec.Codec) error {
	q, err := requestOf(req)
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
	w = &wanted{info: info, codec: c, options: codec.Options{Secrets: secrets, ResolvePlayers: q.req.GetResolvePlayers()}}
	if q.State || q.Start.Cursor != nil && q.Start.Cursor.State {
		w.options.Filter, w.options.StateFilter, err = filter.CompileWithState(&c.Filters, q.req.GetInclude(), q.req.GetExclude())
	} else {
		w.options.Filter, err = filter.Compile(&c.Filters, q.req.GetInclude(), q.req.GetExclude())
	}
	if err != nil {
		return nil, err
	}
	if w.tables, err = tablesOf(c, w.options.Filter, q.req, whole); err != nil || q.req.GetWhere() == "" {
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
	w.options.Checkpoints = o.checkpointsOf(&info, w.codec)
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
func tablesOf(c *codec.Codec, f *filter.Filter, req *replaydv1.StreamEventsRequest, whole bool) (*stream.Tables, error) {
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
	layout, err := Layout(c, f.Kind, req)
	if err != nil {
		return nil, err
	}
	t := &stream.Tables{Layout: layout, Bytes: stream.DefaultTableBytes, Encoder: arrowipc.NewEncoder(arrowipc.Options{
		Compress: compression != replaydv1.ArrowCompression_ARROW_COMPRESSION_NONE, Narrow: req.GetNarrowColumns(),
	})}
	if whole { // other streams may last long, and need few large batches
		t.Bytes = stream.TableBytes(layout, f.Kind)
	}
	return t, nil
}

// maxColumns limits the columns that a request names.
const maxColumns = 256

// Layout returns the layout of the tables that a request asks for. of reports the kinds that it is for.
func Layout(c *codec.Codec, of func(kind uint8) bool, req *replaydv1.StreamEventsRequest) (*table.Layout, error) {
	l := c.Tables.Layout(req.GetResolvePlayers())
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
