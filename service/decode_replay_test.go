package service_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/replayd/replayd/decoders/decodertest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service"
	"github.com/replayd/replayd/service/streamtest"
)

// upload is a DecodeReplay call.
type upload struct {
	call replaydv1.ReplayService_DecodeReplayClient
}

// newUpload begins an upload by sending the options.
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

// send sends the next bytes. It ignores the end of the call, which the receiver reports.
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

// session receives responses until the call ends or enough returns true for one.
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

// uploaded returns the session of a whole upload.
func uploaded(tb testing.TB, d *daemon, req *replaydv1.StreamEventsRequest, data []byte) streamtest.Session {
	tb.Helper()
	u := newUpload(tb, d, req)
	go func() {
		u.send(data)
		_ = u.call.CloseSend()
	}()
	return u.session(tb, nil)
}

// TestUploadCursorRange: a cursor beyond the end of the uploaded data is refused.
func TestUploadStarts(t *testing.T) {
	d := start(t, t.TempDir())
	for field, req := range map[string]*replaydv1.StreamEventsRequest{
		"options.start.now":         {Start: &replaydv1.Start{At: &replaydv1.Start_Now{Now: &replaydv1.Now{}}}},
		"options.start.last_events": {Start: &replaydv1.Start{At: &replaydv1.Start_LastEvents{LastEvents: 5}}},
		"options.follow":            {Follow: true},
	} {
		s := uploaded(t, d, req, read(t, finishedSample))
		want := failure{codes.InvalidArgument, "BAD_REQUEST", field, nil, false}
		if got := explainFailure(t, s.Err); !got.equal(want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

func TestUploadCursorRange(t *testing.T) {
	d := start(t, t.TempDir())
	data := read(t, finishedSample)
	all := uploaded(t, d, nil, data)
	if all.Err != nil {
		t.Fatal(all.Err)
	}
	req := streamtest.Resumed(new(replaydv1.StreamEventsRequest), streamtest.History{all})
	for name, data := range map[string][]byte{"plain": data[:3000], "compressed": decodertest.Gzip(t, data[:3000])} {
		if s := uploaded(t, d, req, data); status.Code(s.Err) != codes.OutOfRange {
			t.Errorf("%s: got %v", name, s.Err)
		}
	}
}

// TestUploadPauses sends the beginning of a replay and then pauses. The events so far arrive, then heartbeats. When the server
// shuts down, the end arrives with a cursor from which the next upload continues.
func TestUploadPauses(t *testing.T) {
	data := read(t, finishedSample)
	half := data[:len(data)/2]
	var flushed bytes.Buffer
	z := gzip.NewWriter(&flushed)
	if _, err := z.Write(half); err != nil {
		t.Fatal(err)
	}
	if err := z.Flush(); err != nil {
		t.Fatal(err)
	}
	for name, sent := range map[string][]byte{"plain": half, "compressed": flushed.Bytes()} {
		t.Run(name, func(t *testing.T) {
			d := startWith(t, t.TempDir(), nil, time.Minute)
			req := &replaydv1.StreamEventsRequest{HeartbeatInterval: durationpb.New(time.Second)}
			u := newUpload(t, d, req)
			u.send(sent)
			want := uint64(len(offlineBytes(t, half, nil).Events))
			events := uint64(0)
			h := streamtest.History{u.session(t, func(r *replaydv1.StreamEventsResponse) bool {
				if b := r.GetBatch(); b != nil {
					events = b.GetNextSequence()
				}
				return r.GetHeartbeat() != nil
			})}
			if events != want {
				t.Errorf("%d events came before the heartbeat, want %d", events, want)
			}
			began := time.Now()
			d.stop()
			h[0] = joined(h[0], u.session(t, nil))
			if took := time.Since(began); took > 30*time.Second || h.End().GetReason() != replaydv1.EndReason_END_REASON_SERVER_DRAINING {
				t.Errorf("after %v the server's shutdown ended it with %v", took, h.End())
			}
			h = append(h, uploaded(t, start(t, t.TempDir()), streamtest.Resumed(req, h), data))
			check(t, h, []streamtest.Replay{offlineBytes(t, data, nil)}, streamtest.Options{})
		})
	}
}

// joined returns two sessions as one.
func joined(a, b streamtest.Session) streamtest.Session {
	return streamtest.Session{Responses: append(a.Responses, b.Responses...), Cut: b.Cut, Err: b.Err}
}

// TestUploadDrains shuts the server down while an upload is still too short for any response.
func TestUploadDrains(t *testing.T) {
	card := read(t, samples("datafile", "sample.map"))
	for name, sent := range map[string][]byte{
		"no bytes": nil, "a part of a map": card[:len(card)/2], "a part of a compressed map": decodertest.Gzip(t, card)[:1000],
		"a part of a header": read(t, finishedSample)[:100],
	} {
		t.Run(name, func(t *testing.T) {
			d := startWith(t, t.TempDir(), nil, time.Minute)
			u := newUpload(t, d, nil)
			u.send(sent)
			time.Sleep(100 * time.Millisecond) // the bytes may have been read by then, or not: it must make no difference
			began := time.Now()
			d.stop()
			s := u.session(t, nil)
			if took := time.Since(began); took > 30*time.Second || status.Code(s.Err) != codes.Unavailable {
				t.Errorf("after %v it ended with %v", took, s.Err)
			}
		})
	}
}

// TestPackedDamage damages a compressed replay or cuts it off, as a file and as an upload. The events before the damage arrive,
// then the error, even if the replay itself has already ended.
func TestPackedDamage(t *testing.T) {
	dir := t.TempDir()
	d := start(t, dir)
	whole := read(t, finishedSample)
	for what, data := range map[string][]byte{"finished": whole, "simply stops": whole[:len(whole)-1]} {
		packed := decodertest.Gzip(t, data)
		broken := bytes.Clone(packed)
		broken[len(broken)-1] ^= 1
		events := len(offlineBytes(t, data, nil).Events)
		for how, tt := range map[string]struct {
			data  []byte
			least int
		}{
			"cut":          {packed[:len(packed)-2000], events / 4},
			"no checksum":  {packed[:len(packed)-8], events},
			"bad checksum": {broken, events},
		} {
			write(t, filepath.Join(dir, "packed.gz"), tt.data)
			for door, s := range map[string]streamtest.Session{
				"uploaded": uploaded(t, d, nil, tt.data),
				"a file":   d.Session(timeout(t), &replaydv1.StreamEventsRequest{Replay: name("packed.gz")}, nil),
			} {
				got, err := streamtest.History{s}.Events()
				if err != nil {
					t.Fatal(err)
				}
				if len(got) < tt.least || status.Code(s.Err) != codes.DataLoss {
					t.Errorf("%s, %s, %s: %d events of %d, then %v", what, how, door, len(got), events, s.Err)
				}
			}
		}
	}
}

// TestUploadLimit: an upload beyond the limit fails after the events before the limit were sent.
func TestUploadLimit(t *testing.T) {
	d := start(t, t.TempDir(), func(c *service.Config) { c.MaxUpload = 8000 })
	data := read(t, finishedSample)
	s := uploaded(t, d, nil, data)
	if status.Code(s.Err) != codes.FailedPrecondition {
		t.Errorf("got %v", s.Err)
	}
	if s := uploaded(t, d, nil, decodertest.Gzip(t, data[:4000])); s.Err != nil {
		t.Errorf("got %v", s.Err)
	}
}
