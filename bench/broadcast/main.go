//go:build linux

// Program broadcast measures how long the events of broadcasts take to followers, and what a daemon spends on them. Recorded fragments are
// pushed to a daemon, or held ready by a relay that it asks, as a game would: one each three seconds. The results are in docs/performance.md.
//
//	go run ./bench/broadcast -from ../shared/corpus/broadcast/deadlock_2025-02 -matches 50 -followers 50
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	client "github.com/replayd/replayd/clients/go"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

const (
	every    = 3 * time.Second
	starting = 3 // fragments in which a replay and its followers begin
)

// recording is a recorded broadcast.
type recording struct {
	start, full []byte
	deltas      [][]byte
	last        []int32 // the last tick of each
	first       int     // the number of the first fragment
}

func read(dir string) (r recording) {
	body := func(n int, part string) []byte {
		names, _ := filepath.Glob(filepath.Join(dir, strconv.Itoa(n), part+"*"))
		if len(names) == 0 {
			return nil
		}
		data, err := os.ReadFile(names[0])
		check(err)
		return data
	}
	r.start = body(0, "start")
	for r.first = 0; r.full == nil && r.first < 1000; r.first++ {
		r.full = body(r.first, "full")
	}
	r.first--
	for n := r.first; ; n++ {
		b := body(n, "delta")
		if b == nil {
			break
		}
		tick := int32(0)
		for rest := b; len(rest) >= 10; rest = rest[10+binary.LittleEndian.Uint32(rest[6:]):] {
			tick = int32(binary.LittleEndian.Uint32(rest[1:]))
		}
		r.deltas, r.last = append(r.deltas, b), append(r.last, tick)
	}
	return r
}

// match is a broadcast that runs.
type match struct {
	name string

	mu    sync.Mutex
	ready []time.Time // when each fragment was there: its POST was sent, or the relay had it
}

func (m *match) note(at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ready = append(m.ready, at)
}

func main() {
	from := flag.String("from", "../shared/corpus/broadcast/deadlock_2025-02", "a recorded broadcast: NUMBER/start, full and delta")
	matches := flag.Int("matches", 1, "number of matches")
	followers := flag.Int("followers", 1, "number of followers; they share the matches")
	pull := flag.Bool("pull", false, "the daemon asks a relay, in place of being it")
	hostile := flag.Int("hostile", 0, "number of relays besides, that send without an end, a byte at a time, nothing, or another match each time")
	kinds := flag.String("kinds", "", "kinds of events, with commas between; empty is all")
	flag.Parse()
	r := read(*from)
	dir, err := os.MkdirTemp("", "replayd-bench-broadcast")
	check(err)
	defer os.RemoveAll(dir) //nolint:errcheck // the directory is temporary
	program := filepath.Join(dir, "replayd")
	build := exec.Command("go", "build", "-o", program, "./cmd/replayd")
	build.Stderr = os.Stderr
	check(build.Run())

	addr, push := freeAddr(), freeAddr()
	all := make([]*match, *matches)
	args := []string{"serve", "--listen", addr, "--web-listen", "none", "--root", "live=" + filepath.Join(dir, "live"), "--log-level", "error"}
	check(os.Mkdir(filepath.Join(dir, "live"), 0o700))
	var servers strings.Builder
	for i := range all {
		all[i] = &match{name: fmt.Sprintf("m%d", i)}
		fmt.Fprintf(&servers, "%s a-secret-of-its-own\n", all[i].name)
	}
	var began sync.WaitGroup
	began.Add(1)
	if *pull {
		relay := freeAddr()
		l, err := net.Listen("tcp", relay)
		check(err)
		go func() { _ = http.Serve(l, relayOf(r, all)) }() //nolint:gosec // a bench
		for _, m := range all {
			args = append(args, "--broadcast", "live/"+m.name+"=http://"+relay+"/"+m.name)
		}
	} else {
		path := filepath.Join(dir, "servers")
		check(os.WriteFile(path, []byte(servers.String()), 0o600))
		args = append(args, "--broadcast-listen", push, "--broadcast-servers", path, "--broadcast-into", "live/pushed")
	}
	for i := range *hostile {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		check(err)
		go func() { _ = http.Serve(l, enemy(i)) }() //nolint:gosec // a bench
		args = append(args, "--broadcast", fmt.Sprintf("live/enemy%d=http://%s/", i, l.Addr()))
	}
	daemon := exec.Command(program, args...)
	daemon.Stderr = os.Stderr
	check(daemon.Start())
	defer func() { _ = daemon.Process.Kill(); _ = daemon.Wait() }()

	ctx, cancel := context.WithCancel(context.Background())
	var late spread
	var done sync.WaitGroup
	for i := range *followers {
		done.Go(func() { follow(ctx, addr, all[i%*matches], r, *pull, *kinds, &late) })
	}
	time.Sleep(2 * time.Second)
	pid := daemon.Process.Pid
	used, busy, begin := cpu(pid), busyCPUs(), time.Now()
	var running float64
	var playing sync.WaitGroup
	playing.Go(func() { running = whileAllRun(pid, r) })
	for i, m := range all {
		playing.Go(func() {
			time.Sleep(every * time.Duration(i) / time.Duration(*matches)) // servers are not in step
			play(r, m, push, *pull)
		})
	}
	playing.Wait()
	time.Sleep(every)
	took := time.Since(begin).Seconds()
	core, machine, memory := (cpu(pid)-used).Seconds()/took, (busyCPUs()-busy).Seconds()/took, peak(pid)
	cancel()
	done.Wait()
	late.mu.Lock()
	defer late.mu.Unlock()
	fmt.Printf("pull %v, %d matches, %d followers, %d fragments measured: first event p50 %.1f p99 %.1f ms, last event p50 %.1f p99 %.1f ms; "+
		"daemon %.2f of a core while all run, %.2f with their starts, peak %d MiB; all processors %.2f\n", *pull, *matches, *followers, len(late.last),
		ms(late.first, 0.5), ms(late.first, 0.99), ms(late.last, 0.5), ms(late.last, 0.99), running, core, memory>>20, machine)
}

// whileAllRun returns which share of a core a process uses while every match is past the fragments in which it begins, and none has ended.
func whileAllRun(pid int, r recording) float64 {
	time.Sleep(every * (starting + 1)) // the last match begins almost a fragment behind the first
	used, begin := cpu(pid), time.Now()
	time.Sleep(every * time.Duration(len(r.deltas)-starting-1)) // the first match has sent its last fragment
	return (cpu(pid) - used).Seconds() / time.Since(begin).Seconds()
}

// play plays a match at its speed.
func play(r recording, m *match, push string, pull bool) {
	if pull {
		m.note(time.Now()) // from now on the relay has it
		for range r.deltas[1:] {
			time.Sleep(every)
			m.note(time.Now())
		}
		return
	}
	post := func(path string, body []byte) (sent time.Time) {
		in := &ended{Reader: bytes.NewReader(body)}
		request, err := http.NewRequest(http.MethodPost, "http://"+push+"/"+m.name+"/s1t1/"+path, in)
		check(err)
		request.ContentLength = int64(len(body))
		request.Header.Set("X-Origin-Auth", "a-secret-of-its-own")
		response, err := http.DefaultClient.Do(request)
		check(err)
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			panic(response.Status)
		}
		return in.at
	}
	post("0/start?tps=64&keyframe_interval=3&protocol=5", r.start)
	post(fmt.Sprintf("%d/full?tick=0", r.first), r.full)
	for i, b := range r.deltas {
		m.note(post(fmt.Sprintf("%d/delta?endtick=%d", r.first+i, r.last[i]), b))
		time.Sleep(every)
	}
}

// ended notes when all of it was read.
type ended struct {
	io.Reader

	at time.Time
}

func (e *ended) Read(p []byte) (int, error) {
	n, err := e.Reader.Read(p)
	e.at = time.Now()
	return n, err
}

// relayOf serves the matches to the daemon.
func relayOf(r recording, all []*match) http.HandlerFunc {
	return func(w http.ResponseWriter, request *http.Request) {
		path := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
		i, err := strconv.Atoi(strings.TrimPrefix(path[0], "m"))
		check(err)
		all[i].mu.Lock()
		have := len(all[i].ready)
		all[i].mu.Unlock()
		switch {
		case have == 0:
		case len(path) == 2:
			fmt.Fprintf(w, `{"tick":1,"rtdelay":1,"rcvage":1,"fragment":%d,"signup_fragment":0,"tps":64,"keyframe_interval":3,"protocol":5}`, r.first)
			return
		case path[2] == "start":
			_, _ = w.Write(r.start)
			return
		case path[2] == "full":
			_, _ = w.Write(r.full)
			return
		default:
			if n, err := strconv.Atoi(path[1]); err == nil && n-r.first < have {
				_, _ = w.Write(r.deltas[n-r.first])
				return
			}
		}
		http.NotFound(w, request)
	}
}

// enemy is a relay that means no good: of five kinds in turn.
func enemy(i int) http.HandlerFunc {
	var syncs atomic.Int64
	return func(w http.ResponseWriter, request *http.Request) {
		write := func(b []byte, pause time.Duration) {
			for request.Context().Err() == nil {
				_, _ = w.Write(b)
				_ = http.NewResponseController(w).Flush()
				time.Sleep(pause)
			}
		}
		if strings.HasSuffix(request.URL.Path, "/sync") {
			fmt.Fprintf(w, `{"tick":1,"rtdelay":1,"rcvage":1,"fragment":1,"signup_fragment":%d,"tps":64,"keyframe_interval":3,"protocol":5}`, syncs.Add(1))
			return
		}
		switch i % 5 {
		case 0:
			write(make([]byte, 1<<16), 0)
		case 1: // a gigabyte of zeros takes a megabyte
			w.Header().Set("Content-Encoding", "gzip")
			var bomb bytes.Buffer
			z := gzip.NewWriter(&bomb)
			_, _ = z.Write(make([]byte, 64<<20))
			_ = z.Flush()
			write(bomb.Bytes(), 0)
		case 2:
			write([]byte{0}, time.Second)
		case 3:
			<-request.Context().Done()
		default:
			http.NotFound(w, request)
		}
	}
}

// spread has delays.
type spread struct {
	mu          sync.Mutex
	first, last []time.Duration
}

// follow notes when the first and the last event of each fragment arrive, but of those in which the replay and its followers begin.
func follow(ctx context.Context, addr string, m *match, r recording, pull bool, kinds string, late *spread) {
	c, err := client.Dial(addr)
	check(err)
	defer c.Close() //nolint:errcheck // nothing more will be written
	name := "live/pushed/" + m.name
	if pull {
		name = "live/" + m.name
	}
	req := &replaydv1.StreamEventsRequest{Replay: name, Follow: true}
	if kinds != "" {
		req.Include = []*replaydv1.EventFilter{{Kinds: strings.Split(kinds, ",")}}
	}
	first, last := make([]time.Time, len(r.deltas)), make([]time.Time, len(r.deltas))
	for ctx.Err() == nil {
		for e, err := range c.Events(ctx, req) {
			if err != nil {
				break // the directory is not there yet
			}
			i, _ := slices.BinarySearch(r.last, e.Tick)
			if i == len(r.last) {
				continue
			}
			if last[i] = time.Now(); first[i].IsZero() {
				first[i] = last[i]
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	late.mu.Lock()
	defer late.mu.Unlock()
	for i := starting; i < len(m.ready); i++ {
		if !last[i].IsZero() {
			late.first, late.last = append(late.first, first[i].Sub(m.ready[i])), append(late.last, last[i].Sub(m.ready[i]))
		}
	}
}

// ms returns a percentile in milliseconds.
func ms(all []time.Duration, p float64) float64 {
	if len(all) == 0 {
		return -1
	}
	slices.Sort(all)
	return float64(all[min(int(p*float64(len(all))), len(all)-1)].Microseconds()) / 1000
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func freeAddr() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	defer l.Close() //nolint:errcheck // it only finds a free port
	return l.Addr().String()
}

// cpu returns the CPU time that a process has used.
func cpu(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	check(err)
	f := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+2:])) // the fields after the name
	user, _ := strconv.Atoi(f[11])
	system, _ := strconv.Atoi(f[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// peak returns the largest resident size of a process so far, in bytes.
func peak(pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	check(err)
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	n, _ := strconv.Atoi(strings.Fields(rest)[0])
	return n << 10
}

// busyCPUs returns the time for which all processors together were busy.
func busyCPUs() time.Duration {
	text, err := os.ReadFile("/proc/stat")
	check(err)
	line, _, _ := strings.Cut(string(text), "\n")
	var sum int
	for i, f := range strings.Fields(line)[1:9] {
		if n, _ := strconv.Atoi(f); i != 3 && i != 4 { // idle and I/O wait
			sum += n
		}
	}
	return time.Duration(sum) * 10 * time.Millisecond
}
