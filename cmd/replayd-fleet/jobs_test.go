package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	natsd "github.com/nats-io/nats-server/v2/server"

	"github.com/replayd/replayd/cmd/internal/command"
	"github.com/replayd/replayd/cmd/internal/commandtest"
	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/fleet/bucket"
	"github.com/replayd/replayd/fleet/bucket/buckettest"
	"github.com/replayd/replayd/fleet/queue"
	"github.com/replayd/replayd/fleet/queue/natsserver"
	"github.com/replayd/replayd/internal/testlog"
)

// hub starts a server of the queue in this process, and returns its URL.
func hub(t *testing.T) string {
	t.Helper()
	server := "nats://" + commandtest.FreeAddr(t)
	stop, err := natsserver.Start(natsserver.Options{Dir: t.TempDir(), URL: server})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return server
}

// mustRun runs a command that must end with a code, and returns what it printed.
func mustRun(t *testing.T, want int, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := newProgram().Run(t.Context(), args, command.Console{In: strings.NewReader(""), Out: &out, Err: &errs}); code != want {
		t.Errorf("%v: %d, want %d: %s %s", args, code, want, out.String(), errs.String())
	}
	return out.String() + errs.String()
}

// background runs a command until stop is called, or the test ends.
func background(t *testing.T, args ...string) (log *testlog.Log, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	log = new(testlog.Log)
	ended := make(chan int, 1)
	go func() {
		ended <- newProgram().Run(ctx, args, command.Console{In: strings.NewReader(""), Out: log, Err: log})
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		if code := <-ended; code != 0 && code != command.ExitCancelled {
			t.Errorf("%v: %d: %s", args, code, log)
		}
	})
	t.Cleanup(stop)
	return log, stop
}

// says waits until a command has printed a text.
func says(t *testing.T, log *testlog.Log, text string) {
	t.Helper()
	for deadline := time.Now().Add(commandtest.Patience); !strings.Contains(log.String(), text); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never %q: %s", text, log)
		}
	}
}

// records returns all jobs.
func records(t *testing.T, server string) (list []queue.Record) {
	t.Helper()
	for line := range strings.Lines(mustRun(t, 0, "jobs", "ls", "--format", "json", "--nats", server)) {
		var r queue.Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	return list
}

// objects returns the names of the objects below a path.
func objects(t *testing.T, store *buckettest.Store, path string) (names []string) {
	t.Helper()
	b, err := openBucket(t.Context(), store.URL(path), bucket.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Walk(t.Context(), ".", func(f bucket.Found) error { names = append(names, f.Path); return nil }); err != nil {
		t.Fatal(err)
	}
	return names
}

func sampleMap(t *testing.T) []byte {
	t.Helper()
	data := decodertest.Sample(t, "datafile", "sample.map")
	return data
}

// TestJobsWatch: each new object of a bucket becomes a job once, and so does each change of one; also over a store that refuses for a
// while, and after the watcher was started again.
func TestJobsWatch(t *testing.T) {
	t.Parallel()
	store, server := buckettest.New(t), hub(t)
	store.Put("in/a", []byte("a"))
	store.Put("in/d/b", []byte("b"))
	store.Put("in/.hidden", []byte("c"))
	store.Hook(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		buckettest.Refuse(w, http.StatusForbidden, "AccessDenied")
	})
	watch := func() (*testlog.Log, func()) {
		return background(t, "jobs", "add", "--watch", "--nats", server, store.URL("in", "refresh", "1s"))
	}
	log, stop := watch()
	says(t, log, "status 403")
	store.Hook(nil)
	says(t, log, "2 jobs queued, 0 known before\n")
	store.Put("in/a", []byte("changed"))
	store.Put("in/c", []byte("new"))
	says(t, log, "4 jobs queued, 0 known before\n") // "0 known": what is there is not queued again
	stop()
	store.Put("in/e", []byte("new"))
	log, stop = watch()
	says(t, log, "1 jobs queued, 3 known before\n")
	stop()
	var got []string
	for _, r := range records(t, server) {
		if got = append(got, strings.TrimPrefix(r.Job.Source, "s3://"+buckettest.Name+"/in/")); r.State != queue.Queued {
			t.Errorf("%+v", r)
		}
	}
	slices.Sort(got)
	if want := []string{"a", "a", "c", "d/b", "e"}; !slices.Equal(got, want) {
		t.Errorf("jobs of %v, want %v", got, want)
	}
	mustRun(t, command.ExitUsage, "jobs", "add", "--watch", "--nats", server, t.TempDir())
	mustRun(t, command.ExitUsage, "jobs", "add", "--watch", "--wait", "--nats", server, store.URL("in"))
}

// holdSecond makes a store keep the second file that is put waiting until its request ends. The first is there then.
func holdSecond(store *buckettest.Store) (reached <-chan struct{}) {
	second := make(chan struct{})
	var n atomic.Int64
	store.Hook(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodPut && n.Add(1) == 2 {
			_, _ = io.Copy(io.Discard, r.Body) // or the server does not notice that the request ends
			close(second)
			<-r.Context().Done()
			panic(http.ErrAbortHandler)
		}
		next.ServeHTTP(w, r)
	})
	return second
}

func wait(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(commandtest.Patience):
		t.Fatal("nothing happens")
	}
}

// TestJobsCancel: what a job that is cancelled while its results are written has put is removed, and it can be retried.
func TestJobsCancel(t *testing.T) {
	t.Parallel()
	store, server := buckettest.New(t), hub(t)
	store.Put("in/x.map", sampleMap(t))
	reached := holdSecond(store)
	mustRun(t, 0, "jobs", "add", "--nats", server, store.URL("in"))
	log, stop := background(t, "work", "--no-staged", "--nats", server, "--from", store.URL("in"), "--to", store.URL("out"), "--temp", t.TempDir(), "--lease", "1s")
	wait(t, reached)
	if got := objects(t, store, "out"); len(got) != 1 {
		t.Fatal("the test is about one file, not", got)
	}
	id := records(t, server)[0].ID
	mustRun(t, 0, "jobs", "cancel", id, "--nats", server)
	says(t, log, "msg=abandoned")
	if got := objects(t, store, "out"); !givenUp(store, got) {
		t.Error("left by a cancelled job:", got)
	}
	if r := records(t, server)[0]; r.State != queue.Cancelled {
		t.Errorf("%+v", r)
	}
	mustRun(t, 0, "jobs", "retry", id, "--nats", server)
	says(t, log, "msg=done")
	stop()
	got := objects(t, store, "out")
	if r := records(t, server)[0]; r.State != queue.Done || len(got) < 3 || !slices.ContainsFunc(got, func(n string) bool { return strings.HasSuffix(n, ".json") }) {
		t.Errorf("%+v: %v", r, got)
	}
}

// givenUp reports whether objects are a manifest that names nothing.
func givenUp(store *buckettest.Store, names []string) bool {
	return len(names) == 1 && isManifest(names[0]) && strings.Contains(string(store.Get("out/"+names[0])), `"files": {},`)
}

// TestJobsLate: the manifest of a job is still on its way to the store when the job is cancelled and its tables are removed. When it arrives,
// it is not taken.
func TestJobsLate(t *testing.T) {
	t.Parallel()
	store, server := buckettest.New(t), hub(t)
	store.Put("in/x.map", sampleMap(t))
	reached, release, landed := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var once sync.Once
	store.Hook(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		first := false
		if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, ".json") {
			once.Do(func() { first = true })
		}
		if !first {
			next.ServeHTTP(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		close(reached)
		<-release
		late := r.Clone(context.WithoutCancel(r.Context()))
		late.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, late)
		close(landed)
	})
	mustRun(t, 0, "jobs", "add", "--nats", server, store.URL("in"), "--format", "jsonl")
	log, stop := background(t, "work", "--nats", server, "--from", store.URL("in"), "--to", store.URL("out"), "--temp", t.TempDir(), "--lease", "1s")
	wait(t, reached)
	mustRun(t, 0, "jobs", "cancel", records(t, server)[0].ID, "--nats", server)
	says(t, log, "msg=abandoned")
	close(release)
	wait(t, landed)
	if got := objects(t, store, "out"); !givenUp(store, got) {
		t.Errorf("%v: %s", got, log)
	}
	mustRun(t, 0, "jobs", "retry", records(t, server)[0].ID, "--nats", server)
	says(t, log, "msg=done")
	stop()
	if got := objects(t, store, "out"); len(got) != len(validTables(t, got, func(name string) []byte { return store.Get("out/" + name) })) {
		t.Error(got)
	}
}

// TestJobsKilled: what a killed worker has put and drafted is removed by the next one, also if the job can no longer be done.
func TestJobsKilled(t *testing.T) {
	t.Parallel()
	store, server, temp := buckettest.New(t), hub(t), t.TempDir()
	store.Put("in/x.map", sampleMap(t))
	reached := holdSecond(store)
	mustRun(t, 0, "jobs", "add", "--nats", server, store.URL("in"))
	args := []string{"work", "--no-staged", "--nats", server, "--from", store.URL("in"), "--to", store.URL("out"), "--temp", temp, "--lease", "1s"}
	first := self(t, args...)
	first.Stderr = io.Discard
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	wait(t, reached)
	commandtest.Kill(t, first)
	if got := objects(t, store, "out"); len(got) != 1 {
		t.Error("the test is about one file, not", got)
	}
	if got := entries(t, temp); !slices.ContainsFunc(got, func(n string) bool { return strings.HasSuffix(n, ".part") }) {
		t.Error("the test is about drafts, not", got)
	}
	store.Remove("in/x.map")
	mustRun(t, 0, append(args, "--until-done")...)
	if got := objects(t, store, "out"); !givenUp(store, got) {
		t.Error("left by a killed worker:", got)
	}
	if got, err := os.ReadDir(temp); err != nil || len(got) > 0 {
		t.Error("left on the disk by a killed worker:", got, err)
	}
	if r := records(t, server)[0]; r.State != queue.Failed || r.Reason != "NOT_FOUND" || r.Attempts < 2 { // more if a lease ends before a busy machine extends it
		t.Errorf("%+v", r)
	}
}

// TestJobsBackOff: a job waits for a store that fails, be it that of the replays or that of the results, and is done when it is back.
func TestJobsBackOff(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, reason string
		status       int
		code         string
		at           func(*http.Request) bool
	}{
		{"replays", "STORE_UNAVAILABLE", http.StatusBadRequest, "BadRequest", func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/x.map") }},
		{"results", "PERMISSION_DENIED", http.StatusForbidden, "AccessDenied", func(r *http.Request) bool { return r.Method == http.MethodPut }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			store, server := buckettest.New(t), hub(t)
			store.Put("in/x.map", sampleMap(t))
			store.Hook(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if c.at(r) {
					buckettest.Refuse(w, c.status, c.code)
					return
				}
				next.ServeHTTP(w, r)
			})
			log, _ := background(t, "work", "--no-staged", "--nats", server, "--from", store.URL("in"), "--to", store.URL("out"), "--temp", t.TempDir())
			mustRun(t, 0, "jobs", "add", "--nats", server, store.URL("in"))
			says(t, log, "msg=retried")
			store.Hook(nil)
			if out := mustRun(t, 0, "jobs", "add", "--wait", "--nats", server, store.URL("in")); !strings.Contains(out, "1 jobs done, 0 not") {
				t.Error(out)
			}
			if r := records(t, server)[0]; r.State != queue.Done || r.Attempts < 2 || r.Reason != "" {
				t.Errorf("%+v", r)
			}
			if !strings.Contains(log.String(), "reason="+c.reason) || len(objects(t, store, "out")) < 3 {
				t.Error(log)
			}
		})
	}
}

// TestJobsDamaged: a damaged replay that was exported before, as by a worker that was killed before it said so, fails for the same reason.
func TestJobsDamaged(t *testing.T) {
	t.Parallel()
	server, dir := hub(t), t.TempDir()
	data := decodertest.Sample(t, "teehistorian", "finished", "4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian")
	copy(data[len(data)/2:], bytes.Repeat([]byte{0xff}, 64)) // the record that it damages may begin before
	path := filepath.Join(dir, "x.teehistorian")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	log, _ := background(t, "work", "--no-staged", "--nats", server, "--from", dir, "--to", t.TempDir())
	for _, tenant := range []string{"a", "b"} {
		mustRun(t, command.ExitCorrupt, "jobs", "add", "--wait", "--tenant", tenant, "--nats", server, path)
	}
	list := records(t, server)
	if len(list) != 2 {
		t.Fatal(list, log)
	}
	for _, r := range list {
		if r.State != queue.Failed || r.Reason != "CORRUPT" || r.Offset == nil || *r.Offset < int64(len(data)/2-60) || r.Detail != list[0].Detail {
			t.Errorf("%+v", r)
		}
	}
}

// TestWorkWaits: a worker says that it waits for servers that answer but are not ready, as those of a cluster that elects a leader, and
// works when they are. Other commands fail at once.
func TestWorkWaits(t *testing.T) {
	t.Parallel()
	s, err := natsd.NewServer(&natsd.Options{Host: "127.0.0.1", Port: natsd.RANDOM_PORT, NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	defer func() { s.Shutdown(); s.WaitForShutdown() }()
	from := t.TempDir()
	if err := os.WriteFile(filepath.Join(from, "x.map"), sampleMap(t), 0o600); err != nil {
		t.Fatal(err)
	}
	mustRun(t, command.ExitLost, "jobs", "add", "--nats", s.ClientURL(), from)
	log, stop := background(t, "work", "--nats", s.ClientURL(), "--from", from, "--to", t.TempDir(), "--temp", t.TempDir())
	defer stop() // before the server
	says(t, log, "NATS is not ready; waiting for it")
	if err := s.EnableJetStream(&natsd.JetStreamConfig{StoreDir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	mustRun(t, 0, "jobs", "add", "--nats", s.ClientURL(), from)
	says(t, log, "msg=done")
}

// TestWorkFlags: flags of work that cannot be are refused, without a secret in them being repeated.
func TestWorkFlags(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t"
	for _, bad := range [][]string{
		{"--nats", "nats://user:" + secret + "@127.0.0.1"}, {"--lease", "999ms"}, {"--lease", "2h"}, {"--replicas", "6"}, {"--workers", "0"},
		{"--to", "s3://key:" + secret + "@bucket/path"}, {"--nats-cert", os.Args[0]},
	} {
		args := append([]string{"work", "--from", "/nowhere", "--to", "/nowhere"}, bad...)
		if out := mustRun(t, command.ExitUsage, args...); strings.Contains(out, secret) {
			t.Error(out)
		}
	}
}
