package command

import (
	"io"
	"net/http"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/replayd/replayd/cmd/internal/commandtest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// TestEveryDoor knocks at every listener that the daemon has a flag for, at what is served there and at what is not, with no token,
// a wrong one, one that has expired and one that allows something else: all are refused alike. A listener that is added must be
// added here.
func TestEveryDoor(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "tokens")
	commandtest.WriteFile(t, tokens, []byte("good\nold expires=2020-01-01\nless allow=upload\n"))
	args := []string{"serve", "--token-file", tokens, "--log-level", "error"}
	type answer struct {
		code int
		text string
	}
	get := func(addr, path, token string) answer {
		req, err := http.NewRequestWithContext(inTime(t), http.MethodGet, "http://"+addr+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Close = true
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer{resp.StatusCode, string(text)}
	}
	byHTTP := func(paths ...string) func(addr, token string) []answer {
		return func(addr, token string) (list []answer) {
			for _, path := range paths {
				list = append(list, get(addr, path, token))
			}
			return list
		}
	}
	doors := map[string]struct {
		flag  string
		knock func(addr, token string) []answer
		open  int // of the answers to a good token, so many are 200
	}{
		"Listen": {"--listen", func(addr, token string) []answer {
			client := commandtest.ClientOf(t, addr)
			if token != "" {
				client.Options = append(client.Options, grpc.PerRPCCredentials(bearer(token)))
			}
			_, err := replaydv1.NewReplayServiceClient(client.Conn).ListReplays(inTime(t), &replaydv1.ListReplaysRequest{}, client.Options...)
			code := map[codes.Code]int{codes.OK: 200, codes.Unauthenticated: 401, codes.PermissionDenied: 403}[status.Code(err)]
			return []answer{{code, status.Convert(err).Message()}}
		}, 1},
		"WebListen":     {"--web-listen", byHTTP("/v1/replays"), 1},
		"MetricsListen": {"--metrics-listen", byHTTP("/metrics", "/", "/nothing", "/debug/pprof/"), 1},
		"DebugListen":   {"--debug-listen", byHTTP("/debug/pprof/", "/debug/pprof/heap", "/", "/metrics"), 2},
	}
	addrs := map[string]string{}
	for field := range reflect.TypeFor[serveCmd]().Fields() {
		name := field.Name
		if !strings.HasSuffix(name, "Listen") {
			continue
		}
		door, known := doors[name]
		if !known {
			t.Fatalf("nobody knocks at the listener %s", name)
		}
		addrs[name] = commandtest.FreeAddr(t)
		args = append(args, door.flag, addrs[name])
	}
	cmd := program(t, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	doors["Listen"].knock(addrs["Listen"], "good") // which waits until it serves
	for name, addr := range addrs {
		door := doors[name]
		for what, token := range map[string]string{"no token": "", "a wrong token": "wrong", "an expired token": "old"} {
			for _, got := range door.knock(addr, token) {
				if got.code != http.StatusUnauthorized || !strings.Contains(got.text, "no valid token") {
					t.Errorf("%s with %s: %d %s", name, what, got.code, got.text)
				}
			}
		}
		for _, got := range door.knock(addr, "less") {
			if got.code != http.StatusForbidden || !strings.Contains(got.text, "does not allow") {
				t.Errorf("%s with a token for something else: %d %s", name, got.code, got.text)
			}
		}
		open := 0
		for _, got := range door.knock(addr, "good") {
			if got.code == http.StatusOK {
				open++
			}
		}
		if open != door.open {
			t.Errorf("%s with a good token: %d are answered, want %d", name, open, door.open)
		}
	}
}
