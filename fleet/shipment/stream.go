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
	// lookEvery is how often a request without an answer yet looks whether its connection is still the same.
	lookEvery = 100 * time.Millisecond
)

// asking returns a context for one request. It ends after the time for an answer, or once the connection was lost, because then
// no answer comes.
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
	// ErrConflict means that the subject's last message is another one: another sender is at work, or an earlier message of this
	// one has arrived although its answer has not.
	ErrConflict = errors.New("the subject has another last message")
	// ErrFull means that the stream is as large as its operator allows.
	ErrFull = errors.New("the stream is full")
	// ErrNoStream means that there is no such stream.
	ErrNoStream = errors.New("there is no such stream")
)

// Options configure Open. The zero value of a field means its default.
type Options struct {
	// Name is the name of the stream. Default [StreamName].
	Name string
	// Replicas is the number of servers of a cluster that store a stream that Open makes. Default 1.
	Replicas int
	// Existing makes Open return ErrNoStream instead of making a stream.
	Existing bool
}

// Stream is a stream of files, with the stream of their states beside it. It is safe for concurrent use.
type Stream struct {
	name          string
	bytes, states journal
}

// StatesStream returns the name of the stream with the states of the files of a stream.
func StatesStream(stream string) string { return stream + "-states" }

// reserved is the number of bytes reserved for the states of files, so that they can be stored when there is no other room. A
// state takes some 400 bytes, and each file has one. The second value is for servers with less room.
var reserved = []int64{64 << 20, 4 << 20}

// Open returns a stream, and makes a missing one. An existing one keeps its operator's settings. The caller closes the
// connection.
func Open(ctx context.Context, conn *nats.Conn, o Options) (*Stream, error) {
	if o.Name == "" {
		o.Name = StreamName
	}
	if err := CheckStream(o.Name); err != nil {
		return nil, err
	}
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, err
	}
	s := &Stream{name: o.Name}
	// Without direct reads: a server that lacks the last message could answer them. At a limit new messages are refused, because
	// a file without its old ones would have a hole.
	config := jetstream.StreamConfig{
		Name: StatesStream(o.Name), Description: "states of the files of replayd-ship", Subjects: []string{State.subject(Prefix(o.Name) + ".*.*")},
		Storage: jetstream.FileStorage, Replicas: max(o.Replicas, 1), Discard: jetstream.DiscardNew, MaxMsgSize: 4096, MaxMsgsPerSubject: 1,
	}
	for i := 0; ; i++ {
		config.MaxBytes = reserved[i]
		if s.states, err = open(ctx, js, config, o.Existing); i+1 == len(reserved) || !errors.Is(err, ErrFull) {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	s.bytes, err = open(ctx, js, jetstream.StreamConfig{
		Name: o.Name, Description: "growing files of replayd-ship",
		Subjects: []string{Tail.subject(Prefix(o.Name) + ".*.*"), Body.subject(Prefix(o.Name) + ".*.*")},
		Storage:  jetstream.FileStorage, Replicas: max(o.Replicas, 1), Discard: jetstream.DiscardNew, MaxMsgSize: MaxChunk + 4096,
	}, o.Existing)
	return s, err
}

// Name returns the name of the stream.
func (s *Stream) Name() string { return s.name }

// Stored is a message in the stream.
type Stored struct {
	Message

	Sequence uint64
	Time     time.Time // when it was stored
	// Err is the error of Decode. If it is set, there is no Message.
	Err error
}

// Found holds the last message of each part of a file; nil if a part has none.
type Found struct{ Tail, Body, State *Stored }

// Bytes returns the last message with bytes, or nil.
func (f *Found) Bytes() *Stored {
	if f.Body == nil || f.Tail != nil && f.Tail.Sequence > f.Body.Sequence {
		return f.Tail
	}
	return f.Body
}

// Last returns the message that describes the file: its state, unless there are bytes of another generation, or beyond the length
// in the state. It returns nil if there is none.
func (f *Found) Last() *Stored {
	b := f.Bytes()
	if f.State == nil || f.State.Err != nil {
		return b
	}
	if b == nil || b.Err == nil && f.State.Generation == b.Generation && (f.State.Offset >= b.End() || f.State.Kind == Removed) {
		return f.State
	}
	return b
}

// Find looks for the last messages of a file.
func (s *Stream) Find(ctx context.Context, subject string) (*Found, error) {
	f := &Found{}
	for _, p := range []struct {
		j    *journal
		part Part
		to   **Stored
	}{{&s.bytes, Tail, &f.Tail}, {&s.bytes, Body, &f.Body}, {&s.states, State, &f.State}} {
		var err error
		if *p.to, err = p.j.last(ctx, p.part.subject(subject)); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// Append stores a message after its part's message with a sequence number, which is 0 for none, and returns the new number. It
// returns ErrConflict if that message is not the last one. After any other error the message may be stored or not.
func (s *Stream) Append(ctx context.Context, subject string, part Part, m *Message, after uint64) (uint64, error) {
	j := &s.bytes
	if part == State {
		j = &s.states
	}
	return j.append(ctx, part.subject(subject), m, after)
}

// Drop removes the bytes of a file before a sequence number.
func (s *Stream) Drop(ctx context.Context, subject string, before uint64) error {
	return s.bytes.purge(ctx, subject+".*", before)
}

// Cut removes the messages of a file's tail before a sequence number: the body has their bytes.
func (s *Stream) Cut(ctx context.Context, subject string, before uint64) error {
	return s.bytes.purge(ctx, Tail.subject(subject), before)
}

// Forget removes the state of a file up to a sequence number.
func (s *Stream) Forget(ctx context.Context, subject string, sequence uint64) error {
	return s.states.purge(ctx, State.subject(subject), sequence+1)
}

// Files returns the names, SOURCE/PATH, of the files with bytes. An empty source means all sources.
func (s *Stream) Files(ctx context.Context, source string) (map[string]bool, error) {
	files := map[string]bool{}
	return files, s.list(ctx, &s.bytes, source, files)
}

// States is like Files, for files with a state.
func (s *Stream) States(ctx context.Context, source string) (map[string]bool, error) {
	files := map[string]bool{}
	return files, s.list(ctx, &s.states, source, files)
}

// list adds the names of a journal's files.
func (s *Stream) list(ctx context.Context, j *journal, source string, files map[string]bool) error {
	if source == "" {
		source = "*"
	}
	subjects, err := j.subjects(ctx, Prefix(s.name)+"."+source+".*.*")
	for _, subject := range subjects {
		if source, path, _, err := ParseSubject(s.name, subject); err == nil {
			files[source+"/"+path] = true
		}
	}
	return err
}

// Paths returns the paths of a source that have messages of any kind.
func (s *Stream) Paths(ctx context.Context, source string) ([]string, error) {
	files, err := s.Files(ctx, source)
	if err == nil {
		err = s.list(ctx, &s.states, source, files)
	}
	paths := make([]string, 0, len(files))
	for name := range files {
		paths = append(paths, strings.TrimPrefix(name, source+"/"))
	}
	return paths, err
}

// Codes of errors that the library has no name for.
const (
	codeMaxBytes   jetstream.ErrorCode = 10077 // also for messages; the text tells which
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
