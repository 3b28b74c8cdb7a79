package publish_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	client "github.com/replayd/replayd/clients/go"
	"github.com/replayd/replayd/fleet/publish"
	"github.com/replayd/replayd/fleet/queue/natsserver"
	"github.com/replayd/replayd/internal/daemontest"
	"github.com/replayd/replayd/internal/freeport"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen.
const patience = time.Minute

const (
	samples  = "../../testdata"
	finished = "teehistorian/finished/4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian"
	game     = "teehistorian:4fa04b32-db1c-48f1-b0fe-ea831e23f409"
)

func within(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	tb.Cleanup(cancel)
	return ctx
}

// hub is a NATS server that can be stopped and started again.
type hub struct {
	tb   testing.TB
	url  string
	dir  string
	stop func()
}

func newHub(tb testing.TB) *hub {
	tb.Helper()
	addr, err := freeport.Addr()
	if err != nil {
		tb.Fatal(err)
	}
	h := &hub{tb: tb, url: "nats://" + addr, dir: tb.TempDir()}
	h.start()
	tb.Cleanup(func() { h.stop() })
	return h
}

func (h *hub) start() {
	stop, err := natsserver.Start(natsserver.Options{Dir: h.dir, URL: h.url})
	if err != nil {
		h.tb.Error(err)
	}
	h.stop = sync.OnceFunc(stop)
}

func connect(tb testing.TB, url string) *nats.Conn {
	tb.Helper()
	conn, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(5*time.Millisecond), nats.ReconnectJitter(0, 0),
		nats.ReconnectBufSize(-1), nats.Timeout(5*time.Second), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(conn.Close)
	return conn
}

// serve starts a daemon on a directory, whose root has the alias root.
func serve(tb testing.TB, dir string) *daemontest.Daemon {
	tb.Helper()
	d := daemontest.New("root", dir)
	if err := d.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = d.Kill() })
	return d
}

func dial(tb testing.TB, d *daemontest.Daemon) *client.Client {
	tb.Helper()
	c, err := client.Dial(d.Addr, client.WithRetry(client.Retry{Initial: 5 * time.Millisecond, Max: 50 * time.Millisecond, GiveUpAfter: -1}))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

func open(tb testing.TB, c *client.Client, conn *nats.Conn, o publish.Options) *publish.Publisher {
	tb.Helper()
	p, err := publish.Open(within(tb), c, conn, o)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// messagesOf reads all messages of a stream with an ordered consumer.
func messagesOf(tb testing.TB, conn *nats.Conn, name, filter string) (all []jetstream.Msg) {
	tb.Helper()
	js, err := jetstream.New(conn)
	if err != nil {
		tb.Fatal(err)
	}
	ctx := within(tb)
	stream, err := js.Stream(ctx, name)
	if err != nil {
		tb.Fatal(err)
	}
	c, err := stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{FilterSubjects: []string{filter}})
	if err != nil {
		tb.Fatal(err)
	}
	info, err := c.Info(ctx)
	if err != nil {
		tb.Fatal(err)
	}
	for left := info.NumPending; left > 0; left-- {
		msg, err := c.Next(jetstream.FetchMaxWait(10 * time.Second))
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, msg)
	}
	return all
}

// subscriber is what a consumer has of a replay.
type subscriber struct {
	lines   []string // the events
	next    uint64
	kinds   []string // of messages, without successive events
	reasons []string
	last    jetstream.Msg
}

// consume checks the messages of one subject as a consumer sees them: each event once and in order, ids that occur once, positions that
// ascend, and headers that say what the payload has.
func consume(tb testing.TB, all []jetstream.Msg) *subscriber {
	tb.Helper()
	s := &subscriber{}
	ids := map[string]bool{}
	var offset, index int64 = -1, -1
	for _, msg := range all {
		h := msg.Headers()
		s.last = msg
		if id := h.Get(nats.MsgIdHdr); ids[id] || !strings.HasPrefix(id, h.Get(publish.HeaderIdentity)+":") {
			tb.Errorf("the id %s occurs again, or does not begin with the identity", id)
		} else {
			ids[id] = true
		}
		kind := h.Get(publish.HeaderType)
		if len(s.kinds) == 0 || kind != publish.TypeEvents || s.kinds[len(s.kinds)-1] != kind {
			s.kinds = append(s.kinds, kind)
		}
		if kind != publish.TypeEvents {
			if kind == publish.TypeEnd || kind == publish.TypeError {
				s.reasons = append(s.reasons, h.Get(publish.HeaderReason))
			}
			continue
		}
		first, next := number(tb, h, publish.HeaderFirst), number(tb, h, publish.HeaderNext)
		if first != s.next {
			tb.Fatalf("a message begins with event %d, want %d", first, s.next)
		}
		s.next = next
		var at [2]int64
		if _, err := fmt.Sscanf(strings.TrimPrefix(h.Get(nats.MsgIdHdr), h.Get(publish.HeaderIdentity)), ":%d:%d:", &at[0], &at[1]); err != nil {
			tb.Error(h.Get(nats.MsgIdHdr), err)
		}
		if at[0] < offset || at[0] == offset && at[1] <= index {
			tb.Errorf("the position %v is not after %d:%d", at, offset, index)
		}
		offset, index = at[0], at[1]
		lines, ticks := payload(tb, msg)
		if uint64(len(lines)) != next-first || strconv.Itoa(int(ticks[0])) != h.Get(publish.HeaderFirstTick) ||
			strconv.Itoa(int(ticks[len(ticks)-1])) != h.Get(publish.HeaderLastTick) {
			tb.Errorf("%d events at %v: %v", len(lines), ticks, h)
		}
		s.lines = append(s.lines, lines...)
	}
	return s
}

func number(tb testing.TB, h nats.Header, name string) uint64 {
	tb.Helper()
	n, err := strconv.ParseUint(h.Get(name), 10, 64)
	if err != nil {
		tb.Fatal(name, err)
	}
	return n
}

// payload returns the events of a message as lines of JSON, and their ticks.
func payload(tb testing.TB, msg jetstream.Msg) (lines []string, ticks []int32) {
	tb.Helper()
	if msg.Headers().Get(publish.HeaderContent) == "application/x-ndjson" {
		for line := range strings.Lines(string(msg.Data())) {
			line = strings.TrimSuffix(line, "\n")
			lines = append(lines, line)
			var tick int32
			_, rest, _ := strings.Cut(line, `"at_tick":`)
			_, _ = fmt.Sscanf(rest, "%d", &tick)
			ticks = append(ticks, tick)
		}
		return lines, ticks
	}
	r, err := client.ParseResponse(msg.Data())
	if err != nil || r.Batch == nil {
		tb.Fatal(err)
	}
	for e, err := range r.Batch.Events() {
		if err != nil {
			tb.Fatal(err)
		}
		lines, ticks = append(lines, e.String()), append(ticks, e.Tick)
	}
	return lines, ticks
}

// wanted returns the events that a stream of the daemon has, as lines.
func wanted(tb testing.TB, c *client.Client, req *replaydv1.StreamEventsRequest) (lines []string, end error) {
	tb.Helper()
	for e, err := range c.Events(within(tb), req) {
		if err != nil {
			return lines, err
		}
		lines = append(lines, e.String())
	}
	return lines, nil
}

func same(tb testing.TB, what string, got, want []string) {
	tb.Helper()
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			tb.Fatalf("%s: event %d:\n got %s\nwant %s", what, i, got[i], want[i])
		}
	}
	if len(got) != len(want) {
		tb.Fatalf("%s: %d events, want %d", what, len(got), len(want))
	}
}

func read(tb testing.TB, path string) []byte {
	tb.Helper()
	b, err := os.ReadFile(filepath.FromSlash(path))
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func write(tb testing.TB, path string, data []byte) {
	tb.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		tb.Error(err)
	}
}

// appendTo appends to a file that is followed.
func appendTo(tb testing.TB, path string, data []byte) {
	tb.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.Write(data)
		err = errorsJoin(err, f.Close())
	}
	if err != nil {
		tb.Error(err)
	}
}

func errorsJoin(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// until waits until a condition holds.
func until(tb testing.TB, what string, f func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(patience); !f(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			tb.Fatal("never: " + what)
		}
	}
}

// cutter is a proxy that cuts each connection after some bytes of the client, so that acknowledgements are lost.
type cutter struct {
	addr string

	mu     sync.Mutex
	limits []int64       // of the next connections; none: no limit
	held   chan struct{} // if not nil: a connection is not cut, but the rest of its bytes waits until this is closed
	cuts   int
}

func newCutter(tb testing.TB, to string, limits []int64, held chan struct{}) *cutter {
	tb.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	c := &cutter{addr: "nats://" + l.Addr().String(), limits: limits, held: held}
	var wg sync.WaitGroup
	tb.Cleanup(wg.Wait)
	tb.Cleanup(func() { _ = l.Close() })
	wg.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", strings.TrimPrefix(to, "nats://"))
			if err != nil {
				_ = in.Close()
				continue
			}
			limit := c.limit()
			wg.Go(func() {
				_, _ = io.Copy(in, out)
				_, _ = in.Close(), out.Close()
			})
			wg.Go(func() {
				if limit < 0 {
					_, _ = io.Copy(out, in)
				} else if n, _ := io.CopyN(out, in, limit); n == limit && c.held != nil {
					<-c.held
					_, _ = io.Copy(out, in)
				} else if n == limit {
					c.mu.Lock()
					c.cuts++
					c.mu.Unlock()
				}
				_, _ = in.Close(), out.Close()
			})
		}
	})
	return c
}

func (c *cutter) limit() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.limits) == 0 {
		return -1
	}
	limit := c.limits[0]
	c.limits = c.limits[1:]
	return limit
}
