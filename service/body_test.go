package service

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/catalog"
)

// countedBody counts the reads of a body.
type countedBody struct {
	io.Reader

	reads atomic.Int64
}

func (c *countedBody) Read(p []byte) (int, error) {
	c.reads.Add(1)
	return c.Reader.Read(p)
}

func (*countedBody) Close() error { return nil }

// TestNothingReadBeforeTheGate: by no protocol of the web is a body read of a call that has no valid token or calls too often.
// One that is let in is read.
func TestNothingReadBeforeTheGate(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(tokens, []byte("good\nseldom rate=0.001/s\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	gate, err := access.NewGate(access.Options{TokenFile: tokens, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	cat, err := catalog.New([]catalog.Root{{Alias: "root", Dir: t.TempDir()}}, catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	control := admission.New(admission.Limits{})
	server, err := NewServer(Config{Catalog: cat, Log: log, Gate: gate, Admission: control})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	daemon := NewDaemon(server, nil)
	defer daemon.grpc.Stop()
	web, err := daemon.NewWeb(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range []struct{ path, contentType, body string }{
		{"/replayd.v1.ReplayService/GetReplay", "application/json", `{"replay":"root/x"}`},
		{"/replayd.v1.ReplayService/GetReplay", "application/proto", "\x0a\x06root/x"},
		{"/replayd.v1.ReplayService/GetReplay", "application/grpc", "\x00\x00\x00\x00\x08\x0a\x06root/x"},
		{"/replayd.v1.ReplayService/GetReplay", "application/grpc-web+proto", "\x00\x00\x00\x00\x08\x0a\x06root/x"},
		{"/replayd.v1.ReplayService/GetReplay", "application/grpc-web+json", "\x00\x00\x00\x00\x02{}"},
		{"/replayd.v1.ReplayService/StreamEvents", "application/connect+json", "\x00\x00\x00\x00\x02{}"},
		{"/replayd.v1.ReplayService/StreamEvents", "application/connect+proto", "\x00\x00\x00\x00\x00"},
		{"/replayd.v1.ReplayService/DecodeReplay", "application/grpc", "\x00\x00\x00\x00\x00"},
		{"/v1/decode", "", "replay"},
		{"/v1/replays", "", "replay"},
	} {
		ask := func(token string) (reads int64, answer string) {
			body := &countedBody{Reader: strings.NewReader(call.body)}
			r := httptest.NewRequest(http.MethodPost, call.path, body)
			r.ProtoMajor, r.Proto = 2, "HTTP/2.0"
			r.Header.Set("TE", "trailers")
			if call.contentType != "" {
				r.Header.Set("Content-Type", call.contentType)
			}
			if token != "" {
				r.Header.Set("Authorization", "Bearer "+token)
			}
			w := httptest.NewRecorder()
			web.server.Handler.ServeHTTP(w, r)
			return body.reads.Load(), w.Body.String() + w.Header().Get("Grpc-Message")
		}
		for _, token := range []string{"", "wrong"} {
			if n, answer := ask(token); n > 0 || answer == "" {
				t.Errorf("%s by %q with the token %q: %d reads, %q", call.path, call.contentType, token, n, answer)
			}
		}
		_, _ = ask("seldom")
		if n, answer := ask("seldom"); n > 0 || !strings.Contains(answer, "too often") && !strings.Contains(answer, "too%20often") {
			t.Errorf("%s by %q too often: %d reads, %q", call.path, call.contentType, n, answer)
		}
		if n, _ := ask("good"); n == 0 {
			t.Errorf("%s by %q with a good token: nothing is read", call.path, call.contentType)
		}
	}
	if n := control.Taken(admission.Memory); n != 0 {
		t.Errorf("%d bytes are still taken", n)
	}
}
