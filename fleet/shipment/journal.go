package shipment

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// journal is a stream of JetStream.
type journal struct {
	name   string
	js     jetstream.JetStream
	stream jetstream.Stream
}

// open returns the stream with the name that is configured, and makes it if it is not there and need not exist.
func open(ctx context.Context, js jetstream.JetStream, c jetstream.StreamConfig, existing bool) (journal, error) {
	ctx, cancel := asking(ctx, js.Conn())
	defer cancel()
	stream, err := js.Stream(ctx, c.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		if existing {
			return journal{}, ErrNoStream
		}
		stream, err = js.CreateOrUpdateStream(ctx, c)
	}
	if err != nil {
		return journal{}, fmt.Errorf("the stream %s: %w", c.Name, explain(err))
	}
	return journal{c.Name, js, stream}, nil
}

// last returns the last message of a subject, or nil if there is none.
func (j *journal) last(ctx context.Context, subject string) (*Stored, error) {
	ctx, cancel := asking(ctx, j.js.Conn())
	defer cancel()
	raw, err := j.stream.GetLastMsgForSubject(ctx, subject)
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

// append stores a message behind the one of its subject with a sequence number: see Stream.Append.
func (j *journal) append(ctx context.Context, subject string, m *Message, after uint64) (uint64, error) {
	ctx, cancel := asking(ctx, j.js.Conn())
	defer cancel()
	ack, err := j.js.PublishMsg(ctx, m.encode(subject), jetstream.WithExpectLastSequencePerSubject(after), jetstream.WithRetryAttempts(0))
	if err != nil {
		return 0, explain(err)
	}
	return ack.Sequence, nil
}

// purge removes the messages of subjects that are before a sequence number.
func (j *journal) purge(ctx context.Context, subject string, before uint64) error {
	ctx, cancel := asking(ctx, j.js.Conn())
	defer cancel()
	return explain(j.stream.Purge(ctx, jetstream.WithPurgeSubject(subject), jetstream.WithPurgeSequence(before)))
}

// subjects returns the subjects that have messages, of those that a filter matches.
func (j *journal) subjects(ctx context.Context, filter string) ([]string, error) {
	ctx, cancel := asking(ctx, j.js.Conn())
	defer cancel()
	info, err := j.stream.Info(ctx, jetstream.WithSubjectFilter(filter))
	if err != nil {
		return nil, explain(err)
	}
	subjects := make([]string, 0, len(info.State.Subjects))
	for subject, n := range info.State.Subjects {
		if n > 0 {
			subjects = append(subjects, subject)
		}
	}
	return subjects, nil
}

// state asks for the present state.
func (j *journal) state(ctx context.Context) (Position, error) {
	ctx, cancel := asking(ctx, j.js.Conn())
	defer cancel()
	info, err := j.stream.Info(ctx)
	if err != nil {
		return Position{}, explain(err)
	}
	return Position{info.Created, info.State.LastSeq}, nil
}
