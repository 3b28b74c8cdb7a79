package natsserver_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/replayd/replayd/fleet/queue/natsserver"
	"github.com/replayd/replayd/internal/faulttest"
	"github.com/replayd/replayd/internal/freeport"
)

// TestFullDisk: a server whose disk was full takes messages again once there is room, and has all that it had acknowledged.
func TestFullDisk(t *testing.T) {
	disk := faulttest.NewDisk(t, 32<<20)
	if disk == nil {
		t.Skip("no disk can be made that gets full")
	}
	addr, err := freeport.Addr()
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1000)
	stop, err := natsserver.Start(natsserver.Options{Dir: disk.Dir, URL: "nats://" + addr, Failed: func(err error) { failed <- err }})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	conn, err := nats.Connect("nats://"+addr, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "s", Subjects: []string{"s"}}); err != nil {
		t.Fatal(err)
	}
	acknowledged := 0
	put := func() error {
		ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
		defer cancel()
		_, err := js.Publish(ctx, "s", make([]byte, 100<<10))
		if err == nil {
			acknowledged++
		}
		return err
	}
	for range 10 {
		if err := put(); err != nil {
			t.Fatal(err)
		}
	}
	disk.Fill(t, 32<<10) // with nothing left, the server would ignore how much there is when it starts
	for err = nil; err == nil; {
		_ = put() // at the latest once its buffers are full, it cannot
		select {
		case err = <-failed:
		case <-ctx.Done():
			t.Fatal("it does not notice that its disk is full")
		default:
		}
	}
	if !strings.Contains(err.Error(), "no space") {
		t.Error(err)
	}
	for conn.Stats().Reconnects == 0 && ctx.Err() == nil { // it is started again while the disk is full
		time.Sleep(5 * time.Millisecond)
	}
	disk.Free(t)
	for err := put(); err != nil; err = put() {
		if ctx.Err() != nil {
			t.Fatal("it takes no messages:", err)
		}
	}
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "more", Subjects: []string{"more"}, MaxBytes: 10 << 20}); err != nil {
		t.Error("it has no room for another stream:", err)
	}
	s, err := js.Stream(ctx, "s")
	if err != nil {
		t.Fatal(err)
	}
	if n := s.CachedInfo().State.Msgs; n < uint64(acknowledged) {
		t.Errorf("it has %d messages, and had acknowledged %d", n, acknowledged)
	}
}
