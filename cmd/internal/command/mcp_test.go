package command

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/replayd/replayd/cmd/internal/commandtest"
)

// TestMCP: an assistant starts the command, asks over its standard input and output, and leaves.
func TestMCP(t *testing.T) {
	t.Parallel()
	addr := commandtest.FreeAddr(t)
	samples, err := filepath.Abs(filepath.Join("..", "..", "..", "testdata"))
	if err != nil {
		t.Fatal(err)
	}
	daemon := program(t, "serve", "--listen", addr, "--web-listen", "none", "--root", "samples="+samples, "--log-level", "error")
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kill(daemon) })
	waitFor(t, "health", func() bool { return released(t, "health", "--addr", addr).Run() == nil })

	self := exec.Command(build(t), "mcp", filepath.Join(samples, "dem")) // it starts a daemon of its own
	for command, want := range map[*exec.Cmd]string{program(t, "mcp", "--addr", addr): `"samples/`, self: `"local/dota.dem"`} {
		session, err := mcp.NewClient(&mcp.Implementation{Name: "assistant", Version: "1"}, nil).
			Connect(t.Context(), &mcp.CommandTransport{Command: command}, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "list_replays"})
		if err != nil || answer.IsError || !strings.Contains(answer.Content[0].(*mcp.TextContent).Text, want) {
			t.Errorf("%v: %+v, %v, want %s", command.Args, answer, err, want)
		}
		if err := session.Close(); err != nil {
			t.Errorf("%v: after the assistant has left: %v", command.Args, err)
		}
	}
	tools := commandtest.FreeAddr(t)
	overHTTP := program(t, "mcp", "--addr", addr, "--http", tools)
	if err := overHTTP.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "an answer over HTTP", func() bool {
		session, err := mcp.NewClient(&mcp.Implementation{Name: "assistant", Version: "1"}, nil).
			Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: "http://" + tools, DisableStandaloneSSE: true}, nil)
		if err != nil {
			return false
		}
		defer func() { _ = session.Close() }()
		answer, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "list_replays"})
		return err == nil && !answer.IsError && strings.Contains(answer.Content[0].(*mcp.TextContent).Text, `"samples/`)
	})
	if err := errors.Join(overHTTP.Process.Signal(os.Interrupt), overHTTP.Wait()); err != nil {
		t.Errorf("after an interrupt: %v", err)
	}
	for _, args := range [][]string{
		{"mcp", "--http", "0.0.0.0:0", samples}, {"mcp", "--http", "0.0.0.0:0", "--addr", addr}, {"mcp", "--http", "127.0.0.1:0", "--addr", addr, "--token", "x"},
		{"mcp", "--http", "127.0.0.1", "--addr", addr}, {"mcp", "--http-insecure", "--addr", addr},
		{"mcp", "--addr", addr, samples}, {"mcp", filepath.Join(samples, "none")}, {"mcp", filepath.Join(samples, "dem", "dota.dem")},
	} {
		if err := released(t, args...).Run(); err == nil {
			t.Errorf("%v: no error", args)
		}
	}
}
