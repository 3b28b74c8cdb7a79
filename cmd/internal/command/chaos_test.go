package command

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/replayd/replayd/cmd/internal/commandtest"
	"github.com/replayd/replayd/decoders/decodertest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec/teehistorian"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/streamtest"
)

// chaosVariable is the environment variable with the duration of TestChaos: 1h for the long run.
const chaosVariable = "CHAOSTIME"

const (
	chaosMemory  = 256 << 20 // memory limit for streams and uploads
	chaosBesides = 160 << 20 // memory limit for everything else in the process
)

// chaos is a daemon that is exposed to faults.
type chaos struct {
	t                  *testing.T
	addr, web, metrics string
	dir                string
	unread             string // the replay that neverRead does not read, if it is not the sample
	sample             []byte
	random             atomic.Uint64

	calls, refused, faults, connections atomic.Int64
}

// TestChaos runs the program for a while with clients that hold resources, send invalid data, flood the daemon and disconnect,
// over networks that break. Meanwhile files appear, disappear and change. Well-behaved clients follow a live replay and read
// another one. They must be served, and must get each event exactly once. The memory of the process must stay within its bound,
// and all resources must be released in the end.
func TestChaos(t *testing.T) {
	lasts := 3 * time.Second
	if text := os.Getenv(chaosVariable); text != "" {
		var err error
		if lasts, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	sample := decodertest.Sample(t, "teehistorian", "finished", "4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian")
	c := &chaos{t: t, addr: commandtest.FreeAddr(t), web: commandtest.FreeAddr(t), metrics: commandtest.FreeAddr(t), dir: t.TempDir(), sample: sample}
	tokens := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(tokens, []byte("good name=good\nevil name=evil\nworse name=worse\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(c.dir, "still.teehistorian"), sample, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(c.dir, "wild"), 0o750); err != nil {
		t.Fatal(err)
	}
	cmd := program(t, "serve", "--listen", c.addr, "--web-listen", c.web, "--metrics-listen", c.metrics, "--root", "r="+c.dir,
		"--token-file", tokens, "--max-memory", strconv.Itoa(chaosMemory), "--max-spool", "64MiB", "--client-share", "0.4",
		"--send-timeout", "2s", "--upload-timeout", "2s", "--drain-timeout", "5s", "--log-level", "error")
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	cmd.Args[0] = "replayd"
	cmd.Path = build(t) // the program as released, because the race detector needs more memory
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer func() { _ = cmd.Process.Kill() }()
	ctx, cancel := context.WithTimeout(context.Background(), lasts+2*time.Minute)
	defer cancel()

	good := c.client("good")
	defer good.Conn.(*grpc.ClientConn).Close()
	for good.Session(ctx, &replaydv1.StreamEventsRequest{Replay: "r/still.teehistorian"}, nil).Err != nil && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond)
	}
	before := c.figures()

	live := filepath.Join(c.dir, "live.teehistorian")
	written, stop := make(chan []byte, 1), make(chan struct{})
	go commandtest.AppendSteadily(t, live, sample, stop, written)
	for ctx.Err() == nil {
		if _, err := os.Stat(live); err == nil {
			break
		}
	}
	var well sync.WaitGroup
	histories := make([]streamtest.History, 3) // the clients resume by cursors if they are too slow on a busy machine
	var got atomic.Int64
	follow := &replaydv1.StreamEventsRequest{Replay: "r/live.teehistorian", Follow: true}
	for i := range histories {
		well.Go(func() { histories[i] = persist(ctx, good, follow, &got) })
	}
	want, err := streamtest.Offline(&teehistorian.Codec, source.Input{At: bytes.NewReader(sample), Size: int64(len(sample))}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}

	evil, stopEvil := context.WithTimeout(ctx, lasts)
	defer stopEvil()
	var attackers sync.WaitGroup
	for name, attack := range map[string]func(context.Context){
		"holds uploads": c.holdUploads, "never reads": c.neverRead, "floods": c.flood, "tears connections": c.tear,
		"troubles files": c.troubleFiles, "idles": c.idle,
	} {
		attackers.Go(func() {
			for evil.Err() == nil {
				attack(evil)
			}
			_ = name
		})
	}
	peak, served, slowest := int64(0), 0, time.Duration(0)
	for evil.Err() == nil {
		began := time.Now()
		s := good.Session(ctx, &replaydv1.StreamEventsRequest{Replay: "r/still.teehistorian"}, nil)
		slowest = max(slowest, time.Since(began))
		if err := streamtest.Check(streamtest.History{s}, []streamtest.Replay{want}, streamtest.Options{}); err != nil {
			t.Errorf("a well-behaved client: %v (%v)", err, s.Err)
		}
		served++
		peak = max(peak, c.resident(cmd.Process.Pid))
		time.Sleep(20 * time.Millisecond)
	}
	attackers.Wait()
	close(stop)
	data := <-written
	well.Wait()
	whole, err := streamtest.Offline(&teehistorian.Codec, source.Input{At: bytes.NewReader(data), Size: int64(len(data))}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range histories {
		if err := streamtest.Check(h, []streamtest.Replay{whole}, streamtest.Options{}); err != nil {
			t.Errorf("who follows: %v (%v)", err, h[0].Err)
		}
	}
	if limit := int64(chaosMemory/5*6 + chaosBesides); peak > limit {
		t.Errorf("the process took %d MiB, more than %d", peak>>20, limit>>20)
	}

	// All resources are released.
	for deadline := time.Now().Add(commandtest.Patience); ; time.Sleep(50 * time.Millisecond) {
		now := c.figures()
		if now["replayd_streams"] == 0 && now[`replayd_taken{resource="spool"}`] == 0 && now[`replayd_taken{resource="memory"}`] == 0 &&
			now["go_goroutines"] <= before["go_goroutines"]+30 && now["process_open_fds"] <= before["process_open_fds"]+10 {
			break
		}
		if time.Now().After(deadline) {
			for _, name := range []string{"replayd_streams", `replayd_taken{resource="memory"}`, "go_goroutines", "process_open_fds", "replayd_connections"} {
				t.Errorf("%s: %v before, %v after", name, before[name], now[name])
			}
			break
		}
	}
	began := time.Now()
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if err := <-ended; err != nil || time.Since(began) > commandtest.Patience {
		t.Errorf("it ended after %v: %v", time.Since(began), err)
	}
	t.Logf("%v: %d calls of attackers, %d of them refused or ended; %d connections torn or flooded; %d files troubled; "+
		"%d reads of well-behaved clients, the slowest %v; 3 followers, %d events each, 0 lost, 0 twice; %d MiB at most",
		lasts, c.calls.Load(), c.refused.Load(), c.connections.Load(), c.faults.Load(), served, slowest.Round(time.Millisecond),
		len(whole.Events), peak>>20)
}

// bearer is a token that each call sends.
type bearer string

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials.
func (bearer) RequireTransportSecurity() bool { return false }

// client returns a client with a token, on a new connection.
func (c *chaos) client(token string, options ...grpc.DialOption) streamtest.Client {
	conn, err := grpc.NewClient(c.addr, append(options, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		c.t.Fatal(err)
	}
	return streamtest.Client{Conn: conn, Options: []grpc.CallOption{grpc.PerRPCCredentials(bearer(token))}}
}

// figures returns the daemon's metrics that have a single value.
func (c *chaos) figures() map[string]float64 {
	figures := map[string]float64{}
	req, err := http.NewRequest(http.MethodGet, "http://"+c.metrics+"/metrics", http.NoBody)
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer good")
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		if f, err := strconv.ParseFloat(value, 64); ok && err == nil {
			figures[name] = f
		}
	}
	return figures
}

// resident returns the resident memory of a process in bytes.
func (c *chaos) resident(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text))
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

func (c *chaos) int(n int) int {
	return rand.New(rand.NewPCG(1, c.random.Add(1))).IntN(n)
}

// holdUploads begins many uploads that require large windows, and then sends no more data.
func (c *chaos) holdUploads(ctx context.Context) {
	client := c.client("evil")
	defer client.Conn.(*grpc.ClientConn).Close()
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, zstd.WithWindowSize(16<<20), zstd.WithSingleSegment(false))
	if err != nil {
		c.t.Error(err)
		return
	}
	_, _ = w.Write(c.sample)
	_ = w.Flush()
	api := replaydv1.NewReplayServiceClient(client.Conn)
	for range 250 {
		s, err := api.DecodeReplay(ctx, client.Options...)
		if err != nil {
			break
		}
		c.calls.Add(1)
		_ = s.Send(&replaydv1.DecodeReplayRequest{Part: &replaydv1.DecodeReplayRequest_Options{Options: &replaydv1.StreamEventsRequest{Replay: "x"}}})
		_ = s.Send(&replaydv1.DecodeReplayRequest{Part: &replaydv1.DecodeReplayRequest_Data{Data: b.Bytes()}})
		go func() {
			for {
				if _, err := s.Recv(); err != nil {
					c.refused.Add(1)
					return
				}
			}
		}()
	}
	<-ctx.Done()
}

// neverRead begins many streams and does not read them. For long replays it has windows that let the daemon decode much of them.
func (c *chaos) neverRead(ctx context.Context) {
	var options []grpc.DialOption
	if c.unread != "" {
		options = append(options, grpc.WithInitialWindowSize(16<<20), grpc.WithInitialConnWindowSize(16<<20))
	}
	client := c.client("worse", options...)
	defer client.Conn.(*grpc.ClientConn).Close()
	ctx, cancel := context.WithTimeout(ctx, 1500*time.Millisecond)
	defer cancel()
	for range 250 {
		if _, err := client.Open(ctx, &replaydv1.StreamEventsRequest{Replay: cmp.Or(c.unread, "r/still.teehistorian"), Follow: c.int(2) == 0}); err != nil {
			break
		}
		c.calls.Add(1)
	}
	<-ctx.Done()
}

// flood opens connections and attacks the daemon on them, in every way.
func (c *chaos) flood(ctx context.Context) {
	for _, attack := range attacks {
		c.floodWith(ctx, attack)
	}
}

// floodWith opens a connection and attacks the daemon on it.
func (c *chaos) floodWith(ctx context.Context, attack func(*http2.Framer, uint32) error) {
	if ctx.Err() != nil {
		return
	}
	conn, err := net.Dial("tcp", []string{c.addr, c.web}[c.int(2)])
	if err != nil {
		return
	}
	c.connections.Add(1)
	_ = conn.SetDeadline(time.Now().Add(2 * time.Second))
	go func() { _, _ = io.Copy(io.Discard, conn) }()
	_, _ = conn.Write([]byte(http2.ClientPreface))
	f := http2.NewFramer(conn, nil)
	_ = f.WriteSettings()
	for i := range 5000 {
		if attack(f, uint32(2*i+1)) != nil {
			break
		}
	}
	_ = conn.Close()
}

// tear begins streams over a network that delivers a few bytes at a time, and breaks.
func (c *chaos) tear(ctx context.Context) {
	conn, err := grpc.NewClient("passthrough:///x", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			var d net.Dialer
			conn, err := d.DialContext(ctx, "tcp", c.addr)
			if err != nil {
				return nil, err
			}
			return &torn{conn.(*net.TCPConn), 200 + c.int(20_000)}, nil
		}))
	if err != nil {
		c.t.Error(err)
		return
	}
	defer conn.Close()
	c.connections.Add(1)
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	client := streamtest.Client{Conn: conn, Options: []grpc.CallOption{grpc.PerRPCCredentials(bearer("worse"))}}
	c.calls.Add(1)
	if client.Session(ctx, &replaydv1.StreamEventsRequest{Replay: "r/still.teehistorian"}, nil).Err != nil {
		c.refused.Add(1)
	}
}

// torn is a connection that reads a few bytes at a time, and is reset after a number of bytes.
type torn struct {
	*net.TCPConn

	left int
}

func (t *torn) Read(p []byte) (int, error) {
	n, err := t.TCPConn.Read(p[:min(len(p), 1+t.left%7)])
	if t.left -= n; t.left <= 0 {
		_ = t.SetLinger(0) // RST
		_ = t.Close()
		return n, io.ErrUnexpectedEOF
	}
	return n, err
}

// idle opens connections and sends nothing, or an incomplete request.
func (c *chaos) idle(ctx context.Context) {
	var list []net.Conn
	for range 30 {
		conn, err := net.Dial("tcp", []string{c.addr, c.web, c.metrics}[c.int(3)])
		if err != nil {
			break
		}
		_, _ = io.WriteString(conn, []string{"", "PRI * HT", "POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n"}[c.int(3)])
		list = append(list, conn)
		c.connections.Add(1)
	}
	select {
	case <-ctx.Done():
	case <-time.After(500 * time.Millisecond):
	}
	for _, conn := range list {
		_ = conn.Close()
	}
}

// troubleFiles creates, removes, truncates and replaces files, and makes them unreadable, while clients follow them.
func (c *chaos) troubleFiles(ctx context.Context) {
	client := c.client("evil")
	defer client.Conn.(*grpc.ClientConn).Close()
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	for i := 0; ctx.Err() == nil; i++ {
		name := fmt.Sprintf("%d.teehistorian", i%50)
		path := filepath.Join(c.dir, "wild", name)
		c.faults.Add(1)
		switch c.int(7) {
		case 0:
			_ = os.Remove(path)
		case 1:
			_ = os.Truncate(path, int64(c.int(len(c.sample))))
		case 2:
			_ = os.WriteFile(path+".new", c.sample[:c.int(len(c.sample))], 0o600)
			_ = os.Rename(path+".new", path)
		case 3:
			_ = os.Chmod(path, 0)
		case 4:
			_ = os.RemoveAll(path)
			_ = os.Mkdir(path, 0o700)
		default:
			_ = os.Chmod(path, 0o600)
			_ = os.WriteFile(path, c.sample, 0o600)
		}
		if i%10 == 0 {
			go func() {
				c.calls.Add(1)
				if client.Session(ctx, &replaydv1.StreamEventsRequest{Replay: "r/wild/" + name, Follow: true}, nil).Err != nil {
					c.refused.Add(1)
				}
			}()
		}
		time.Sleep(time.Millisecond)
	}
}
