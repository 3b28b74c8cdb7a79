package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/replayd/replayd/fleet/queue/natsserver"
)

// TestMain makes the test binary act as the program when it is called by the program's name.
func TestMain(m *testing.M) {
	testscript.Main(cleaning{m}, map[string]func(){"replayd": main, bareProgram: bare, natsProgram: natsMain})
}

// natsProgram is the name by which the test binary is replayd-nats.
const natsProgram = "replayd-nats"

func natsMain() { os.Exit(natsserver.Run(context.Background(), os.Args[1:], os.Stderr)) }

// node is a NATS server in a process of its own, alone or as a part of a cluster.
type node struct {
	url   string
	start func() *exec.Cmd
	cmd   *exec.Cmd
}

// nodePackage is nats-server, which can be a node of a cluster.
const nodePackage = "github.com/nats-io/nats-server/v2"

// startNodes starts NATS servers: a replayd-nats, or a cluster of nats-server processes. The caller kills them.
func startNodes(t *testing.T, n int) (nodes []*node) {
	t.Helper()
	if n == 1 {
		url, dir := "nats://"+freeAddr(t), t.TempDir()
		nodes = []*node{{url: url, start: func() *exec.Cmd { return startNATS(t, url, dir) }}}
	}
	var routes []string
	for len(routes) < n {
		routes = append(routes, "nats://"+freeAddr(t))
	}
	for i := len(nodes); i < n; i++ {
		addr, config := freeAddr(t), filepath.Join(t.TempDir(), "node.conf")
		text := fmt.Sprintf("server_name: n%d\nlisten: %q\njetstream { store_dir: %q }\ncluster { name: c, listen: %q, routes: [%s] }\n",
			i, addr, t.TempDir(), strings.TrimPrefix(routes[i], "nats://"), strings.Join(routes, ", "))
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, &node{url: "nats://" + addr, start: func() *exec.Cmd {
			return started(t, exec.Command(buildMain(t, nodePackage, "nats-server"), "-c", config, "-l", os.DevNull))
		}})
	}
	for _, node := range nodes {
		node.cmd = node.start()
	}
	return nodes
}

// startNATS starts a server of the queue. The caller kills it.
func startNATS(t *testing.T, url, dir string) *exec.Cmd {
	t.Helper()
	return startProgram(t, natsProgram, "-nats", url, "-dir", dir, "-no-sync")
}

// startProgram starts the test binary as a program.
func startProgram(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Args = args
	return started(t, cmd)
}

func started(t *testing.T, cmd *exec.Cmd) *exec.Cmd {
	t.Helper()
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// cleaning runs the tests and then removes the program that they built.
type cleaning struct{ *testing.M }

func (c cleaning) Run() int {
	defer func() {
		if built.dir != "" {
			_ = os.RemoveAll(built.dir)
		}
	}()
	return c.M.Run()
}
