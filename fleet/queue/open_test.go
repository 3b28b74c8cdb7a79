package queue_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/replayd/replayd/fleet/queue"
)

// TestOpenWaits: a queue can be opened before the servers have what it needs, as those of a cluster that elects a leader. Without Wait it
// fails at once.
func TestOpenWaits(t *testing.T) {
	t.Parallel()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	defer func() { s.Shutdown(); s.WaitForShutdown() }()
	conn, err := nats.Connect(s.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := queue.Open(within(t), conn, queue.Options{}); err == nil {
		t.Error("there is a queue without JetStream")
	}
	began := time.Now()
	if _, err := queue.Open(within(t), conn, queue.Options{Wait: time.Second}); err == nil || time.Since(began) < time.Second {
		t.Error("it did not wait:", err)
	}
	cancelled, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := queue.Open(cancelled, conn, queue.Options{Wait: time.Hour}); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	opened, told := make(chan error, 1), make(chan error, 10)
	go func() {
		q, err := queue.Open(within(t), conn, queue.Options{Wait: time.Hour, Waits: func(err error) { told <- err }})
		if err == nil {
			_, err = q.Lines(within(t))
		}
		opened <- err
	}()
	select {
	case err := <-opened:
		t.Fatal("it did not wait:", err)
	case err := <-told:
		if err == nil {
			t.Error("it does not say what it waits for")
		}
	}
	if err := s.EnableJetStream(&server.JetStreamConfig{StoreDir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	if err := <-opened; err != nil {
		t.Error(err)
	}
	if len(told) > 0 {
		t.Error("it says more than once that it waits")
	}
}
