package queue_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/replayd/replayd/fleet/queue"
	"github.com/replayd/replayd/fleet/queue/natsserver"
	"github.com/replayd/replayd/internal/freeport"
)

// One process adds a job, a worker takes and does it, and the record says so.
func Example() {
	url, stop := exampleServer()
	defer stop()
	ctx := context.Background()
	if err := addAndWork(ctx, url); err != nil {
		fmt.Println(err)
	}
	// Output:
	// added: true
	// alice: /replays/a.dem
	// done after 1 attempt
}

func addAndWork(ctx context.Context, url string) error {
	conn, err := nats.Connect(url)
	if err != nil {
		return err
	}
	defer conn.Close()
	q, err := queue.Open(ctx, conn, queue.Options{})
	if err != nil {
		return err
	}
	added, err := q.Add(ctx, []queue.Job{{
		Source: "/replays/a.dem", Tag: "sha256:" + strings.Repeat("0", 64), Size: 1, Tenant: "alice", Priority: queue.Normal,
		Format: "parquet", Request: json.RawMessage("{}"), Added: time.Now(),
	}})
	if err != nil {
		return err
	}
	fmt.Println("added:", added[0].New)

	taker, err := q.Taker("worker-1")
	if err != nil {
		return err
	}
	defer taker.Close()
	taken, err := taker.Take(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("%s: %s\n", taken.Record.Job.Tenant, taken.Record.Job.Source)
	// A worker that takes longer than the lease calls taken.Extend at the interval taken.Every.
	if err := taken.Done(ctx, false); err != nil {
		return err
	}
	record, err := q.Get(ctx, added[0].ID)
	if err != nil {
		return err
	}
	fmt.Printf("%s after %d attempt\n", record.State, record.Attempts)
	return nil
}

// exampleServer starts a NATS server.
func exampleServer() (url string, stop func()) {
	dir, err := os.MkdirTemp("", "queue-example-")
	if err != nil {
		panic(err)
	}
	addr, err := freeport.Addr()
	if err != nil {
		panic(err)
	}
	url = "nats://" + addr
	end, err := natsserver.Start(natsserver.Options{Dir: dir, URL: url})
	if err != nil {
		panic(err)
	}
	return url, func() {
		end()
		_ = os.RemoveAll(dir)
	}
}
