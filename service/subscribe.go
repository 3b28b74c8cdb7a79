package service

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/filter"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/replay/table"
	"github.com/replayd/replayd/replay/table/arrowipc"
	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/stream"
)

// StreamFile answers a request with the events of a file, as it is now, without a Server. It takes ownership of the file, and closes it.
// version is for the start of the stream. Its errors are those of [stream.Run].
func StreamFile(
	ctx context.Context, file *source.File, req *replaydv1.StreamEventsRequest, secrets codec.Secrets, version string, send stream.Send,
) error {
	r := &stream.Replay{Close: func() { _ = file.Close() }}
	c, err := configOf(req)
	if err == nil {
		err = fillReplay(ctx, r, file, req, whole)
	}
	if err != nil {
		r.Close()
		return err
	}
	r.Secrets, c.Replay, c.Version = secrets, r, version
	return stream.Run(ctx, c, send)
}

// config returns the configuration of a call's subscription. The replay is not set.
func (s *Server) config(ctx context.Context, req *replaydv1.StreamEventsRequest) (stream.Config, error) {
	c, err := configOf(req)
	c.Drain, c.Version = s.drain, s.Version
	c.Turns, c.Caller = s.Turns, s.callerKey(ctx)
	return c, err
}

// growth is how a replay may grow while it is streamed.
type growth int

const (
	whole    growth = iota // not at all: the file is streamed as it is
	followed               // its writer may append to the file
	uploaded               // a client sends them
)

// newReplay returns the replay in a file, to be streamed for a call. It takes ownership of the file: the Replay's Close closes
// the file and returns what was charged to the call's ticket, and so does newReplay if it returns an error. No other
// function sets up a replay.
func (s *Server) newReplay(
	ctx context.Context, file *source.File, req *replaydv1.StreamEventsRequest, grows growth,
) (_ *stream.Replay, err error) {
	r := &stream.Replay{Close: func() { _ = file.Close() }}
	defer func() {
		if err != nil {
			r.Close()
		}
	}()
	if err := permit(ctx, file, grows); err != nil {
		return nil, err
	}
	spend(ctx, file)
	if grows == uploaded {
		if err := followUpload(r, file); err != nil { // before its input is taken
			return nil, err
		}
	}
	if err := fillReplay(ctx, r, file, req, grows); err != nil {
		return nil, err
	}
	r.Secrets, r.Complete = s.Secrets, s.complete
	if grows == uploaded {
		return r, nil
	}
	r.Await = file.OnWait
	info := file.Info()
	r.Roster = s.roster(ctx, r.Codec, s.familyOf(ctx, info.Name))
	if info.ID != (source.ID{}) {
		r.Checkpoints = func(identity string) codec.Checkpoints {
			return s.checkpoints.Of(checkpointKey{fileKeyOf(&info), identity}, info.Version, r.Codec.Spacing)
		}
	}
	r.Spare = s.spare
	if grows == whole || r.Codec.RandomAccess { // such a file never grows
		return r, nil
	}
	if info.Fixed {
		return nil, errFixed
	}
	if s.Watcher == nil {
		return nil, errNoWatcher
	}
	r.Live = true
	if err := s.feeds.follow(access.Of(ctx), r, file, func() (*source.File, error) { return s.Catalog.Open(info.Name) }); err != nil {
		return nil, err
	}
	return r, nil
}

// spare is stream.Replay.Spare.
func (s *Server) spare() (give func()) {
	if s.Turns == nil {
		return func() {}
	}
	turn := s.Turns.Spare()
	if turn == nil {
		return nil
	}
	return func() { s.Turns.Give(turn) }
}

var errNoWatcher = errors.New("following needs a watcher")

// permit returns an error when the caller may not read a file.
func permit(ctx context.Context, file *source.File, grows growth) error {
	info := file.Info()
	if grows != uploaded {
		return seen(ctx, info.Name, info.Format)
	}
	if info.Format != decoders.Unknown && !access.Of(ctx).Sees(info.Format) {
		return access.Forbid()
	}
	return nil
}

// spend charges the call's ticket for the memory of unpacking a file. The file's Close returns it.
func spend(ctx context.Context, file *source.File) {
	if t := admission.Of(ctx); t != nil && file.Info().Size >= 0 { // an upload has the budget from the beginning
		file.Spend(t)
	}
}

// closeWith makes *f call first before it does anything else.
func closeWith(f *func(), first func()) {
	then := *f
	*f = func() {
		first()
		if then != nil {
			then()
		}
	}
}

// fillReplay sets the fields that depend on the file and the request alone.
func fillReplay(ctx context.Context, r *stream.Replay, file *source.File, req *replaydv1.StreamEventsRequest, grows growth) error {
	if err := file.Recognized(); err != nil {
		return err
	}
	info := file.Info()
	c, err := codecOf(info.Format)
	if err != nil {
		return err
	}
	if req.GetResolvePlayers() && !c.ResolvesPlayers {
		return badRequest("resolve_players", fmt.Sprintf("events of format %v cannot be resolved: GetReplay has its players", info.Format))
	}
	r.Codec, r.ResolvePlayers, r.Info, r.Present = c, req.GetResolvePlayers(), describeInfo(&info), info.Size
	if info.Compression != source.Plain {
		r.Present = -1 // the size on disk is not that of the replay
	}
	if r.Filter, err = filter.Compile(&c.Filters, req.GetInclude(), req.GetExclude()); err != nil {
		return err
	}
	r.StateFilter = func() (*filter.Filter, error) {
		return filter.CompileState(&c.Filters, req.GetInclude(), req.GetExclude())
	}
	if r.Tables, err = tablesOf(req); err != nil {
		return err
	}
	if r.Tables != nil {
		if r.Layout, err = layoutOf(c, r.Filter.Kind, req); err != nil {
			return err
		}
		r.TableBytes = stream.DefaultTableBytes
		if grows == whole { // others may last long, and need few large batches
			r.TableBytes = stream.TableBytes(r.Layout, r.Filter.Kind)
		}
	}
	// A file that must be unpacked is unpacked here, so that the client gets the error if that fails.
	first, err := input(ctx, file, c)
	if err != nil {
		return err
	}
	size := first.Size
	if size < 0 {
		size = info.Size // compressed, or not known
	}
	memory, err := reserve(ctx, c, size)
	if err != nil {
		return err
	}
	if err := memory.take(file.Cost()); err != nil {
		memory.free()
		return err
	}
	closeWith(&r.Close, memory.free)
	if r.Tables != nil {
		if err := memory.take(tablesCost * int64(r.TableBytes)); err != nil {
			return err
		}
	}
	last := first
	r.Open = func(o codec.Options) (codec.Reader, error) {
		last = first
		if first.At == nil { // such an input can be read only once
			first = file.Input()
		}
		reader, err := c.Open(last, o)
		if err != nil {
			return nil, err
		}
		return memory.weigh(reader), nil
	}
	if first.At == nil && info.Compression != source.Plain {
		r.Rest = func() error { return readRest(last.Front) }
	}
	return nil
}

// tablesCost is how many times the memory of a full batch a stream of tables needs beyond that of one of rows: for columns, which
// append makes larger than they need be, and for encoded tables, of which one waits to be sent.
const tablesCost = 4

// tablesOf returns the encoder of the tables that a request asks for, nil if it asks for rows.
func tablesOf(req *replaydv1.StreamEventsRequest) (stream.TableEncoder, error) {
	compression := req.GetArrowCompression()
	if _, known := replaydv1.ArrowCompression_name[int32(compression)]; !known {
		return nil, badRequest("arrow_compression", "is unknown")
	}
	switch req.GetEncoding() {
	case replaydv1.Encoding_ENCODING_UNSPECIFIED, replaydv1.Encoding_ENCODING_ROWS:
		if compression != replaydv1.ArrowCompression_ARROW_COMPRESSION_UNSPECIFIED {
			return nil, badRequest("arrow_compression", "needs ENCODING_ARROW")
		}
		if len(req.GetColumns()) > 0 {
			return nil, badRequest("columns", "needs ENCODING_ARROW")
		}
		if req.GetNarrowColumns() {
			return nil, badRequest("narrow_columns", "needs ENCODING_ARROW")
		}
		return nil, nil //nolint:nilnil // rows need no encoder
	case replaydv1.Encoding_ENCODING_ARROW:
		return arrowipc.NewEncoder(arrowipc.Options{
			Compress: compression != replaydv1.ArrowCompression_ARROW_COMPRESSION_NONE, Narrow: req.GetNarrowColumns(),
		}), nil
	}
	return nil, badRequest("encoding", "is unknown")
}

// maxColumns limits the columns that a request names.
const maxColumns = 256

// layoutOf returns the layout of the tables that a request asks for. of reports which kinds it is for.
func layoutOf(c *codec.Codec, of func(kind uint8) bool, req *replaydv1.StreamEventsRequest) (*table.Layout, error) {
	l := c.Tables.Layout(req.GetResolvePlayers())
	switch n := len(req.GetColumns()); {
	case n == 0:
		return l, nil
	case n > maxColumns:
		return nil, badRequest("columns", fmt.Sprintf("has more than %d names", maxColumns))
	}
	some, err := l.Select(req.GetColumns(), of)
	if err != nil {
		return nil, badRequest("columns", err.Error())
	}
	return some, nil
}

// maxRest limits how many bytes are read behind the end of the replay in a compressed file, to reach the file's checksum.
const maxRest = 1 << 20

// readRest reads to the end of a compressed file, where its checksum is verified. It returns decoders.ErrMore where the bytes
// end so far.
func readRest(front io.Reader) error {
	_, err := io.CopyN(io.Discard, front, maxRest)
	if errors.Is(err, io.EOF) {
		return decoders.ErrMore
	}
	return err
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
func (s *Server) roster(ctx context.Context, c *codec.Codec, family index.Family) func(*replaydv1.Replay) []byte {
	if c.CarryRoster == nil {
		return nil
	}
	return func(r *replaydv1.Replay) []byte { return family.Roster(ctx, c.Lineage(r).Previous) }
}
