package service_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service"
	"github.com/replayd/replayd/service/watch"
)

// cpu returns the CPU time that this process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestManyFiles measures lists and searches of REPLAYD_FILES files of 500 servers. docs/performance.md has the figures. The
// test does not fail because of time.
func TestManyFiles(t *testing.T) {
	files, err := strconv.Atoi(os.Getenv("REPLAYD_FILES"))
	if err != nil {
		t.Skip("REPLAYD_FILES says how many")
	}
	const servers = 500
	root := t.TempDir()
	dir := filepath.Join(root, "games")
	made := time.Now()
	for i := range files {
		g := gameOf{
			number: i + 1, server: fmt.Sprint("server ", i%servers), port: 8000 + i%servers,
			start: time.Unix(1_700_000_000+int64(i)*600, 0),
		}
		write(t, filepath.Join(dir, fmt.Sprint("server", i%servers), g.file()), g.data(t))
	}
	t.Logf("%d files made in %v", files, time.Since(made))
	index := filepath.Join(root, "index")
	for _, what := range []string{"cold", "warm"} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		began, used := time.Now(), cpu()
		d := start(t, dir, func(c *service.Config) {
			c.IndexPath, c.SurveyBudget = index, 1
			watcher, err := watch.New(watch.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = watcher.Close() })
			c.Watcher = watcher
		})
		if _, err := d.client.GetServerInfo(timeout(t), &replaydv1.GetServerInfoRequest{}); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: answers after %v", what, time.Since(began))
		first := time.Now()
		if _, err := d.client.ListReplays(timeout(t), &replaydv1.ListReplaysRequest{}); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: first page after %v, of the start %v", what, time.Since(first), time.Since(began))
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
		player := &replaydv1.ReplayFilter{PlayerName: "*"}
		for {
			r, err := d.client.ListReplays(ctx, &replaydv1.ListReplaysRequest{PageSize: 1, Filter: player})
			if err != nil {
				t.Fatal(err)
			}
			if c := r.GetCoverage(); c.GetSearchedFiles() == int64(files) {
				break
			}
			time.Sleep(2 * time.Second) // polling costs CPU time too
		}
		cancel()
		runtime.GC()
		runtime.ReadMemStats(&after)
		t.Logf("%s: all is known after %v, %v of a processor, %d MiB", what, time.Since(began), cpu()-used,
			(after.HeapAlloc-before.HeapAlloc)>>20)
		for name, req := range map[string]*replaydv1.ListReplaysRequest{
			"page of 100":          {PageSize: 100},
			"page of 1000":         {PageSize: 1000},
			"page of a server":     {PageSize: 100, Directory: name("server77")},
			"search for a server":  {PageSize: 100, Filter: &replaydv1.ReplayFilter{Server: "server 77:*"}},
			"search for a map":     {PageSize: 100, Filter: &replaydv1.ReplayFilter{MapName: "no such*"}},
			"search for a player":  {PageSize: 100, Filter: &replaydv1.ReplayFilter{PlayerName: "alic?"}},
			"search for nobody":    {PageSize: 100, Filter: &replaydv1.ReplayFilter{PlayerName: "nobody*"}},
			"search for what runs": {PageSize: 100, Filter: &replaydv1.ReplayFilter{States: []replaydv1.ReplayState{replaydv1.ReplayState_REPLAY_STATE_GROWING}}},
		} {
			var times []time.Duration
			var found int
			used := cpu()
			for range 11 {
				asked := time.Now()
				r, err := d.client.ListReplays(timeout(t), req)
				if err != nil {
					t.Fatal(err)
				}
				found = len(r.GetReplays())
				times = append(times, time.Since(asked))
			}
			slices.Sort(times)
			t.Logf("%s: %-20s %4d found, median %v, longest %v, %v of a processor each", what, name, found, times[5].Round(10*time.Microsecond),
				times[10].Round(10*time.Microsecond), (cpu()-used)/11)
		}
		watching, stop := context.WithCancel(context.Background())
		for range 20 {
			w, err := d.client.WatchReplays(watching, &replaydv1.WatchReplaysRequest{})
			if err != nil {
				t.Fatal(err)
			}
			for {
				r, err := w.Recv()
				if err != nil {
					t.Fatal(err)
				}
				if r.GetInitialDone() {
					break
				}
			}
		}
		time.Sleep(2 * time.Second)
		used, began = cpu(), time.Now()
		time.Sleep(20 * time.Second)
		t.Logf("%s: 20 watchers, nothing changes: %.2f %% of a processor", what, 100*float64(cpu()-used)/float64(time.Since(began)))
		stop()
		d.stop()
	}
}
