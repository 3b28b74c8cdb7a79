//go:build e2e

package e2e

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/replayd/replayd/e2e/ddnet"
)

// testTimeout bounds one test, so that a server that hangs does not block CI.
const testTimeout = 5 * time.Minute

// start runs a server and a process for its clients. Both end with the test. It
// skips the test if no server is available.
func start(t *testing.T, cfg ddnet.Config) (context.Context, *ddnet.Server, *ddnet.Bots) {
	t.Helper()
	// The test's own context ends before the cleanups, which still need a context.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), testTimeout)
	t.Cleanup(cancel)

	program, err := ddnet.Install(ctx)
	if errors.Is(err, ddnet.ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	cfg.Program, cfg.Dir = program, t.TempDir()
	srv, err := ddnet.Start(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := srv.Kill(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the server's log:\n%s", srv.Log())
		}
	})
	bots, err := srv.Bots(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bots.Close(); err != nil {
			t.Error(err)
		}
	})
	return ctx, srv, bots
}
