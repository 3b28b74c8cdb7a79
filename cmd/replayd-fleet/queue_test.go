package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/replayd/replayd/cmd/internal/command"
	"github.com/replayd/replayd/cmd/internal/commandtest"
	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/fleet/bucket"
	"github.com/replayd/replayd/fleet/bucket/buckettest"
	"github.com/replayd/replayd/fleet/queue"
	"github.com/replayd/replayd/internal/testlog"
)

// replaysVariable is the environment variable that sets how many replays TestQueue makes, such as 10000 for a long run. They are then all
// of it.
const replaysVariable = "QUEUE_REPLAYS"

// nodesVariable is the environment variable that sets on how many NATS servers the queue of these replays is: 1, or 3 for a cluster.
const nodesVariable = "QUEUE_NODES"

// setting returns the number in an environment variable, or a default.
func setting(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(name, err)
	}
	return n
}

// fleetOf makes distinct replays of every format: of 20, one is damaged, and one has a second name. It returns them by name.
func fleetOf(t *testing.T, n int) (replays map[string][]byte, damaged []string) {
	t.Helper()
	samples := filepath.Join("..", "..", "testdata")
	read := func(name ...string) []byte {
		data, err := os.ReadFile(filepath.Join(append([]string{samples}, name...)...))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	replays = map[string][]byte{
		"a.map": read("datafile", "sample.map"), "b.dem": read("dem", "sample.dem"), "c.dem": read("dem", "cs2.dem"),
		"d.SC2Replay": read("sc2replay", "5.0.SC2Replay"), "e.SC2Replay": read("sc2replay", "battle.SC2Replay"),
	}
	const id = "4fa04b32-db1c-48f1-b0fe-ea831e23f409"
	sample := read("teehistorian", "finished", id+".teehistorian")
	random := rand.New(rand.NewPCG(uint64(n), 22))
	for i := len(replays); i < n; i++ {
		uuid := fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", random.Uint32(), i, i%1000, random.IntN(1000), random.Uint64()>>16)
		data := bytes.ReplaceAll(sample, []byte(id), []byte(uuid))
		name := fmt.Sprintf("games/%d/%s.teehistorian", i%7, uuid)
		if i%20 == 7 {
			copy(data[len(data)/2:], bytes.Repeat([]byte{0xff}, 64)) // at some other places it is a valid text
			damaged = append(damaged, name)
		}
		if replays[name] = data; i%20 == 9 {
			replays["copies/"+uuid] = data
		}
	}
	return replays, damaged
}

// TestQueue has four workers export replays from a bucket to a bucket, and kills them and NATS at random, with SIGKILL. In the end each
// replay's tables must be there as one process would write them, each failure must be listed, and nothing else may be in the bucket.
func TestQueue(t *testing.T) {
	t.Parallel() // with its parts, too: they wait for elections most of the time
	if n := setting(t, replaysVariable, 0); n > 0 {
		checkQueue(t, n, setting(t, nodesVariable, 1))
		return
	}
	t.Run("one server", func(t *testing.T) { t.Parallel(); checkQueue(t, 30, 1) })
	t.Run("a cluster", func(t *testing.T) { t.Parallel(); checkQueue(t, 40, 3) })
}

// gate lets as many pass as it was told to allow. Its zero value lets nobody pass.
type gate struct {
	mu      sync.Mutex
	allowed int // those who may still pass; below zero means all
}

// pass waits until the gate lets the caller pass.
func (g *gate) pass() {
	for {
		g.mu.Lock()
		free := g.allowed != 0
		if g.allowed > 0 {
			g.allowed--
		}
		g.mu.Unlock()
		if free {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// allow lets n pass, and waits until they have.
func (g *gate) allow(t *testing.T, n int) {
	t.Helper()
	g.mu.Lock()
	g.allowed = n
	g.mu.Unlock()
	for deadline := time.Now().Add(commandtest.Patience); ; time.Sleep(time.Millisecond) {
		g.mu.Lock()
		left := g.allowed
		g.mu.Unlock()
		if left == 0 {
			return
		} else if time.Now().After(deadline) {
			t.Fatal("uploads that nobody makes:", left)
		}
	}
}

// open lets all pass from now on.
func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.allowed = -1
}

// checkQueue is TestQueue for a number of replays and of NATS servers.
func checkQueue(t *testing.T, n, servers int) {
	program := build(t)
	replays, damaged := fleetOf(t, n)
	store := buckettest.New(t)
	local := t.TempDir()
	for name, data := range replays {
		store.Put("in/"+name, data)
		path := filepath.Join(local, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// Uploads wait for the next kill where it is due, so that all kills are made in the middle, however fast the workers are.
	var uploads gate
	store.Hook(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodPost || r.URL.Query().Has("uploads") || r.URL.Query().Has("partNumber") {
			t.Error("an upload in parts:", r.Method, r.URL)
		}
		if r.Method == http.MethodPut {
			uploads.pass()
		}
		next.ServeHTTP(w, r)
	})
	defer uploads.open()

	nodes := startNodes(t, servers)
	defer func() {
		for _, node := range nodes {
			commandtest.Kill(t, node.cmd)
		}
	}()
	var urls []string
	for _, node := range nodes {
		urls = append(urls, node.url)
	}
	server, replicas := urls[0], strconv.Itoa(servers)
	for i, url := range urls[1:] {
		server += map[bool]string{true: "?", false: "&"}[i == 0] + "server=" + strings.TrimPrefix(url, "nats://")
	}
	temp := t.TempDir()
	environment := append(os.Environ(), "TMPDIR="+temp, "GOMAXPROCS=1")
	start := func(args ...string) *exec.Cmd {
		cmd := exec.Command(program, append([]string{"work", "--no-staged", "--nats", server, "--replicas", replicas, "--log-level", "error", "--lease", "1s"}, args...)...)
		cmd.Env, cmd.Stderr = environment, os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	work := func(more ...string) *exec.Cmd {
		return start(append(more, "--from", store.URL("in"), "--to", store.URL("out"))...)
	}
	run := func(args ...string) (int, string, string) {
		var out, errs bytes.Buffer
		code := newProgram().Run(t.Context(), append(args, "--nats", server, "--replicas", replicas), command.Console{In: strings.NewReader(""), Out: &out, Err: &errs})
		return code, out.String(), errs.String()
	}
	// ready waits for the leaders of all that the queue has: without them the command jobs ends with exit code 6.
	ready := func() {
		for deadline := time.Now().Add(commandtest.Patience); ; time.Sleep(10 * time.Millisecond) {
			if code, _, errs := run("jobs", "ls"); code == 0 {
				return
			} else if time.Now().After(deadline) {
				t.Fatal(errs)
			}
		}
	}
	ready()
	add := []string{"jobs", "add", store.URL("in"), "--format", "jsonl"}
	if code, out, errs := run(add...); code != 0 || !strings.Contains(out, fmt.Sprintf("%d jobs queued, 0 known", len(replays))) {
		t.Fatal(code, out, errs)
	}
	if code, out, errs := run(add...); code != 0 || !strings.Contains(out, fmt.Sprintf("0 jobs queued, %d known", len(replays))) {
		t.Error("the same again:", code, out, errs)
	}

	// Each worker is killed some times on the way; then the last ones do the rest.
	var workers []*exec.Cmd
	for range 4 {
		workers = append(workers, work())
	}
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	kills, restarts, begun := 0, 0, time.Now()
	every := 20 // kills of workers to one of NATS
	if servers > 1 {
		every = 12
	}
	for kills < max(12, n/5) {
		uploads.allow(t, 1+random.IntN(64)) // all of them are fewer than the files of all replays
		i := random.IntN(len(workers))
		commandtest.Kill(t, workers[i])
		kills++
		workers[i] = work()
		if kills%every == 3 {
			node := nodes[random.IntN(len(nodes))]
			commandtest.Kill(t, node.cmd)
			restarts++
			node.cmd = node.start()
		}
	}
	uploads.open()
	ready()
	code, out, errs := run(append(add, "--wait")...)
	if code != command.ExitCorrupt || !strings.Contains(out, fmt.Sprintf("%d jobs done, %d not", len(replays)-len(damaged), len(damaged))) {
		t.Error("wait:", code, out, errs)
	}
	for _, w := range workers {
		_ = w.Process.Signal(os.Interrupt)
		if err := w.Wait(); err != nil {
			t.Log("a worker that was asked to end:", err)
		}
	}
	last := work("--until-done")
	if err := last.Wait(); err != nil {
		t.Error("a worker without work:", err)
	}
	t.Logf("%d jobs, %d kills of workers, %d of NATS, %v", len(replays), kills, restarts, time.Since(begun))

	single := t.TempDir()
	args := []string{"export", "--to", single, "--format", "jsonl"}
	for _, name := range slices.Sorted(mapKeys(replays)) {
		args = append(args, filepath.Join(local, filepath.FromSlash(name)))
	}
	export := exec.Command(program, args...)
	var singleErrs bytes.Buffer
	export.Stderr = &singleErrs
	if err := export.Run(); export.ProcessState.ExitCode() != command.ExitCorrupt {
		t.Fatal(err, singleErrs.String())
	}
	compareTables(t, store, single)
	failures(t, run, damaged, singleErrs.String())
	if left := entries(t, temp); len(left) > 0 {
		t.Error("left behind by workers:", left)
	}
}

func mapKeys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// entries returns the files below a directory, and the directories without any.
func entries(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(dir, path)
			names = append(names, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// compareTables compares what is in the bucket with what one process has written. Nothing else may be there.
func compareTables(t *testing.T, store *buckettest.Store, single string) {
	t.Helper()
	out, err := openBucket(t.Context(), store.URL("out"), bucket.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	if err := out.Walk(t.Context(), ".", func(f bucket.Found) error { got = append(got, f.Path); return nil }); err != nil {
		t.Fatal(err)
	}
	theirs := validTables(t, got, func(name string) []byte { return store.Get("out/" + name) })
	if sameTables(t, theirs, validTables(t, entries(t, single), readBelow(t, single))); len(theirs) != len(got) {
		t.Errorf("of %d files in the bucket %d are valid: %v", len(got), len(theirs), got)
	}
	t.Logf("%d files, the same as those of one process", len(got))
}

// isManifest reports whether a name is that of a manifest, which alone says what other files are valid.
func isManifest(name string) bool {
	return strings.HasPrefix(name, "replays/") && strings.HasSuffix(name, ".json")
}

// readBelow returns a function that reads files below a directory.
func readBelow(t *testing.T, dir string) func(name string) []byte {
	return func(name string) []byte {
		b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
}

// validTables returns the manifests among some names, and the files that they name. They have their names without the keys of attempts, and
// those of replays are without what depends on the replay's name.
func validTables(t *testing.T, names []string, read func(name string) []byte) map[string][]byte {
	t.Helper()
	valid := map[string][]byte{}
	for _, manifest := range names {
		if !isManifest(manifest) {
			continue
		}
		b := read(manifest)
		var m struct {
			Files map[string]int `json:"files"`
		}
		if err := json.Unmarshal(b, &m); err != nil || len(m.Files) == 0 {
			t.Fatalf("%s: %v: %s", manifest, err, b)
		}
		valid[manifest] = withoutName(t, b)
		for name, size := range m.Files {
			b := read(name)
			if len(b) != size {
				t.Errorf("%s has %d bytes, its manifest says %d", name, len(b), size)
			}
			if strings.HasPrefix(name, "replays/") {
				b = withoutName(t, b)
			}
			plain := keyPattern.ReplaceAllString(name, ".")
			if valid[plain] != nil {
				t.Errorf("%s is valid twice", plain)
			}
			valid[plain] = b
		}
	}
	return valid
}

// sameTables compares what validTables returns.
func sameTables(t *testing.T, theirs, ours map[string][]byte) {
	t.Helper()
	if g, w := slices.Sorted(maps.Keys(theirs)), slices.Sorted(maps.Keys(ours)); !slices.Equal(g, w) || len(g) == 0 {
		t.Fatalf("the bucket has %d valid files, one process writes %d:\n%v\n%v", len(g), len(w), g, w)
	}
	for name, b := range theirs {
		if !bytes.Equal(b, ours[name]) {
			t.Errorf("%s differs from that of one process:\n%.2000s\n%.2000s", name, b, ours[name])
		}
	}
}

var keyPattern = regexp.MustCompile(`\.[0-9a-f]{8}\.`)

// withoutName removes from the row of a replay, or from its manifest, what depends on the replay's name.
func withoutName(t *testing.T, text []byte) []byte {
	t.Helper()
	var row map[string]any
	if err := json.Unmarshal(text, &row); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if files, ok := row["files"].(map[string]any); ok {
		plain := map[string]any{}
		for name, size := range files {
			if strings.HasPrefix(name, "replays/") {
				size = nil
			}
			plain[keyPattern.ReplaceAllString(name, ".")] = size
		}
		row["files"] = plain
	}
	for _, key := range []string{"name", "header", "replaced"} {
		delete(row, key)
	}
	b, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// failures checks the dead letters: those of the damaged replays, with the reason and the offset that one process reports.
func failures(t *testing.T, run func(...string) (int, string, string), damaged []string, single string) {
	t.Helper()
	code, out, errs := run("jobs", "ls", "--state", "failed", "--format", "json")
	if code != 0 {
		t.Fatal(code, errs)
	}
	var got []string
	for line := range strings.Lines(out) {
		var r queue.Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		_, name, _ := strings.Cut(r.Job.Source, "/in/")
		got = append(got, name)
		if r.Reason != "CORRUPT" || r.Offset == nil || *r.Offset <= 0 || !strings.Contains(single, name+": "+r.Detail+"\n") {
			t.Errorf("the failure of %s: %+v; one process says %s", name, r.Failure, single)
		}
	}
	slices.Sort(got)
	slices.Sort(damaged)
	if !slices.Equal(got, damaged) {
		t.Errorf("failed: %v, damaged: %v", got, damaged)
	}
}

// TestJobs runs the commands with a server in the worker's process, on files and a directory.
func TestJobs(t *testing.T) {
	const secret = "s3cr3t-of-nats"
	t.Setenv("NATS_USER", "user")
	t.Setenv("NATS_PASSWORD", secret)
	server, dir, to := "nats://"+commandtest.FreeAddr(t), t.TempDir(), t.TempDir()
	var log testlog.Log
	var mu sync.Mutex
	run := func(want int, args ...string) string {
		t.Helper()
		mu.Lock()
		defer mu.Unlock()
		var out, errs bytes.Buffer
		code := newProgram().Run(t.Context(), append(args, "--nats", server), command.Console{In: strings.NewReader(""), Out: &out, Err: &errs})
		if code != want {
			t.Errorf("%v: %d, want %d: %s %s", args, code, want, out.String(), errs.String())
		}
		if text := out.String() + errs.String(); strings.Contains(text, secret) {
			t.Errorf("%v: a secret is printed: %s", args, text)
		}
		return out.String() + errs.String()
	}
	run(command.ExitLost, "jobs", "ls")
	sample := decodertest.Sample(t, "dem", "sample.dem")
	put := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := put("a.dem", sample)
	put("b.dem", []byte("no replay"))
	put(".hidden", sample)
	outside := filepath.Join(t.TempDir(), "c.dem")
	if err := os.WriteFile(outside, append(sample, 0), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link.dem")
	if err := os.Symlink(outside, link); err != nil {
		t.Fatal(err)
	}

	hub := startNATS(t, server, t.TempDir())
	defer func() { commandtest.Kill(t, hub) }()
	for deadline := time.Now().Add(commandtest.Patience); ; time.Sleep(10 * time.Millisecond) {
		var out bytes.Buffer
		if newProgram().Run(t.Context(), []string{"jobs", "ls", "--nats", server}, command.Console{In: strings.NewReader(""), Out: &out, Err: &out}) == 0 {
			break
		} else if time.Now().After(deadline) {
			t.Fatal(out.String())
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() {
		ended <- newProgram().Run(ctx, []string{
			"work", "--no-staged", "--nats", server, "--from", dir, "--to", to, "--metrics-listen", "127.0.0.1:0",
		}, command.Console{In: strings.NewReader(""), Out: &log, Err: &log})
	}()
	defer func() { stop(); <-ended }()
	metrics := address(t, &log, "serving metrics")

	if out := run(command.ExitCorrupt, "jobs", "add", "--wait", dir); !strings.Contains(out, "2 jobs queued") || !strings.Contains(out, "1 jobs done, 1 not") || !strings.Contains(out, "UNSUPPORTED at byte 0") {
		t.Error(out)
	}
	if out := run(0, "jobs", "ls", "--count"); !strings.Contains(out, "1  done") || !strings.Contains(out, "UNSUPPORTED") {
		t.Error(out)
	}
	for form, want := range map[string]string{
		"csv":     `(?m)^id,state,priority,tenant,attempts,changed,source,reason,offset,detail\n([^,]+,done,|[^,]+,failed,.*,UNSUPPORTED,0,)`,
		"compact": `(?m)^\S+  done +normal +default +1 +\S+ +/`, "table": `(?m)^\S+  failed +normal .*UNSUPPORTED at byte 0: `, "jsonl": `(?m)^\{"id":.*\}$`,
	} {
		if out := run(0, "jobs", "ls", "-o", form); !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("%s: %s", form, out)
		}
	}
	if names := entries(t, to); !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, "format=dem/kind=") }) ||
		slices.ContainsFunc(names, func(n string) bool { return strings.HasSuffix(n, ".part") || strings.Contains(n, "source-") }) {
		t.Error(names)
	}
	var failed queue.Record
	if err := json.Unmarshal([]byte(run(0, "jobs", "ls", "--state", "failed", "--format", "json")), &failed); err != nil {
		t.Fatal(err)
	}
	if out := run(0, "jobs", "show", failed.ID); !strings.Contains(out, `"offset": 0`) || !strings.Contains(out, "b.dem") {
		t.Error(out)
	}
	run(0, "jobs", "retry", failed.ID)
	run(command.ExitNotFound, "jobs", "show", "none")
	run(command.ExitUsage, "jobs", "retry")
	run(command.ExitUsage, "jobs", "cancel", failed.ID, "--tenant", "a")
	if out := run(command.ExitFailed, "jobs", "add", "--wait", "--tenant", "b", outside); !strings.Contains(out, "PERMISSION_DENIED") {
		t.Error("a file outside:", out)
	}
	if out := run(command.ExitFailed, "jobs", "add", "--wait", "--tenant", "c", link); strings.Contains(out, "1 jobs done") {
		t.Error("a link that leads out:", out)
	}
	if out := run(0, "jobs", "add", "--wait", "--tenant", "d", good); !strings.Contains(out, "1 jobs done, 0 not") {
		t.Error("the same of another tenant:", out)
	}
	var again queue.Record
	if err := json.Unmarshal([]byte(run(0, "jobs", "ls", "--tenant", "d", "--format", "json")), &again); err != nil || !again.There {
		t.Errorf("%v: %+v", err, again)
	}
	run(command.ExitNotFound, "jobs", "add", filepath.Join(dir, "none"))
	for _, bad := range []string{"nats://user:" + secret + "@127.0.0.1", "http://127.0.0.1", "nats://127.0.0.1/" + secret} {
		var errs bytes.Buffer
		code := newProgram().Run(t.Context(), []string{"jobs", "ls", "--nats", bad}, command.Console{In: strings.NewReader(""), Out: &errs, Err: &errs})
		if code != command.ExitUsage || strings.Contains(errs.String(), secret) {
			t.Error(code, errs.String())
		}
	}
	t.Setenv("NATS_PASSWORD", "wrong")
	if out := run(command.ExitLost, "jobs", "ls"); !strings.Contains(out, "refuses the credentials") {
		t.Error(out)
	}
	text := commandtest.Scrape(t, metrics)
	for _, line := range []string{
		"replayd_queue_up 1", `replayd_queue_jobs{priority="normal"} `, `replayd_queue_oldest_seconds{priority="high"} 0`,
		`replayd_work_attempts_total{result="done"} 1`, `replayd_work_attempts_total{result="there"} 1`, `replayd_work_failures_total{reason="UNSUPPORTED"} `,
	} {
		if !strings.Contains(text, "\n"+line) {
			t.Errorf("no %s: %s", line, text)
		}
	}
	if strings.Contains(log.String()+text, secret) {
		t.Error("a secret is logged")
	}
}
