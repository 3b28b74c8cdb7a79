package service_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/streamtest"
)

// upload is a DecodeReplay call.
type upload struct {
	call replaydv1.ReplayService_DecodeReplayClient
}

// newUpload begins an upload: it sends what is wanted.
func newUpload(tb testing.TB, d *daemon, req *replaydv1.StreamEventsRequest) *upload {
	tb.Helper()
	ctx, cancel := context.WithCancel(timeout(tb))
	tb.Cleanup(cancel)
	call, err := d.client.DecodeReplay(ctx)
	if err != nil {
		tb.Fatal(err)
	}
	if req == nil {
		req = new(replaydv1.StreamEventsRequest)
	}
	options := &replaydv1.DecodeReplayRequest{Part: &replaydv1.DecodeReplayRequest_Options{Options: req}}
	if err := call.Send(options); err != nil {
		tb.Fatal(err)
	}
	return &upload{call}
}

// send sends the next bytes. That the call is over is for whoever receives to see.
func (u *upload) send(data []byte) {
	for len(data) > 0 {
		n := min(len(data), 10_000)
		part := &replaydv1.DecodeReplayRequest{Part: &replaydv1.DecodeReplayRequest_Data{Data: data[:n]}}
		if u.call.Send(part) != nil {
			return
		}
		data = data[n:]
	}
}

// session receives responses until the call is over or enough is true of one.
func (u *upload) session(tb testing.TB, enough func(*replaydv1.StreamEventsResponse) bool) (s streamtest.Session) {
	tb.Helper()
	for {
		r, err := u.call.Recv()
		if errors.Is(err, io.EOF) {
			return s
		}
		if err != nil {
			s.Err = err
			return s
		}
		data, err := proto.Marshal(r)
		if err != nil {
			tb.Fatal(err)
		}
		s.Responses = append(s.Responses, data)
		if enough != nil && enough(r) {
			s.Cut = true
			return s
		}
	}
}

// uploaded is the whole of an upload's session.
func uploaded(tb testing.TB, d *daemon, req *replaydv1.StreamEventsRequest, data []byte) streamtest.Session {
	tb.Helper()
	u := newUpload(tb, d, req)
	go func() {
		u.send(data)
		_ = u.call.CloseSend()
	}()
	return u.session(tb, nil)
}

// zipped is data as gzip packs it.
func zipped(tb testing.TB, data []byte) []byte {
	tb.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(data); err != nil {
		tb.Fatal(err)
	}
	if err := z.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// TestUploadGoesOn uploads a replay up to some response, and uploads it again with the cursor of that response.
func TestUploadGoesOn(t *testing.T) {
	d := start(t, t.TempDir())
	game, card := finishedSample, samples("datafile", "sample.map")
	for _, tt := range []struct {
		name, path string
		data       []byte
	}{
		{"plain", game, read(t, game)},
		{"compressed", game, zipped(t, read(t, game))},
		{"spooled", card, zipped(t, read(t, card))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data, whole := tt.data, offline(t, tt.path, nil)
			req := &replaydv1.StreamEventsRequest{MaxBatchEvents: 20}
			all := uploaded(t, d, req, data)
			check(t, streamtest.History{all}, []streamtest.Replay{whole}, streamtest.Options{})
			for i := 1; i < len(all.Responses); i += 1 + len(all.Responses)/10 {
				h := streamtest.History{{Responses: all.Responses[:i], Cut: true}}
				h = append(h, uploaded(t, d, streamtest.Resumed(req, h), data))
				check(t, h, []streamtest.Replay{whole}, streamtest.Options{})
			}
		})
	}
}

// TestUploadCursorRange refuses a cursor beyond the end of what is uploaded.
func TestUploadCursorRange(t *testing.T) {
	d := start(t, t.TempDir())
	data := read(t, finishedSample)
	all := uploaded(t, d, nil, data)
	if all.Err != nil {
		t.Fatal(all.Err)
	}
	req := streamtest.Resumed(new(replaydv1.StreamEventsRequest), streamtest.History{all})
	for name, data := range map[string][]byte{"plain": data[:3000], "compressed": zipped(t, data[:3000])} {
		if s := uploaded(t, d, req, data); status.Code(s.Err) != codes.OutOfRange {
			t.Errorf("%s: got %v", name, s.Err)
		}
	}
}
