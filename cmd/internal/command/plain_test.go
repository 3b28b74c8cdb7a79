package command

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/replayd/replayd/cmd/internal/commandtest"
	"github.com/replayd/replayd/decoders/decodertest"
)

// TestKillPlain kills the daemon while two clients follow a replay over plain HTTP. One is the shell loop of docs/http.md,
// verbatim; the other behaves like a browser's EventSource. In total each must receive what `replayd cat` prints of the file.
func TestKillPlain(t *testing.T) {
	for _, tool := range []string{"curl", "awk", "bash"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	n := 20
	if os.Getenv(killsVariable) != "" {
		n = kills(t)
	}
	program := build(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "game.teehistorian")
	sample := decodertest.Sample(t, "teehistorian", "finished", "4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian")
	addr, web := commandtest.FreeAddr(t), commandtest.FreeAddr(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute+time.Duration(n)*2*time.Second)
	defer cancel()
	start := func() *exec.Cmd {
		cmd := exec.Command(program, "serve", "--listen", addr, "--web-listen", web, "--root", "live="+dir, "--log-level", "error")
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}

	written := make(chan []byte, 1)
	stop := make(chan struct{})
	go commandtest.AppendSteadily(t, path, sample, stop, written)
	daemon := start()

	var wg sync.WaitGroup
	byLoop, bySource := "", ""
	curl := exec.CommandContext(ctx, "bash", "-c", strings.ReplaceAll(loopOf(t), "127.0.0.1:7170", web))
	curl.Dir, curl.Stderr = t.TempDir(), os.Stderr
	wg.Go(func() {
		if err := curl.Run(); err != nil {
			t.Error(err)
		}
		lines, err := os.ReadFile(filepath.Join(curl.Dir, "events"))
		if err != nil {
			t.Error(err)
		}
		byLoop = string(lines)
	})
	begun := make(chan struct{}, 1)
	wg.Go(func() {
		bySource = eventSource(ctx, t, "http://"+web+"/v1/replays/live/game.teehistorian/events?follow", begun)
	})

	for range n {
		select { // wait until a stream of the new daemon has begun
		case <-begun:
		case <-ctx.Done():
			t.Fatal("no stream of the new daemon began")
		}
		time.Sleep(30 * time.Millisecond)
		commandtest.Kill(t, daemon)
		daemon = start()
	}
	close(stop)
	data := <-written
	wg.Wait()
	commandtest.Kill(t, daemon)

	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	want, err := exec.Command(program, "cat", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	for what, got := range map[string]string{"the loop": byLoop, "the EventSource": bySource} {
		if got != string(want) {
			at := 0
			a, b := strings.Split(got, "\n"), strings.Split(string(want), "\n")
			for at < len(a) && at < len(b) && a[at] == b[at] {
				at++
			}
			t.Errorf("%s: %d lines, want %d; line %d is the first that differs", what, len(a), len(b), at)
		}
	}
	t.Logf("%d kills; %d events, none missing, none repeated", n, bytes.Count(want, []byte("\n")))
}

// loopOf returns the shell loop in docs/http.md.
func loopOf(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "http.md"))
	if err != nil {
		t.Fatal(err)
	}
	for block := range strings.SplitSeq(string(text), "```sh\n") {
		if block, _, _ = strings.Cut(block, "```"); strings.Contains(block, "until [") {
			return block
		}
	}
	t.Fatal("docs/http.md has no such loop")
	return ""
}

// eventSource does what an EventSource does until stop is closed, and returns the events as lines. It says in begun that a
// stream began.
func eventSource(ctx context.Context, t *testing.T, url string, begun chan<- struct{}) string {
	var all strings.Builder
	last := ""
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for ; ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			t.Error(err)
			return ""
		}
		req.Header.Set("Accept", "text/event-stream")
		if last != "" {
			req.Header.Set("Last-Event-ID", last)
		}
		resp, err := client.Do(req)
		if err != nil {
			continue // no connection
		}
		if resp.StatusCode != http.StatusOK {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusNoContent {
				break
			}
			t.Errorf("%s, on which an EventSource gives up", resp.Status)
			return ""
		}
		last = dispatch(resp.Body, last, func(event, data string) {
			select {
			case begun <- struct{}{}:
			default:
			}
			if event != "" {
				return
			}
			var batch struct {
				Events []json.RawMessage `json:"events"`
			}
			if err := json.Unmarshal([]byte(data), &batch); err != nil {
				t.Error(err)
			}
			for _, e := range batch.Events {
				_, _ = fmt.Fprintf(&all, "%s\n", e)
			}
		})
		_ = resp.Body.Close()
	}
	return all.String()
}

// dispatch reads messages until the stream ends, and returns the last id. It ignores an incomplete message.
func dispatch(body io.Reader, last string, each func(event, data string)) string {
	r := bufio.NewReader(body)
	id, event, data := last, "", ""
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return last
		}
		field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch field {
		case "id":
			id = value
		case "event":
			event = value
		case "data":
			data = value
		case "":
			last = id
			if data != "" {
				each(event, data)
			}
			event, data = "", ""
		}
	}
}
