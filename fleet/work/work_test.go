package work_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/fleet/bucket/buckettest"
	"github.com/replayd/replayd/fleet/export"
	"github.com/replayd/replayd/fleet/queue"
	"github.com/replayd/replayd/fleet/queue/natsserver"
	"github.com/replayd/replayd/fleet/work"
	"github.com/replayd/replayd/internal/faulttest"
	"github.com/replayd/replayd/internal/freeport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const lease = time.Second

// hub starts a server and returns its address.
func hub(t *testing.T) string {
	t.Helper()
	addr, err := freeport.Addr()
	if err != nil {
		t.Fatal(err)
	}
	stop, err := natsserver.Start(natsserver.Options{Dir: t.TempDir(), URL: "nats://" + addr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return addr
}

func open(t *testing.T, addr string) *queue.Queue {
	t.Helper()
	conn, err := nats.Connect("nats://"+addr, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	q, err := queue.Open(t.Context(), conn, queue.Options{Lease: lease})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// begin starts a worker, which ends with the test or when stop is called.
func begin(t *testing.T, q *queue.Queue, o work.Options) (stop func()) {
	t.Helper()
	o.Workers, o.Temp, o.Log, o.Metrics, o.Text = 1, t.TempDir(), slog.New(slog.DiscardHandler), prometheus.NewRegistry(), error.Error
	if o.MaxSize == 0 {
		o.MaxSize = 1 << 20
	}
	if o.MaxTime == 0 {
		o.MaxTime = time.Minute
	}
	o.MaxInflated = 1 << 20
	w, err := work.New(t.Context(), q, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx, false) }()
	var done atomic.Bool
	stop = func() {
		cancel()
		if done.Swap(true) {
			return
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		w.Close()
	}
	t.Cleanup(stop)
	return stop
}

func sample(t *testing.T) []byte {
	t.Helper()
	b := decodertest.Sample(t, "datafile", "sample.map")
	return b
}

// put writes a file and returns the job to export it.
func put(t *testing.T, path string, data []byte) queue.Job {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	return queue.Job{
		Source: path, Tag: work.SumTag + hex.EncodeToString(sum[:]), Size: int64(len(data)), Tenant: "a", Priority: queue.Normal, Format: "jsonl",
		Request: json.RawMessage("{}"), Added: time.Now(),
	}
}

func add(t *testing.T, q *queue.Queue, j queue.Job) (id string) {
	t.Helper()
	added, err := q.Add(t.Context(), []queue.Job{j})
	if err != nil {
		t.Fatal(err)
	}
	return added[0].ID
}

// until waits until a job's record is as it is wanted.
func until(t *testing.T, q *queue.Queue, id string, wanted func(*queue.Record) bool) *queue.Record {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		r, err := q.Get(t.Context(), id)
		if err == nil && wanted(r) {
			return r
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v, %v", r, err)
		}
	}
}

func over(r *queue.Record) bool { return r.State.Over() }

// files returns the names of the files below a directory, but for drafts.
func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.Contains(path, ".replayd-work") {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// valid returns the files that the manifests among some names name, and the manifests.
func valid(t *testing.T, names []string, read func(name string) []byte) (all []string) {
	t.Helper()
	for _, name := range names {
		if !strings.HasSuffix(name, ".json") {
			continue
		}
		var m struct {
			Files map[string]int64 `json:"files"`
		}
		if err := json.Unmarshal(read(name), &m); err != nil {
			t.Fatal(err)
		}
		all = append(all, name)
		for file := range m.Files {
			below, _, _ := strings.Cut(name, "replays/")
			all = append(all, below+file)
		}
	}
	slices.Sort(all)
	return all
}

// TestReasons: a job that cannot be done fails once, for a reason that says what is wrong with it, and leaves nothing.
func TestReasons(t *testing.T) {
	t.Parallel()
	q, dir, to := open(t, hub(t)), t.TempDir(), t.TempDir()
	data := sample(t)
	begin(t, q, work.Options{From: []string{dir}, To: to, MaxSize: int64(len(data)) + 10})
	good := put(t, filepath.Join(dir, "good.map"), data)
	for name, c := range map[string]struct {
		reason string
		change func(*queue.Job)
	}{
		"gone":      {"NOT_FOUND", func(j *queue.Job) { j.Source = filepath.Join(dir, "none") }},
		"directory": {"NOT_FOUND", func(j *queue.Job) { j.Source = dir + "/sub" }},
		"outside":   {queue.Denied, func(j *queue.Job) { j.Source = "/etc/passwd" }},
		"dots":      {queue.Denied, func(j *queue.Job) { j.Source = dir + "/../x" }},
		"changed":   {"REPLACED", func(j *queue.Job) { j.Tag = work.SumTag + strings.Repeat("0", 64) }},
		"no replay": {"UNSUPPORTED", func(j *queue.Job) { *j = put(t, filepath.Join(dir, "text"), []byte("no replay")) }},
		"too long": {"LIMIT", func(j *queue.Job) {
			*j = put(t, filepath.Join(dir, "long"), append(bytes.Clone(data), make([]byte, 11)...))
		}},
		"request": {"INVALID_REQUEST", func(j *queue.Job) { j.Request = json.RawMessage(`{"include": 1}`) }},
		"kind":    {"INVALID_REQUEST", func(j *queue.Job) { j.Request = json.RawMessage(`{"include": [{"kinds": ["none"]}]}`) }},
		"format":  {"INVALID_REQUEST", func(j *queue.Job) { j.Format = "exe" }},
	} {
		j := good
		if err := os.MkdirAll(dir+"/sub", 0o700); err != nil {
			t.Fatal(err)
		}
		c.change(&j)
		j.Tenant = strings.ReplaceAll(name, " ", "_")
		if r := until(t, q, add(t, q, j), over); r.State != queue.Failed || r.Reason != c.reason || r.Attempts != 1 {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if left := files(t, to); len(left) > 0 {
		t.Error("left:", left)
	}
	if r := until(t, q, add(t, q, good), over); r.State != queue.Done || r.There {
		t.Errorf("%+v", r)
	}
	if names := files(t, to); len(names) < 3 || len(valid(t, names, func(n string) []byte { b, _ := os.ReadFile(n); return b })) != len(names) {
		t.Error(names)
	}
}

// TestMaps: jobs for kinds that need the map of a game find it among the worker's maps, or fail for want of it.
func TestMaps(t *testing.T) {
	t.Parallel()
	const race = "../../cmd/internal/demo/race/"
	q, dir := open(t, hub(t)), t.TempDir()
	begin(t, q, work.Options{From: []string{dir}, To: t.TempDir(), Maps: race})
	game, err := os.ReadFile(race + "race.teehistorian")
	if err != nil {
		t.Fatal(err)
	}
	other := decodertest.Sample(t, "teehistorian", "finished/4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian")
	for _, c := range []struct {
		name, reason string
		data         []byte
	}{{"there", "", game}, {"absent", "INVALID_REQUEST", other}} {
		j := put(t, filepath.Join(dir, c.name), c.data)
		j.Request = json.RawMessage(`{"include": [{"kinds": ["sample_character"]}]}`)
		if r := until(t, q, add(t, q, j), over); (r.State == queue.Done) != (c.reason == "") || r.Reason != c.reason {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
}

// TestRetry: what may pass is tried again later: results cannot be written for a while.
func TestRetry(t *testing.T) {
	t.Parallel()
	q, dir := open(t, hub(t)), t.TempDir()
	store := buckettest.New(t)
	var refused atomic.Int64
	store.Hook(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodPut && refused.Add(1) == 1 {
			buckettest.Refuse(w, http.StatusForbidden, "AccessDenied")
			return
		}
		next.ServeHTTP(w, r)
	})
	begin(t, q, work.Options{From: []string{dir}, To: store.URL("out")})
	id := add(t, q, put(t, filepath.Join(dir, "a.map"), sample(t)))
	if r := until(t, q, id, func(r *queue.Record) bool { return r.Reason != "" }); r.State != queue.Queued || r.Reason != queue.Denied {
		t.Errorf("%+v", r)
	}
	if r := until(t, q, id, over); r.State != queue.Done || r.Attempts != 2 {
		t.Errorf("%+v", r)
	}
}

// TestLease: a job that takes longer than its lease stays the worker's, and one that takes longer than MaxTime fails.
func TestLease(t *testing.T) {
	t.Parallel()
	addr, dir := hub(t), t.TempDir()
	q, store := open(t, addr), buckettest.New(t)
	store.Hook(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, ".json") {
			time.Sleep(2 * lease)
		}
		next.ServeHTTP(w, r)
	})
	stop := begin(t, q, work.Options{From: []string{dir}, To: store.URL("out")})
	begin(t, open(t, addr), work.Options{From: []string{dir}, To: store.URL("out")}) // takes it if it can
	j := put(t, filepath.Join(dir, "a.map"), sample(t))
	if r := until(t, q, add(t, q, j), over); r.State != queue.Done || r.Attempts != 1 {
		t.Errorf("%+v", r)
	}
	stop()
	q = open(t, hub(t))
	begin(t, q, work.Options{From: []string{dir}, To: store.URL("other"), MaxTime: lease / 2})
	if r := until(t, q, add(t, q, j), over); r.State != queue.Failed || r.Reason != "TIMEOUT" {
		t.Errorf("%+v", r)
	}
}

// TestLost: a worker that loses NATS, and not the store, begins no request that changes anything once its lease has lapsed. Another one does
// its job. What it had put is removed; what arrives even later is named by no manifest.
func TestLost(t *testing.T) {
	t.Parallel()
	addr, dir := hub(t), t.TempDir()
	store := buckettest.New(t)
	first, own := faulttest.NewProxy(t, addr), faulttest.NewProxy(t, strings.TrimPrefix(store.Endpoint(), "http://"))
	var puts, late atomic.Int64
	var lapsed atomic.Bool
	var held string
	reached, release := make(chan struct{}), make(chan struct{})
	store.Hook(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodPut && r.Host == own.Addr && lapsed.Load() {
			late.Add(1)
		}
		if r.Method == http.MethodPut && puts.Add(1) == 2 {
			held = strings.TrimPrefix(r.URL.Path, "/"+buckettest.Name+"/")
			close(reached)
			<-release
		}
		next.ServeHTTP(w, r)
	})
	begin(t, open(t, first.Addr), work.Options{From: []string{dir}, To: store.URL("out", "endpoint", "http://"+own.Addr)})
	q := open(t, addr)
	id := add(t, q, put(t, filepath.Join(dir, "a.map"), sample(t)))
	select {
	case <-reached:
	case <-time.After(time.Minute):
		t.Fatal("nothing is put")
	}
	first.Hold()
	begin(t, open(t, addr), work.Options{From: []string{dir}, To: store.URL("out")})
	if r := until(t, q, id, over); r.State != queue.Done || r.Attempts != 2 {
		t.Errorf("%+v", r)
	}
	lapsed.Store(true)
	close(release)
	time.Sleep(lease) // for what must not come
	if n := late.Load(); n > 0 {
		t.Errorf("%d files were put after its lease", n)
	}
	first.Free()
	names := keys(t, store)
	want := valid(t, names, store.Get)
	if extra := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == held || slices.Contains(want, n) }); len(want) < 3 || len(extra) > 0 {
		t.Errorf("%v are there, %v are valid", names, want)
	}
	for _, name := range want {
		if name == held || !slices.Contains(names, name) {
			t.Errorf("%s is valid, and is late or not there", name)
		}
	}
}

// TestStaged: a replay whose job asks for Parquet is one file, also after another worker has done the job and while the first one is still putting it; jobs
// for other formats write tables of their own.
func TestStaged(t *testing.T) {
	t.Parallel()
	addr, dir := hub(t), t.TempDir()
	store, first := buckettest.New(t), faulttest.NewProxy(t, addr)
	var puts, removals atomic.Int64
	reached, release := make(chan struct{}), make(chan struct{})
	store.Hook(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodDelete {
			removals.Add(1)
		}
		held := r.Method == http.MethodPut && puts.Add(1) == 1
		next.ServeHTTP(w, r)
		if held { // its answer
			close(reached)
			<-release
		}
	})
	o := work.Options{From: []string{dir}, To: store.URL("out"), Staged: true}
	begin(t, open(t, first.Addr), o)
	q := open(t, addr)
	j := put(t, filepath.Join(dir, "a.map"), sample(t))
	j.Format = "parquet"
	id := add(t, q, j)
	select {
	case <-reached:
	case <-time.After(time.Minute):
		t.Fatal("nothing is put")
	}
	first.Hold()
	begin(t, open(t, addr), o)
	if r := until(t, q, id, over); r.State != queue.Done || r.Attempts != 2 {
		t.Errorf("%+v", r)
	}
	close(release)
	time.Sleep(lease) // for what must not come
	first.Free()
	j.Tenant = "b"
	if r := until(t, q, add(t, q, j), over); r.State != queue.Done {
		t.Errorf("%+v", r)
	}
	staged := keys(t, store)
	if n := removals.Load(); len(staged) != 1 || n > 0 { // the file of an attempt is also that of the next one
		t.Fatal("there are", staged, "after removals:", n)
	}
	if _, ok := export.ParseStaged(strings.TrimPrefix(staged[0], "out/")); !ok {
		t.Error("it is staged as", staged[0])
	}
	j.Format = "jsonl"
	until(t, q, add(t, q, j), over)
	names := slices.DeleteFunc(keys(t, store), func(name string) bool { return name == staged[0] })
	if want := valid(t, names, store.Get); len(want) < 3 || len(want) != len(names) {
		t.Errorf("%v are there, %v are valid", names, want)
	}
}

// keys returns the keys of a store.
func keys(t *testing.T, store *buckettest.Store) (names []string) {
	t.Helper()
	list, err := http.Get(store.Endpoint() + "/" + buckettest.Name + "?list-type=2")
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	_, err = text.ReadFrom(list.Body)
	if err := errors.Join(err, list.Body.Close()); err != nil {
		t.Fatal(err)
	}
	for part := range strings.SplitSeq(text.String(), "<Key>") {
		if key, _, ok := strings.Cut(part, "</Key>"); ok {
			names = append(names, key)
		}
	}
	return names
}
