package service_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service"
	"github.com/replayd/replayd/service/admission"
)

// TestStalledByEveryWay: the stream of a client that stops reading gives back its place and its memory, by each web protocol
// and both versions of HTTP. The connection still serves its other calls.
func TestStalledByEveryWay(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/long.teehistorian", longRecording(t, finishedSample, 3<<20))
	control := admission.New(admission.Limits{})
	d := startPlain(t, dir, func(c *service.Config) { c.SendTimeout, c.Admission = 200*time.Millisecond, control })
	replay := name("long.teehistorian")
	message := func(json bool) string {
		if json {
			return envelope(fmt.Sprintf(`{"replay":%q}`, replay))
		}
		return envelope("\x0a" + string(rune(len(replay))) + replay)
	}
	method := replaydv1.ReplayService_StreamEvents_FullMethodName
	for way, ask := range map[string]struct{ method, path, contentType, body string }{
		"plain HTTP":         {http.MethodGet, eventsPath(replay, ""), "", ""},
		"Connect":            {http.MethodPost, method, "application/connect+proto", message(false)},
		"Connect with JSON":  {http.MethodPost, method, "application/connect+json", message(true)},
		"gRPC-Web":           {http.MethodPost, method, "application/grpc-web+proto", message(false)},
		"gRPC-Web with JSON": {http.MethodPost, method, "application/grpc-web+json", message(true)},
		"gRPC":               {http.MethodPost, method, "application/grpc", message(false)},
	} {
		for _, second := range []bool{false, true} {
			if way == "gRPC" && !second {
				continue
			}
			t.Run(fmt.Sprintf("%s, HTTP/2 %v", way, second), func(t *testing.T) {
				transport := &http.Transport{Protocols: new(http.Protocols)}
				transport.Protocols.SetHTTP1(!second)
				transport.Protocols.SetUnencryptedHTTP2(second)
				transport.HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerStream: 64 << 10, MaxReceiveBufferPerConnection: 128 << 10}
				defer transport.CloseIdleConnections()
				ctx, cancel := context.WithCancel(context.Background()) // without a deadline: the client does not give up
				defer cancel()
				request := func(path, body string) *http.Response {
					req, err := http.NewRequestWithContext(ctx, ask.method, d.web+path, strings.NewReader(body))
					if err != nil {
						t.Fatal(err)
					}
					req.Header.Set("TE", "trailers")
					if ask.contentType != "" {
						req.Header.Set("Content-Type", ask.contentType)
					}
					resp, err := transport.RoundTrip(req)
					if err != nil {
						t.Fatal(err)
					}
					return resp
				}
				before := strings.Count(d.log.String(), "ResourceExhausted")
				resp := request(ask.path, ask.body)
				defer resp.Body.Close()
				if _, err := io.ReadFull(resp.Body, make([]byte, 5)); err != nil || resp.StatusCode != http.StatusOK {
					t.Fatalf("%s: %v", resp.Status, err)
				}
				until := timeout(t)
				for control.Taken(admission.Streams) != 0 || control.Taken(admission.Memory) != 0 {
					if until.Err() != nil {
						t.Fatal("it never gives back what it has")
					}
					time.Sleep(5 * time.Millisecond)
				}
				for strings.Count(d.log.String(), "ResourceExhausted") == before { // the line comes last
					if until.Err() != nil {
						t.Fatal("it was not ended as too slow")
					}
					time.Sleep(5 * time.Millisecond)
				}
				if ask.method == http.MethodGet {
					other := request(eventsPath(replay, "kind=join"), "")
					if rest, err := io.ReadAll(other.Body); err != nil || !strings.Contains(string(rest), "join") {
						t.Errorf("another call: %s %v", other.Status, err)
					}
					_ = other.Body.Close()
				}
			})
		}
	}
}
