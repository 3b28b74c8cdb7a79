package service_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/replayd/replayd/decoders/decodertest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// startWeb runs a daemon on the samples that serves the web, and returns its address.
func startWeb(tb testing.TB) string {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	startWith(tb, samples(), listener, 5*time.Second)
	return listener.Addr().String()
}

// envelope is a message of a stream by Connect, gRPC-Web or gRPC.
func envelope(message string) string {
	return string(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message)))) + message
}

// announced is an envelope without its message: it has only the length.
func announced(length uint32) string { return string(binary.BigEndian.AppendUint32([]byte{0}, length)) }

func TestWebRequests(t *testing.T) {
	address := startWeb(t)
	long := `{"directory":"` + strings.Repeat("x", 1<<20) + `"}`
	for _, test := range []struct {
		name, method, contentType, body string
		header                          http.Header
		status                          int
		want                            string // a part of the answer
	}{
		{
			name: "JSON without the header of Connect", method: "GetServerInfo", contentType: "application/json", body: "{}",
			status: http.StatusOK, want: `"version":"test"`,
		},
		{
			name: "JSON that cannot be unpacked", method: "GetServerInfo", contentType: "application/json", body: "no gzip at all",
			header: http.Header{"Content-Encoding": {"gzip"}}, status: http.StatusBadRequest, want: `"code":"invalid_argument"`,
		},
		{
			name: "JSON whose gzip is damaged", method: "GetServerInfo", contentType: "application/json",
			body:   string(decodertest.Gzip(t, []byte("{}"))[:12]) + strings.Repeat("\xff", 20),
			header: http.Header{"Content-Encoding": {"gzip"}}, status: http.StatusBadRequest, want: `"code":"invalid_argument"`,
		},
		{
			name: "with it", method: "GetServerInfo", contentType: "application/json", body: "{}",
			header: http.Header{"Connect-Protocol-Version": {"1"}}, status: http.StatusOK, want: `"version":"test"`,
		},
		{
			name: "an encoding of characters", method: "GetServerInfo", contentType: "application/json; charset=utf-8", body: "{}",
			status: http.StatusOK, want: `"version":"test"`,
		},
		{
			name: "an empty message", method: "GetServerInfo", contentType: "application/proto",
			status: http.StatusOK, want: "test",
		},
		{
			name: "compressed", method: "GetReplay", contentType: "application/json", body: string(decodertest.Gzip(t, []byte(`{"replay":"root/none"}`))),
			header: http.Header{"Content-Encoding": {"gzip"}}, status: http.StatusNotFound, want: "REPLAY_NOT_FOUND",
		},
		{
			name: "the daemon's own error", method: "GetReplay", contentType: "application/json", body: `{"replay":"root/none"}`,
			status: http.StatusNotFound, want: `"code":"not_found"`,
		},
		{
			name: "broken JSON", method: "GetReplay", contentType: "application/json", body: `{"replay":`,
			status: http.StatusBadRequest, want: `"code":"invalid_argument"`,
		},
		{
			name: "a wrong type", method: "GetReplay", contentType: "application/json", body: `{"replay":3}`,
			status: http.StatusBadRequest, want: `"code":"invalid_argument"`,
		},
		{
			name: "no JSON at all", method: "GetServerInfo", contentType: "application/json",
			status: http.StatusBadRequest, want: `"code":"invalid_argument"`,
		},
		{
			name: "too long", method: "ListReplays", contentType: "application/json", body: long,
			status: http.StatusRequestEntityTooLarge, want: `"code":"resource_exhausted"`,
		},
		{
			name: "too long when it is inflated", method: "ListReplays", contentType: "application/json",
			body: string(decodertest.Gzip(t, []byte(`{"directory":"`+strings.Repeat("x", 5<<20)+`"}`))), header: http.Header{"Content-Encoding": {"gzip"}},
			status: http.StatusRequestEntityTooLarge, want: `"code":"resource_exhausted"`,
		},
		{
			name: "no such method", method: "None", contentType: "application/json", body: "{}", status: http.StatusNotFound,
		},
		{
			name: "no such encoding", method: "GetServerInfo", contentType: "application/x-www-form-urlencoded", body: "{}",
			status: http.StatusUnsupportedMediaType,
		},
		{
			name: "a stream", method: "WatchReplays", contentType: "application/connect+json", body: envelope(`{"directory":"none"}`),
			status: http.StatusOK, want: `"code":"not_found"`,
		},
		{
			name: "a stream of broken JSON", method: "WatchReplays", contentType: "application/connect+json", body: envelope(`{`),
			status: http.StatusOK, want: `"code":"invalid_argument"`,
		},
		{
			name: "a stream that asks at length", method: "WatchReplays", contentType: "application/connect+json",
			body: envelope(long), status: http.StatusOK, want: `"code":"resource_exhausted"`,
		},
		{
			name: "room for 4 GiB is not made", method: "WatchReplays", contentType: "application/connect+json",
			body: announced(1<<32 - 1), status: http.StatusOK, want: `"code":"resource_exhausted"`,
		},
		{
			name: "nor by gRPC-Web", method: "WatchReplays", contentType: "application/grpc-web+proto",
			body: announced(1<<32 - 1), status: http.StatusOK, want: "ENHANCE_YOUR_CALM",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			url := "http://" + address + "/replayd.v1.ReplayService/" + test.method
			req, err := http.NewRequestWithContext(timeout(t), http.MethodPost, url, strings.NewReader(test.body))
			if err != nil {
				t.Fatal(err)
			}
			maps.Copy(req.Header, test.header)
			req.Header.Set("Content-Type", test.contentType)
			req.Header.Set("Origin", "https://example.org")
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			answer := string(body) + resp.Header.Get("Grpc-Message")
			if resp.StatusCode != test.status || !strings.Contains(answer, test.want) {
				t.Errorf("%s %q, want %d %q", resp.Status, answer, test.status, test.want)
			}
			if resp.Header.Get("Access-Control-Allow-Origin") == "" {
				t.Error("the page may not read it")
			}
		})
	}
	http.DefaultClient.CloseIdleConnections()
}

// TestWebUpload sends uploads over HTTP/2 to where browsers ask, by each protocol: messages are limited, and what is sent in all.
func TestWebUpload(t *testing.T) {
	address := startWeb(t)
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols}
	defer transport.CloseIdleConnections()
	doors := map[string]func(ctx context.Context) uploading{"gRPC": func(ctx context.Context) uploading {
		stream, err := replaydv1.NewReplayServiceClient(conn).DecodeReplay(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return stream
	}}
	for name, option := range map[string]connect.ClientOption{
		"Connect": connect.WithClientOptions(), "Connect with JSON": connect.WithProtoJSON(), "gRPC-Web": connect.WithGRPCWeb(),
	} {
		client := connect.NewClient[replaydv1.DecodeReplayRequest, replaydv1.StreamEventsResponse](
			&http.Client{Transport: transport}, "http://"+address+replaydv1.ReplayService_DecodeReplay_FullMethodName, option)
		doors[name] = func(ctx context.Context) uploading { return connected{client.CallBidiStream(ctx)} }
	}
	replay := read(t, find(t, samples("teehistorian", "finished"), ".teehistorian")[0])
	message := append([]byte{0x46, 0, 0x94, 0x14}, make([]byte, 1300)...)
	long := func(size int) []byte { // the replay, and then large messages of a player, which take little time to decode
		return append(append(replay[:len(replay)-1:len(replay)-1], bytes.Repeat(message, size/len(message))...), 0x40)
	}
	for _, test := range []struct {
		name  string
		data  []byte
		piece int
		long  bool
	}{
		{name: "a replay", data: replay, piece: 1000},
		{name: "2 MiB", data: long(2 << 20), piece: 64 << 10},
		{name: "5 MiB", data: long(5 << 20), piece: 64 << 10, long: true},
		{name: "a message that is too long", data: long(3 << 20), piece: 2 << 20, long: true},
	} {
		for door, open := range doors {
			t.Run(test.name+" by "+door, func(t *testing.T) {
				got := uploadBy(open(timeout(t)), test.data, test.piece)
				if !test.long {
					if got != nil {
						t.Error(got)
					}
				} else if f := explainFailure(t, got); f.code != codes.FailedPrecondition || f.reason != "TOO_LARGE" || f.retry ||
					strings.Contains(got.Error(), "stream") {
					t.Errorf("%+v: %v", f, got)
				}
			})
		}
	}
}

// uploading is an upload by some protocol.
type uploading interface {
	Send(part *replaydv1.DecodeReplayRequest) error
	CloseSend() error
	Recv() (*replaydv1.StreamEventsResponse, error)
}

// connected is an upload by Connect or gRPC-Web, with the errors that gRPC's client has.
type connected struct {
	*connect.BidiStreamForClient[replaydv1.DecodeReplayRequest, replaydv1.StreamEventsResponse]
}

func (c connected) CloseSend() error { return c.CloseRequest() }

func (c connected) Recv() (*replaydv1.StreamEventsResponse, error) {
	resp, err := c.Receive()
	failed, ok := errors.AsType[*connect.Error](err)
	if !ok || errors.Is(err, io.EOF) {
		return resp, err
	}
	s := &spb.Status{Code: int32(failed.Code()), Message: failed.Message()}
	for _, d := range failed.Details() {
		s.Details = append(s.Details, &anypb.Any{TypeUrl: "type.googleapis.com/" + d.Type(), Value: d.Bytes()})
	}
	return nil, status.ErrorProto(s)
}

// uploadPieces uploads a replay in messages of a size, and returns the error with which the call ended.
func uploadPieces(ctx context.Context, client replaydv1.ReplayServiceClient, data []byte, piece int) error {
	stream, err := client.DecodeReplay(ctx)
	if err != nil {
		return err
	}
	return uploadBy(stream, data, piece)
}

// uploadBy is uploadPieces by a stream that has begun.
func uploadBy(stream uploading, data []byte, piece int) error {
	options := &replaydv1.DecodeReplayRequest_Options{Options: &replaydv1.StreamEventsRequest{
		Replay: "uploaded", Include: []*replaydv1.EventFilter{{Kinds: []string{"join"}}}, // so few that nobody need read them
	}}
	if err := stream.Send(&replaydv1.DecodeReplayRequest{Part: options}); err != nil && !errors.Is(err, io.EOF) {
		return err // otherwise Recv says why
	}
	for len(data) > 0 {
		n := min(piece, len(data))
		part := &replaydv1.DecodeReplayRequest_Data{Data: data[:n]}
		if err := stream.Send(&replaydv1.DecodeReplayRequest{Part: part}); err != nil {
			break // Recv says why
		}
		data = data[n:]
	}
	_ = stream.CloseSend()
	for {
		if _, err := stream.Recv(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// webRequest starts a stream by one of the web protocols, and returns the response.
func webRequest(ctx context.Context, t *testing.T, by http.RoundTripper, contentType string, header http.Header, req proto.Message) io.Reader {
	t.Helper()
	encode := proto.Marshal
	if strings.HasSuffix(contentType, "json") {
		encode = protojson.Marshal
	}
	message, err := encode(req)
	if err != nil {
		t.Fatal(err)
	}
	const url = "http://daemon" + replaydv1.ReplayService_StreamEvents_FullMethodName
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(envelope(string(message))))
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(r.Header, header)
	r.Header.Set("Content-Type", contentType)
	resp, err := by.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Grpc-Message") != "" {
		t.Fatalf("%s: %s %s", contentType, resp.Status, resp.Header.Get("Grpc-Message"))
	}
	return resp.Body
}

// webMessage reads a message.
func webMessage(t *testing.T, r io.Reader) []byte {
	t.Helper()
	var prefix [5]byte
	if _, err := io.ReadFull(r, prefix[:]); err != nil {
		t.Fatal(err)
	}
	r = io.LimitReader(r, int64(binary.BigEndian.Uint32(prefix[1:])))
	if prefix[0]&1 != 0 {
		var err error
		if r, err = gzip.NewReader(r); err != nil {
			t.Fatal(err)
		}
	}
	message, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return message
}

// TestWebStalled: clients that stop reading do not delay other clients, by any web protocol.
func TestWebStalled(t *testing.T) {
	listener := bufconn.Listen(1 << 10)
	d := startWith(t, t.TempDir(), listener, 5*time.Second)
	besideStalled(t, d, func(ctx context.Context, req *replaydv1.StreamEventsRequest) {
		for _, http2 := range []bool{false, true} {
			protocols := new(http.Protocols)
			protocols.SetHTTP1(!http2)
			protocols.SetUnencryptedHTTP2(http2)
			for contentType, header := range map[string]http.Header{
				"application/connect+json":   nil,
				"application/connect+proto":  {"Connect-Content-Encoding": {"gzip"}, "Connect-Accept-Encoding": {"gzip"}},
				"application/grpc-web+proto": nil,
				"application/grpc-web":       {"Grpc-Encoding": {"gzip"}, "Grpc-Accept-Encoding": {"gzip"}}, // as a request is, so is what comes back
			} {
				by := dialing(t, listener)
				by.Protocols = protocols
				by.HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerStream: 64 << 10, MaxReceiveBufferPerConnection: 64 << 10}
				r := webRequest(ctx, t, by, contentType, header, req)
				decode := proto.Unmarshal
				if strings.HasSuffix(contentType, "json") {
					decode = protojson.Unmarshal
				}
				untilCaughtUp(t, func(m *replaydv1.StreamEventsResponse) error { return decode(webMessage(t, r), m) })
			}
		}
	})
}

// dialing is a connection of its own to a listener in memory.
func dialing(t *testing.T, listener *bufconn.Listener) *http.Transport {
	t.Helper()
	by := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return listener.DialContext(ctx) },
	}
	t.Cleanup(by.CloseIdleConnections)
	return by
}

// TestWebCutOff: a call that does not end before the deadline is cut off, and the log reports it.
func TestWebCutOff(t *testing.T) {
	dir := t.TempDir()
	listener := bufconn.Listen(1 << 10)
	d := startWith(t, dir, listener, 100*time.Millisecond)
	w := create(t, dir, "live.teehistorian")
	w.write(longRecording(t, finishedSample, 100_000))
	by := dialing(t, listener)
	req := &replaydv1.StreamEventsRequest{Replay: name("live.teehistorian"), Follow: true}
	r := webRequest(timeout(t), t, by, "application/connect+proto", nil, req)
	for m := new(replaydv1.StreamEventsResponse); m.GetBatch() == nil; { // and nothing after the first batch
		if err := proto.Unmarshal(webMessage(t, r), m); err != nil {
			t.Fatal(err)
		}
	}
	d.stop()
	if log := d.log.String(); !strings.Contains(log, "cut off") {
		t.Errorf("the log says nothing of it:\n%s", log)
	}
}
