package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/replayd/replayd/cmd/internal/command"
	"github.com/replayd/replayd/cmd/internal/commandtest"
	"github.com/replayd/replayd/fleet/bucket/buckettest"
	"github.com/replayd/replayd/internal/testlog"
)

// TestBucket runs the commands on a bucket, with credentials in the environment, which must not show up anywhere.
func TestBucket(t *testing.T) {
	const secret = "wJalrXUtnFEMIK7MDENG"
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	t.Setenv("AWS_SESSION_TOKEN", "session-"+secret)
	sample := filepath.Join("..", "..", "testdata", "teehistorian", "finished", "4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian")
	data, err := os.ReadFile(sample)
	if err != nil {
		t.Fatal(err)
	}
	s := buckettest.New(t)
	s.Put("p/a.teehistorian", data)
	s.Put("p/d/b.teehistorian", data)
	run := func(args ...string) (code int, out, errs string) {
		var stdout, stderr bytes.Buffer
		code = newProgram().Run(t.Context(), args, command.Console{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
		for _, text := range []string{stdout.String(), stderr.String()} {
			if strings.Contains(text, secret) {
				t.Errorf("%v: a secret is printed: %s", args, text)
			}
		}
		return code, stdout.String(), stderr.String()
	}
	url := func(path string) string { return s.URL(path, "anonymous", "") }
	_, want, _ := run("cat", sample)
	if code, out, errs := run("cat", url("p/a.teehistorian")); code != 0 || out != want || out == "" {
		t.Error("cat:", code, errs)
	}
	if code, out, errs := run("ls", url("p")); code != 0 || strings.Count(out, "\n") != 2 || !strings.Contains(out, "s3://replays/p/d/b.teehistorian\n") {
		t.Error("ls:", code, out, errs)
	}
	if code, out, errs := run("info", "--count", url("p/d/b.teehistorian")); code != 0 || !strings.Contains(out, `"s3://replays/p/d/b.teehistorian"`) || !strings.Contains(out, `"finished"`) {
		t.Error("info:", code, out, errs)
	}
	for _, from := range []string{sample, url("p/a.teehistorian")} {
		to := filepath.Join(t.TempDir(), "tables")
		code, _, errs := run("export", from, "--to", to, "--format", "jsonl", "--kind", "player_diff")
		found, _ := filepath.Glob(filepath.Join(to, "format=teehistorian", "kind=player_diff", "4fa04b32-db1c-48f1-b0fe-ea831e23f409.*.jsonl"))
		if len(found) != 1 {
			t.Fatal(found)
		}
		rows, err := os.ReadFile(found[0])
		if n := bytes.Count(rows, []byte("\n")); code != 0 || err != nil || n != 1851 {
			t.Errorf("export of %s: %d, %d rows: %v %s", from, code, n, err, errs)
		}
	}
	for _, c := range []struct {
		code int
		args []string
		says string
	}{
		{command.ExitNotFound, []string{"cat", url("p/none")}, "not found"},
		{command.ExitUsage, []string{"cat", url("p")}, "directory"},
		{command.ExitUsage, []string{"cat", "--follow", url("p/a.teehistorian")}, "never grows"},
		{command.ExitUsage, []string{"cat", "s3://AKID:" + secret + "@replays/p/a"}, "credentials"},
		{command.ExitUsage, []string{"ls", "s3://replays/p?secret_access_key=" + secret}, "credentials"},
		{command.ExitUsage, []string{"cat", "s3://replays"}, "BUCKET/PATH"},
		{command.ExitUsage, []string{"serve", "--root", "x=s3://AKID:" + secret + "@replays/p"}, "credentials"},
		{command.ExitUsage, []string{"serve", "--root", "s3://replays/p?refresh=1h"}, "alias"},
		{command.ExitLost, []string{"cat", "s3://replays/p/a?endpoint=http://127.0.0.1:1"}, "refused"},
	} {
		if code, _, errs := run(c.args...); code != c.code || !strings.Contains(errs, c.says) {
			t.Errorf("%q: %d, want %d: %s", c.args, code, c.code, errs)
		}
	}

	config := filepath.Join(t.TempDir(), "config")
	write := func(root string) {
		if err := os.WriteFile(config, fmt.Appendf(nil, "listen = 127.0.0.1:0\nroot = %s\n", root), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("b=s3://k:" + secret + "@replays/p")
	if code, _, errs := run("check-config", config); code != command.ExitUsage || !strings.Contains(errs, "credentials") {
		t.Error("check-config:", code, errs)
	}
	write("b=" + url("p"))
	if code, _, errs := run("check-config", config); code != 0 {
		t.Error("check-config:", code, errs)
	}

	// A daemon, from the file and from the environment.
	for _, args := range [][]string{{"serve", "--config", config}, {"serve", "--listen", "127.0.0.1:0"}} {
		if len(args) == 3 && args[1] == "--listen" {
			t.Setenv("REPLAYD_ROOT", "b="+url("p"))
		}
		args = append(args, "--web-listen", "none", "--metrics-listen", "127.0.0.1:0")
		ctx, stop := context.WithCancel(t.Context())
		var log, out testlog.Log
		ended := make(chan int, 1)
		go func() {
			ended <- newProgram().Run(ctx, args, command.Console{In: strings.NewReader(""), Out: &out, Err: &log})
		}()
		addr, metrics := address(t, &log, "serving"), address(t, &log, "serving metrics")
		if code, out, errs := run("cat", "--addr", addr, "b/d/b.teehistorian"); code != 0 || out != want {
			t.Error("cat of the daemon:", code, errs)
		}
		s.Hook(func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
			buckettest.Refuse(w, http.StatusForbidden, "Denied."+r.Header.Get("Authorization"))
		})
		if code, _, errs := run("cat", "--addr", addr, "b/d/b.teehistorian"); code == 0 || !strings.Contains(errs, "may not be read") {
			t.Error("cat of the daemon, refused:", code, errs)
		}
		s.Hook(nil)
		text := commandtest.Scrape(t, metrics)
		if !regexp.MustCompile(`replayd_store_requests_total\{operation="read",result="ok",root="b"\} [1-9]`).MatchString(text) {
			t.Error("no metrics of the store:", text)
		}
		stop()
		if code := <-ended; code != 0 && code != command.ExitCancelled {
			t.Error("serve:", code, log.String())
		}
		for _, text := range []string{log.String(), out.String(), text} {
			if strings.Contains(text, secret) || strings.Contains(text, "AKIDEXAMPLE") {
				t.Errorf("the daemon shows its credentials: %s", text)
			}
		}
	}
}

// address waits until a daemon serves, and returns the address in its log.
func address(t *testing.T, log *testlog.Log, message string) string {
	t.Helper()
	line := regexp.MustCompile(`msg="?` + message + `"? address=(\S+)`)
	for deadline := time.Now().Add(commandtest.Patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if m := line.FindStringSubmatch(log.String()); m != nil {
			return m[1]
		}
	}
	t.Fatal(log.String())
	return ""
}
