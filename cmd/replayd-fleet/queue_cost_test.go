package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/replayd/replayd/cmd/internal/command"
	"github.com/replayd/replayd/cmd/internal/commandtest"
	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/decoders/teehistorian/teetest"
	"github.com/replayd/replayd/fleet/bucket/buckettest"
)

// costVariable is the environment variable that makes TestWorkCost run, with how often each of its programs does all replays: 3 or more.
const costVariable = "WORK_COST"

// sizeVariable is the environment variable that sets the size of the replays of TestWorkCost, in bytes.
const sizeVariable = "WORK_SIZE"

// TestWorkCost compares the processor time that processes take for the same replays, as the kernel counts it: of `replayd export` with
// files, of one worker, and of four. NATS and the store are processes of their own, which are not counted. Where processors share caches
// or more, four processes take more time than one for the same work: how much more, export in four processes tells.
func TestWorkCost(t *testing.T) {
	rounds := setting(t, costVariable, 0)
	if rounds == 0 {
		t.Skip(costVariable, "is not set")
	}
	const mostBeyond, mostWorkers = 1.15, 1.1
	n, size := setting(t, replaysVariable, 200), setting(t, sizeVariable, 1<<20)
	program, store, local := build(t), buckettest.New(t), t.TempDir()
	files, total := gamesOf(t, store, local, n, size)
	cost := func(args ...string) func() time.Duration {
		cmd := exec.Command(program, args...)
		cmd.Env, cmd.Stderr = append(os.Environ(), "GOMAXPROCS=1"), os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return func() time.Duration {
			if err := cmd.Wait(); err != nil {
				t.Fatal(args[0], err)
			}
			return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		}
	}
	export := func(processes int) func(string) time.Duration {
		return func(string) (sum time.Duration) {
			var waits []func() time.Duration
			for part := range slices.Chunk(files, (len(files)+processes-1)/processes) {
				waits = append(waits, cost(append([]string{"export", "--to", t.TempDir()}, part...)...))
			}
			for _, wait := range waits {
				sum += wait()
			}
			return sum
		}
	}
	work := func(workers int) func(string) time.Duration {
		return func(out string) (sum time.Duration) {
			node := startNodes(t, 1)[0]
			defer func() { commandtest.Kill(t, node.cmd) }()
			var text string
			for deadline := time.Now().Add(commandtest.Patience); ; time.Sleep(10 * time.Millisecond) {
				var printed bytes.Buffer
				code := newProgram().Run(t.Context(), []string{"jobs", "add", store.URL("in"), "--nats", node.url}, command.Console{In: nil, Out: &printed, Err: &printed})
				if text = printed.String(); code == 0 {
					break
				} else if time.Now().After(deadline) {
					t.Fatal(text)
				}
			}
			if want := fmt.Sprintf("%d jobs queued, 0 known before\n", n); text != want {
				t.Fatal(text)
			}
			var waits []func() time.Duration
			for range workers {
				waits = append(waits, cost("work", "--no-staged", "--nats", node.url, "--from", store.URL("in"), "--to", store.URL(out), "--temp", t.TempDir(),
					"--log-level", "error", "--until-done"))
			}
			for _, wait := range waits {
				sum += wait()
			}
			return sum
		}
	}
	programs := []struct {
		name string
		run  func(out string) time.Duration
	}{{"export", export(1)}, {"one worker", work(1)}, {"four workers", work(4)}, {"four times export, each with a quarter", export(4)}}
	times := make([][]time.Duration, len(programs))
	for round := range rounds {
		for i, p := range programs {
			times[i] = append(times[i], p.run("out/"+strconv.Itoa(round)+"/"+strconv.Itoa(i)))
		}
	}
	var medians []float64
	for i, p := range programs {
		slices.Sort(times[i])
		median := times[i][len(times[i])/2]
		medians = append(medians, median.Seconds())
		t.Logf("%s: %v for %d replays of %d bytes together, median of %v", p.name, median, n, total, times[i])
	}
	beyond, workers, machine := medians[1]/medians[0], medians[2]/medians[1], medians[3]/medians[0]
	t.Logf("one worker takes %.3f times as much as export, four workers %.3f times as much as one, four exports %.3f times as much as one", beyond, workers, machine)
	if beyond > mostBeyond || workers > mostWorkers*max(machine, 1) {
		t.Errorf("the first must be at most %v, the second at most %v times the third", mostBeyond, mostWorkers)
	}
}

// gamesOf makes distinct games of about size bytes, by repeating the records of a sample: in a directory, and below "in/" in a store. It
// returns their files and how many bytes they have together.
func gamesOf(t *testing.T, store *buckettest.Store, dir string, n, size int) (files []string, total int) {
	t.Helper()
	const id = "4fa04b32-db1c-48f1-b0fe-ea831e23f409"
	sample := decodertest.Sample(t, "teehistorian", "finished", id+".teehistorian")
	header, round := teetest.Parts(sample)
	records := bytes.Repeat(round, max(1, size/len(round)))
	for i := range n {
		uuid := fmt.Sprintf("%08x-0000-4000-8000-%012x", i, i)
		data := slices.Concat(bytes.ReplaceAll(header, []byte(id), []byte(uuid)), records, sample[len(sample)-1:])
		path := filepath.Join(dir, uuid+".teehistorian")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		store.Put("in/"+uuid+".teehistorian", data)
		files, total = append(files, path), total+len(data)
	}
	return files, total
}
