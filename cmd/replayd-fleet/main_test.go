package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/replayd/replayd/cmd/internal/commandtest"
)

// TestMain makes the test binary act as the program when it is called by its name.
func TestMain(m *testing.M) {
	testscript.Main(cleaning{m}, map[string]func(){name: main})
}

// TestScript runs the scripts of testdata/script, each as a user would at a shell. $FINISHED is the path of a sample.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			path, err := filepath.Abs(filepath.Join("..", "..", "testdata", "teehistorian", "finished", "4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian"))
			env.Setenv("FINISHED", path)
			return err
		},
	})
}

// cleaning runs the tests and then removes the program that they built.
type cleaning struct{ *testing.M }

func (c cleaning) Run() int {
	defer commandtest.RemoveBuilt()
	return c.M.Run()
}

// build returns the path of the program.
func build(t *testing.T) string {
	t.Helper()
	return commandtest.Build(t, ".", name)
}

// self returns a command that runs the test binary as the program.
func self(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	return commandtest.Self(t, append([]string{name}, args...)...)
}

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
		url, dir := "nats://"+commandtest.FreeAddr(t), t.TempDir()
		nodes = []*node{{url: url, start: func() *exec.Cmd { return startNATS(t, url, dir) }}}
	}
	var routes []string
	for len(routes) < n {
		routes = append(routes, "nats://"+commandtest.FreeAddr(t))
	}
	for i := len(nodes); i < n; i++ {
		addr, config := commandtest.FreeAddr(t), filepath.Join(t.TempDir(), "node.conf")
		text := fmt.Sprintf("server_name: n%d\nlisten: %q\njetstream { store_dir: %q }\ncluster { name: c, listen: %q, routes: [%s] }\n",
			i, addr, t.TempDir(), strings.TrimPrefix(routes[i], "nats://"), strings.Join(routes, ", "))
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, &node{url: "nats://" + addr, start: func() *exec.Cmd {
			return commandtest.Start(t, exec.Command(commandtest.Build(t, nodePackage, "nats-server"), "-c", config, "-l", os.DevNull))
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
	return commandtest.Start(t, natsCommand(t, url, dir))
}

// natsCommand returns a command that runs replayd-nats, without the race detector: its server is another project's.
func natsCommand(t *testing.T, url, dir string) *exec.Cmd {
	t.Helper()
	return exec.Command(commandtest.Build(t, "../replayd-nats", "replayd-nats"), "-nats", url, "-dir", dir, "-no-sync")
}
