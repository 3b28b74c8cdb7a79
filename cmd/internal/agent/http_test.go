package agent_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	client "github.com/replayd/replayd/clients/go"
	"github.com/replayd/replayd/cmd/internal/agent"
	"github.com/replayd/replayd/service"
	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/catalog"
)

// serve serves the tools over HTTP, of a daemon that direct calls, and returns the address.
func serve(t *testing.T, direct *client.Client) string {
	t.Helper()
	server := httptest.NewServer(agent.Handler(direct, "test"))
	t.Cleanup(server.Close)
	return server.URL
}

// sending is an http.RoundTripper that sends a token.
type sending struct {
	token     string
	transport *http.Transport
}

// RoundTrip implements http.RoundTripper.
func (s sending) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if s.token != "" {
		r.Header.Set("Authorization", "Bearer "+s.token)
	}
	return s.transport.RoundTrip(r)
}

// ask returns the session of an assistant with a token.
func ask(t *testing.T, address, token string) *mcp.ClientSession {
	t.Helper()
	transport := &http.Transport{}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "assistant", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: address, HTTPClient: &http.Client{Transport: sending{token, transport}}, DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = session.Close()
		transport.CloseIdleConnections()
	})
	return session
}

// guarded returns a client without a token of a daemon that has the roots near and far, and the tokens near, far and nothing, of which the
// last may not read.
func guarded(t *testing.T, near, far string) *client.Client {
	t.Helper()
	tokens := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(tokens, []byte("near roots=near\nfar roots=far\nnothing allow=metrics\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	gate, err := access.NewGate(access.Options{TokenFile: tokens, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	files, err := catalog.New([]catalog.Root{{Alias: "near", Dir: near}, {Alias: "far", Dir: far}}, catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	server, err := service.NewServer(service.Config{Catalog: files, Version: "test", Log: log, Gate: gate})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- service.NewDaemon(server, nil).Serve(ctx, listener, nil, nil, time.Second) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	direct, err := client.Dial(listener.Addr().String(), client.WithInsecure())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = direct.Close() })
	return direct
}

// one returns the only file that matches a pattern below testdata.
func one(t *testing.T, pattern ...string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(append([]string{"..", "..", "..", "testdata"}, pattern...)...))
	if err != nil || len(found) == 0 {
		t.Fatal(pattern, err)
	}
	return found[0]
}

// copyTo copies a file.
func copyTo(t *testing.T, dir, name, from string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Clean(from))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name), b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestTokens: each request has the powers of its own token.
func TestTokens(t *testing.T) {
	t.Parallel()
	near, far := t.TempDir(), t.TempDir()
	copyTo(t, near, "near.map", one(t, "datafile", "*.map"))
	copyTo(t, far, "far.map", one(t, "datafile", "*.map"))
	address := serve(t, guarded(t, near, far))
	for _, test := range []struct{ token, tool, replay, want string }{
		{"near", "get_replay", "near/near.map", `"name":"near/near.map"`},
		{"near", "get_replay", "far/far.map", "REPLAY_NOT_FOUND"},
		{"far", "get_replay", "far/far.map", `"name":"far/far.map"`},
		{"far", "get_replay", "near/near.map", "REPLAY_NOT_FOUND"},
		{"far", "get_events", "near/near.map", "REPLAY_NOT_FOUND"},
		{"near", "get_picture", "near/near.map", "picture "},
		{"near", "get_picture", "far/far.map", "REPLAY_NOT_FOUND"},
		{"nothing", "get_replay", "near/near.map", "PermissionDenied"},
		{"wrong", "get_replay", "near/near.map", "Unauthenticated"},
		{"", "get_replay", "near/near.map", "Unauthenticated"},
	} {
		text, failed := call(t, ask(t, address, test.token), test.tool, object{"replay": test.replay})
		if !strings.Contains(text, test.want) || failed == (strings.ToUpper(test.want)[0] != test.want[0] || test.want[0] == '"') {
			t.Errorf("%q asks for %s: %s, want %s", test.token, test.replay, text, test.want)
		}
	}
	text, failed := call(t, ask(t, address, "near"), "list_replays", nil)
	if failed || strings.Contains(text, "far") || !strings.Contains(text, "near/near.map") {
		t.Errorf("the list of near: %s", text)
	}
}

// TestHostile: whatever a thousand calls have for arguments, an answer is bounded, an error says what is wrong, and nothing that the
// token does not reach is told.
func TestHostile(t *testing.T) {
	t.Parallel()
	near, far := t.TempDir(), t.TempDir()
	copyTo(t, near, "game.teehistorian", one(t, "teehistorian", "finished", "*.teehistorian"))
	copyTo(t, near, "cs2.dem", one(t, "dem", "cs2.dem"))
	copyTo(t, near, "near.map", one(t, "datafile", "*.map"))
	copyTo(t, near, "broken.SC2Replay", one(t, "sc2replay", "broken.SC2Replay"))
	copyTo(t, far, "secret.teehistorian", one(t, "teehistorian", "killed", "*.teehistorian"))
	direct := guarded(t, near, far)
	session := ask(t, serve(t, direct), "near")
	secret := strings.TrimSuffix(filepath.Base(one(t, "teehistorian", "killed", "*.teehistorian")), ".teehistorian") // its identity
	r := rand.New(rand.NewPCG(1, 2))
	names := []any{
		"near/game.teehistorian", "near/cs2.dem", "near/near.map", "near/broken.SC2Replay", "far/secret.teehistorian", "near/../far/secret.teehistorian", "far", "near", "",
		"/etc/passwd", "..", "near/\x00", strings.Repeat("near/", 1000), "@upload/x", "near/game.teehistorian/events", "\u202e", "near\\game", 7, nil, true,
		[]string{"near/game.teehistorian"}, object{"replay": "near/game.teehistorian"},
	}
	values := []any{
		0, 1, -1, 1000, 1001, 1 << 31, -1 << 31, 1 << 40, 1.5, 1e300, "", "1", "join", "*", "**", "[", "(((((", "player_diff", "fact_session", "sample_player",
		strings.Repeat("x", 5000), "AQ", "AQEL", "teehistorian", "dem", "growing", nil, true, []any{}, []string{"join"}, []string{"*"}, []int{0}, []int{-1},
		[]any{nil}, make([]int, 5000), []string{strings.Repeat("*a", 500)}, object{}, object{"a": object{}},
	}
	arguments := []string{
		"directory", "format", "player", "map", "server", "state", "limit", "page_token", "tick", "kinds", "players", "classes", "fields", "types", "from_tick",
		"to_tick", "every", "cursor", "follow", "reveal_secrets", "__proto__",
	}
	tools := []string{"list_replays", "get_replay", "get_report", "list_kinds", "get_events", "get_state", "get_picture", "delete_replay", ""}
	typed := regexp.MustCompile(`^(replayd: \w+: |[\w.\[\]]+: |validating |unknown tool|calling )`)
	answered, refused := 0, 0
	for range 1000 {
		tool, asked := tools[r.IntN(len(tools))], object{}
		if r.IntN(10) > 0 {
			asked["replay"] = names[r.IntN(len(names))]
		}
		if r.IntN(3) == 0 {
			asked["replay"] = names[r.IntN(3)]
		}
		for range r.IntN(3) {
			asked[arguments[r.IntN(len(arguments))]] = values[r.IntN(len(values))]
		}
		if tool == "list_replays" || tool == "list_kinds" {
			delete(asked, "replay")
		}
		text, failed := call(t, session, tool, asked)
		if len(text) > 1<<20+128<<10 || strings.Contains(text, secret) || strings.Contains(text, "rpc error") || strings.Contains(text, "goroutine") {
			t.Fatalf("%s %.200v: %d bytes: %.500s", tool, asked, len(text), text)
		}
		if answered++; failed {
			answered--
			refused++
			if !typed.MatchString(text) {
				t.Errorf("%s %.200v: %.300s", tool, asked, text)
			}
		}
	}
	if answered < 50 || refused < 500 {
		t.Errorf("%d answers, %d refusals", answered, refused)
	}
	if text, failed := call(t, session, "get_replay", object{"replay": "near/game.teehistorian"}); failed {
		t.Errorf("afterwards: %s", text)
	}
}

// TestHTTP: requests that are no calls of tools are refused, and bounded: of pages elsewhere, of other host names, and too long ones.
func TestHTTP(t *testing.T) {
	t.Parallel()
	address := serve(t, guarded(t, t.TempDir(), t.TempDir()))
	for name, test := range map[string]struct {
		method, body string
		header       object
		want         int
	}{
		"a page elsewhere":   {http.MethodPost, "{}", object{"Sec-Fetch-Site": "cross-site", "Origin": "https://example.org"}, http.StatusForbidden},
		"another host":       {http.MethodPost, "{}", object{"Host": "example.org"}, http.StatusForbidden},
		"much":               {http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"ping","params":"` + strings.Repeat("x", 1<<20) + `"}`, nil, http.StatusRequestEntityTooLarge},
		"nonsense":           {http.MethodPost, "nonsense", nil, http.StatusBadRequest},
		"a stream of events": {http.MethodGet, "", object{"Accept": "text/event-stream"}, http.StatusMethodNotAllowed},
	} {
		req, err := http.NewRequestWithContext(t.Context(), test.method, address, strings.NewReader(test.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		for header, value := range test.header {
			if req.Header.Set(header, fmt.Sprint(value)); header == "Host" {
				req.Host = fmt.Sprint(value)
			}
		}
		resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
		if err != nil {
			t.Fatal(name, err)
		}
		if _ = resp.Body.Close(); resp.StatusCode != test.want {
			t.Errorf("%s: %d, want %d", name, resp.StatusCode, test.want)
		}
	}
}

// TestGrows: at the end of what is written of a game there is a cursor, with which later events come, each once.
func TestGrows(t *testing.T) {
	t.Parallel()
	near := t.TempDir()
	copyTo(t, near, "game.teehistorian", one(t, "teehistorian", "finished", "*.teehistorian"))
	path := filepath.Join(near, "game.teehistorian")
	whole, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		t.Fatal(err)
	}
	session := ask(t, serve(t, guarded(t, near, t.TempDir())), "near")
	later := regexp.MustCompile(`(?m)^The game may go on: later events come with cursor (\S+)\n\z`)
	arguments := object{"replay": "near/game.teehistorian", "kinds": []string{"player_diff"}, "limit": 1000, "from_tick": 1200}
	all, failed := call(t, session, "get_events", arguments)
	if failed || later.MatchString(all) {
		t.Fatalf("a game that is over: %s", all)
	}
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	_, err = zip.Write(whole[:len(whole)/2])
	if err := errors.Join(err, zip.Close(), os.WriteFile(filepath.Join(near, "cut.teehistorian.gz"), packed.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	if text, failed := call(t, session, "get_events", object{"replay": "near/cut.teehistorian.gz", "kinds": []string{"drop"}}); failed || later.MatchString(text) {
		t.Errorf("a part of a game that nobody writes any more: %s", text)
	}
	var got bytes.Buffer
	for _, size := range []int{len(whole) * 3 / 4, len(whole) * 4 / 5, len(whole) * 4 / 5, len(whole)} {
		if err := errors.Join(os.Truncate(path, 0), os.WriteFile(path, whole[:size], 0o600)); err != nil {
			t.Fatal(err)
		}
		text, failed := call(t, session, "get_events", arguments)
		cursor := later.FindStringSubmatch(text)
		if failed || (cursor == nil) != (size == len(whole)) {
			t.Fatalf("%d bytes: %.300s ... %v", size, text, cursor)
		}
		if cursor != nil {
			arguments["cursor"] = cursor[1]
		}
		got.WriteString(strings.TrimPrefix(later.ReplaceAllString(text, ""), "There is none.\n"))
	}
	if number := regexp.MustCompile(`"sequence":"\d+",`); number.ReplaceAllString(got.String(), "") != number.ReplaceAllString(all, "") {
		t.Errorf("in parts: %d bytes, want %d", got.Len(), len(all))
	}
}
