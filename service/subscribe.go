package service

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/codec"
	"github.com/replayd/replayd/service/filter"
	"github.com/replayd/replayd/service/source"
	"github.com/replayd/replayd/service/stream"
)

// Subscribe turns a request for the events of an opened replay, as it is now, into a subscription, without a Server. It owns
// the file from then on: the Close of the subscription's Replay closes it, and Subscribe itself does when it returns an
// error.
func Subscribe(ctx context.Context, file *source.File, req *replaydv1.StreamEventsRequest) (stream.Config, error) {
	r := &stream.Replay{Close: func() { _ = file.Close() }}
	c, err := configOf(req)
	if err == nil {
		c.Replay, err = r, fillReplay(ctx, r, file, req)
	}
	if err != nil {
		r.Close()
	}
	return c, err
}

// config returns what a call subscribes to, all but the replay.
func (s *Server) config(ctx context.Context, req *replaydv1.StreamEventsRequest) (stream.Config, error) {
	c, err := configOf(req)
	c.Drain, c.Version = s.drain, s.Version
	c.Turns, c.Caller = s.Turns, s.callerKey(ctx)
	return c, err
}

// growth is whether and how the bytes of a replay become more while it is streamed.
type growth int

const (
	whole    growth = iota // they do not: the file is streamed as it is
	followed               // its writer may append to the file
	uploaded               // a client sends them
)

// newReplay returns the replay in a file, to be streamed for a call. This is the one place where a replay gets what it needs,
// and where its file changes hands: the Replay's Close closes the file and gives back what was taken of the call's budget,
// and so does newReplay when it returns an error.
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
		if err := followUpload(r, file); err != nil { // before anybody asks for its input
			return nil, err
		}
	}
	if err := fillReplay(ctx, r, file, req); err != nil {
		return nil, err
	}
	r.RevealSecrets, r.Complete = s.RevealSecrets, s.complete
	if grows == uploaded {
		return r, nil
	}
	r.Roster = s.roster(r.Codec, access.Of(ctx))
	info := file.Info()
	if info.ID != (source.ID{}) {
		r.Checkpoints = func(identity string) codec.Checkpoints {
			return s.checkpoints.Of(checkpointKey{fileKeyOf(&info), identity}, info.Version)
		}
	}
	if grows == whole || r.Codec.RandomAccess { // such a file is whole or not there at all
		return r, nil
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

// spend charges the call's ticket for what unpacking a file will take. The file's Close gives it back.
func spend(ctx context.Context, file *source.File) {
	if t := admission.Of(ctx); t != nil && file.Info().Size >= 0 { // an upload has the budget from the beginning
		file.Spend(t)
	}
}

// closeWith adds to a function what is called before it.
func closeWith(f *func(), first func()) {
	then := *f
	*f = func() {
		first()
		if then != nil {
			then()
		}
	}
}

// fillReplay sets what follows from the file and the request alone.
func fillReplay(ctx context.Context, r *stream.Replay, file *source.File, req *replaydv1.StreamEventsRequest) error {
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
		r.Present = -1 // bytes on disk are no measure of bytes read
	}
	if r.Filter, err = filter.Compile(&c.Filters, req.GetInclude(), req.GetExclude()); err != nil {
		return err
	}
	r.StateFilter = func() (*filter.Filter, error) {
		return filter.CompileState(&c.Filters, req.GetInclude(), req.GetExclude())
	}
	switch req.GetEncoding() {
	case replaydv1.Encoding_ENCODING_UNSPECIFIED, replaydv1.Encoding_ENCODING_ROWS:
	case replaydv1.Encoding_ENCODING_COLUMNS:
		r.Columns = true
	default:
		return badRequest("encoding", "is unknown")
	}
	// Unpacked here, if need be, so that the client hears of a file that cannot be.
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
	closeWith(&r.Close, memory.free)
	last := first
	r.Open = func(o codec.Options) (codec.Reader, error) {
		last = first
		if first.At == nil { // what is read from front to back can be read only once
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

// maxRest is how many bytes of a compressed file are read behind the end of the replay that it holds. Where there is more, it
// is not a checksum that is missing.
const maxRest = 1 << 20

// readRest reads up to where a compressed file says that it is whole. At the end of what is there it returns
// decoders.ErrMore.
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

// checkpointKey is the replay in a file: under the same name and id another may come to lie.
type checkpointKey struct {
	file     fileKey
	identity string
}

// roster returns a function that returns who was there where the replay before one ended; nil for formats without rosters.
func (s *Server) roster(c *codec.Codec, g *access.Grant) func(*replaydv1.Replay) []byte {
	if c.CarryRoster == nil {
		return nil
	}
	return func(r *replaydv1.Replay) []byte {
		return s.rosterSeen(context.Background(), g, c.Lineage(r).Previous)
	}
}
