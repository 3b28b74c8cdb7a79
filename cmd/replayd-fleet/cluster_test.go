package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/replayd/replayd/cmd/internal/commandtest"
	"github.com/replayd/replayd/fleet/bucket/buckettest"
	"github.com/replayd/replayd/internal/faulttest"
)

// TestComposeCluster starts the NATS servers of packaging/compose.cluster.yaml, with its configuration, on this machine. Each program does
// its work as its user, and no user may do what is another's.
func TestComposeCluster(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "packaging", "compose.cluster.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	_, config, found := strings.Cut(string(text), "    content: |\n")
	config, _, end := strings.Cut(config, "\nvolumes:")
	if !found || !end {
		t.Fatal("it has no configuration of NATS")
	}
	servers := clusterOf(t, strings.ReplaceAll(config, "$$", "$"))
	store, dir, live := buckettest.New(t), t.TempDir(), t.TempDir()
	run := func(user, program string, args ...string) *exec.Cmd {
		cmd := exec.Command(program, args...)
		cmd.Env = append(os.Environ(), "NATS_USER="+user, "NATS_PASSWORD="+passwordOf(user))
		return cmd
	}
	all := "nats://" + strings.Join(servers, ",")
	sample := commandtest.ReadSample(t, filepath.Join("..", ".."))
	commandtest.WriteFile(t, filepath.Join(dir, "a.teehistorian"), sample)
	shipper := commandtest.Build(t, "../replayd-ship", "replayd-ship")
	faulttest.Supervise(t, "ship", func() *exec.Cmd {
		return run("ship", shipper, dir, "--to", all, "--replicas", "3", "--source", "eu1", "--bucket", store.URL("games"), "--log-level", "error")
	})
	f := &fleet{t: t, addrs: []string{commandtest.FreeAddr(t)}}
	root := "live=nats://" + servers[0] + "/replayd-live?server=" + servers[1] + "&archive=" + url.QueryEscape(store.URL("games"))
	faulttest.Supervise(t, "serve", func() *exec.Cmd {
		return run("serve", build(t), "serve", "--listen", f.addrs[0], "--web-listen", "none", "--root", root, "--live-dir", live, "--log-level", "error")
	})
	commandtest.WriteFile(t, filepath.Join(dir, "b.teehistorian"), sample[:len(sample)/2]) // it has no end
	f.ready(0, "live/eu1/b.teehistorian")
	f.ready(0, "live/eu1/a.teehistorian")
	for deadline := time.Now().Add(commandtest.Patience); ; time.Sleep(20 * time.Millisecond) {
		if len(objects(t, store, "games")) > 0 {
			break
		} else if time.Now().After(deadline) {
			t.Fatal("the game that is over is not archived")
		}
	}
	faulttest.Supervise(t, "work", func() *exec.Cmd {
		return run("work", build(t), "work", "--nats", all, "--replicas", "3", "--from", store.URL("games"), "--to", store.URL("tables"), "--temp", live, "--log-level", "error")
	})
	for deadline := time.Now().Add(commandtest.Patience); ; time.Sleep(100 * time.Millisecond) {
		out, err := run("work", build(t), "jobs", "add", "--wait", "--nats", all, "--replicas", "3", store.URL("games")).CombinedOutput()
		if err == nil && strings.Contains(string(out), "1 jobs done") {
			break
		} else if time.Now().After(deadline) {
			t.Fatal(err, string(out))
		}
	}
	denied(t, all)
}

func passwordOf(user string) string { return "secretOf" + user }

// clusterOf starts three servers with one configuration, and returns their addresses.
func clusterOf(t *testing.T, config string) (servers []string) {
	t.Helper()
	environment := os.Environ()
	for _, user := range []string{"ship", "serve", "work", "route", "system"} {
		environment = append(environment, strings.ToUpper(user)+"_PASSWORD="+passwordOf(user))
	}
	var routes []string
	for i := range 3 {
		servers, routes = append(servers, commandtest.FreeAddr(t)), append(routes, commandtest.FreeAddr(t))
		environment = append(environment, fmt.Sprintf("ROUTE_%d=nats-route://route:%s@%s", i+1, passwordOf("route"), routes[i]))
	}
	for i := range servers {
		here := config
		for _, change := range [][2]string{
			{"0.0.0.0:4222", servers[i]}, {"127.0.0.1:8222", commandtest.FreeAddr(t)}, {"0.0.0.0:6222", routes[i]}, {"/data", t.TempDir()},
		} {
			if strings.Count(here, `"`+change[0]+`"`) != 1 {
				t.Fatalf("the configuration does not have %s once", change[0])
			}
			here = strings.Replace(here, change[0], change[1], 1)
		}
		name := filepath.Join(t.TempDir(), "nats.conf")
		commandtest.WriteFile(t, name, []byte(here))
		program := commandtest.Build(t, nodePackage, "nats-server")
		faulttest.Supervise(t, "nats", func() *exec.Cmd {
			cmd := exec.Command(program, "-c", name)
			cmd.Env = slices.Concat(environment, []string{fmt.Sprintf("NODE=nats%d", i+1)})
			return cmd
		})
	}
	return servers
}

// denied checks that no user may do what only another one needs.
func denied(t *testing.T, servers string) {
	t.Helper()
	if _, err := nats.Connect(servers, nats.UserInfo("ship", "wrong")); !errors.Is(err, nats.ErrAuthorization) {
		t.Error("a wrong password:", err)
	}
	if _, err := nats.Connect(servers); !errors.Is(err, nats.ErrAuthorization) {
		t.Error("no password:", err)
	}
	for user, subjects := range map[string][]string{
		"ship":  {"replayd.jobs.high.a", "$KV.replayd-records.a", "$JS.API.STREAM.DELETE.replayd-live", "$JS.API.CONSUMER.CREATE.replayd-jobs"},
		"serve": {"replayd.live.eu1.a.tail", "$KV.replayd-live-owners.eu1", "$JS.API.STREAM.PURGE.replayd-live", "$JS.API.STREAM.DELETE.replayd-live", "replayd.jobs.high.a"},
		"work":  {"replayd.live.eu1.a.tail", "$KV.replayd-live-owners.eu1", "$JS.API.STREAM.DELETE.replayd-jobs"},
	} {
		refused := make(chan error, 10)
		conn, err := nats.Connect(servers, nats.UserInfo(user, passwordOf(user)), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err }))
		if err != nil {
			t.Fatal(user, err)
		}
		for _, subject := range subjects {
			if err := conn.Publish(subject, nil); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), commandtest.Patience)
			if err := conn.FlushWithContext(ctx); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-refused:
				if !errors.Is(err, nats.ErrPermissionViolation) {
					t.Errorf("%s publishes to %s: %v", user, subject, err)
				}
			case <-ctx.Done():
				t.Errorf("%s may publish to %s", user, subject)
			case <-time.After(2 * time.Second):
				t.Errorf("%s may publish to %s", user, subject)
			}
			cancel()
		}
		conn.Close()
	}
}
