package service

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/checkpoint"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/describe"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/latest"
	"github.com/replayd/replayd/service/opened"
	"github.com/replayd/replayd/service/playcast"
	"github.com/replayd/replayd/service/stream"
	"github.com/replayd/replayd/service/subscription"
	"github.com/replayd/replayd/service/succession"
	"github.com/replayd/replayd/service/tables"
	"github.com/replayd/replayd/service/temporary"
	"github.com/replayd/replayd/service/watch"
)

// Config configures a Server. The zero value of a field means its default.
type Config struct {
	// Catalog finds replays. Required.
	Catalog *catalog.Catalog
	// Log receives errors and the log of calls. Required.
	Log *slog.Logger
	// Gate authenticates callers. Nil admits all.
	Gate *access.Gate
	// Version is the server's version, reported to clients.
	Version string
	// Admission limits the resources of callers. Nil limits only the number of streams, to MaxStreams.
	Admission *admission.Control
	// Turns shares the processors fairly among callers that read files. Nil does not.
	Turns *admission.Turns
	// SendTimeout is how long a stream waits for a client that does not read. Default 1 minute.
	SendTimeout time.Duration
	// UploadTimeout is how long an upload waits for its client. Default 1 minute.
	UploadTimeout time.Duration
	// MaxStreams limits the streams that run at once; reported to clients. Default 1024.
	MaxStreams int
	// MaxInflated is the size up to which a compressed replay may inflate; reported to clients. The catalog enforces it.
	MaxInflated int64
	// MaxUpload limits the size of an upload, in bytes. Default 1 GiB.
	MaxUpload int64
	// Secrets says which secrets in replays are delivered. The zero value withholds all.
	Secrets codec.Secrets
	// Watcher notifies of changed files. Without it no replay can be followed.
	Watcher *watch.Watcher
	// IndexPath is the file that keeps the index across restarts. If empty, the index is in memory only.
	IndexPath string
	// Subscriptions configures named subscriptions. With an empty path there are none. They need an index that is kept.
	Subscriptions subscription.NamedConfig
	// IndexDepth limits how many directories deep roots are searched. Default 32.
	IndexDepth int
	// Lineages are the roots whose replays may succeed one another.
	Lineages index.Lineages
	// SurveyBudget is the share of one processor, 0 to 1, that the index may spend on decoding replays for facts that headers
	// do not have, such as the players. With 0 these facts stay unknown.
	SurveyBudget float64
	// TemporaryLife is the longest time for which a client's stored replay is kept. Default 1 hour. If it is negative, clients
	// cannot store replays.
	TemporaryLife time.Duration
	// Broadcasts follows the broadcasts that clients name. Nil follows none.
	Broadcasts *playcast.Follower
	// Assets is a directory with images of maps, for the page. Nil is none. See page.Assets.
	Assets *os.Root
	// CheckpointBytes limits the memory of checkpoints, which make starts in the middle of large replays fast. Default 64 MiB.
	CheckpointBytes int
}

const (
	defaultMaxStreams      = 1024
	defaultCheckpointBytes = 64 << 20
	defaultMaxUpload       = 1 << 30
	defaultPatience        = time.Minute
	defaultTemporaryLife   = time.Hour
)

// Server implements the API. It is safe for concurrent use.
type Server struct {
	replaydv1.UnimplementedReplayServiceServer

	Config
	drain       chan struct{} // closed when the server shuts down
	late        chan struct{} // closed at the deadline of the shutdown
	handlers    sync.WaitGroup
	index       *index.Index
	opened      *opened.Opener
	warned      sync.Map // names of unknown records, and base builds without a table, that were logged
	warnings    atomic.Int64
	checkpoints *checkpoint.Store
	maps        *maps
	temporary   *temporary.Store
	tables      *tables.Store
	boards      *latest.Boards
	named       *subscription.Store // nil for none

	sentBytes, sentResponses, unknown prometheus.Counter
	guessed                           *prometheus.CounterVec
	failures                          *failureMetrics
}

var _ replaydv1.ReplayServiceServer = (*Server)(nil)

// NewServer returns a server. The caller must Close it. It fails if the index cannot be read.
func NewServer(c Config) (*Server, error) {
	if c.MaxStreams <= 0 {
		c.MaxStreams = defaultMaxStreams
	}
	if c.MaxUpload <= 0 {
		c.MaxUpload = defaultMaxUpload
	}
	if c.SendTimeout <= 0 {
		c.SendTimeout = defaultPatience
	}
	if c.UploadTimeout <= 0 {
		c.UploadTimeout = defaultPatience
	}
	if c.Admission == nil {
		c.Admission = admission.New(admission.Limits{All: admission.Amounts{admission.Streams: int64(c.MaxStreams)}})
	}
	if c.TemporaryLife == 0 {
		c.TemporaryLife = defaultTemporaryLife
	}
	if c.CheckpointBytes <= 0 {
		c.CheckpointBytes = defaultCheckpointBytes
	}
	s := &Server{
		Config: c, drain: make(chan struct{}), late: make(chan struct{}),
		checkpoints: checkpoint.NewStore(c.CheckpointBytes), temporary: temporary.New(), tables: tables.New(),
		sentBytes: newSentBytes(), sentResponses: newSentResponses(), unknown: newUnknown(), guessed: newGuessed(), failures: newFailureMetrics(),
	}
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	var err error
	if s.Gate == nil {
		if s.Gate, err = access.NewGate(access.Options{Log: s.Log}); err != nil {
			return nil, err
		}
	}
	s.index, err = index.Open(index.Config{
		Files: c.Catalog, Watcher: c.Watcher, Log: s.Log, Describe: describe.Replay, Path: c.IndexPath, Depth: c.IndexDepth,
		Budget: c.SurveyBudget, Lineages: c.Lineages,
		Codec: func(f decoders.Format) *codec.Codec {
			known, err := describe.CodecOf(f)
			if err != nil {
				return nil
			}
			return known
		},
	})
	if err != nil {
		return nil, err
	}
	if s.Subscriptions.Path != "" {
		if s.named, err = subscription.OpenStore(s.namedConfig()); err != nil {
			return nil, errors.Join(err, s.index.Close())
		}
	}
	s.maps = newMaps(c.Catalog, s.index)
	s.opened = opened.New(opened.Config{
		Catalog: c.Catalog, Temporary: s.temporary, Watcher: c.Watcher, Index: s.index, Checkpoints: s.checkpoints, Admission: c.Admission,
		Secrets: c.Secrets, Log: s.Log, Drain: s.drain, Complete: s.complete, Map: s.maps.use,
		Successions: &succession.Finder{Index: s.index, Writer: func(ctx context.Context, e *index.Entry) (source.Writer, time.Time) {
			return c.Catalog.Writer(ctx, e.Name, e.ID)
		}},
	})
	s.boards = latest.NewBoards(latest.Config{
		Open: s.openBoard, Turn: s.turnOfBoards, Explain: s.explain, Resolves: resolves, Panicked: s.panicked,
	})
	return s, nil
}

// Close ends the server's background work and waits for it. No call may be running.
func (s *Server) Close() error {
	s.temporary.Close()
	s.tables.Close()
	s.boards.Close()
	s.opened.Close()
	s.maps.close()
	if s.named != nil {
		return errors.Join(s.named.Close(), s.index.Close())
	}
	return s.index.Close()
}

// abandon is like Close, while calls that do not end still run. Entries that the index has not stored are lost, and found again
// at the next start.
func (s *Server) abandon() {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = s.Close()
	}()
	select {
	case <-closed:
	case <-time.After(handlerGrace):
	}
	s.Log.Error("calls still run that do not end; they end with the process")
}

// Drain ends all streams with END_REASON_SERVER_DRAINING and refuses new ones. It must not be called twice.
func (s *Server) Drain() { close(s.drain) }

// complete adds to the description of a streamed replay, which has its header, the known facts that GetReplay adds.
func (s *Server) complete(ctx context.Context, info source.Info, r *replaydv1.Replay) error {
	s.noteUnknown(r)
	s.noteGuessed(r)
	switch {
	case temporary.Is(info.Name):
		if expires, ok := s.temporary.Expires(access.Of(ctx).Key(), info.Name); ok {
			r.ExpireTime = timestamppb.New(expires)
		}
	case info.ID != (source.ID{}): // not an upload
		describe.AddFound(s.index, s.index.Known(info, r.GetIdentity()), r)
	}
	r.MapReplay = s.maps.find(ctx, r)
	return ctx.Err()
}

// GetServerInfo implements the API.
func (s *Server) GetServerInfo(
	ctx context.Context, _ *replaydv1.GetServerInfoRequest,
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
	if s.TemporaryLife > 0 {
		resp.Limits.MaxTimeToLive = durationpb.New(s.TemporaryLife)
	}
	for _, c := range describe.Codecs() {
		if !access.Of(ctx).Sees(c.Format) {
			continue
		}
		resp.Formats = append(resp.Formats, &replaydv1.FormatInfo{Format: describe.Formats.To[c.Format], Kinds: kindsOf(c)})
	}
	for _, root := range s.Catalog.Roots() {
		if !access.Of(ctx).Reaches(root.Alias) {
			continue
		}
		resp.Roots = append(resp.Roots, &replaydv1.Root{Alias: root.Alias})
	}
	return resp, nil
}

// kindsOf describes the kinds of events of a format.
func kindsOf(c *codec.Codec) (kinds []*replaydv1.KindInfo) {
	for _, k := range c.Filters.Kinds[1:] {
		info := &replaydv1.KindInfo{Name: k.Name, Types: k.Types(), NeedsMap: k.Map}
		for _, p := range k.Has.All() {
			info.Conditions = append(info.Conditions, p.Path())
		}
		kinds = append(kinds, info)
	}
	return kinds
}

// fail converts the error of a call to its status, and logs and counts it. Each call's handler calls it once.
func (s *Server) fail(ctx context.Context, err error, replay string) error {
	sent := statusOf(err, replay, func(err error) string { return incident(ctx, s.Log, "call failed", err, replay) })
	s.failures.count(err, sent)
	return sent
}

// incident logs an unexpected error under a random name and returns the name.
func incident(ctx context.Context, log *slog.Logger, what string, err any, replay string) string {
	id := make([]byte, 6)
	_, _ = rand.Read(id) // never fails
	name := hex.EncodeToString(id)
	log.ErrorContext(ctx, what, "incident", name, "replay", replay, "error", err)
	return name
}
