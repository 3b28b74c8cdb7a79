package agent_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	client "github.com/replayd/replayd/clients/go"
)

// TestCallers: the daemon hears who has asked, whatever a request says of itself. So many are answered at once, who comes then is told to
// come again, and there is room for others behind them.
func TestCallers(t *testing.T) {
	t.Parallel()
	const most = 64
	heard, answer := make(chan metadata.MD, most), make(chan struct{})
	daemon := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, call grpc.ServerStream) error {
		from, _ := metadata.FromIncomingContext(call.Context())
		heard <- from
		<-answer
		return status.Error(codes.Unimplemented, "it only listens")
	}))
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = daemon.Serve(listener) }()
	t.Cleanup(daemon.Stop)
	direct, err := client.Dial(listener.Addr().String(), client.WithInsecure())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = direct.Close() })
	address, transport := serve(t, direct), &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	ask := func() (code int, again string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address,
			strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_replays","arguments":{}}}`))
		if err != nil {
			t.Error(err)
			return 0, ""
		}
		for name, value := range map[string]string{
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "X-Replayd-Peer": "192.0.2.1",
			"X-Forwarded-For": "192.0.2.2", "Authorization": "Bearer x",
		} {
			r.Header.Set(name, value)
		}
		got, err := (&http.Client{Transport: transport}).Do(r)
		if err != nil {
			t.Error(err)
			return 0, ""
		}
		_, _ = io.Copy(io.Discard, got.Body)
		_ = got.Body.Close()
		return got.StatusCode, got.Header.Get("Retry-After")
	}
	var all sync.WaitGroup
	for range most {
		all.Go(func() {
			if code, _ := ask(); code != http.StatusOK {
				t.Error(code)
			}
		})
	}
	for range most {
		from := <-heard
		if got := from.Get("x-forwarded-for"); len(got) != 1 || got[0] != "127.0.0.1" || len(from.Get("authorization")) != 1 {
			t.Errorf("the daemon hears %v", from)
		}
	}
	if code, again := ask(); code != http.StatusServiceUnavailable || again == "" {
		t.Errorf("one more: %d", code)
	}
	close(answer)
	all.Wait()
	if code, _ := ask(); code != http.StatusOK {
		t.Errorf("behind them: %d", code)
	}
}
