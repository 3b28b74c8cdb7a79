package publish

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	client "github.com/replayd/replayd/clients/go"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// DefaultStream is the name of the stream in JetStream.
const DefaultStream = "replayd-events"

// Options configure Open. The zero value of a field means its default.
type Options struct {
	// Stream is the stream in JetStream. Open makes a missing one. Default [DefaultStream].
	Stream string
	// Subject is the first part of all subjects. Publishers that select different events need different ones. Default
	// [DefaultSubject].
	Subject string
	// Replicas is the number of servers of a cluster that store a stream that Open makes. Default 1.
	Replicas int
	// Encoding is the encoding of payloads. Default [JSON].
	Encoding Encoding
	// Request selects the events by its fields include, exclude and resolve_players. max_batch_events and max_batch_delay are used as
	// well. Other fields are ignored.
	Request *replaydv1.StreamEventsRequest
	// All also publishes replays of directories that were finished before the stream was made.
	All bool
	// Workers is how many replays that do not grow are published at the same time. Default 4.
	Workers int
	// Log gets failures. Default: nothing is logged.
	Log *slog.Logger
}

// Errors of a Publisher.
var (
	// ErrSelection means that the subject has messages of another selection of events, or in another encoding.
	ErrSelection = errors.New("the subject has messages of another selection of events or in another encoding; publish to another --subject")
	// ErrStream means that the stream cannot be used: it does not have the subjects, or does not keep its messages.
	ErrStream = errors.New("the stream cannot be used")
)

// Stats counts what a Publisher did. Its fields are updated while it works.
type Stats struct {
	Messages, Events, Bytes atomic.Uint64 // acknowledged by NATS
	Others                  atomic.Uint64 // messages that another publisher had published
	Retries                 atomic.Uint64 // attempts that NATS refused, or whose outcome was not known
	Failures                atomic.Uint64 // replays that could not be published
	Replays                 atomic.Int64  // that are being published now
	Waiting                 atomic.Int64  // the time since which NATS takes no messages, in Unix seconds; 0 while it does
	Away                    atomic.Int64  // directories that wait for the daemon
}

// Publisher publishes replays. It is safe for concurrent use.
type Publisher struct {
	Stats Stats

	o         Options
	daemon    *client.Client
	conn      *nats.Conn
	js        jetstream.JetStream
	stream    atomic.Pointer[opened]
	selection string
	warned    atomic.Int64 // the time of the last log line that NATS takes no messages, in seconds
}

// opened is the stream as it was when it was opened.
type opened struct {
	jetstream.Stream

	made time.Time
}

const (
	answer  = 5 * time.Second // the time that NATS may take to answer
	first   = 50 * time.Millisecond
	longest = 2 * time.Second // the longest pause between two attempts
)

// Open returns a publisher of the events that a daemon streams. The caller closes the connections. It should have no buffer
// for reconnecting (nats.ReconnectBufSize(-1)), because a publisher tries again by itself.
func Open(ctx context.Context, daemon *client.Client, conn *nats.Conn, o Options) (*Publisher, error) {
	o.Stream, o.Subject = either(o.Stream, DefaultStream), either(o.Subject, DefaultSubject)
	o.Encoding, o.Replicas, o.Workers = either(o.Encoding, JSON), max(o.Replicas, 1), either(max(o.Workers, 0), 4)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if err := checkSubject(o.Subject); err != nil {
		return nil, err
	}
	request := &replaydv1.StreamEventsRequest{
		Include: o.Request.GetInclude(), Exclude: o.Request.GetExclude(), Where: o.Request.GetWhere(), ResolvePlayers: o.Request.GetResolvePlayers(),
		MaxBatchEvents: o.Request.GetMaxBatchEvents(), MaxBatchDelay: o.Request.GetMaxBatchDelay(),
	}
	o.Request = request
	p := &Publisher{o: o, daemon: daemon, conn: conn}
	var err error
	if p.selection, err = selectionOf(request, o.Encoding); err != nil {
		return nil, err
	}
	if p.js, err = jetstream.New(conn, jetstream.WithDefaultTimeout(answer)); err != nil {
		return nil, err
	}
	err = p.open(ctx)
	return p, err
}

func either[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// selectionOf returns a hash of everything that decides which events are published, and their form.
func selectionOf(req *replaydv1.StreamEventsRequest, encoding Encoding) (string, error) {
	req = proto.CloneOf(req)
	req.MaxBatchEvents, req.MaxBatchDelay = 0, nil
	for _, f := range slices.Concat(req.GetInclude(), req.GetExclude()) {
		slices.Sort(f.Kinds)
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(req)
	sum := sha256.Sum256(append(b, encoding...))
	return hex.EncodeToString(sum[:8]), err
}

// open opens the stream, and makes a missing one.
func (p *Publisher) open(ctx context.Context) error {
	s, err := p.js.Stream(ctx, p.o.Stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		s, err = p.js.CreateStream(ctx, jetstream.StreamConfig{
			Name: p.o.Stream, Description: "events of replayd", Subjects: []string{p.o.Subject + ".>"}, Storage: jetstream.FileStorage,
			Replicas: p.o.Replicas,
		})
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another publisher has made it
			s, err = p.js.Stream(ctx, p.o.Stream)
		}
	}
	if err != nil {
		return fmt.Errorf("the stream %s: %w", p.o.Stream, err)
	}
	info := s.CachedInfo()
	switch {
	case info.Config.Retention != jetstream.LimitsPolicy:
		return fmt.Errorf("%w: %s does not keep messages that were read (retention: limits)", ErrStream, p.o.Stream)
	case !slices.ContainsFunc(info.Config.Subjects, func(s string) bool { return covers(s, p.o.Subject+".>") }):
		return fmt.Errorf("%w: %s does not have the subjects %s.>", ErrStream, p.o.Stream, p.o.Subject)
	}
	p.stream.Store(&opened{s, info.Created})
	return nil
}

// covers reports whether a subject of a stream includes all subjects of another one, which ends in ">".
func covers(has, wanted string) bool {
	for {
		h, hasRest, hasMore := cut(has)
		w, wantedRest, wantedMore := cut(wanted)
		switch {
		case h == ">":
			return true
		case w == ">" || h != "*" && h != w || !hasMore || !wantedMore:
			return false
		}
		has, wanted = hasRest, wantedRest
	}
}

// cut cuts the first token off a subject.
func cut(subject string) (token, rest string, more bool) {
	for i := range len(subject) {
		if subject[i] == '.' {
			return subject[:i], subject[i+1:], true
		}
	}
	return subject, "", false
}

// pause waits before another attempt, longer after each.
func pause(ctx context.Context, attempt int) error {
	d := min(longest, first<<min(attempt, 10))
	d -= rand.N(d/2 + 1) //nolint:gosec // jitter needs no secure random numbers
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
