package main

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/replayd/replayd/cmd/internal/command"
	"github.com/replayd/replayd/cmd/internal/commandtest"
	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/fleet/queue/natsserver"
)

// TestPublish runs the command: for a replay it ends with it, for a directory it goes on; it has metrics, exit codes, and no secrets in
// what it prints.
func TestPublish(t *testing.T) {
	server, dir := "nats://"+commandtest.FreeAddr(t), t.TempDir()
	stopServer, err := natsserver.Start(natsserver.Options{Dir: t.TempDir(), URL: server})
	if err != nil {
		t.Fatal(err)
	}
	stopHub := sync.OnceFunc(stopServer)
	defer stopHub()
	sample := decodertest.Sample(t, "teehistorian", "finished", "4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian")
	if err := os.WriteFile(filepath.Join(dir, "a"), sample, 0o600); err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(sample)
	copy(damaged[6000:], bytes.Repeat([]byte{0xff}, 64))
	if err := os.WriteFile(filepath.Join(dir, "b"), bytes.ReplaceAll(damaged, []byte("4fa04b32"), []byte("5fa04b32")), 0o600); err != nil {
		t.Fatal(err)
	}
	log, stopDaemon := background(t, "serve", "--listen", "127.0.0.1:0", "--web-listen", "none", "--root", "r="+dir)
	addr := address(t, log, "serving")
	publish := func(more ...string) []string {
		return append([]string{"publish", "--nats", server, "--addr", addr, "--log-level", "error"}, more...)
	}
	mustRun(t, 0, publish("r/a", "--kind", "join,drop")...)
	if out := mustRun(t, command.ExitUsage, publish("r/a", "--kind", "join")...); !strings.Contains(out, "--subject") {
		t.Error("another selection:", out)
	}
	mustRun(t, 0, publish("r/a", "--kind", "join", "--subject", "joins", "--stream", "joins", "--encoding", "proto")...)
	mustRun(t, command.ExitCorrupt, publish("r/b", "--kind", "join,drop")...)
	mustRun(t, command.ExitNotFound, publish("r/c", "--kind", "join,drop")...)
	mustRun(t, command.ExitNotFound, publish("none/", "--kind", "join,drop")...)
	mustRun(t, command.ExitUsage, publish("r/a", "--subject", "a..b")...)
	mustRun(t, command.ExitUsage, publish("r/a", "--subject", "elsewhere")...)
	mustRun(t, command.ExitUsage, publish("r/a", "--kind", "knid", "--subject", "k", "--stream", "k")...)
	mustRun(t, command.ExitUsage, publish("r/a", "--max-delay", "1m")...)
	mustRun(t, command.ExitUsage, "publish", "--nats", server, "r/a")
	mustRun(t, command.ExitLost, "publish", "--nats", "nats://"+commandtest.FreeAddr(t), "--addr", addr, "r/a")

	log, stop := background(t, "publish", "--nats", server, "--addr", addr, "--all", "--subject", "all", "--stream", "all", "--metrics-listen", "127.0.0.1:0", "r/")
	metrics := address(t, log, "serving metrics")
	conn, err := nats.Connect(server)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	c, err := js.OrderedConsumer(t.Context(), "all", jetstream.OrderedConsumerConfig{FilterSubjects: []string{"all.*.r.a"}})
	if err != nil {
		t.Fatal(err)
	}
	var lines bytes.Buffer
	for {
		msg, err := c.Next(jetstream.FetchMaxWait(commandtest.Patience))
		if err != nil {
			t.Fatal(err)
		}
		if msg.Headers().Get("Replayd-Type") == "end" {
			break
		}
		if msg.Headers().Get("Replayd-Type") == "events" {
			lines.Write(msg.Data())
		}
	}
	if want := mustRun(t, 0, "cat", filepath.Join(dir, "a")); lines.String() != want {
		t.Errorf("%d bytes of lines, cat prints %d", lines.Len(), len(want))
	}
	text := commandtest.Scrape(t, metrics)
	if !strings.Contains(text, "\nreplayd_publish_events_total ") || !strings.Contains(text, "\nreplayd_publish_replays ") {
		t.Error(text)
	}
	// What the alerts and the dashboard name is there, and health says what is wrong without names.
	for _, file := range []string{"alerts.yml", "dashboard.json"} {
		b, err := os.ReadFile(filepath.Join("..", "..", "packaging", "prometheus", file))
		if err != nil {
			t.Fatal(err)
		}
		names := regexp.MustCompile(`\breplayd_publish_[a-z_]+\b`).FindAllString(string(b), -1)
		if len(names) == 0 {
			t.Errorf("%s has nothing of publishers", file)
		}
		for _, name := range names {
			if !strings.Contains(text, "\n"+name+" ") {
				t.Errorf("%s names %s, which there is not", file, name)
			}
		}
	}
	health(t, metrics, "ok\n")
	stopDaemon()
	health(t, metrics, "the daemon cannot be reached\n")
	stopHub()
	health(t, metrics, "NATS cannot be reached\n")
	if text := commandtest.Scrape(t, metrics); !strings.Contains(text, "\nreplayd_publish_connected 0\n") || !strings.Contains(text, "\nreplayd_publish_away 1\n") {
		t.Error(text)
	}
	stop()
}

// health waits until a program answers what it is asked for under /healthz.
func health(t *testing.T, addr, want string) {
	t.Helper()
	for deadline := time.Now().Add(commandtest.Patience); ; time.Sleep(10 * time.Millisecond) {
		resp, err := http.Get("http://" + addr + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if string(text) == want {
			if ok := want == "ok\n"; ok != (resp.StatusCode == http.StatusOK) {
				t.Errorf("%s with %s", text, resp.Status)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("its health is %q, want %q", text, want)
		}
	}
}
