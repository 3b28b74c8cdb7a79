package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/replayd/replayd/cmd/internal/command"
	"github.com/replayd/replayd/cmd/internal/commandtest"
)

// TestPublish runs the command: for a replay it ends with it, for a directory it goes on; it has metrics, exit codes, and no secrets in
// what it prints.
func TestPublish(t *testing.T) {
	server, dir := hub(t), t.TempDir()
	sample, err := os.ReadFile(filepath.Join("..", "..", "testdata", "teehistorian", "finished", "4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a"), sample, 0o600); err != nil {
		t.Fatal(err)
	}
	damaged := append(bytes.Clone(sample[:6000]), bytes.Repeat([]byte{0xff}, 64)...)
	if err := os.WriteFile(filepath.Join(dir, "b"), bytes.ReplaceAll(damaged, []byte("4fa04b32"), []byte("5fa04b32")), 0o600); err != nil {
		t.Fatal(err)
	}
	log, _ := background(t, "serve", "--listen", "127.0.0.1:0", "--web-listen", "none", "--root", "r="+dir)
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
	stop()
}
