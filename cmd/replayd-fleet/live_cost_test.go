package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	client "github.com/replayd/replayd/clients/go"
	"github.com/replayd/replayd/cmd/internal/commandtest"
	"github.com/replayd/replayd/decoders/teehistorian/teetest"
	"github.com/replayd/replayd/fleet/shipment"
	"github.com/replayd/replayd/internal/faulttest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// Environment variables of the measurements here: for how many seconds TestLiveCost measures, with how many full servers, and how many bytes of
// live games TestLiveRestart has.
const (
	secondsVariable = "LIVE_SECONDS"
	serversVariable = "LIVE_SERVERS"
	bytesVariable   = "LIVE_BYTES"
)

// shipProcess ships a directory by a process of its own.
func shipProcess(t *testing.T, dir, url string) *faulttest.Process {
	t.Helper()
	program := commandtest.Build(t, "../replayd-ship", "replayd-ship")
	return faulttest.Supervise(t, "replayd-ship", func() *exec.Cmd {
		return exec.Command(program, dir, "--to", url, "--source", "s1", "--log-level", "error")
	})
}

// TestLiveCost measures the time from the write of a full server (192 bytes, 50 times a second) to the client: at a daemon that has the
// directory, and at one that has it from NATS, at the same time. Other full servers write meanwhile.
func TestLiveCost(t *testing.T) {
	seconds, servers := setting(t, secondsVariable, 0), setting(t, serversVariable, 1)
	if seconds == 0 {
		t.Skip(secondsVariable, "is not set")
	}
	f := newFleet(t, 2)
	f.startNATS()
	shipProcess(t, f.dir, f.url)
	f.startDaemon(0)
	local := f.root
	f.root, f.natsDir = f.dir, t.TempDir()
	f.startDaemon(1)
	f.root = local
	root := filepath.Join("..", "..")
	g := commandtest.NewGame(t, root, filepath.Join(f.dir, "live.teehistorian"))
	names := []string{"live/s1/live.teehistorian", "live/live.teehistorian"}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for i := 1; i < servers; i++ {
		other := commandtest.NewGame(t, root, filepath.Join(f.dir, fmt.Sprintf("other%d.teehistorian", i)))
		wg.Go(func() { other.Play(ctx, t) })
	}
	followers := make([]commandtest.Follower, 2)
	var caught sync.WaitGroup
	for i, name := range names {
		f.ready(i, name)
		caught.Add(1)
		wg.Go(func() {
			req := &replaydv1.StreamEventsRequest{Replay: name, Follow: true}
			followers[i].Run(ctx, commandtest.ClientOf(t, f.addrs[i]), req, g, caught.Done)
		})
	}
	caught.Wait()
	playing, stop := context.WithTimeout(ctx, time.Second)
	g.Play(playing, t)
	stop()
	for i := range followers {
		followers[i].Forget()
	}
	before, messages := g.Events(), streamSequence(t, f.url)
	playing, stop = context.WithTimeout(ctx, time.Duration(seconds)*time.Second)
	g.Play(playing, t)
	stop()
	writes := (g.Events() - before) / 64 * servers
	t.Logf("%d servers, %d writes in %d s: %d messages", servers, writes, seconds, streamSequence(t, f.url)-messages)
	for i, name := range []string{"from NATS", "from the directory"} {
		t.Logf("%s: half within %.1f ms, 99 of 100 within %.1f ms", name, commandtest.Ms(followers[i].Percentile(0.5)), commandtest.Ms(followers[i].Percentile(0.99)))
	}
}

// TestLiveRestart measures how long a daemon with live games takes to start again after it was killed: until it lists them all and streams
// what was written to the last of them. The games grow meanwhile.
func TestLiveRestart(t *testing.T) {
	total := setting(t, bytesVariable, 0)
	if total == 0 {
		t.Skip(bytesVariable, "is not set")
	}
	const size = 20 << 20
	f := newFleet(t, 1)
	f.root += fmt.Sprintf("&max_bytes=%d&max_source_bytes=%d", 2*total, 2*total)
	f.startNATS()
	shipProcess(t, f.dir, f.url)
	f.startDaemon(0)
	const id = "4fa04b32-db1c-48f1-b0fe-ea831e23f409"
	sample := commandtest.ReadSample(t, filepath.Join("..", ".."))
	header, round := teetest.Parts(sample)
	records := bytes.Repeat(round, size/len(round))
	n := max(1, total/size)
	var lengths []int64
	began := time.Now()
	path := func(i int) string { return filepath.Join(f.dir, strconv.Itoa(i)+".teehistorian") }
	for i := range n {
		uuid := fmt.Sprintf("%08x-0000-4000-8000-%012x", i, i)
		data := append(bytes.ReplaceAll(header, []byte(id), []byte(uuid)), records...)
		commandtest.WriteFile(t, path(i), data)
		lengths = append(lengths, int64(len(data)))
	}
	c, err := client.Dial(f.addrs[0], client.WithInsecure())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	// whole waits until a daemon lists all games with their lengths.
	whole := func() {
		var failed error
		for deadline := time.Now().Add(30 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
			count, missing := 0, 0
			for r, err := range c.Replays(t.Context(), &replaydv1.ListReplaysRequest{Directory: "live/s1", PageSize: 1000}) {
				if failed = err; err != nil {
					break
				}
				i, _ := strconv.Atoi(strings.TrimSuffix(filepath.Base(r.GetName()), ".teehistorian"))
				if count++; r.GetSizeBytes() != lengths[i] {
					missing++
				}
			}
			if count == n && missing == 0 {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%d of %d games, %d not whole, %v", count, n, missing, failed)
			}
		}
	}
	whole()
	t.Logf("%d games of %d bytes were shipped in %v", n, lengths[0], time.Since(began).Round(time.Second))
	for _, kept := range []bool{true, false} {
		f.stopDaemon(0)
		if !kept {
			if err := os.RemoveAll(filepath.Join(f.natsDir, "live")); err != nil {
				t.Fatal(err)
			}
		}
		for i := range n { // while it is away
			appendFile(t, path(i), records[:2000])
			lengths[i] += 2000
		}
		syscall.Sync()
		began := time.Now()
		f.startDaemon(0)
		f.ready(0, "live/s1/0.teehistorian")
		ready := time.Since(began)
		whole()
		t.Logf("with its files kept: %v; it serves after %v, and has all games whole after %v", kept, ready.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
	}
}

// streamSequence returns the number of the last message of the stream of live files.
func streamSequence(t *testing.T, url string) uint64 {
	t.Helper()
	conn, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(t.Context(), shipment.StreamName)
	if err != nil {
		t.Fatal(err)
	}
	return s.CachedInfo().State.LastSeq
}
