package command

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/cmd/internal/commandtest"
	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/internal/testlog"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec/teehistorian"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/streamtest"
)

// The tests in this file run the program as released on a system that fails. Each test has one kind of failure. make chaos runs
// them.

// afflicted is a daemon on a failing system.
type afflicted struct {
	*chaos

	cmd   *exec.Cmd
	log   *testlog.Log
	ended chan error
}

// afflict starts the program, which serves a directory. around is a command that runs the program and makes its system fail. It
// may be empty.
func afflict(t *testing.T, dir string, around []string, env []string, flags ...string) *afflicted {
	t.Helper()
	a := &afflicted{chaos: &chaos{t: t, addr: commandtest.FreeAddr(t), metrics: commandtest.FreeAddr(t), dir: dir}, log: &testlog.Log{}, ended: make(chan error, 1)}
	args := append(append([]string{}, around...), build(t), "serve", "--listen", a.addr, "--metrics-listen", a.metrics, "--root", "r="+dir)
	args = append(args, flags...)
	a.cmd = exec.Command(args[0], args[1:]...)
	a.cmd.Env = append(os.Environ(), env...)
	a.cmd.Stderr = a.log
	if err := a.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { a.ended <- a.cmd.Wait() }()
	t.Cleanup(func() {
		_ = a.cmd.Process.Kill()
		if t.Failed() {
			t.Logf("the log:\n%s", a.log)
		}
	})
	s := a.wellBehaved().Session(inTime(t), &replaydv1.StreamEventsRequest{Replay: "r/none"}, nil)
	if status.Code(s.Err) != codes.NotFound {
		t.Fatalf("it does not serve: %v\n%s", s.Err, a.log)
	}
	return a
}

// wellBehaved returns a client that waits for the daemon.
func (a *afflicted) wellBehaved() streamtest.Client { return commandtest.ClientOf(a.t, a.addr) }

// inTime returns a context that bounds how long a test waits.
func inTime(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// until waits until the metrics satisfy a condition.
func (a *afflicted) until(what string, holds func(map[string]float64) bool) {
	a.t.Helper()
	ctx := inTime(a.t)
	for !holds(a.figures()) {
		if ctx.Err() != nil {
			a.t.Fatalf("never: %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// persist follows a replay to its end. It resumes by cursors after any error.
func persist(ctx context.Context, c streamtest.Client, req *replaydv1.StreamEventsRequest, got *atomic.Int64) (h streamtest.History) {
	for ctx.Err() == nil {
		s := c.Raw(ctx, streamtest.Resumed(req, h), func([]byte) bool { got.Add(1); return true })
		s.Cut = s.Err != nil
		h = append(h, s)
		if s.Err == nil && h.End().GetReason() == replaydv1.EndReason_END_REASON_FINISHED {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return h
}

// wholly checks that a history has each event of a teehistorian file exactly once.
func wholly(t *testing.T, what string, h streamtest.History, data []byte) {
	t.Helper()
	want, err := streamtest.Offline(&teehistorian.Codec, source.Input{At: bytes.NewReader(data), Size: int64(len(data))}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := streamtest.Check(h, []streamtest.Replay{want}, streamtest.Options{}); err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// faultfs is a directory behind a file system that fails on command. See tools/faultfs.
type faultfs struct {
	t       *testing.T
	dir     string // where it is mounted
	in      io.WriteCloser
	answers *bufio.Scanner
}

func mountFaults(t *testing.T, from string) *faultfs {
	t.Helper()
	if _, err := os.Stat("/dev/fuse"); err != nil {
		t.Skip("there is no FUSE here")
	}
	program := filepath.Join(t.TempDir(), "faultfs")
	if out, err := exec.Command("go", "build", "-C", filepath.Join("..", "..", "..", "tools", "faultfs"), "-trimpath", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	f := &faultfs{t: t, dir: t.TempDir()}
	cmd := exec.Command(program, from, f.dir)
	cmd.Stderr = os.Stderr
	var err error
	if f.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	f.answers = bufio.NewScanner(out)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if !f.answers.Scan() || f.answers.Text() != "mounted" {
		_ = cmd.Wait()
		t.Skip("nothing can be mounted here")
	}
	t.Cleanup(func() {
		_ = f.in.Close()
		if err := cmd.Wait(); err != nil {
			_ = syscall.Unmount(f.dir, syscall.MNT_DETACH)
		}
	})
	return f
}

// say sends a command to the file system.
func (f *faultfs) say(command string) {
	f.t.Helper()
	if _, err := fmt.Fprintln(f.in, command); err != nil {
		f.t.Fatal(err)
	}
	if !f.answers.Scan() || f.answers.Text() != "ok" {
		f.t.Fatalf("%s: %s", command, f.answers.Text())
	}
}

// TestChaosDisk follows a live replay on a file system whose reads, opens and stats fail, are short or hang for a while.
// Clients must get the error UNAVAILABLE with their place in the replay, and resume by their cursors without losing events.
// Short reads must not cause errors.
func TestChaosDisk(t *testing.T) {
	below := t.TempDir()
	sample := commandtest.ReadSample(t, filepath.Join("..", "..", ".."))
	commandtest.WriteFile(t, filepath.Join(below, "still.teehistorian"), sample)
	disk := mountFaults(t, below)
	a := afflict(t, disk.dir, nil, nil, "--log-level", "error")
	written, stop := make(chan []byte, 1), make(chan struct{})
	go commandtest.AppendSteadily(t, filepath.Join(below, "live.teehistorian"), sample, stop, written)
	ctx := inTime(t)
	var wg sync.WaitGroup
	var histories [2]streamtest.History
	var got [2]atomic.Int64
	for i := range histories {
		wg.Go(func() {
			histories[i] = persist(ctx, a.wellBehaved(), &replaydv1.StreamEventsRequest{Replay: "r/live.teehistorian", Follow: true}, &got[i])
		})
	}
	flows := func() { // waits until both followers have received a new response
		t.Helper()
		for i := range got {
			for before := got[i].Load(); got[i].Load() == before; time.Sleep(5 * time.Millisecond) {
				if ctx.Err() != nil {
					t.Fatal("nothing comes any more")
				}
			}
		}
	}
	read := func() error {
		return a.wellBehaved().Session(ctx, &replaydv1.StreamEventsRequest{Replay: "r/still.teehistorian"}, nil).Err
	}
	flows()
	failed := 0
	for _, fault := range []struct {
		command string
		code    codes.Code
	}{
		{"read EIO", codes.Unavailable}, {"short 7", codes.OK}, {"read ESTALE", codes.Unavailable}, {"open ESTALE", codes.Unavailable},
		{"stat EIO", codes.Unavailable}, {"short 1", codes.OK},
	} {
		disk.say(fault.command)
		err := read()
		if status.Code(err) != fault.code || err != nil && !strings.Contains(err.Error(), "reading failed") {
			t.Errorf("%s: a client gets %v", fault.command, err)
		}
		if fault.code == codes.OK {
			flows()
		} else {
			failed++
		}
		disk.say("well")
		flows()
		if err := read(); err != nil {
			t.Errorf("after %s: %v", fault.command, err)
		}
	}
	disk.say("hang")
	short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	s := a.wellBehaved().Session(short, &replaydv1.StreamEventsRequest{Replay: "r/still.teehistorian"}, nil)
	cancel()
	if status.Code(s.Err) != codes.DeadlineExceeded {
		t.Errorf("a read that hangs: %v", s.Err)
	}
	disk.say("well")
	flows()
	close(stop)
	data := <-written
	wg.Wait()
	for i, h := range histories {
		wholly(t, "who follows", h, data)
		t.Logf("%d faults of the disk, %d streams, %d responses; 0 lost, 0 twice", failed+3, len(h), got[i].Load())
	}
	a.until("everything is given back", func(m map[string]float64) bool {
		return m["replayd_streams"] == 0 && m[`replayd_taken{resource="memory"}`] == 0
	})
}

// TestChaosSpoolFull decompresses to a full disk. The daemon must refuse the call with a retry delay, and leave no files on the
// disk. The call must succeed as soon as the disk has room.
func TestChaosSpoolFull(t *testing.T) {
	dir := t.TempDir()
	replay := decodertest.Sample(t, "datafile", "sample.map")
	commandtest.WriteFile(t, filepath.Join(dir, "x.map.gz"), decodertest.Gzip(t, replay))
	disk := mountFaults(t, t.TempDir())
	a := afflict(t, dir, nil, []string{"TMPDIR=" + disk.dir}, "--survey-budget", "0", "--max-spool", "64MiB")
	req := &replaydv1.StreamEventsRequest{Replay: "r/x.map.gz"}
	disk.say(fmt.Sprintf("room %d", len(replay)/2))
	for range 3 {
		s := a.wellBehaved().Session(inTime(t), req, nil)
		if f := status.Convert(s.Err); f.Code() != codes.ResourceExhausted || !strings.Contains(f.Message(), "temporary directory is full") || len(f.Details()) < 2 {
			t.Errorf("with a full disk: %v", s.Err)
		}
	}
	if left, err := os.ReadDir(disk.dir); err != nil || len(left) > 0 {
		t.Errorf("%d files are left in the spool (%v)", len(left), err)
	}
	disk.say("well")
	if s := a.wellBehaved().Session(inTime(t), req, nil); len(s.Responses) < 3 || s.Err != nil {
		t.Errorf("with room again: %d responses, %v", len(s.Responses), s.Err)
	}
	a.until("the spool is given back", func(m map[string]float64) bool { return m[`replayd_taken{resource="spool"}`] == 0 })
}

// TestChaosInotify follows a live replay on a system with very few inotify watches, while 10,000 files are created beside it.
// Followers must not lose events, and the daemon must find all files.
func TestChaosInotify(t *testing.T) {
	around := []string{"unshare", "-Ur", "sh", "-c", `echo 2 >/proc/sys/user/max_inotify_watches && exec "$0" "$@"`}
	if err := exec.Command("unshare", "-Ur", "sh", "-c", "echo 2 >/proc/sys/user/max_inotify_watches").Run(); err != nil {
		t.Skipf("no namespace of its own for the daemon: %v", err)
	}
	const files = 500
	dir := t.TempDir()
	for i := range 5 {
		if err := os.Mkdir(filepath.Join(dir, fmt.Sprint(i)), 0o750); err != nil {
			t.Fatal(err)
		}
	}
	sample := commandtest.ReadSample(t, filepath.Join("..", "..", ".."))
	a := afflict(t, dir, around, nil)
	written, stop := make(chan []byte, 1), make(chan struct{})
	go commandtest.AppendSteadily(t, filepath.Join(dir, "live.teehistorian"), sample, stop, written)
	ctx := inTime(t)
	var got atomic.Int64
	var h streamtest.History
	var wg sync.WaitGroup
	wg.Go(func() {
		h = persist(ctx, a.wellBehaved(), &replaydv1.StreamEventsRequest{Replay: "r/live.teehistorian", Follow: true}, &got)
	})
	header := sample[:16+1+bytes.IndexByte(sample[16:], 0)]
	for i := range files {
		commandtest.WriteFile(t, filepath.Join(dir, fmt.Sprint(i%5), fmt.Sprintf("%d.teehistorian", i)),
			bytes.Replace(header, []byte("4fa04b32"), fmt.Appendf(nil, "%08x", i), 1))
	}
	api := replaydv1.NewReplayServiceClient(a.wellBehaved().Conn)
	for listed := 0; listed != files+1; {
		listed = 0
		req := &replaydv1.ListReplaysRequest{Directory: "r", PageSize: 1000}
		for more := true; more; more = req.PageToken != "" {
			page, err := api.ListReplays(ctx, req)
			if err != nil {
				t.Fatalf("%d of %d are listed: %v", listed, files+1, err)
			}
			listed += len(page.GetReplays())
			req.PageToken = page.GetNextPageToken()
		}
	}
	close(stop)
	data := <-written
	wg.Wait()
	wholly(t, "who follows", h, data)
	if log := a.log.String(); !strings.Contains(log, "inotify") {
		t.Error("the log does not say that inotify has no more to give")
	}
}

// TestChaosFewDescriptors runs with 64 file descriptors. When they are used up, the errors of calls and the log must
// contain the reason. As soon as descriptors are free again, calls must succeed.
func TestChaosFewDescriptors(t *testing.T) {
	dir := t.TempDir()
	sample := commandtest.ReadSample(t, filepath.Join("..", "..", ".."))
	commandtest.WriteFile(t, filepath.Join(dir, "still.teehistorian"), sample)
	commandtest.WriteFile(t, filepath.Join(dir, "long.teehistorian"), longReplay(sample, 4<<20))
	a := afflict(t, dir, []string{"sh", "-c", `ulimit -n 64 && exec "$0" "$@"`}, nil)
	if !strings.Contains(a.log.String(), "ulimit -n") {
		t.Error("the log does not warn of few descriptors")
	}
	before := a.figures()["process_open_fds"]
	client := a.wellBehaved()
	ctx, cancel := context.WithCancel(inTime(t))
	api := replaydv1.NewReplayServiceClient(client.Conn)
	let, refused := 0, 0
	for range 100 {
		s, err := api.StreamEvents(ctx, &replaydv1.StreamEventsRequest{Replay: "r/long.teehistorian"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Recv(); err == nil {
			let++
		} else if f := status.Convert(err); f.Code() == codes.Unavailable && strings.Contains(f.Message(), "too many open files") {
			refused++
		} else {
			t.Errorf("a call ends by %v", err)
		}
	}
	if let == 0 || refused == 0 {
		t.Errorf("%d calls go on, %d were refused", let, refused)
	}
	if log := a.log.String(); strings.Count(log, "too many open files") == 0 {
		t.Errorf("the log does not say why: %s", log)
	}
	cancel()
	a.until("descriptors are closed", func(m map[string]float64) bool { return m["process_open_fds"] <= before+2 })
	s := client.Session(inTime(t), &replaydv1.StreamEventsRequest{Replay: "r/still.teehistorian"}, nil)
	wholly(t, "afterwards", streamtest.History{s}, sample)

	// Connections beyond the limit must not wait forever, and closed connections must make room.
	var conns []net.Conn
	for range 100 {
		conn, err := net.Dial("tcp", a.addr)
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	for _, conn := range conns {
		_ = conn.Close()
	}
	s = a.wellBehaved().Session(inTime(t), &replaydv1.StreamEventsRequest{Replay: "r/still.teehistorian"}, nil)
	wholly(t, "after idle connections", streamtest.History{s}, sample)
	if log := a.log.String(); !strings.Contains(log, "too many") {
		t.Error("the log does not say that connections were too many")
	}
}

// TestChaosDrain stops the daemon while 300 clients follow. Each stream must end with the reason of the drain and must not
// be cut off. The program must exit without an error.
func TestChaosDrain(t *testing.T) {
	const clients = 300
	dir := t.TempDir()
	sample := commandtest.ReadSample(t, filepath.Join("..", "..", ".."))
	for i := range 10 {
		commandtest.WriteFile(t, filepath.Join(dir, fmt.Sprintf("%d.teehistorian", i)), sample[:len(sample)-1])
	}
	a := afflict(t, dir, nil, nil)
	ctx := inTime(t)
	var caughtUp, wg sync.WaitGroup
	caughtUp.Add(clients)
	var told atomic.Int64
	conns := []streamtest.Client{a.wellBehaved(), a.wellBehaved(), a.wellBehaved()}
	for i := range clients {
		wg.Go(func() {
			var h streamtest.History
			once := sync.OnceFunc(caughtUp.Done)
			defer once()
			h = append(h, conns[i%len(conns)].Session(ctx, &replaydv1.StreamEventsRequest{Replay: fmt.Sprintf("r/%d.teehistorian", i%10), Follow: true},
				func(r *replaydv1.StreamEventsResponse) bool {
					if r.GetFollowStatus().GetState() == replaydv1.FollowState_FOLLOW_STATE_CAUGHT_UP {
						once()
					}
					return true
				}))
			if h[0].Err != nil || h.End().GetReason() != replaydv1.EndReason_END_REASON_SERVER_DRAINING {
				t.Errorf("a stream ended with %v, %v", h.End(), h[0].Err)
				return
			}
			told.Add(1)
		})
	}
	caughtUp.Wait()
	began := time.Now()
	if err := a.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	if err := <-a.ended; err != nil {
		t.Errorf("it ends by %v", err)
	}
	t.Logf("%d of %d streams ended with that reason; it ended after %v", told.Load(), clients, time.Since(began).Round(time.Millisecond))
	if strings.Contains(a.log.String(), "cut off") {
		t.Error("some were cut off at the deadline")
	}
}

// limp is a connection that carries no more data in either direction after dead is closed, without an error.
type limp struct {
	net.Conn

	dead chan struct{}
}

func (l *limp) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	select {
	case <-l.dead:
		select {} // the reader never gets anything again
	default:
	}
	return n, err
}

func (l *limp) Write(p []byte) (int, error) {
	select {
	case <-l.dead:
		return len(p), nil
	default:
		return l.Conn.Write(p)
	}
}

// TestChaosHalfOpen makes clients vanish silently in the middle of streams and uploads, as when their machine loses its
// network. The daemon must release their resources, although their connections stay open.
func TestChaosHalfOpen(t *testing.T) {
	dir := t.TempDir()
	sample := commandtest.ReadSample(t, filepath.Join("..", "..", ".."))
	commandtest.WriteFile(t, filepath.Join(dir, "long.teehistorian"), longReplay(sample, 16<<20))
	a := afflict(t, dir, nil, nil, "--send-timeout", "1s", "--upload-timeout", "1s")
	dead := make(chan struct{})
	for range 3 {
		conn, err := grpc.NewClient("passthrough:///x", grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
				var d net.Dialer
				conn, err := d.DialContext(ctx, "tcp", a.addr)
				return &limp{conn, dead}, err
			}))
		if err != nil {
			t.Fatal(err)
		}
		api := replaydv1.NewReplayServiceClient(conn)
		for range 5 {
			s, err := api.StreamEvents(context.Background(), &replaydv1.StreamEventsRequest{Replay: "r/long.teehistorian"}, grpc.WaitForReady(true))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Recv(); err != nil {
				t.Fatal(err)
			}
			up, err := api.DecodeReplay(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			_ = up.Send(&replaydv1.DecodeReplayRequest{Part: &replaydv1.DecodeReplayRequest_Options{Options: &replaydv1.StreamEventsRequest{Replay: "x"}}})
			_ = up.Send(&replaydv1.DecodeReplayRequest{Part: &replaydv1.DecodeReplayRequest_Data{Data: sample[:len(sample)/2]}})
			if _, err := up.Recv(); err != nil {
				t.Fatal(err)
			}
		}
	}
	a.until("all streams run", func(m map[string]float64) bool { return m["replayd_streams"] == 30 })
	close(dead)
	a.until("what they held is given back", func(m map[string]float64) bool {
		return m["replayd_streams"] == 0 && m[`replayd_taken{resource="memory"}`] == 0
	})
	s := a.wellBehaved().Session(inTime(t), &replaydv1.StreamEventsRequest{Replay: "r/long.teehistorian", Include: []*replaydv1.EventFilter{{Kinds: []string{"join"}}}}, nil)
	if s.Err != nil {
		t.Errorf("another client: %v", s.Err)
	}
}

// drip is a connection that transfers one byte at a time.
type drip struct{ net.Conn }

func (d drip) Read(p []byte) (int, error) { return d.Conn.Read(p[:min(len(p), 1)]) }

func (d drip) Write(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var one int
		one, err = d.Conn.Write(p[n : n+1])
		n += one
	}
	return n, err
}

// TestChaosByteByByte streams and uploads over a network that transfers one byte at a time. The messages of the upload
// contain one byte each. Each event must arrive exactly once.
func TestChaosByteByByte(t *testing.T) {
	dir := t.TempDir()
	sample := commandtest.ReadSample(t, filepath.Join("..", "..", ".."))
	commandtest.WriteFile(t, filepath.Join(dir, "still.teehistorian"), sample)
	a := afflict(t, dir, nil, nil)
	conn, err := grpc.NewClient("passthrough:///x", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			var d net.Dialer
			conn, err := d.DialContext(ctx, "tcp", a.addr)
			return drip{conn}, err
		}))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx := inTime(t)
	s := streamtest.Client{Conn: conn}.Session(ctx, &replaydv1.StreamEventsRequest{Replay: "r/still.teehistorian"}, nil)
	wholly(t, "a stream", streamtest.History{s}, sample)

	up, err := replaydv1.NewReplayServiceClient(conn).DecodeReplay(ctx)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		err := up.Send(&replaydv1.DecodeReplayRequest{Part: &replaydv1.DecodeReplayRequest_Options{Options: &replaydv1.StreamEventsRequest{Replay: "x"}}})
		for i := 0; i < len(sample) && err == nil; i++ {
			err = up.Send(&replaydv1.DecodeReplayRequest{Part: &replaydv1.DecodeReplayRequest_Data{Data: sample[i : i+1]}})
		}
		_ = up.CloseSend()
	}()
	s = streamtest.Session{}
	for {
		resp, err := up.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		raw, err := proto.Marshal(resp)
		if err != nil {
			t.Fatal(err)
		}
		s.Responses = append(s.Responses, raw)
	}
	wholly(t, "an upload", streamtest.History{s}, sample)
}
