package shipment

import (
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

// ErrReconnected means that the connection was lost and is there again. Reading begins again at once, because the server may have
// forgotten who reads.
var ErrReconnected = errors.New("the connection was made again")

const (
	// ahead bounds what NATS sends ahead of what was delivered, in bytes.
	ahead = 4 << 20
	// checkEvery is how often Read checks that the stream is still the same.
	checkEvery = 2 * time.Second
	// heartbeat is how often NATS says that there is nothing. A reader that hears nothing for twice as long asks again.
	heartbeat = time.Second
)

// State identifies the present contents of a stream.
type State struct {
	Created time.Time
	Last    uint64 // the sequence number of the last message
}

// State asks for the present state.
func (s *Stream) State(ctx context.Context) (State, error) {
	ctx, cancel := asking(ctx, s.js.Conn())
	defer cancel()
	info, err := s.stream.Info(ctx)
	if err != nil {
		return State{}, explain(err)
	}
	return State{info.Created, info.State.LastSeq}, nil
}

// Read delivers the messages of a source, or of all if it is empty, with sequence numbers above after, in order, until ctx ends or
// each fails. caughtUp is called once all that were there at the beginning were delivered. It returns ErrRestarted if the stream is
// none in which after can be a message that was read, or becomes one, and ErrReconnected after NATS was away.
func (s *Stream) Read(ctx context.Context, source string, after uint64, since time.Time, each func(*Delivered) error, caughtUp func()) error {
	now, err := s.State(ctx)
	if err != nil {
		return err
	}
	if now.Last < after || !since.IsZero() && !since.Equal(now.Created) {
		return ErrRestarted
	}
	if source == "" {
		source = "*"
	}
	starting, started := asking(ctx, s.js.Conn())
	defer started()
	c, err := s.js.OrderedConsumer(starting, s.name, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{Prefix(s.name) + "." + source + ".*"}, DeliverPolicy: jetstream.DeliverByStartSequencePolicy,
		OptStartSeq: after + 1, InactiveThreshold: time.Minute,
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
	go s.check(ctx, cancel, now.Created, last)
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

// check ends ctx with ErrRestarted once the stream is another one. last has the number of the last message that was read.
func (s *Stream) check(ctx context.Context, cancel context.CancelCauseFunc, created time.Time, last <-chan uint64) {
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	conn := s.js.Conn()
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
		now, err := s.State(ctx)
		switch {
		case errors.Is(err, ErrNoStream):
			cancel(ErrRestarted)
		case err == nil && (!now.Created.Equal(created) || now.Last < read):
			cancel(ErrRestarted)
		}
	}
}

// Files returns the sources and paths that have messages, of a source or of all if it is empty.
func (s *Stream) Files(ctx context.Context, source string) (map[string]bool, error) {
	if source == "" {
		source = "*"
	}
	ctx, cancel := asking(ctx, s.js.Conn())
	defer cancel()
	info, err := s.stream.Info(ctx, jetstream.WithSubjectFilter(Prefix(s.name)+"."+source+".*"))
	if err != nil {
		return nil, explain(err)
	}
	files := map[string]bool{}
	for subject, n := range info.State.Subjects {
		if source, path, err := ParseSubject(s.name, subject); err == nil && n > 0 {
			files[source+"/"+path] = true
		}
	}
	return files, nil
}
