package shipment

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/replayd/replayd/internal/natsconn"
)

// StreamName is the name of the stream by default.
const StreamName = "replayd-live"

const (
	// answer is how long NATS may take to answer.
	answer = 10 * time.Second
	// lookEvery is how often a request that is not answered looks whether its connection is still the same.
	lookEvery = 100 * time.Millisecond
)

// asking returns a context for one request. It ends after the time for an answer, or once the connection was lost, because then no answer
// comes.
func asking(ctx context.Context, conn *nats.Conn) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, answer)
	was := conn.Stats().Reconnects
	var mu sync.Mutex
	mu.Lock()
	defer mu.Unlock()
	var timer *time.Timer
	timer = time.AfterFunc(lookEvery, func() {
		if !conn.IsConnected() || conn.Stats().Reconnects != was {
			cancel()
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if ctx.Err() == nil {
			timer.Reset(lookEvery)
		}
	})
	return ctx, func() {
		cancel()
		timer.Stop()
	}
}

// Errors of a Stream.
var (
	// ErrConflict means that the last message of the subject is another one: another sender is at work, or an earlier message of
	// this one has arrived although its answer has not.
	ErrConflict = errors.New("the subject has another last message")
	// ErrFull means that the stream is as large as its operator allows.
	ErrFull = errors.New("the stream is full")
	// ErrNoStream means that there is no such stream.
	ErrNoStream = errors.New("there is no such stream")
)

// Options are those of Open. The zero value of a field is its default.
type Options struct {
	// Name is the name of the stream. Default [StreamName].
	Name string
	// Replicas is on how many servers of a cluster a stream is that Open makes. Default 1.
	Replicas int
	// Existing makes Open return ErrNoStream instead of making a stream.
	Existing bool
}

// Stream is a stream of files. It is safe for concurrent use.
type Stream struct {
	name   string
	js     jetstream.JetStream
	stream jetstream.Stream
}

// Open returns a stream, and makes it if it is not there. One that is there stays as the operator has set it. The caller closes the
// connection.
func Open(ctx context.Context, conn *nats.Conn, o Options) (*Stream, error) {
	if o.Name == "" {
		o.Name = StreamName
	}
	if err := CheckStream(o.Name); err != nil {
		return nil, err
	}
	ctx, cancel := asking(ctx, conn)
	defer cancel()
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, err
	}
	s := &Stream{name: o.Name, js: js}
	s.stream, err = js.Stream(ctx, o.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		if o.Existing {
			return nil, ErrNoStream
		}
		// Without direct reads: those may be answered by a server that does not have the last message yet. New messages are refused
		// where a limit is reached, because without the old ones a file would have a hole.
		s.stream, err = js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
			Name: o.Name, Description: "growing files of replayd-ship", Subjects: []string{Prefix(o.Name) + ".*.*"},
			Storage: jetstream.FileStorage, Replicas: max(o.Replicas, 1), Discard: jetstream.DiscardNew, MaxMsgSize: MaxChunk + 4096,
		})
	}
	if err != nil {
		return nil, fmt.Errorf("the stream %s: %w", o.Name, err)
	}
	return s, nil
}

// Name returns the name of the stream.
func (s *Stream) Name() string { return s.name }

// Stored is a message as it is in the stream.
type Stored struct {
	Message

	Sequence uint64
	Time     time.Time // when it was stored
	// Err is the error of Decode. Then there is no Message.
	Err error
}

// Last returns the last message of a subject, or nil if there is none.
func (s *Stream) Last(ctx context.Context, subject string) (*Stored, error) {
	ctx, cancel := asking(ctx, s.js.Conn())
	defer cancel()
	raw, err := s.stream.GetLastMsgForSubject(ctx, subject)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return nil, nil
	case err != nil:
		return nil, explain(err)
	}
	last := &Stored{Sequence: raw.Sequence, Time: raw.Time}
	last.Message, last.Err = Decode(raw.Header, raw.Data)
	return last, nil
}

// Append stores a message behind the one of its subject with a sequence number, which is 0 for none, and returns its own number. It
// returns ErrConflict if that is not the last one. After any other error the message may be there or not.
func (s *Stream) Append(ctx context.Context, subject string, m *Message, after uint64) (uint64, error) {
	ctx, cancel := asking(ctx, s.js.Conn())
	defer cancel()
	ack, err := s.js.PublishMsg(ctx, m.encode(subject), jetstream.WithExpectLastSequencePerSubject(after),
		jetstream.WithExpectStream(s.name), jetstream.WithRetryAttempts(0))
	if err != nil {
		return 0, explain(err)
	}
	return ack.Sequence, nil
}

// Drop removes the messages of a subject that are before a sequence number.
func (s *Stream) Drop(ctx context.Context, subject string, before uint64) error {
	ctx, cancel := asking(ctx, s.js.Conn())
	defer cancel()
	return explain(s.stream.Purge(ctx, jetstream.WithPurgeSubject(subject), jetstream.WithPurgeSequence(before)))
}

// Paths returns the paths of a source that have messages.
func (s *Stream) Paths(ctx context.Context, source string) ([]string, error) {
	files, err := s.Files(ctx, source)
	paths := make([]string, 0, len(files))
	for name := range files {
		paths = append(paths, strings.TrimPrefix(name, source+"/"))
	}
	return paths, err
}

// Codes of errors that the library has no name for.
const (
	codeMaxBytes   jetstream.ErrorCode = 10077 // and the same of messages; the text says which
	codeNoSpace    jetstream.ErrorCode = 10047
	codeNoResource jetstream.ErrorCode = 10023
)

// explain types an error of the library.
func explain(err error) error {
	api, ok := errors.AsType[*jetstream.APIError](err)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return ErrNoStream
	case natsconn.Conflict(err):
		return ErrConflict
	case !ok:
		return err
	}
	switch api.ErrorCode {
	case codeMaxBytes, codeNoSpace, codeNoResource:
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}
