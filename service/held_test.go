package service_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/h2guard"
)

// holding returns the body of a call that sends some bytes and then nothing until the test ends.
func holding(t *testing.T, sent string) io.Reader {
	r, w := io.Pipe()
	t.Cleanup(func() { _ = w.Close() })
	go func() { _, _ = io.WriteString(w, sent) }()
	return r
}

// TestHeldRequests: a call whose request does not arrive is refused at once without a token, by every method and protocol. With a
// token its memory is counted, and it ends at a deadline.
func TestHeldRequests(t *testing.T) {
	t.Parallel()
	control := admission.New(admission.Limits{})
	d := startPlain(t, t.TempDir(), func(c *service.Config) { c.UploadTimeout, c.Admission = 300*time.Millisecond, control })
	g := startGuarded(t, t.TempDir(), t.TempDir(), "good\n")
	byWeb := func(address, path, contentType string, second bool) string {
		transport := &http.Transport{Protocols: new(http.Protocols)}
		transport.Protocols.SetHTTP1(!second)
		transport.Protocols.SetUnencryptedHTTP2(second)
		t.Cleanup(transport.CloseIdleConnections)
		r, err := http.NewRequestWithContext(timeout(t), http.MethodPost, "http://"+address+path, holding(t, "\x00\x00\x00\x00\x10"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", contentType)
		resp, err := transport.RoundTrip(r)
		if err != nil {
			return err.Error()
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return resp.Status + resp.Header.Get("Grpc-Message") + string(text)
	}
	for _, m := range methodsOf(t, g.daemon) {
		held := func(conn *grpc.ClientConn) error {
			s, err := conn.NewStream(timeout(t), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, m.full)
			if err != nil {
				t.Fatal(err)
			}
			return s.RecvMsg(new(replaydv1.StreamEventsResponse))
		}
		for way, conn := range map[string]*grpc.ClientConn{"gRPC": g.conn, "gRPC on the web's listener": g.viaWeb} {
			if err := held(conn); status.Code(err) != codes.Unauthenticated {
				t.Errorf("%s by %s: %v", m.full, way, err)
			}
		}
		for way, contentType := range m.ways() {
			if m.desc.IsStreamingClient() {
				continue // needs HTTP/2, as above
			}
			for _, second := range []bool{false, true} {
				if got := byWeb(g.web, m.full, contentType, second); !strings.Contains(strings.ReplaceAll(got, "%20", " "), "no valid token") {
					t.Errorf("%s by %s, HTTP/2 %v: %q", m.full, way, second, got)
				}
			}
		}
		if !m.desc.IsStreamingClient() {
			if err := held(d.conn); status.Code(err) != codes.DeadlineExceeded {
				t.Errorf("%s, let in: %v", m.full, err)
			}
		}
	}
	for _, path := range []string{"/v1/replays", "/v1/decode"} {
		if got := byWeb(g.web, path, "application/octet-stream", true); !strings.Contains(got, "no valid token") {
			t.Errorf("%s: %q", path, got)
		}
	}
	for contentType, method := range map[string]string{
		"application/json": replaydv1.ReplayService_GetReplay_FullMethodName, "application/proto": replaydv1.ReplayService_ListReplays_FullMethodName,
		"application/connect+json": replaydv1.ReplayService_StreamEvents_FullMethodName, "application/grpc-web+proto": replaydv1.ReplayService_GetReplay_FullMethodName,
	} {
		for _, second := range []bool{false, true} {
			if got := byWeb(strings.TrimPrefix(d.web, "http://"), method, contentType, second); !strings.Contains(strings.ReplaceAll(got, "%20", " "), "did not arrive") {
				t.Errorf("%s by %s, HTTP/2 %v: %q", method, contentType, second, got)
			}
		}
	}
	for control.Taken(admission.Memory) != 0 || control.Taken(admission.Calls) != 0 || control.Taken(admission.Streams) != 0 {
		time.Sleep(time.Millisecond)
	}
}

// TestRequestsAreCounted: what requests take while they arrive is counted, and a call is one of the calls that may run from its
// headers on. Calls that are not streams run although streams have taken all the memory.
func TestRequestsAreCounted(t *testing.T) {
	const each = 192 << 10
	control := admission.New(admission.Limits{All: admission.Amounts{admission.Memory: 2 * each, admission.Calls: 3}})
	d := start(t, t.TempDir(), func(c *service.Config) { c.Admission = control })
	ctx, cancel := context.WithCancel(timeout(t))
	begin := func(method string) grpc.ClientStream {
		s, err := d.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	taken := func(r admission.Resource, want int64) {
		t.Helper()
		for until := timeout(t); control.Taken(r) != want; time.Sleep(time.Millisecond) {
			if until.Err() != nil {
				t.Fatalf("%v: %d are taken, want %d", r, control.Taken(r), want)
			}
		}
	}
	refused := func(s grpc.ClientStream, reason string) {
		t.Helper()
		if got := explainFailure(t, s.RecvMsg(new(replaydv1.StreamEventsResponse))); got.code != codes.ResourceExhausted || got.reason != reason {
			t.Errorf("%+v, want %s", got, reason)
		}
	}
	for i := range int64(2) {
		begin(replaydv1.ReplayService_StreamEvents_FullMethodName)
		taken(admission.Memory, (i+1)*each)
	}
	refused(begin(replaydv1.ReplayService_StreamEvents_FullMethodName), "LIMIT_EXCEEDED")
	if _, err := d.client.GetServerInfo(ctx, &replaydv1.GetServerInfoRequest{}); err != nil {
		t.Errorf("a call when streams have all the memory: %v", err)
	}
	for i := range int64(3) {
		begin(replaydv1.ReplayService_GetReplay_FullMethodName)
		taken(admission.Memory, (3+i)*each)
	}
	refused(begin(replaydv1.ReplayService_GetReplay_FullMethodName), "LIMIT_EXCEEDED")
	cancel()
	taken(admission.Memory, 0)
	taken(admission.Calls, 0)
}

// TestLongRequests: a request may have some kilobytes, by each protocol. An upload may send longer messages after its options.
func TestLongRequests(t *testing.T) {
	d := startPlain(t, t.TempDir())
	ctx := timeout(t)
	for length, long := range map[int]bool{h2guard.MaxRequest - 100: false, h2guard.MaxRequest + 1: true} {
		name := strings.Repeat("x", length-4)
		_, err := d.client.ListReplays(ctx, &replaydv1.ListReplaysRequest{Directory: name})
		if got := explainFailure(t, err); (got.code == codes.ResourceExhausted) != long || long && got.reason != "LIMIT_EXCEEDED" {
			t.Errorf("%d bytes: %+v", length, got)
		}
		if err := d.Session(ctx, &replaydv1.StreamEventsRequest{Replay: name}, nil).Err; (status.Code(err) == codes.ResourceExhausted) != long {
			t.Errorf("%d bytes of a stream's request: %v", length, status.Code(err))
		}
		text := fmt.Sprintf(`{"directory":%q}`, name[:length-16]) // length bytes
		for _, ask := range [][3]string{
			{"application/json", replaydv1.ReplayService_ListReplays_FullMethodName, text},
			{"application/connect+json", replaydv1.ReplayService_WatchReplays_FullMethodName, envelope(text)},
		} {
			resp, err := http.Post(d.web+ask[1], ask[0], strings.NewReader(ask[2]))
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if strings.Contains(string(text), "resource_exhausted") != long {
				t.Errorf("%s of %d bytes: %.200s", ask[0], len(ask[2]), text)
			}
		}
	}
	if n, err := testutil.GatherAndCount(d.meters, "replayd_refused_bodies_total"); n != 2 || err != nil {
		t.Errorf("%d figures of refused bodies, %v", n, err)
	}
}
