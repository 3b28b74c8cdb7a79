package queue_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/replayd/replayd/fleet/queue"
	"github.com/replayd/replayd/fleet/queue/natsserver"
	"github.com/replayd/replayd/internal/freeport"
)

// patience is how long a test waits for what must happen.
const patience = time.Minute

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// open starts a server and returns its queue.
func open(t *testing.T, lease time.Duration) *queue.Queue {
	t.Helper()
	return connect(t, serve(t), lease)
}

// serve starts a server and returns its URL.
func serve(t *testing.T) string {
	t.Helper()
	addr, err := freeport.Addr()
	if err != nil {
		t.Fatal(err)
	}
	url := "nats://" + addr
	stop, err := natsserver.Start(natsserver.Options{Dir: t.TempDir(), URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return url
}

func connect(t *testing.T, url string, lease time.Duration) *queue.Queue {
	t.Helper()
	conn, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	q, err := queue.Open(within(t), conn, queue.Options{Lease: lease})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func job(tenant string, p queue.Priority, n int) queue.Job {
	return queue.Job{
		Source: "/replays/" + strconv.Itoa(n), Tag: fmt.Sprintf("sha256:%064d", n), Size: 1, Tenant: tenant, Priority: p, Format: "parquet",
		Request: json.RawMessage("{}"), Added: time.Now(),
	}
}

func add(t *testing.T, q *queue.Queue, jobs ...queue.Job) (ids []string) {
	t.Helper()
	for len(jobs) > 0 {
		n := min(len(jobs), queue.MaxAdd)
		added, err := q.Add(within(t), jobs[:n])
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range added {
			ids = append(ids, a.ID)
		}
		jobs = jobs[n:]
	}
	return ids
}

func taker(t *testing.T, q *queue.Queue) *queue.Taker {
	t.Helper()
	k, err := q.Taker(t.Name())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	return k
}

func take(t *testing.T, k *queue.Taker) *queue.Taken {
	t.Helper()
	j, err := k.Take(within(t))
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// none fails if there is a job.
func none(t *testing.T, q *queue.Queue) {
	t.Helper()
	if lines, err := q.Lines(within(t)); err != nil || len(lines) > 0 {
		t.Error(lines, err)
	}
}

func state(t *testing.T, q *queue.Queue, id string) *queue.Record {
	t.Helper()
	r, err := q.Get(within(t), id)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestCheck: what could not be stored, or found again, is refused before it is sent.
func TestCheck(t *testing.T) {
	good := job("a_tenant-1", queue.Low, 1)
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(j *queue.Job){
		"no tenant":                     func(j *queue.Job) { j.Tenant = "" },
		"a tenant that is two words":    func(j *queue.Job) { j.Tenant = "a.b" }, // of a subject
		"a tenant that stands for many": func(j *queue.Job) { j.Tenant = "*" },
		"a long tenant":                 func(j *queue.Job) { j.Tenant = strings.Repeat("t", 33) },
		"another priority":              func(j *queue.Job) { j.Priority = "urgent" },
		"no source":                     func(j *queue.Job) { j.Source = "" },
		"no tag":                        func(j *queue.Job) { j.Tag = "" },
		"a size below 0":                func(j *queue.Job) { j.Size = -1 },
		"a long request":                func(j *queue.Job) { j.Request = json.RawMessage(`"` + strings.Repeat("x", queue.MaxJob) + `"`) },
		"a request that is no JSON":     func(j *queue.Job) { j.Request = json.RawMessage("{") },
	} {
		j := good
		if change(&j); j.Check() == nil {
			t.Errorf("%s is allowed", what)
		}
	}
}

// TestOnce: contents are queued once for each tenant and each selection, whatever their names.
func TestOnce(t *testing.T) {
	q := open(t, 0)
	a := job("a", queue.Normal, 1)
	renamed, other, selected := a, a, a
	renamed.Source, renamed.Added = "/replays/other name", time.Now().Add(time.Hour)
	other.Tenant = "b"
	selected.Request = json.RawMessage(`{"include": [{"kinds": ["join"]}]}`)
	spaced := selected
	spaced.Request = json.RawMessage(`{"include":[{"kinds":["join"]}]}`)
	again := a
	again.Again = true
	added, err := q.Add(within(t), []queue.Job{a, renamed, other, selected, spaced, a, again})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, false, true, true, false, false, true} {
		if added[i].New != want {
			t.Errorf("job %d: new is %v", i, added[i].New)
		}
	}
	k := taker(t, q)
	for range 4 {
		if err := take(t, k).Done(within(t), false); err != nil {
			t.Fatal(err)
		}
	}
	none(t, q)
	if added, err := q.Add(within(t), []queue.Job{renamed}); err != nil || added[0].New || state(t, q, added[0].ID).State != queue.Done {
		t.Error("a job that was done is queued again", added, err)
	}
	none(t, q)
	for _, bad := range []func(*queue.Job){
		func(j *queue.Job) { j.Tenant = "a.b" }, func(j *queue.Job) { j.Tenant = "" }, func(j *queue.Job) { j.Tenant = "*" },
		func(j *queue.Job) { j.Priority = "urgent" }, func(j *queue.Job) { j.Source = "" }, func(j *queue.Job) { j.Size = -1 },
		func(j *queue.Job) { j.Request = json.RawMessage(strings.Repeat(" ", queue.MaxJob) + "{") },
	} {
		j := a
		bad(&j)
		if _, err := q.Add(within(t), []queue.Job{j}); err == nil {
			t.Errorf("%.200v is queued", j)
		}
	}
}

// TestDenied: a job whose source no worker may read does not block one with the same contents elsewhere, which is done once.
func TestDenied(t *testing.T) {
	q := open(t, 0)
	outside := job("a", queue.Normal, 1)
	inside := outside
	inside.Source = "/replays/inside"
	k := taker(t, q)
	id := add(t, q, outside)[0]
	for _, test := range []struct {
		reason string
		added  [3]bool // outside, inside, and that once more
	}{
		{"CORRUPT", [3]bool{}},
		{queue.Denied, [3]bool{false, true, false}},
	} {
		if err := take(t, k).Fail(within(t), queue.Failure{Reason: test.reason}); err != nil {
			t.Fatal(err)
		}
		for i, j := range []queue.Job{outside, inside, inside} {
			added, err := q.Add(within(t), []queue.Job{j})
			if err != nil || added[0].ID != id || added[0].New != test.added[i] {
				t.Errorf("%s, %s: %+v, %v", test.reason, j.Source, added, err)
			}
		}
		if test.reason != queue.Denied {
			if err := q.Retry(within(t), id); err != nil {
				t.Fatal(err)
			}
		}
	}
	taken := take(t, k)
	if taken.Record.Job.Source != inside.Source {
		t.Errorf("%+v", taken.Record)
	}
	if err := taken.Done(within(t), false); err != nil {
		t.Fatal(err)
	}
	none(t, q)
}

// TestLease: a job whose worker says nothing is another's after the lease, and the first can no longer end it; one that is extended stays.
func TestLease(t *testing.T) {
	q := open(t, 500*time.Millisecond)
	id := add(t, q, job("a", queue.Normal, 1))[0]
	k := taker(t, q)
	first := take(t, k)
	for range 8 {
		if err := first.Extend(within(t)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(first.Every())
	}
	if r := state(t, q, id); r.Attempts != 1 || r.State != queue.Running {
		t.Fatalf("an extended job: %+v", r)
	}
	second := take(t, k) // the first says nothing any more
	if second.Record.ID != id || second.Record.Attempts != 2 {
		t.Fatalf("%+v", second.Record)
	}
	if err := first.Extend(within(t)); !errors.Is(err, queue.ErrLost) {
		t.Error("extended by the worker that lost it:", err)
	}
	for _, end := range []func() error{
		func() error { return first.Done(within(t), false) },
		func() error { return first.Fail(within(t), queue.Failure{Reason: "CORRUPT"}) },
		func() error { return first.Release(within(t)) },
	} {
		if err := end(); !errors.Is(err, queue.ErrLost) {
			t.Error("ended by the worker that lost it:", err)
		}
	}
	if err := second.Extend(within(t)); err != nil {
		t.Fatal(err)
	}
	if err := second.Done(within(t), false); err != nil {
		t.Fatal(err)
	}
	if r := state(t, q, id); r.State != queue.Done || r.Attempts != 2 {
		t.Errorf("%+v", r)
	}
	none(t, q)
}

// TestDead: a job that kills its workers fails, and so does one that cannot be done; both can be retried.
func TestDead(t *testing.T) {
	q := open(t, 20*time.Millisecond)
	id := add(t, q, job("a", queue.Normal, 1))[0]
	k := taker(t, q)
	for n := 1; n <= queue.MaxDeliveries; n++ {
		if j := take(t, k); j.Record.Attempts != n {
			t.Fatal(j.Record.Attempts)
		}
	}
	ctx, cancel := context.WithCancel(within(t))
	go func() {
		for state(t, q, id).State != queue.Failed && ctx.Err() == nil {
			time.Sleep(5 * time.Millisecond)
		}
		cancel()
	}()
	if j, err := k.Take(ctx); err == nil {
		t.Fatalf("taken once more: %+v", j.Record)
	}
	if r := state(t, q, id); r.Reason != queue.WorkerDied {
		t.Errorf("%+v", r)
	}
	if err := q.Retry(within(t), id); err != nil {
		t.Fatal(err)
	}
}

// TestFailures: what becomes of jobs that fail, are put back, are cancelled and retried.
func TestFailures(t *testing.T) {
	q := open(t, 0)
	k := taker(t, q)
	id := add(t, q, job("a", queue.Normal, 1))[0]
	at := int64(17)
	if err := take(t, k).Fail(within(t), queue.Failure{Reason: "CORRUPT", Offset: &at, Detail: "x"}); err != nil {
		t.Fatal(err)
	}
	if r := state(t, q, id); r.State != queue.Failed || r.Reason != "CORRUPT" || *r.Offset != 17 || r.Detail != "x" {
		t.Errorf("%+v", r)
	}
	none(t, q)
	if err := q.Retry(within(t), id); err != nil {
		t.Fatal(err)
	}
	j := take(t, k)
	if j.Record.Reason != "" || j.Record.Attempts != 1 || j.Record.Retries != 1 {
		t.Errorf("%+v", j.Record)
	}
	if err := q.Retry(within(t), id); !errors.Is(err, queue.ErrState) {
		t.Error("a running job is retried:", err)
	}
	if failed, err := j.Later(within(t), queue.Failure{Reason: "STORE_UNAVAILABLE"}); failed || err != nil {
		t.Fatal(failed, err)
	}
	if r := state(t, q, id); r.State != queue.Queued || r.Reason != "STORE_UNAVAILABLE" {
		t.Errorf("%+v", r)
	}
	begun := time.Now()
	j = take(t, k)
	if pause := time.Since(begun); pause < 500*time.Millisecond || j.Record.Attempts != 2 {
		t.Error("no pause before the second attempt:", pause, j.Record.Attempts)
	}
	if err := j.Release(within(t)); err != nil {
		t.Fatal(err)
	}
	j = take(t, k)
	if err := q.Cancel(within(t), id); err != nil {
		t.Fatal(err)
	}
	if err := j.Extend(within(t)); !errors.Is(err, queue.ErrLost) {
		t.Error("a cancelled job goes on:", err)
	}
	if err := j.Done(within(t), false); !errors.Is(err, queue.ErrLost) {
		t.Error("a cancelled job is done:", err)
	}
	if err := q.Cancel(within(t), id); !errors.Is(err, queue.ErrState) {
		t.Error("cancelled twice:", err)
	}
	if _, err := q.Get(within(t), "none"); !errors.Is(err, queue.ErrUnknown) {
		t.Error(err)
	}
	if _, err := q.Get(within(t), "a.*"); !errors.Is(err, queue.ErrUnknown) {
		t.Error(err)
	}
}

// TestLostMessage: a job whose message is not in its line, as when NATS went while it was added, is put there by Retry. If it was there, it is
// still done once.
func TestLostMessage(t *testing.T) {
	url := serve(t)
	q := connect(t, url, 0)
	conn, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	ids := add(t, q, job("a", queue.Normal, 1))
	stream, err := js.Stream(within(t), queue.StreamName)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(within(t)); err != nil {
		t.Fatal(err)
	}
	ids = append(ids, add(t, q, job("a", queue.Normal, 2))...)
	k := taker(t, q)
	for _, id := range ids {
		if err := q.Retry(within(t), id); err != nil {
			t.Fatal(err)
		}
	}
	for range ids {
		if err := take(t, k).Done(within(t), false); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if j, err := k.Take(ctx); err == nil {
		t.Errorf("taken once more: %+v", j.Record)
	}
	none(t, q)
	for _, id := range ids {
		if r := state(t, q, id); r.State != queue.Done || r.Attempts != 1 {
			t.Errorf("%+v", r)
		}
	}
}

// TestClaim: one job at a time writes to a place, and what a cancelled one has left there is known to who cleans up.
func TestClaim(t *testing.T) {
	q := open(t, 500*time.Millisecond)
	k := taker(t, q)
	ids := add(t, q, job("a", queue.Normal, 1), job("a", queue.Normal, 2))
	first, second := take(t, k), take(t, k)
	const place = "replays/format=dem/x.parquet.json"
	if err := first.Claim(within(t), place); err != nil {
		t.Fatal(err)
	}
	if err := second.Claim(within(t), place); !errors.Is(err, queue.ErrBusy) {
		t.Error("claimed by two:", err)
	}
	if err := second.Claim(within(t), "replays/format=dem/y.parquet.json"); err != nil {
		t.Error(err)
	}
	if err := first.Intend(within(t), []string{"one", "two"}); err != nil {
		t.Fatal(err)
	}
	if err := q.Cancel(within(t), ids[0]); err != nil {
		t.Fatal(err)
	}
	if err := second.Done(within(t), false); err != nil {
		t.Fatal(err)
	}
	cleaner := take(t, k) // once the lease is over
	if cleaner.Record.ID != ids[0] || !cleaner.Abandoned || cleaner.Record.Claim != place {
		t.Fatalf("%+v", cleaner)
	}
	if err := cleaner.Claim(within(t), place); err != nil {
		t.Fatal(err)
	}
	if left := cleaner.Leftovers(); len(left) != 2 {
		t.Error(left)
	}
	if err := first.Intend(within(t), []string{"one"}); !errors.Is(err, queue.ErrLost) {
		t.Error("the cancelled job still writes:", err)
	}
	if err := errors.Join(cleaner.Settle(within(t)), cleaner.Abandon(within(t))); err != nil {
		t.Fatal(err)
	}
	none(t, q)
	if r := state(t, q, ids[0]); r.State != queue.Cancelled {
		t.Errorf("%+v", r)
	}
}

// TestTenantsInTurn: tenants of one priority are served one after the other, whatever their names, also if one comes later.
func TestTenantsInTurn(t *testing.T) {
	q := open(t, 0)
	for i, tenant := range []string{"b", "a", "c"} {
		add(t, q, job(tenant, queue.Normal, 10*i), job(tenant, queue.Normal, 10*i+1), job(tenant, queue.Normal, 10*i+2))
	}
	k := taker(t, q)
	served := ""
	for range 9 {
		j := take(t, k)
		if err := j.Done(within(t), false); err != nil {
			t.Fatal(err)
		}
		served += j.Record.Job.Tenant
	}
	if served != "abcabcabc" {
		t.Errorf("the tenants are served in the order %s", served)
	}
}

// backlogVariable is the environment variable that sets how many jobs one tenant has queued, such as 100000.
const backlogVariable = "BACKLOG"

// TestTurns: a tenant's many jobs delay neither another tenant's one nor one of high priority by more than a few jobs.
func TestTurns(t *testing.T) {
	n := 1000
	if text := os.Getenv(backlogVariable); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	q := open(t, 0)
	jobs := make([]queue.Job, n)
	for _, p := range []queue.Priority{queue.High, queue.Normal} {
		for i := range jobs {
			jobs[i] = job("many", p, i+map[queue.Priority]int{queue.High: n}[p])
		}
		begun := time.Now()
		add(t, q, jobs...)
		t.Logf("%d jobs added in %v", n, time.Since(begun))
	}
	k := taker(t, q)
	done := func() *queue.Record {
		j := take(t, k)
		if err := j.Done(within(t), false); err != nil {
			t.Fatal(err)
		}
		return j.Record
	}
	for range 20 {
		done()
	}
	for i, c := range []struct {
		tenant string
		p      queue.Priority
		most   int // jobs that may come before
	}{{"few", queue.High, 3}, {"few", queue.Normal, 16}, {"few", queue.Low, 32}} {
		id := add(t, q, job(c.tenant, c.p, 3*n+i))[0]
		begun := time.Now()
		before := 0
		for done().ID != id {
			if time.Since(begun) < 200*time.Millisecond { // until the taker knows of it
				continue
			}
			if before++; before > c.most {
				t.Fatalf("%d jobs of another tenant come before one of %s priority", before, c.p)
			}
		}
		t.Logf("%s: after %v", c.p, time.Since(begun))
	}
	// An idle taker receives a new job at once.
	idle := open(t, 0)
	k = taker(t, idle)
	got := make(chan time.Time, 1)
	go func() {
		take(t, k)
		got <- time.Now()
	}()
	time.Sleep(50 * time.Millisecond)
	add(t, idle, job("a", queue.High, 1))
	begun := time.Now()
	if took := (<-got).Sub(begun); took > 5*time.Second {
		t.Error("an idle worker begins after", took)
	}
}
