package service

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/checkpoint"
	"github.com/replayd/replayd/service/encode"
	"github.com/replayd/replayd/service/stream"
	"github.com/replayd/replayd/service/watch"
)

// Config is what a Server serves and how. The zero value of a field means its default.
type Config struct {
	// Catalog finds replays. Required.
	Catalog *catalog.Catalog
	// Log is told what goes wrong and who calls. Required.
	Log *slog.Logger
	// Version is told to clients.
	Version string
	// MaxStreams is how many streams may run at once. Default 1024.
	MaxStreams int
	// MaxInflated is how many bytes a compressed replay may inflate to; it is told to clients. The catalog enforces it.
	MaxInflated int64
	// MaxUpload is how many bytes an upload may have. Default 1 GiB.
	MaxUpload int64
	// RevealSecrets delivers what is otherwise redacted.
	RevealSecrets bool
	// Watcher tells when files change. Without one nothing can be followed.
	Watcher *watch.Watcher
	// CheckpointBytes is how much memory states of decoders may take, which make starts in the middle of large replays
	// fast. Default 64 MiB.
	CheckpointBytes int
}

const (
	defaultMaxStreams      = 1024
	defaultCheckpointBytes = 64 << 20
	defaultMaxUpload       = 1 << 30
)

// Server implements the API. It is safe for concurrent use.
type Server struct {
	replaydv1.UnimplementedReplayServiceServer

	Config
	slots       chan struct{} // one for each stream that runs
	drain       chan struct{} // closed when the server shuts down
	live        *live
	chains      map[decoders.Format]*chain
	checkpoints *checkpoint.Store
	maps        *maps

	sentBytes, sentResponses prometheus.Counter
}

var _ replaydv1.ReplayServiceServer = (*Server)(nil)

// NewServer returns a server. Close its drain with Drain.
func NewServer(c Config) *Server {
	if c.MaxStreams <= 0 {
		c.MaxStreams = defaultMaxStreams
	}
	if c.MaxUpload <= 0 {
		c.MaxUpload = defaultMaxUpload
	}
	if c.CheckpointBytes <= 0 {
		c.CheckpointBytes = defaultCheckpointBytes
	}
	s := &Server{
		Config: c, slots: make(chan struct{}, c.MaxStreams), drain: make(chan struct{}),
		live: newLive(c.Watcher), chains: map[decoders.Format]*chain{}, checkpoints: checkpoint.NewStore(c.CheckpointBytes),
		maps: newMaps(c.Catalog), sentBytes: newSentBytes(), sentResponses: newSentResponses(),
	}
	for _, codec := range codecs {
		s.chains[codec.Format] = newChain(c.Catalog, codec)
	}
	return s
}

// Drain ends all streams, each with an end that says so, and refuses new ones. It must be called once at most.
func (s *Server) Drain() { close(s.drain) }

// ListReplays implements the API.
func (s *Server) ListReplays(
	ctx context.Context, req *replaydv1.ListReplaysRequest,
) (*replaydv1.ListReplaysResponse, error) {
	size, err := pageSize(req.GetPageSize())
	if err != nil {
		return nil, err
	}
	formats, err := formatsOf(req.GetFormats())
	if err != nil {
		return nil, err
	}
	page, err := s.Catalog.List(ctx, req.GetDirectory(), formats, req.GetPageToken(), size)
	if err != nil {
		return nil, s.fail(ctx, directoryError{err}, req.GetDirectory())
	}
	resp := &replaydv1.ListReplaysResponse{NextPageToken: page.Next}
	for i := range page.Replays {
		resp.Replays = append(resp.Replays, describeInfo(&page.Replays[i]))
	}
	return resp, nil
}

// GetReplay implements the API.
func (s *Server) GetReplay(
	ctx context.Context, req *replaydv1.GetReplayRequest,
) (*replaydv1.GetReplayResponse, error) {
	if err := checkName("replay", req.GetReplay()); err != nil {
		return nil, err
	}
	file, err := s.Catalog.Open(req.GetReplay())
	if err != nil {
		return nil, s.fail(ctx, err, req.GetReplay())
	}
	defer func() { _ = file.Close() }()
	replay, err := Describe(ctx, file)
	if err == nil {
		replay.MapReplay, err = s.maps.find(ctx, replay)
	}
	if err != nil {
		return nil, s.fail(ctx, err, req.GetReplay())
	}
	return &replaydv1.GetReplayResponse{Replay: replay}, nil
}

// StreamEvents implements the API.
func (s *Server) StreamEvents(
	req *replaydv1.StreamEventsRequest, out grpc.ServerStreamingServer[replaydv1.StreamEventsResponse],
) error {
	ctx := out.Context()
	release, err := s.enter()
	if err != nil {
		return s.fail(ctx, err, req.GetReplay())
	}
	defer release()
	return s.fail(ctx, s.Stream(ctx, req, s.counted(out)), req.GetReplay())
}

// enter takes one of the places for streams; release gives it back.
func (s *Server) enter() (release func(), err error) {
	select {
	case <-s.drain:
		return nil, stream.ErrDraining
	default:
	}
	select {
	case s.slots <- struct{}{}:
		return func() { <-s.slots }, nil
	default:
		return nil, errTooManyStreams
	}
}

// GetServerInfo implements the API.
func (s *Server) GetServerInfo(
	context.Context, *replaydv1.GetServerInfoRequest,
) (*replaydv1.GetServerInfoResponse, error) {
	resp := &replaydv1.GetServerInfoResponse{
		Version: s.Version,
		Limits: &replaydv1.Limits{
			MaxStreams:       int32(s.MaxStreams),
			MaxBatchEvents:   stream.MaxBatchEvents,
			MaxResponseBytes: stream.MaxResponseBytes,
			MaxInflatedBytes: s.MaxInflated,
			MaxUploadBytes:   s.MaxUpload,
		},
	}
	for _, c := range codecs {
		resp.Formats = append(resp.Formats, &replaydv1.FormatInfo{Format: protoFormat(c.Format), Kinds: c.Kinds[1:]})
	}
	for _, root := range s.Catalog.Roots() {
		resp.Roots = append(resp.Roots, &replaydv1.Root{Alias: root.Alias})
	}
	return resp, nil
}

// fail turns an error into a status and logs what clients are not told.
func (s *Server) fail(ctx context.Context, err error, replay string) error {
	return statusOf(err, replay, func(err error) string { return incident(ctx, s.Log, "call failed", err, replay) })
}

// incident logs an unexpected error and returns the name under which the log has it.
func incident(ctx context.Context, log *slog.Logger, what string, err any, replay string) string {
	id := make([]byte, 6)
	_, _ = rand.Read(id) // never fails
	name := hex.EncodeToString(id)
	log.ErrorContext(ctx, what, "incident", name, "replay", replay, "error", err)
	return name
}

// protoFormat is a format as the API numbers it.
func protoFormat(f decoders.Format) replaydv1.Format { return replaydv1.Format(f) }

// codecOf returns the codec of a format.
func codecOf(f decoders.Format) (*encode.Codec, error) {
	for _, c := range codecs {
		if c.Format == f {
			return c, nil
		}
	}
	return nil, decoders.Errorf(f, 0, decoders.NoTick, "file", decoders.ErrUnsupported, "this format is not decoded yet")
}
