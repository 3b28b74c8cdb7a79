package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/cursor"
	"github.com/replayd/replayd/service/encode"
	"github.com/replayd/replayd/service/filter"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/source"
	"github.com/replayd/replayd/service/stream"
)

// Bounds of a page of replays.
const (
	defaultPage = 100
	maxPage     = 1000
	maxViewPage = 100 // of those for which each file is read
)

func pageSize(asked int32) (int, error) {
	switch {
	case asked < 0:
		return 0, badRequest("page_size", "must not be negative")
	case asked == 0:
		return defaultPage, nil
	}
	return min(int(asked), maxPage), nil
}

func formatsOf(asked []replaydv1.Format) ([]decoders.Format, error) {
	var known []decoders.Format
	for i, f := range asked {
		format, ok := formats.from[f]
		if !ok {
			return nil, badRequest(fmt.Sprintf("formats[%d]", i), "is no known format")
		}
		known = append(known, format)
	}
	return known, nil
}

func filterOf(asked *replaydv1.ReplayFilter) (f index.Filter, err error) {
	f = index.Filter{Map: asked.GetMapName(), Server: asked.GetServer(), Player: asked.GetPlayerName()}
	for field, text := range map[string]string{"map_name": f.Map, "server": f.Server, "player_name": f.Player} {
		if len(text) > maxPattern {
			return f, badRequest("filter."+field, fmt.Sprintf("is longer than %d bytes", maxPattern))
		}
	}
	for field, t := range map[string]struct {
		asked *timestamppb.Timestamp
		to    *time.Time
	}{
		"earliest_start_time": {asked.GetEarliestStartTime(), &f.From}, "latest_start_time": {asked.GetLatestStartTime(), &f.Until},
	} {
		if t.asked == nil {
			continue
		}
		if err := t.asked.CheckValid(); err != nil {
			return f, badRequest("filter."+field, err.Error())
		}
		*t.to = t.asked.AsTime()
	}
	for i, state := range asked.GetStates() {
		if _, known := replaydv1.ReplayState_name[int32(state)]; !known {
			return f, badRequest(fmt.Sprintf("filter.states[%d]", i), "is unknown")
		}
		f.States = append(f.States, index.State(state))
	}
	return f, nil
}

// maxPattern is how long a pattern may be, in bytes.
const maxPattern = 256

// Subscribe turns a request for the events of an opened replay, as it is now, into a subscription. The file must outlive
// it. What a request to follow needs besides is the Server's to add.
func Subscribe(ctx context.Context, file *source.File, req *replaydv1.StreamEventsRequest) (stream.Config, error) {
	c := stream.Config{
		Strict: req.GetStrict(), Slow: req.GetSlowConsumer(), Positions: req.GetPositions(), State: req.GetStart().GetWithState(),
	}
	if _, known := replaydv1.SlowConsumer_name[int32(c.Slow)]; !known {
		return c, badRequest("slow_consumer", "is unknown")
	}
	var err error
	if c.Replay, err = replayOf(ctx, file, req); err != nil {
		return c, err
	}
	if c.Start, err = startOf(req); err != nil {
		return c, err
	}
	if err := subscribeBatches(&c, req); err != nil {
		return c, err
	}
	return c, nil
}

// replayOf is the replay in a file, to be streamed through the request's filters.
func replayOf(ctx context.Context, file *source.File, req *replaydv1.StreamEventsRequest) (*stream.Replay, error) {
	if err := file.Recognized(); err != nil {
		return nil, err
	}
	info := file.Info()
	codec, err := codecOf(info.Format)
	if err != nil {
		return nil, err
	}
	if req.GetResolvePlayers() && !codec.ResolvesPlayers {
		return nil, badRequest("resolve_players", fmt.Sprintf("events of format %v cannot be resolved: GetReplay has its players", info.Format))
	}
	r := &stream.Replay{Codec: codec, ResolvePlayers: req.GetResolvePlayers(), Info: describeInfo(&info), Present: info.Size}
	if info.Compression != source.Plain {
		r.Present = -1 // bytes on disk are no measure of bytes read
	}
	if r.Filter, err = filter.Compile(&codec.Filters, req.GetInclude(), req.GetExclude()); err != nil {
		return nil, err
	}
	if r.StateFilter, err = filter.CompileState(&codec.Filters, req.GetInclude(), req.GetExclude()); err != nil {
		return nil, err
	}
	switch req.GetEncoding() {
	case replaydv1.Encoding_ENCODING_UNSPECIFIED, replaydv1.Encoding_ENCODING_ROWS:
	case replaydv1.Encoding_ENCODING_COLUMNS:
		r.Columns = true
	default:
		return nil, badRequest("encoding", "is unknown")
	}
	// Unpacked here, if need be, so that the client hears of a file that cannot be.
	first, err := input(ctx, file, codec)
	if err != nil {
		return nil, err
	}
	last := first
	r.Open = func(o encode.Options) (encode.Reader, error) {
		last = first
		if first.At == nil { // what is read from front to back can be read only once
			first = file.Input()
		}
		return codec.Open(last, o)
	}
	if first.At == nil && info.Compression != source.Plain {
		r.Rest = func() error { return readRest(last.Front) }
	}
	return r, nil
}

// maxRest is how much of a compressed file is read behind the end of the replay that it holds. Where there is more, it is
// not a checksum that is missing.
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

func startOf(req *replaydv1.StreamEventsRequest) (start stream.Start, err error) {
	switch s := req.GetStart().GetAt().(type) {
	case *replaydv1.Start_Cursor:
		at, err := cursor.Parse(s.Cursor)
		if err != nil {
			return start, badRequest("start.cursor", err.Error())
		}
		start.Cursor = &at
	case *replaydv1.Start_Tick:
		start.Tick = &s.Tick
	case *replaydv1.Start_LastEvents:
		if s.LastEvents == 0 || s.LastEvents > stream.MaxLastEvents {
			return start, badRequest("start.last_events", fmt.Sprintf("must be 1 to %d", stream.MaxLastEvents))
		}
		start.Last = int(s.LastEvents)
	case *replaydv1.Start_Now:
		start.Now = true
	}
	return start, nil
}

func subscribeBatches(c *stream.Config, req *replaydv1.StreamEventsRequest) error {
	c.MaxEvents = int(req.GetMaxBatchEvents())
	switch {
	case c.MaxEvents == 0:
		c.MaxEvents = stream.DefaultBatchEvents
	case c.MaxEvents > stream.MaxBatchEvents:
		c.MaxEvents = stream.MaxBatchEvents
	}
	var err error
	if c.MaxDelay, err = duration("max_batch_delay", req.GetMaxBatchDelay()); err != nil {
		return err
	}
	if c.MaxDelay > stream.MaxBatchDelay {
		return badRequest("max_batch_delay", fmt.Sprintf("must be %v at most", stream.MaxBatchDelay))
	}
	c.Heartbeat, err = heartbeatOf(req.GetHeartbeatInterval())
	return err
}

func heartbeatOf(asked *durationpb.Duration) (time.Duration, error) {
	interval, err := duration("heartbeat_interval", asked)
	switch {
	case err != nil:
		return 0, err
	case interval == 0:
		return stream.DefaultHeartbeat, nil
	}
	return min(max(interval, stream.MinHeartbeat), stream.MaxHeartbeat), nil
}

func duration(field string, d *durationpb.Duration) (time.Duration, error) {
	if d == nil {
		return 0, nil
	}
	if err := d.CheckValid(); err != nil {
		return 0, badRequest(field, err.Error())
	}
	if v := d.AsDuration(); v >= 0 {
		return v, nil
	}
	return 0, badRequest(field, "must not be negative")
}
