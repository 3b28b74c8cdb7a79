package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/replayd/replayd/cmd/internal/command"
	"github.com/replayd/replayd/cmd/internal/commandtest"
	"github.com/replayd/replayd/fleet/archive"
	"github.com/replayd/replayd/fleet/bucket"
	"github.com/replayd/replayd/fleet/bucket/buckettest"
	"github.com/replayd/replayd/fleet/export"
	"github.com/replayd/replayd/fleet/queue"
	"github.com/replayd/replayd/internal/faulttest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/table/tablefile"
	"github.com/replayd/replayd/service/streamtest"
)

// roundsVariable is the environment variable that sets how many rounds TestRounds has, such as 1000, and seedVariable what they are drawn from.
const (
	roundsVariable = "ROUNDS"
	seedVariable   = "ROUNDS_SEED"
)

// Of TestRounds.
const (
	roundsEach  = 20          // after so many rounds everything is whole again, and is checked
	roundLease  = time.Second // of jobs
	roundMost   = 5 * time.Second / 2
	roundGames  = 2                     // that grow during the rounds between two checks
	roundDelay  = 10 * time.Millisecond // of each request to the store, so that faults meet work
	roundSlow   = 300 * time.Millisecond
	roundFinish = 4 * time.Minute      // to become whole again
	roundKinds  = "player_diff,finish" // of the replays that are staged
	roundJobs   = 4                    // for each replay
)

// TestRounds: workers export and stage replays, a process merges what is staged, a shipper ships games that grow, and a daemon serves them, all
// as processes of their own, while in each round something happens to one of them, to NATS or to the store: it is stopped (SIGSTOP), killed,
// cut off from NATS alone or from the store alone, its disk is full, or the store is slow. Two of these happen at a time. Each replay is exported
// twice and staged twice, by jobs that write to one place. After every 20 rounds, each replay must have the tables that one process writes, as its
// manifest names them; each game that is over must be in the archive, byte for byte; and a client that followed it must have each event
// once. In the end the tables of many replays must have the rows that one process makes, and nothing that nobody names may be left of them.
func TestRounds(t *testing.T) {
	n := setting(t, roundsVariable, roundsEach)
	seed := setting(t, seedVariable, int(time.Now().UnixNano()&0xffffffff))
	t.Logf("%s=%d %s=%d", roundsVariable, n, seedVariable, seed)
	w := newWorld(t, uint64(seed))
	begun := time.Now()
	for done := 0; done < n && !t.Failed(); done += roundsEach {
		w.rounds(min(roundsEach, n-done))
	}
	w.checkAll()
	t.Logf("%d rounds in %v: %v; programs ended %v; %d jobs, %d tables and rows, %d games of %d bytes; files of lost attempts: %d",
		n, time.Since(begun).Round(time.Second), w.happened, w.ended(), roundJobs*w.replays, w.tables, w.games, w.bytes, w.leftovers)
	if n >= 200 && len(w.happened) < len(faults) {
		t.Error("some faults never happened")
	}
}

// world is all that takes part in TestRounds.
type world struct {
	t       *testing.T
	random  *rand.Rand
	program string
	server  string // of NATS, for those whom nothing happens to
	store   *buckettest.Store
	delay   atomic.Int64 // of each request to the store
	parts   []*part
	dir     string // of growing games
	local   string // of replays
	single  string // of the tables of one process
	live    *fleet

	replays, games, tables, leftovers int
	bytes                             int64
	happened                          map[string]int
}

// part is a program that something may happen to.
type part struct {
	*faulttest.Process

	nats, store *faulttest.Proxy // nil if it has none
	disk        *faulttest.Disk
	busy        bool // something happens to it
}

// fault is something that happens to a part. It returns what undoes it, or nil if it cannot happen.
type fault struct {
	name  string
	begin func(*world, *part) func()
}

var faults = []fault{
	{"stop", func(_ *world, p *part) func() {
		p.Signal(syscall.SIGSTOP)
		return func() { p.Signal(syscall.SIGCONT) }
	}},
	{"kill", func(_ *world, p *part) func() {
		p.Signal(syscall.SIGKILL)
		return func() {}
	}},
	{"NATS silent", func(_ *world, p *part) func() { return partition(p.nats, (*faulttest.Proxy).Hold) }},
	{"NATS cut", func(_ *world, p *part) func() { return partition(p.nats, (*faulttest.Proxy).Cut) }},
	{"store silent", func(_ *world, p *part) func() { return partition(p.store, (*faulttest.Proxy).Hold) }},
	{"store cut", func(_ *world, p *part) func() { return partition(p.store, (*faulttest.Proxy).Cut) }},
	{"disk full", func(w *world, p *part) func() {
		if p.disk == nil {
			return nil
		}
		p.disk.Fill(w.t, w.random.Int64N(64<<10))
		return func() { p.disk.Free(w.t) }
	}},
	{"store slow", func(w *world, _ *part) func() {
		w.delay.Store(int64(roundSlow))
		return func() { w.delay.Store(int64(roundDelay)) }
	}},
}

func partition(p *faulttest.Proxy, how func(*faulttest.Proxy)) func() {
	if p == nil {
		return nil
	}
	how(p)
	return p.Free
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{
		t: t, random: rand.New(rand.NewPCG(seed, 36)), program: build(t), store: buckettest.New(t), dir: t.TempDir(), local: t.TempDir(), single: t.TempDir(),
		server: "nats://" + commandtest.FreeAddr(t), happened: map[string]int{},
	}
	w.delay.Store(int64(roundDelay))
	w.store.Hook(func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
		time.Sleep(time.Duration(w.delay.Load()))
		next.ServeHTTP(rw, r)
	})
	nats := strings.TrimPrefix(w.server, "nats://")
	store := strings.TrimPrefix(w.store.Endpoint(), "http://")
	add := func(name string, disk int64, command func(p *part, dir string) *exec.Cmd) *part {
		p, dir := &part{}, t.TempDir()
		if disk > 0 {
			if p.disk = faulttest.NewDisk(t, disk); p.disk != nil {
				dir = p.disk.Dir
			} else {
				t.Log("no disk can be made that gets full")
			}
		}
		if name != "nats" {
			p.nats, p.store = faulttest.NewProxy(t, nats), faulttest.NewProxy(t, store)
		}
		p.Process = faulttest.Supervise(t, name, func() *exec.Cmd {
			cmd := command(p, dir)
			cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "TMPDIR="+dir)
			return cmd
		})
		w.parts = append(w.parts, p)
		return p
	}
	add("nats", 256<<20, func(_ *part, dir string) *exec.Cmd {
		return natsCommand(t, w.server, filepath.Join(dir, "js"))
	})
	for i := range 3 {
		add(fmt.Sprintf("worker%d", i), 16<<20, func(p *part, dir string) *exec.Cmd {
			return exec.Command(w.program, "work", "--nats", "nats://"+p.nats.Addr, "--lease", roundLease.String(), "--temp", dir, "--log-level", "error",
				"--from", w.url("in", p.store), "--to", w.url("out", p.store))
		})
	}
	shipper := commandtest.Build(t, "../replayd-ship", "replayd-ship")
	add("merger", 16<<20, func(p *part, dir string) *exec.Cmd {
		return exec.Command(w.program, "merge", w.url("out", p.store), "--every", "500ms", "--lease", roundLease.String(), "--temp", dir, "--log-level", "error")
	}).nats = nil
	add("shipper", 0, func(p *part, _ string) *exec.Cmd {
		return exec.Command(shipper, w.dir, "--to", "nats://"+p.nats.Addr, "--source", "s1", "--bucket", w.url("live", p.store), "--log-level", "error")
	})
	w.live = &fleet{t: t, addrs: []string{commandtest.FreeAddr(t)}}
	add("daemon", 64<<20, func(p *part, dir string) *exec.Cmd {
		root := "live=nats://" + p.nats.Addr + "/replayd-live?archive=" + url.QueryEscape(w.url("live", p.store))
		return exec.Command(w.program, "serve", "--listen", w.live.addrs[0], "--web-listen", "none", "--root", root, "--live-dir", filepath.Join(dir, "live"),
			"--log-level", "error")
	})
	return w
}

// url returns the URL of a name in the bucket, behind a proxy if it is not nil.
func (w *world) url(name string, p *faulttest.Proxy) string {
	if p == nil {
		return w.store.URL(name)
	}
	return w.store.URL(name, "endpoint", "http://"+p.Addr)
}

// jobs runs a command of the queue until it succeeds: NATS may be away.
func (w *world) jobs(args ...string) string {
	for deadline := time.Now().Add(roundFinish); ; time.Sleep(100 * time.Millisecond) {
		code, out, errs := w.try(args...)
		if code == 0 {
			return out
		}
		if time.Now().After(deadline) {
			w.t.Fatal(args, code, errs)
		}
	}
}

// try runs a command of the queue once.
func (w *world) try(args ...string) (code int, _, _ string) {
	var out, errs bytes.Buffer
	ctx, cancel := context.WithTimeout(w.t.Context(), 20*time.Second)
	defer cancel()
	code = newProgram().Run(ctx, append(args, "--nats", w.server), command.Console{In: strings.NewReader(""), Out: &out, Err: &errs})
	return code, out.String(), errs.String()
}

// rounds has n rounds, and checks what they left.
func (w *world) rounds(n int) {
	set := filepath.Join(w.local, fmt.Sprintf("%04d", w.replays))
	if err := os.Mkdir(set, 0o700); err != nil {
		w.t.Fatal(err)
	}
	stop := make(chan struct{})
	var games []func()
	for range roundGames {
		games = append(games, w.game(stop))
	}
	names := make(chan string, n)
	var wg sync.WaitGroup
	wg.Go(func() {
		for name := range names {
			w.jobs("jobs", "add", w.url(name, nil), "--format", "jsonl")
			w.jobs("jobs", "add", w.url(name, nil), "--format", "jsonl", "--tenant", "other", "--again")
			w.jobs("jobs", "add", w.url(name, nil), "--kind", roundKinds)
			w.jobs("jobs", "add", w.url(name, nil), "--kind", roundKinds, "--tenant", "other", "--again")
		}
	})
	two := make(chan struct{}, 2)
	var mu sync.Mutex
	for range n {
		names <- w.replay(set)
		two <- struct{}{}
		mu.Lock()
		p, undo, lasts := w.fault()
		mu.Unlock()
		wg.Go(func() {
			time.Sleep(lasts)
			undo()
			mu.Lock()
			p.busy = false
			mu.Unlock()
			<-two
		})
	}
	close(names)
	wg.Wait()
	close(stop)
	for _, finish := range games {
		finish()
	}
	w.settle()
	w.check(set)
}

// fault begins a fault of a part to which nothing else happens, and returns what undoes it and when.
func (w *world) fault() (p *part, undo func(), lasts time.Duration) {
	for {
		p := w.parts[w.random.IntN(len(w.parts))]
		f := faults[w.random.IntN(len(faults))]
		lasts := time.Duration(w.random.Int64N(int64(roundMost)))
		if p.busy {
			continue
		}
		if undo := f.begin(w, p); undo != nil {
			w.t.Logf("%s: %s for %v", p.Name, f.name, lasts.Round(time.Millisecond))
			p.busy = true
			w.happened[f.name]++
			return p, undo, lasts
		}
	}
}

// replay makes a replay and puts it into the bucket. It returns its key.
func (w *world) replay(set string) string {
	const id = "4fa04b32-db1c-48f1-b0fe-ea831e23f409"
	uuid := fmt.Sprintf("%08x-0000-4000-8000-%012x", w.replays, w.replays)
	data := bytes.ReplaceAll(commandtest.ReadSample(w.t, filepath.Join("..", "..")), []byte(id), []byte(uuid))
	commandtest.WriteFile(w.t, filepath.Join(set, uuid+".teehistorian"), data)
	key := "in/" + uuid + ".teehistorian"
	w.store.Put(key, data)
	w.replays++
	return key
}

// game begins a game that grows until stop is closed, and is followed. finish waits for its end and checks it.
func (w *world) game(stop <-chan struct{}) (finish func()) {
	base := fmt.Sprintf("game%04d.teehistorian", w.games)
	name := "live/s1/" + base
	w.games++
	const id = "4fa04b32-db1c-48f1-b0fe-ea831e23f409"
	sample := bytes.ReplaceAll(commandtest.ReadSample(w.t, filepath.Join("..", "..")), []byte(id), fmt.Appendf(nil, "%08x-0000-4000-9000-%012x", w.games, w.games))
	written := make(chan []byte, 1)
	go commandtest.AppendSteadily(w.t, filepath.Join(w.dir, base), sample, stop, written)
	w.live.ready(0, name)
	ctx, cancel := context.WithCancel(w.t.Context())
	req := &replaydv1.StreamEventsRequest{Replay: name, Follow: true}
	followed := make(chan streamtest.History, 1)
	go func() {
		var got atomic.Int64
		followed <- w.live.follow(ctx, 0, req, &got)
	}()
	return func() {
		defer cancel()
		data := <-written
		ended := time.AfterFunc(roundFinish, cancel)
		defer ended.Stop()
		history := <-followed
		if ctx.Err() != nil {
			w.t.Errorf("the client of %s did not come to the end", name)
		} else if err := streamtest.Check(history, []streamtest.Replay{offline(w.t, data, req)}, streamtest.Options{}); err != nil {
			w.t.Errorf("the client of %s: %v", name, err)
		}
		games, err := openBucket(w.t.Context(), w.url("live/s1", nil), bucket.Options{})
		if err != nil {
			w.t.Fatal(err)
		}
		for deadline := time.Now().Add(roundFinish); ; time.Sleep(20 * time.Millisecond) {
			if _, err := games.Look(w.t.Context(), base); err == nil {
				break
			} else if time.Now().After(deadline) {
				w.t.Fatal(name, "is not archived:", err)
			}
		}
		if got := w.store.Get("live/s1/" + base); !bytes.Equal(got, data) {
			w.t.Errorf("%s: %d bytes are archived, others than the %d of the file", name, len(got), len(data))
		}
		w.bytes += int64(len(data))
		if err := os.Remove(filepath.Join(w.dir, base)); err != nil {
			w.t.Error(err)
		}
	}
}

// settle waits until all jobs are over. None may have failed.
func (w *world) settle() {
	for deadline := time.Now().Add(roundFinish); ; time.Sleep(200 * time.Millisecond) {
		done, left, lost := 0, map[string]int{}, []string{}
		for line := range strings.Lines(w.jobs("jobs", "ls", "--format", "json")) {
			var r queue.Record
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				w.t.Fatal(err)
			}
			switch {
			case r.State == queue.Done:
				done++
			case r.State.Over():
				w.t.Errorf("a job ended as %s: %+v", r.State, r)
				done++
			default:
				if r.State == queue.Queued && r.Attempts == 0 && time.Since(r.Changed) > 10*time.Second { // NATS went while it was added
					lost = append(lost, r.ID)
				}
				left[fmt.Sprintf("%s by %s, attempt %d %s", r.State, r.Worker, r.Attempts, r.Reason)]++
			}
		}
		if len(left) == 0 && done >= roundJobs*w.replays {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("%d jobs of %d are done: %v", done, roundJobs*w.replays, left)
		}
		for _, id := range lost { // if it was only waiting, this changes nothing
			w.try("jobs", "retry", id)
		}
	}
}

// check has one process export a set of replays, and compares the valid tables of it with those of the workers.
func (w *world) check(set string) {
	to := filepath.Join(w.single, filepath.Base(set))
	files, err := filepath.Glob(filepath.Join(set, "*"))
	if err != nil {
		w.t.Fatal(err)
	}
	if out, err := exec.Command(w.program, append([]string{"export", "--to", to, "--format", "jsonl"}, files...)...).CombinedOutput(); err != nil {
		w.t.Fatal(err, string(out))
	}
	w.tables += w.compare(to)
}

// compare compares the tables below a directory with those that the manifests of the same names in the bucket name.
func (w *world) compare(dir string) int {
	manifests := slices.DeleteFunc(entries(w.t, dir), func(name string) bool { return !isManifest(name) })
	ours := validTables(w.t, manifests, readBelow(w.t, dir))
	theirs := validTables(w.t, manifests, func(name string) []byte { return w.store.Get("out/" + name) })
	sameTables(w.t, theirs, ours)
	return len(ours)
}

// checkAll compares everything once more: what was right then may have been replaced since. No other manifests may be there.
func (w *world) checkAll() {
	out, err := openBucket(w.t.Context(), w.url("out", nil), bucket.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	all, manifests := 0, map[string]bool{}
	if err := out.Walk(w.t.Context(), ".", func(f bucket.Found) error {
		if ofReplays.MatchString(f.Path) {
			all++
		}
		if isManifest(f.Path) {
			manifests[f.Path] = true
		}
		return nil
	}); err != nil {
		w.t.Fatal(err)
	}
	sets, err := os.ReadDir(w.single)
	if err != nil {
		w.t.Fatal(err)
	}
	valid := 0
	for _, set := range sets {
		dir := filepath.Join(w.single, set.Name())
		valid += w.compare(dir)
		for _, name := range entries(w.t, dir) {
			delete(manifests, name)
		}
	}
	if len(manifests) > 0 {
		w.t.Errorf("manifests of nothing: %v", slices.Sorted(maps.Keys(manifests)))
	}
	w.leftovers = all - valid
	w.checkArchive()
}

// ofReplays are the names of what exports write that are not staged.
var ofReplays = regexp.MustCompile(`^(replays|format=[^/]+)/`)

// checkArchive compares the tables of many replays with those of one process.
func (w *world) checkArchive() {
	single := w.t.TempDir()
	if out, err := exec.Command(w.program, "export", "--to", single, "--staged", "--kind", roundKinds, w.local).CombinedOutput(); err != nil {
		w.t.Fatal(err, string(out))
	}
	w.mergeAll(archive.Dir{Dir: export.Dir{Path: single}})
	out, err := openBucket(w.t.Context(), w.url("out", nil), bucket.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	w.delay.Store(0)
	w.mergeAll(archive.Bucket{Bucket: out, Temp: w.t.TempDir()})
	theirs := slices.DeleteFunc(objects(w.t, w.store, "out"), ofReplays.MatchString)
	got := w.archived(theirs, func(name string) []byte { return w.store.Get("out/" + name) })
	want := w.archived(entries(w.t, single), readBelow(w.t, single))
	if !maps.EqualFunc(got, want, slices.Equal) || len(want) != 3 {
		for table, rows := range want {
			w.t.Errorf("%s has %d rows, one process makes %d, or other ones", table, len(got[table]), len(rows))
		}
	}
}

// mergeAll merges what is left, until each table has one file and nothing is left to do.
func (w *world) mergeAll(place archive.Place) {
	for deadline := time.Now().Add(roundFinish); ; {
		r, err := archive.New(place, archive.Options{SmallFiles: 2, Keep: 1, Lease: roundLease}).Merge(w.t.Context())
		switch {
		case err == nil && r == archive.Report{}:
			return
		case time.Now().After(deadline):
			w.t.Fatalf("%+v, %v", r, err)
		}
	}
}

// archived returns the rows of the tables of an archive in which each has one file, as lines of JSON in order. What depends on names is left out.
func (w *world) archived(names []string, read func(name string) []byte) map[string][]string {
	rows, files := map[string][]string{}, map[string]int{}
	for _, name := range names {
		table := path.Dir(path.Dir(name))
		switch {
		case path.Dir(name) == "commits" || name == "lease.json" || name[0] == '.': // drafts
			continue
		case path.Ext(name) == ".parquet" && path.Base(path.Dir(name)) == "data":
			rows[table] = append(rows[table], w.lines(read(name), path.Base(table) == "replays")...)
		}
		files[table]++
	}
	for table, n := range files {
		if n != filesOfTable {
			w.t.Errorf("%s has %d files: %v", table, n, names)
		}
	}
	return rows
}

// filesOfTable is how many files a table has that was rewritten: its rows, a manifest, the list of manifests, the metadata, and the hint.
const filesOfTable = 5

// lines returns the rows of a file of Parquet, or, of replays, only which they are.
func (w *world) lines(data []byte, replays bool) (lines []string) {
	from, err := tablefile.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		w.t.Fatal(err)
	}
	fields := slices.Delete(from.Schema().Fields(), 1, 2) // without the day, for which there is no JSON
	if replays {
		fields = fields[:1]
	}
	var out bytes.Buffer
	schema := arrow.NewSchema(fields, nil)
	to, err := tablefile.New(tablefile.JSONL, &out, schema, nil, nil)
	for err == nil {
		var r arrow.RecordBatch
		if r, err = from.Read(1 << 10); err == nil {
			columns := slices.Delete(slices.Clone(r.Columns()), 1, 2)[:len(fields)]
			err = to.Write([]arrow.RecordBatch{array.NewRecordBatch(schema, columns, r.NumRows())})
		}
	}
	if !errors.Is(err, io.EOF) {
		w.t.Fatal(err)
	}
	return slices.Sorted(strings.Lines(out.String()))
}

// ended says how often the programs have ended.
func (w *world) ended() map[string]int {
	ended := map[string]int{}
	for _, p := range w.parts {
		ended[p.Name] = p.Ended()
	}
	return ended
}
