package shipment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// journal is a stream of JetStream.
type journal struct {
	name   string
	js     jetstream.JetStream
	stream jetstream.Stream
}

// open returns the stream with the configured name, and makes a missing one unless it must exist.
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

// last returns a subject's last message, or nil if there is none.
func (j *journal) last(ctx context.Context, subject string) (*Stored, error) {
	ctx, cancel := asking(ctx, j.js.Conn())
	defer cancel()
	var found struct {
		Message struct {
			Sequence uint64    `json:"seq"`
			Header   []byte    `json:"hdrs"`
			Data     []byte    `json:"data"`
			Time     time.Time `json:"time"`
		} `json:"message"`
	}
	err := j.ask(ctx, "MSG.GET", map[string]string{"last_by_subj": subject}, &found)
	if api, ok := errors.AsType[*jetstream.APIError](err); ok && api.ErrorCode == jetstream.JSErrCodeMessageNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, explain(err)
	}
	raw, header := &found.Message, nats.Header(nil)
	if len(raw.Header) > 0 {
		if header, err = nats.DecodeHeadersMsg(raw.Header); err != nil {
			return nil, fmt.Errorf("the header of a message: %w", err)
		}
	}
	last := &Stored{Sequence: raw.Sequence, Time: raw.Time}
	last.Message, last.Err = Decode(header, raw.Data)
	return last, nil
}

// append stores a message after its subject's message with a sequence number: see Stream.Append.
func (j *journal) append(ctx context.Context, subject string, m *Message, after uint64) (uint64, error) {
	ctx, cancel := asking(ctx, j.js.Conn())
	defer cancel()
	ack, err := j.js.PublishMsg(ctx, m.encode(subject), jetstream.WithExpectLastSequencePerSubject(after), jetstream.WithRetryAttempts(0))
	if err != nil {
		return 0, explain(err)
	}
	return ack.Sequence, nil
}

// purge removes the subjects' messages before a sequence number.
func (j *journal) purge(ctx context.Context, subject string, before uint64) error {
	ctx, cancel := asking(ctx, j.js.Conn())
	defer cancel()
	return explain(j.ask(ctx, "PURGE", jetstream.StreamPurgeRequest{Subject: subject, Sequence: before}, &struct{}{}))
}

// described is JetStream's description of a stream.
type described struct {
	jetstream.StreamInfo

	Total int `json:"total"` // the number of subjects, of which one answer has only a part
}

// subjects returns the subjects that match a filter and have messages.
func (j *journal) subjects(ctx context.Context, filter string) (subjects []string, err error) {
	ctx, cancel := asking(ctx, j.js.Conn())
	defer cancel()
	for n := 0; ; {
		var d described
		if err := j.ask(ctx, "INFO", map[string]any{"subjects_filter": filter, "offset": n}, &d); err != nil {
			return nil, explain(err)
		}
		for subject, messages := range d.State.Subjects {
			if messages > 0 {
				subjects = append(subjects, subject)
			}
		}
		if n += len(d.State.Subjects); n >= d.Total || len(d.State.Subjects) == 0 {
			return subjects, nil
		}
	}
}

// state asks for the stream's present state.
func (j *journal) state(ctx context.Context) (Position, error) {
	ctx, cancel := asking(ctx, j.js.Conn())
	defer cancel()
	var d described
	if err := j.ask(ctx, "INFO", struct{}{}, &d); err != nil {
		return Position{}, explain(err)
	}
	return Position{d.Created, d.State.LastSeq}, nil
}
