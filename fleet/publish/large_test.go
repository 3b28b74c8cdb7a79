package publish_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	client "github.com/replayd/replayd/clients/go"
	"github.com/replayd/replayd/fleet/publish"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// TestLarge: a batch that does not fit into a message is divided. An event that does not fit ends the replay with an error that says so; once
// NATS takes it, the replay goes on.
func TestLarge(t *testing.T) {
	h, daemon := newHub(t), serve(t, samples)
	c, conn := dial(t, daemon), connect(t, h.url)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	const name, headers = "root/" + finished, 16 << 10
	stream := jetstream.StreamConfig{Name: publish.DefaultStream, Subjects: []string{"replayd.>"}, MaxMsgSize: headers + 200}
	if _, err := js.CreateStream(within(t), stream); err != nil {
		t.Fatal(err)
	}
	want, err := wanted(t, c, &replaydv1.StreamEventsRequest{Replay: name})
	if err != nil {
		t.Fatal(err)
	}
	p := open(t, c, conn, publish.Options{})
	for range 2 {
		var e *client.Error
		if err := p.Replay(within(t), name); !errors.As(err, &e) || e.Reason != replaydv1.ErrorReason_ERROR_REASON_TOO_LARGE {
			t.Fatal(err)
		}
	}
	all := messagesOf(t, conn, publish.DefaultStream, ">")
	if got := consume(t, all); !slices.Equal(got.kinds, []string{"error"}) { // the start has the header, which is long
		t.Error(got.kinds)
	}
	stream.MaxMsgSize = headers + 3200
	if _, err := js.UpdateStream(within(t), stream); err != nil {
		t.Fatal(err)
	}
	for ended := false; !ended; { // killed between the parts of a batch
		p, ctx, kill := interrupted(t, open(t, c, conn, publish.Options{}))
		err := p.Replay(ctx, name)
		kill()
		if ended = err == nil; !ended && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	all = messagesOf(t, conn, publish.DefaultStream, ">")
	got := consume(t, all)
	same(t, name, got.lines, want)
	if !slices.Equal(got.kinds, []string{"error", "start", "events", "end"}) || len(all) < len(want)/100 {
		t.Error(got.kinds, len(all))
	}
}

// interrupted returns a context that ends soon after some messages were published.
func interrupted(t *testing.T, p *publish.Publisher) (_ *publish.Publisher, ctx context.Context, kill func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(within(t))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil && p.Stats.Messages.Load() < 10 {
			time.Sleep(100 * time.Microsecond)
		}
		cancel()
	}()
	return p, ctx, func() {
		cancel()
		<-done
	}
}

// TestForgotten: messages that somebody has purged are published again, although NATS still remembers their ids; and so are those of a
// stream that is gone.
func TestForgotten(t *testing.T) {
	h, daemon := newHub(t), serve(t, samples)
	c, conn := dial(t, daemon), connect(t, h.url)
	const name = "root/" + finished
	p := open(t, c, conn, publish.Options{})
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	want, err := wanted(t, c, &replaydv1.StreamEventsRequest{Replay: name})
	if err != nil {
		t.Fatal(err)
	}
	for i, forget := range []func() error{
		func() error { return nil },
		func() error {
			s, err := js.Stream(within(t), publish.DefaultStream)
			return errorsJoin(err, s.Purge(within(t)))
		},
		func() error {
			s, err := js.Stream(within(t), publish.DefaultStream)
			return errorsJoin(err, s.Purge(within(t), jetstream.WithPurgeSequence(uint64(20*len(want)))))
		},
		func() error { return js.DeleteStream(within(t), publish.DefaultStream) },
	} {
		if err := forget(); err != nil {
			t.Fatal(i, err)
		}
		if err := p.Replay(within(t), name); err != nil {
			t.Fatal(i, err)
		}
		same(t, name, consume(t, messagesOf(t, conn, publish.DefaultStream, ">")).lines, want)
	}
}
