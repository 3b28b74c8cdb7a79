package publish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// place is the place that the last message of a subject states. The zero value is the place of a subject without messages.
type place struct {
	sequence  uint64 // of the message, in the stream
	id        string
	kind      string
	next      uint64 // sequence number of the next event
	cursor    []byte
	reason    string
	size      int64
	selection string
}

// replay is one replay that is being published.
type replay struct {
	p              *Publisher
	name, identity string
	subject        string
	at             place
}

// id returns the id of a message for NATS, which remembers ids for some time.
func (r *replay) id(m *message) string { return r.identity + ":" + m.id + ":" + r.p.selection }

// locate finds the replay's subject: the subject of its first message, or one made of its name. It waits for NATS.
func (r *replay) locate(ctx context.Context) error {
	r.subject = Subject(r.p.o.Subject, r.identity, r.name)
	err := r.p.ask(ctx, func(ctx context.Context, s jetstream.Stream) error {
		msg, err := s.GetMsg(ctx, 1, jetstream.WithGetMsgSubject(r.p.o.Subject+"."+token(r.identity)+".>"))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		if err == nil {
			r.subject = msg.Subject
		}
		return err
	})
	if err != nil {
		return err
	}
	return r.look(ctx)
}

// look reads the last message of the subject. It waits for NATS.
func (r *replay) look(ctx context.Context) error {
	var msg *jetstream.RawStreamMsg
	err := r.p.ask(ctx, func(ctx context.Context, s jetstream.Stream) (err error) {
		if msg, err = s.GetLastMsgForSubject(ctx, r.subject); errors.Is(err, jetstream.ErrMsgNotFound) {
			msg, err = nil, nil
		}
		return err
	})
	if err != nil {
		return err
	}
	r.at = place{}
	if msg == nil {
		return nil
	}
	if r.at, err = parsePlace(msg.Sequence, msg.Header); err != nil {
		return fmt.Errorf("%w: %s", err, r.subject)
	}
	if r.at.selection != r.p.selection {
		return ErrSelection
	}
	return nil
}

// ask asks NATS until it answers.
func (p *Publisher) ask(ctx context.Context, f func(context.Context, jetstream.Stream) error) error {
	for attempt := 0; ; attempt++ {
		within, cancel := p.patience(ctx)
		err := f(within, p.stream.Load())
		if errors.Is(err, jetstream.ErrStreamNotFound) { // NATS has lost the stream, or somebody has removed it
			if err = p.open(within); errors.Is(err, ErrStream) {
				cancel()
				return err
			}
			if err == nil {
				err = f(within, p.stream.Load())
			}
		}
		cancel()
		if err == nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		if err := p.wait(ctx, attempt, err); err != nil {
			return err
		}
	}
}

// patience returns a context for one request to NATS: it ends when an answer is late, and when the connection breaks.
func (p *Publisher) patience(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithTimeout(ctx, answer)
	broken := p.conn.StatusChanged(nats.RECONNECTING, nats.CLOSED)
	go func() {
		<-broken // or closed
		cancel()
	}()
	return ctx, func() {
		p.conn.RemoveStatusListener(broken)
		cancel()
	}
}

// wait waits before another attempt after an error of NATS.
func (p *Publisher) wait(ctx context.Context, attempt int, err error) error {
	p.Stats.Retries.Add(1)
	now := time.Now().Unix()
	p.Stats.Waiting.CompareAndSwap(0, now)
	if last := p.warned.Load(); attempt >= 6 && now-last > 60 && p.warned.CompareAndSwap(last, now) {
		p.o.Log.WarnContext(ctx, "NATS does not take messages; waiting", "error", err.Error())
	}
	return pause(ctx, attempt)
}

// put publishes a message after the subject's last one. It returns false if the subject has another last message now; r.at is
// then new. It waits for NATS.
func (r *replay) put(ctx context.Context, m *message) (done bool, err error) {
	header := m.header(r)
	id := header.Get(nats.MsgIdHdr)
	for attempt := 0; ; attempt++ {
		ack, err := r.publish(ctx, header, m.body)
		if err == nil && !ack.Duplicate {
			r.at = place{
				sequence: ack.Sequence, id: id, kind: m.kind, next: m.next, cursor: m.cursor, reason: m.reason, size: m.size, selection: r.p.selection,
			}
			r.count(m)
			return true, nil
		}
		if api, ok := errors.AsType[*jetstream.APIError](err); errors.Is(err, nats.ErrMaxPayload) || ok && api.ErrorCode == tooLong {
			return false, fmt.Errorf("%w: %w", errPayload, err)
		}
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		// The error does not say whether NATS has the message. The subject's last message does.
		before := r.at.sequence
		if looked := r.look(ctx); looked != nil {
			return false, looked
		}
		if r.at.sequence != before {
			if bare(r.at.id) == id && r.at.next == m.next { // it is this message
				r.count(m)
				return true, nil
			}
			r.p.Stats.Others.Add(1)
			return false, nil
		}
		if err == nil { // NATS remembers the id of a message that is gone
			header.Set(nats.MsgIdHdr, id+"+"+strconv.FormatUint(uint64(rand.Uint32()), 10)) //nolint:gosec // any other id does
			continue
		}
		if err := r.p.wait(ctx, attempt, err); err != nil {
			return false, err
		}
	}
}

// tooLong is NATS' code for a message that is longer than the stream permits.
const tooLong jetstream.ErrorCode = 10054

func (r *replay) publish(ctx context.Context, header nats.Header, body []byte) (*jetstream.PubAck, error) {
	ctx, cancel := r.p.patience(ctx)
	defer cancel()
	return r.p.js.PublishMsg(ctx, &nats.Msg{Subject: r.subject, Header: header, Data: body},
		jetstream.WithExpectLastSequencePerSubject(r.at.sequence), jetstream.WithExpectStream(r.p.o.Stream), jetstream.WithRetryAttempts(0))
}

func (r *replay) count(m *message) {
	r.p.Stats.Waiting.Store(0)
	r.p.Stats.Messages.Add(1)
	r.p.Stats.Events.Add(m.next - m.first)
	r.p.Stats.Bytes.Add(uint64(len(m.body)))
}

// bare returns an id without put's addition for ids that NATS remembers.
func bare(id string) string {
	for i := len(id) - 1; i >= 0; i-- {
		if id[i] == '+' {
			return id[:i]
		}
		if id[i] < '0' || id[i] > '9' {
			break
		}
	}
	return id
}

func faultLine(f fault) ([]byte, error) {
	b, err := json.Marshal(map[string]fault{"error": f})
	return append(b, '\n'), err
}
