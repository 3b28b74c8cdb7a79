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

// Stream is a stream of files, with the stream of their states beside it. It is safe for concurrent use.
type Stream struct {
	name          string
	bytes, states journal
}

// StatesStream returns the name of the stream with the states of the files of a stream.
func StatesStream(stream string) string { return stream + "-states" }

// reserved is how many bytes are reserved for the states of files, so that they can be stored when there is no room for anything else. A
// state takes some 400 bytes, and each file has one. The second value is for servers that do not have as much.
var reserved = []int64{64 << 20, 4 << 20}

// Open returns a stream, and makes it if it is not there. One that is there stays as the operator has set it. The caller closes the
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
	// Without direct reads: those may be answered by a server that does not have the last message yet. New messages are refused where a
	// limit is reached, because without the old ones a file would have a hole.
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

// Stored is a message as it is in the stream.
type Stored struct {
	Message

	Sequence uint64
	Time     time.Time // when it was stored
	// Err is the error of Decode. Then there is no Message.
	Err error
}

// Found has the last message of each part of a file; nil where there is none.
type Found struct{ Tail, Body, State *Stored }

// Bytes returns the last message with bytes, or nil.
func (f *Found) Bytes() *Stored {
	if f.Body == nil || f.Tail != nil && f.Tail.Sequence > f.Body.Sequence {
		return f.Tail
	}
	return f.Body
}

// Last returns what says how the file is: its state, unless there are bytes of another generation, or behind those that the state knows of.
// It returns nil if there is nothing.
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

// Append stores a message behind the one of its part with a sequence number, which is 0 for none, and returns its own number. It
// returns ErrConflict if that is not the last one. After any other error the message may be there or not.
func (s *Stream) Append(ctx context.Context, subject string, part Part, m *Message, after uint64) (uint64, error) {
	j := &s.bytes
	if part == State {
		j = &s.states
	}
	return j.append(ctx, part.subject(subject), m, after)
}

// Drop removes the bytes of a file that are before a sequence number.
func (s *Stream) Drop(ctx context.Context, subject string, before uint64) error {
	return s.bytes.purge(ctx, subject+".*", before)
}

// Cut removes the messages of the tail of a file that are before a sequence number: the body has their bytes.
func (s *Stream) Cut(ctx context.Context, subject string, before uint64) error {
	return s.bytes.purge(ctx, Tail.subject(subject), before)
}

// Forget removes the state of a file that has a sequence number, or an earlier one.
func (s *Stream) Forget(ctx context.Context, subject string, sequence uint64) error {
	return s.states.purge(ctx, State.subject(subject), sequence+1)
}

// Files returns the names of the files that have bytes, of a source or of all if it is empty: SOURCE/PATH.
func (s *Stream) Files(ctx context.Context, source string) (map[string]bool, error) {
	files := map[string]bool{}
	return files, s.list(ctx, &s.bytes, source, files)
}

// States is like Files, for files that have a state.
func (s *Stream) States(ctx context.Context, source string) (map[string]bool, error) {
	files := map[string]bool{}
	return files, s.list(ctx, &s.states, source, files)
}

// list adds the names of the files of a journal.
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
