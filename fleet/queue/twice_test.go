package queue_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/replayd/replayd/fleet/queue"
)

// TestSentTwice: a job whose message is in its line twice has one worker, and is done once.
func TestSentTwice(t *testing.T) {
	t.Parallel()
	q := open(t, 0)
	k := taker(t, q)
	id := add(t, q, job("a", queue.Normal, 1))[0]
	if err := errors.Join(q.Cancel(within(t), id), q.Retry(within(t), id)); err != nil {
		t.Fatal(err)
	}
	waiting := func() uint64 {
		lines, err := q.Lines(within(t))
		if err != nil || len(lines) != 1 {
			t.Fatal(lines, err)
		}
		return lines[0].Jobs
	}
	if n := waiting(); n != 2 {
		t.Fatal(n, "messages; the test is about 2")
	}
	first := take(t, k)
	ctx, cancel := context.WithCancel(within(t))
	go func() {
		defer cancel()
		for ctx.Err() == nil && waiting() != 1 {
			time.Sleep(5 * time.Millisecond)
		}
	}()
	if second, err := k.Take(ctx); err == nil {
		t.Fatalf("taken by two: %+v", second.Record)
	}
	<-ctx.Done()
	if err := first.Extend(within(t)); err != nil {
		t.Error(err)
	}
	if err := first.Done(within(t), false); err != nil {
		t.Error(err)
	}
	none(t, q)
}

// TestAbandoned: a job that was cancelled stays so, also if what it left cannot be removed at once. Until it is removed no other job
// writes there.
func TestAbandoned(t *testing.T) {
	t.Parallel()
	q := open(t, 0)
	k := taker(t, q)
	const place = "replays/format=dem/x.parquet.json"
	ids := add(t, q, job("a", queue.Normal, 1), job("a", queue.Normal, 2), job("a", queue.Normal, 3))
	first, other, third := take(t, k), take(t, k), take(t, k)
	if err := errors.Join(first.Claim(within(t), place), first.Release(within(t)), q.Cancel(within(t), ids[0])); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		first = take(t, k)
		if first.Record.ID != ids[0] || !first.Abandoned {
			t.Fatalf("%+v", first.Record)
		}
		if err := other.Claim(within(t), place); !errors.Is(err, queue.ErrBusy) {
			t.Error("the place of a job whose files are not removed yet is claimed:", err)
		}
		if err := first.Release(within(t)); err != nil {
			t.Fatal(err)
		}
		if r := state(t, q, ids[0]); r.State != queue.Cancelled {
			t.Fatalf("a cancelled job is %s again", r.State)
		}
	}
	first = take(t, k)
	if err := first.Abandon(within(t)); err != nil {
		t.Fatal(err)
	}
	if err := other.Claim(within(t), place); err != nil {
		t.Error(err)
	}

	// A failed job has no message by which anybody would clean up: once it is cancelled, its place is free.
	const second = "replays/format=dem/y.parquet.json"
	if err := errors.Join(third.Claim(within(t), second), third.Fail(within(t), queue.Failure{Reason: "CORRUPT"}), q.Cancel(within(t), ids[2])); err != nil {
		t.Fatal(err)
	}
	if err := other.Claim(within(t), second); err != nil {
		t.Error(err)
	}
	if err := other.Release(within(t)); err != nil {
		t.Fatal(err)
	}
	if err := q.Cancel(within(t), ids[1]); err != nil {
		t.Fatal(err)
	}
	other = take(t, k)
	if failed, err := other.Later(within(t), queue.Failure{Reason: "STORE_UNAVAILABLE"}); failed || err != nil || !other.Abandoned {
		t.Error(failed, err)
	}
	if r := state(t, q, ids[1]); r.State != queue.Cancelled || r.Reason != "" {
		t.Errorf("%+v", r)
	}
}

// TestLeaseOfLine: workers with different leases go by that of the line, which the first of them has made.
func TestLeaseOfLine(t *testing.T) {
	t.Parallel()
	url := serve(t)
	first, second := connect(t, url, time.Hour), connect(t, url, time.Second)
	add(t, first, job("a", queue.Normal, 1), job("a", queue.Normal, 2))
	for _, q := range []*queue.Queue{first, second} {
		if every := take(t, taker(t, q)).Every(); every != 15*time.Minute {
			t.Error(every)
		}
	}
}
