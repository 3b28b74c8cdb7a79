package shipment

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Delivered is a message as Read delivers it.
type Delivered struct {
	Stored

	Subject string
}

// ErrRestarted means that the stream is not the one that was read before: it was made anew, or has lost its last messages.
var ErrRestarted = errors.New("the stream was made anew, or has lost messages")

// ErrReconnected means that the connection was lost and restored. The caller reads again at once, because the server may have
// forgotten the reader.
var ErrReconnected = errors.New("the connection was made again")

const (
	// ahead limits the bytes that NATS sends before earlier ones are delivered.
	ahead = 4 << 20
	// checkEvery is how often Read checks that the stream is still the same.
	checkEvery = 2 * time.Second
	// heartbeat is how often NATS says that nothing is new. A reader that hears nothing for twice as long asks again.
	heartbeat = time.Second
)

// Position is the present end of a stream, which it identifies.
type Position struct {
	Created time.Time
	Last    uint64 // the sequence number of the last message
}

// Position asks for the present position of the bytes.
func (s *Stream) Position(ctx context.Context) (Position, error) { return s.bytes.state(ctx) }

// Which selects messages to read. The zero value selects all.
type Which struct {
	Source string
	Path   string // below the Source
}

// filter returns the subjects of the selected messages.
func (w Which) filter(stream string, parts ...Part) (subjects []string, err error) {
	file := Prefix(stream) + "." + cmp.Or(w.Source, "*") + ".*"
	if w.Path != "" {
		if file, err = Subject(stream, w.Source, w.Path); err != nil {
			return nil, err
		}
	}
	for _, p := range parts {
		subjects = append(subjects, p.subject(file))
	}
	return subjects, nil
}

// Read delivers the messages with bytes that have sequence numbers above after, in order, until ctx ends or each fails. It calls
// caughtUp once it has delivered all messages that existed at the beginning. It returns ErrRestarted if the stream cannot be the
// one in which after was read, and ErrReconnected after NATS was away.
func (s *Stream) Read(ctx context.Context, w Which, after uint64, since time.Time, each func(*Delivered) error, caughtUp func()) error {
	subjects, err := w.filter(s.name, Tail, Body)
	if err != nil {
		return err
	}
	return s.bytes.read(ctx, subjects, after, since, each, caughtUp)
}

// ReadStates is like Read, for the states of files. It begins with all existing states.
func (s *Stream) ReadStates(ctx context.Context, w Which, each func(*Delivered) error, caughtUp func()) error {
	subjects, err := w.filter(s.name, State)
	if err != nil {
		return err
	}
	return s.states.read(ctx, subjects, 0, time.Time{}, each, caughtUp)
}

func (j *journal) read(
	ctx context.Context, subjects []string, after uint64, since time.Time, each func(*Delivered) error, caughtUp func(),
) error {
	now, err := j.state(ctx)
	if err != nil {
		return err
	}
	if now.Last < after || !since.IsZero() && !since.Equal(now.Created) {
		return ErrRestarted
	}
	starting, started := asking(ctx, j.js.Conn())
	defer started()
	c, err := j.js.OrderedConsumer(starting, j.name, jetstream.OrderedConsumerConfig{
		FilterSubjects: subjects, DeliverPolicy: jetstream.DeliverByStartSequencePolicy,
		OptStartSeq: after + 1, InactiveThreshold: time.Minute,
		// The client would ask for a lost consumer by the same name for ever. In a cluster the server that was chosen for that
		// name may not answer any more, because its disk is full. A caller that reads on asks by another name, for which another
		// server may be chosen.
		MaxResetAttempts: 1,
	})
	if err != nil {
		return explain(err)
	}
	info, err := c.Info(starting)
	if err != nil {
		return explain(err)
	}
	behind := info.NumPending > 0
	if !behind {
		caughtUp()
	}
	messages, err := c.Messages(jetstream.PullMaxBytes(ahead), jetstream.PullHeartbeat(heartbeat))
	if err != nil {
		return explain(err)
	}
	defer messages.Stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	last := make(chan uint64, 1)
	go j.check(ctx, cancel, now.Created, last)
	for {
		raw, err := messages.Next(jetstream.NextContext(ctx))
		switch {
		case context.Cause(ctx) != nil:
			return context.Cause(ctx)
		case err != nil:
			return explain(err)
		}
		meta, err := raw.Metadata()
		if err != nil {
			return err
		}
		if meta.Sequence.Stream <= after {
			continue
		}
		after = meta.Sequence.Stream
		select {
		case <-last:
		default:
		}
		last <- after
		d := &Delivered{Stored: Stored{Sequence: after, Time: meta.Timestamp}, Subject: raw.Subject()}
		d.Message, d.Err = Decode(raw.Headers(), raw.Data())
		if err := each(d); err != nil {
			return err
		}
		if behind && (meta.NumPending == 0 || after >= now.Last) {
			behind = false
			caughtUp()
		}
	}
}

// check ends ctx with ErrRestarted once the stream is another one. last holds the number of the last message that was read.
func (j *journal) check(ctx context.Context, cancel context.CancelCauseFunc, created time.Time, last <-chan uint64) {
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	conn := j.js.Conn()
	again := conn.StatusChanged(nats.CONNECTED)
	defer conn.RemoveStatusListener(again)
	var read uint64
	for {
		select {
		case <-ctx.Done():
			return
		case read = <-last:
			continue
		case <-again:
			cancel(ErrReconnected)
			return
		case <-tick.C:
		}
		now, err := j.state(ctx)
		switch {
		case errors.Is(err, ErrNoStream):
			cancel(ErrRestarted)
		case err == nil && (!now.Created.Equal(created) || now.Last < read):
			cancel(ErrRestarted)
		}
	}
}
