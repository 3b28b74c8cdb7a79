package service_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/replayd/replayd/decoders/decodertest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/describe"
	"github.com/replayd/replayd/service/streamtest"
)

// createReplay stores a replay by gRPC.
func createReplay(
	ctx context.Context, client replaydv1.ReplayServiceClient, options *replaydv1.CreateReplayOptions, parts ...[]byte,
) (*replaydv1.Replay, error) {
	call, err := client.CreateReplay(ctx)
	if err != nil {
		return nil, err
	}
	if options == nil {
		options = &replaydv1.CreateReplayOptions{}
	}
	_ = call.Send(&replaydv1.CreateReplayRequest{Part: &replaydv1.CreateReplayRequest_Options{Options: options}})
	for _, data := range parts {
		for part := range slices.Chunk(data, 50_000) {
			if call.Send(&replaydv1.CreateReplayRequest{Part: &replaydv1.CreateReplayRequest_Data{Data: part}}) != nil {
				break // the response has the error
			}
		}
	}
	resp, err := call.CloseAndRecv()
	return resp.GetReplay(), err
}

// createPlain stores a replay by plain HTTP.
func (d plainDaemon) createPlain(t *testing.T, query string, body io.Reader) (*replaydv1.Replay, int, string) {
	t.Helper()
	resp := d.do(timeout(t), t, http.MethodPost, "/v1/replays"+query, nil, body)
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	created := &replaydv1.CreateReplayResponse{}
	if resp.StatusCode == http.StatusCreated {
		if err := protojson.Unmarshal(text, created); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	return created.GetReplay(), resp.StatusCode, string(text)
}

// TestCreateReplay stores the samples of all formats, by gRPC and by plain HTTP, compressed and not. Streams of a stored replay
// are those of its file: whole, resumed, from a tick with the state, and to its end when they follow it. Nothing lists it.
func TestCreateReplay(t *testing.T) {
	t.Parallel()
	control := admission.New(admission.Limits{})
	d := startPlain(t, samples(), func(c *service.Config) { c.Admission = control })
	all, err := d.client.ListReplays(timeout(t), &replaydv1.ListReplaysRequest{PageSize: 1000})
	if err != nil {
		t.Fatal(err)
	}
	formats := map[replaydv1.Format]int{}
	for i, original := range all.GetReplays() {
		path := samples(strings.TrimPrefix(original.GetName(), alias+"/"))
		data := read(t, path)
		if i%2 == 0 && original.GetCompression() == replaydv1.Compression_COMPRESSION_NONE {
			data = decodertest.Gzip(t, data)
		}
		whole := d.Session(timeout(t), &replaydv1.StreamEventsRequest{Replay: original.GetName()}, nil)
		stored, err := createReplay(timeout(t), d.client, nil, data)
		plain, code, text := d.createPlain(t, "", bytes.NewReader(data))
		if _, unreadable := d.client.GetReplay(timeout(t), &replaydv1.GetReplayRequest{Replay: original.GetName()}); unreadable != nil {
			if err == nil || code == http.StatusCreated {
				t.Errorf("%s is stored, but cannot be read: %v", original.GetName(), unreadable)
			}
			continue
		}
		if err != nil || code != http.StatusCreated {
			t.Errorf("%s: %v, %d %s", original.GetName(), err, code, text)
			continue
		}
		formats[original.GetFormat()]++
		if plain.GetName() == stored.GetName() || !strings.HasPrefix(plain.GetName(), "@upload/") || len(plain.GetName()) < 30 {
			t.Errorf("the names %q and %q", plain.GetName(), stored.GetName())
		}
		described, err := d.client.GetReplay(timeout(t), &replaydv1.GetReplayRequest{Replay: original.GetName()})
		if err != nil {
			t.Fatal(err)
		}
		want := []streamtest.Replay{{Identity: described.GetReplay().GetIdentity()}}
		if want[0].Events, err = (streamtest.History{whole}).Events(); err != nil {
			t.Fatal(err)
		}
		for _, r := range []*replaydv1.Replay{stored, plain} {
			if r.GetIdentity() != want[0].Identity || r.GetMapReplay() != described.GetReplay().GetMapReplay() || r.GetHeader() == nil ||
				time.Until(r.GetExpireTime().AsTime()) > time.Hour {
				t.Errorf("%s is described as %v", original.GetName(), r)
			}
			req := &replaydv1.StreamEventsRequest{Replay: r.GetName(), MaxBatchEvents: 7, Follow: r == plain}
			got := d.Session(timeout(t), req, nil)
			if fmt.Sprint(got.Err) != strings.ReplaceAll(fmt.Sprint(whole.Err), original.GetName(), r.GetName()) {
				t.Errorf("%s ends by %v, stored by %v", original.GetName(), whole.Err, got.Err)
			}
			check(t, streamtest.History{got}, want, streamtest.Options{})
			for n := 1; n <= len(got.Responses); n += 1 + len(got.Responses)/3 {
				h := streamtest.History{{Responses: got.Responses[:n], Cut: true}}
				check(t, append(h, d.Session(timeout(t), streamtest.Resumed(req, h), nil)), want, streamtest.Options{})
			}
			start := &replaydv1.Start{At: &replaydv1.Start_Tick{Tick: 100}, WithState: true}
			by := d.Session(timeout(t), &replaydv1.StreamEventsRequest{Replay: r.GetName(), Start: start}, nil)
			of := d.Session(timeout(t), &replaydv1.StreamEventsRequest{Replay: original.GetName(), Start: start}, nil)
			if (by.Err == nil) != (of.Err == nil) || len(by.Responses) != len(of.Responses) {
				t.Errorf("%s from a tick: %d responses and %v, not %d and %v", original.GetName(), len(by.Responses), by.Err, len(of.Responses), of.Err)
			}
		}
		for name, remove := range map[string]func() (int, error){
			stored.GetName(): func() (int, error) {
				_, err := d.client.DeleteReplay(timeout(t), &replaydv1.DeleteReplayRequest{Replay: stored.GetName()})
				return http.StatusOK, err
			},
			plain.GetName(): func() (int, error) {
				return d.do(timeout(t), t, http.MethodDelete, "/v1/replays/"+plain.GetName(), nil, nil).StatusCode, nil
			},
		} {
			again, err := d.client.ListReplays(timeout(t), &replaydv1.ListReplaysRequest{PageSize: 1000})
			if err != nil || len(again.GetReplays()) != len(all.GetReplays()) {
				t.Errorf("a list has %d replays (%v)", len(again.GetReplays()), err)
			}
			if code, err := remove(); code != http.StatusOK || err != nil {
				t.Errorf("%s is deleted by %d %v", name, code, err)
			}
			if err := d.read(t, d.client, timeout(t), name); status.Code(err) != codes.NotFound {
				t.Errorf("a deleted replay is read: %v", err)
			}
		}
	}
	if len(formats) != len(describe.Codecs()) {
		t.Errorf("only %v were stored", formats)
	}
	untaken(t, control)
}

// read calls all that read a replay. It returns an error, and fails the test if they do not return the same one.
func (d *daemon) read(t *testing.T, client replaydv1.ReplayServiceClient, ctx context.Context, name string) error { //nolint:revive // the context is an argument of the calls
	t.Helper()
	_, got := client.GetReplay(ctx, &replaydv1.GetReplayRequest{Replay: name})
	for _, req := range []*replaydv1.StreamEventsRequest{
		{Replay: name}, {Replay: name, Follow: true},
		{Replay: name, Start: &replaydv1.Start{At: &replaydv1.Start_Tick{Tick: 1}, WithState: true}},
	} {
		s, err := client.StreamEvents(ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, err = s.Recv()
		}
		if err == io.EOF { //nolint:errorlint // as documented
			err = nil
		}
		if status.Code(err) != status.Code(got) || err != nil && err.Error() != got.Error() {
			t.Errorf("%s: GetReplay returns %v, StreamEvents %v", name, got, err)
		}
	}
	return got
}

// untaken waits until everything has been given back.
func untaken(t *testing.T, control *admission.Control) {
	t.Helper()
	ctx := timeout(t)
	for r := admission.Streams; r <= admission.Temporary; r++ {
		for control.Taken(r) != 0 {
			if ctx.Err() != nil {
				t.Fatalf("%d of %v are still taken", control.Taken(r), r)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
}

// TestTemporaryOwner: only the token that stored a replay reads and deletes it. For all others, its name does not exist. What a
// token may not do or see, it cannot do by storing either.
func TestTemporaryOwner(t *testing.T) {
	g := startGuarded(t, t.TempDir(), t.TempDir(),
		"owner roots="+others+"\nother\nreader allow=read\nwriter allow=upload\nmaps formats=datafile\nwas\n")
	ctx := func(token string) context.Context { return as(timeout(t), token) }
	data := read(t, finishedSample)
	stored, err := createReplay(ctx("owner"), g.client, nil, data)
	if err != nil {
		t.Fatal(err)
	}
	mine, missing := stored.GetName(), "@upload/"+strings.Repeat("a", 26)
	if err := g.read(t, g.client, ctx("owner"), mine); err != nil {
		t.Errorf("its owner: %v", err)
	}
	for token, want := range map[string]codes.Code{
		"other": codes.NotFound, "reader": codes.NotFound, "maps": codes.NotFound, "writer": codes.PermissionDenied, "": codes.Unauthenticated,
	} {
		of, nothing := g.read(t, g.client, ctx(token), mine), g.read(t, g.client, ctx(token), missing)
		if status.Code(of) != want || strings.ReplaceAll(of.Error(), mine, missing) != nothing.Error() {
			t.Errorf("token %q reads a replay of another: %v, and one that does not exist: %v", token, of, nothing)
		}
		_, err := g.client.DeleteReplay(ctx(token), &replaydv1.DeleteReplayRequest{Replay: mine})
		if code := status.Code(err); code != codes.NotFound && code != codes.PermissionDenied && code != codes.Unauthenticated {
			t.Errorf("token %q deletes a replay of another: %v", token, err)
		}
	}
	for token, want := range map[string]codes.Code{
		"reader": codes.PermissionDenied, "maps": codes.PermissionDenied, "": codes.Unauthenticated, "writer": codes.OK,
	} {
		if _, err := createReplay(ctx(token), g.client, nil, data); status.Code(err) != want {
			t.Errorf("token %q stores a replay: %v", token, err)
		}
	}
	kept, err := createReplay(ctx("was"), g.client, nil, data)
	if err != nil {
		t.Fatal(err)
	}
	write(t, g.tokens, []byte("owner\nother\n"))
	if err := g.gate.Reload(); err != nil {
		t.Fatal(err)
	}
	if err := g.read(t, g.client, ctx("was"), kept.GetName()); status.Code(err) != codes.Unauthenticated {
		t.Errorf("a token that was removed: %v", err)
	}
	if err := g.read(t, g.client, ctx("owner"), mine); err != nil {
		t.Errorf("its owner, whose token allows more now: %v", err)
	}
}

// TestTemporaryExpires: a replay is gone when it expires. A stream that runs then reaches its end, and only then the space on
// disk is free.
func TestTemporaryExpires(t *testing.T) {
	control := admission.New(admission.Limits{})
	d := start(t, t.TempDir(), func(c *service.Config) { c.Admission, c.TemporaryLife = control, time.Minute })
	data := read(t, finishedSample)
	want := offline(t, finishedSample, &replaydv1.StreamEventsRequest{})
	stored, err := createReplay(timeout(t), d.client, &replaydv1.CreateReplayOptions{TimeToLive: durationpb.New(time.Second)}, data)
	if err != nil {
		t.Fatal(err)
	}
	gone := false
	wait := func(*replaydv1.StreamEventsResponse) bool {
		for ctx := timeout(t); !gone && ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
			_, err := d.client.GetReplay(timeout(t), &replaydv1.GetReplayRequest{Replay: stored.GetName()})
			gone = status.Code(err) == codes.NotFound
		}
		return true
	}
	s := d.Session(timeout(t), &replaydv1.StreamEventsRequest{Replay: stored.GetName(), MaxBatchEvents: 1}, wait)
	if len(s.Responses) == 0 { // a slow machine: it had expired before
		t.Skip(s.Err)
	}
	check(t, streamtest.History{s}, []streamtest.Replay{want}, streamtest.Options{})
	untaken(t, control)
	long, err := createReplay(timeout(t), d.client, &replaydv1.CreateReplayOptions{TimeToLive: durationpb.New(24 * time.Hour)}, data)
	if err != nil || time.Until(long.GetExpireTime().AsTime()) > time.Minute || control.Taken(admission.Spool) != int64(len(data)) {
		t.Errorf("more than is allowed: %v, %v, with %d bytes on disk", long, err, control.Taken(admission.Spool))
	}
	d.stop()
	untaken(t, control)
}

// TestTemporaryLimits: what cannot be stored is refused with the reason, and leaves nothing.
func TestTemporaryLimits(t *testing.T) {
	data := read(t, finishedSample)
	limits := admission.Limits{All: admission.Amounts{admission.Spool: int64(len(data)) * 5 / 2, admission.Temporary: 3}}
	control := admission.New(limits)
	d := startPlain(t, t.TempDir(), func(c *service.Config) {
		c.Admission, c.MaxUpload, c.UploadTimeout = control, 20_000, time.Second
		c.MaxInflated = 25_000
	})
	life := func(d time.Duration) *replaydv1.CreateReplayOptions {
		return &replaydv1.CreateReplayOptions{TimeToLive: durationpb.New(d)}
	}
	for what, test := range map[string]struct {
		options *replaydv1.CreateReplayOptions
		data    []byte
		want    failure
	}{
		"nothing":       {nil, nil, failure{code: codes.InvalidArgument, reason: "UNKNOWN_FORMAT"}},
		"no replay":     {nil, bytes.Repeat([]byte("no replay"), 100), failure{code: codes.InvalidArgument, reason: "UNKNOWN_FORMAT"}},
		"twice gzipped": {nil, decodertest.Gzip(t, decodertest.Gzip(t, data)), failure{code: codes.InvalidArgument, reason: "UNKNOWN_FORMAT"}},
		"cut gzip":      {nil, decodertest.Gzip(t, data)[:2000], failure{code: codes.DataLoss, reason: "TRUNCATED"}},
		"too long":      {nil, append(slices.Clone(data), make([]byte, 10_000)...), failure{code: codes.FailedPrecondition, reason: "TOO_LARGE"}},
		"inflates":      {nil, decodertest.Gzip(t, append(slices.Clone(data), make([]byte, 14_000)...)), failure{code: codes.FailedPrecondition, reason: "TOO_LARGE"}},
		"damaged gzip":  {nil, damaged(decodertest.Gzip(t, data)), failure{code: codes.DataLoss, reason: "CORRUPT"}},
		"later version": {nil, bytes.Replace(data, []byte(`"version":"2"`), []byte(`"version":"9"`), 1), failure{code: codes.Unimplemented, reason: "UNSUPPORTED_VERSION"}},
		"no header":     {nil, data[:100], failure{code: codes.DataLoss, reason: "TRUNCATED"}},
		"no time":       {life(0), data, failure{code: codes.InvalidArgument, reason: "BAD_REQUEST", field: "options.time_to_live"}},
		"short time":    {life(1), data, failure{code: codes.InvalidArgument, reason: "BAD_REQUEST", field: "options.time_to_live"}},
		"negative time": {life(-1), data, failure{code: codes.InvalidArgument, reason: "BAD_REQUEST", field: "options.time_to_live"}},
	} {
		_, err := createReplay(timeout(t), d.client, test.options, test.data)
		got := explainFailure(t, err)
		got.meta = nil
		if !got.equal(test.want) {
			t.Errorf("%s: %v", what, err)
		}
		query := ""
		if test.options != nil {
			query = "?time-to-live=" + test.options.GetTimeToLive().AsDuration().String()
		}
		_, code, text := d.createPlain(t, query, bytes.NewReader(test.data))
		answers := map[string]int{
			"UNKNOWN_FORMAT": http.StatusBadRequest, "BAD_REQUEST": http.StatusBadRequest, "TRUNCATED": http.StatusUnprocessableEntity,
			"CORRUPT": http.StatusUnprocessableEntity, "TOO_LARGE": http.StatusRequestEntityTooLarge, "UNSUPPORTED_VERSION": http.StatusUnsupportedMediaType,
		}[test.want.reason]
		if code != answers || !strings.Contains(text, `"reason":"`+test.want.reason+`"`) {
			t.Errorf("%s: %d, want %d: %s", what, code, answers, text)
		}
		untaken(t, control)
	}
	if _, code, text := d.createPlain(t, "?life=1m", bytes.NewReader(data)); code != http.StatusBadRequest || !strings.Contains(text, `"field":"life"`) {
		t.Errorf("an unknown parameter: %d %s", code, text)
	}

	ctx, cancel := context.WithCancel(timeout(t))
	broken, err := d.client.CreateReplay(ctx)
	if err != nil {
		t.Fatal(err)
	}
	send := func(part *replaydv1.CreateReplayRequest) { _ = broken.Send(part) }
	options := &replaydv1.CreateReplayRequest{Part: &replaydv1.CreateReplayRequest_Options{Options: life(time.Minute)}}
	half := &replaydv1.CreateReplayRequest{Part: &replaydv1.CreateReplayRequest_Data{Data: data[:len(data)/2]}}
	send(options)
	send(half)
	for control.Taken(admission.Spool) == 0 && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	cancel()
	untaken(t, control)

	for what, parts := range map[string][]*replaydv1.CreateReplayRequest{
		"data without options": {half}, "options twice": {options, options}, "an empty message": {{}},
	} {
		call, err := d.client.CreateReplay(timeout(t))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range parts {
			_ = call.Send(part)
		}
		if _, err := call.CloseAndRecv(); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %v", what, err)
		}
	}
	stalled, err := d.client.CreateReplay(timeout(t))
	if err != nil {
		t.Fatal(err)
	}
	_ = stalled.Send(options)
	_ = stalled.Send(half)
	if err := stalled.RecvMsg(&replaydv1.CreateReplayResponse{}); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("a stalled upload: %v", err)
	}
	untaken(t, control)

	var names []string
	for range 2 {
		r, err := createReplay(timeout(t), d.client, nil, data)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, r.GetName())
	}
	if _, err := createReplay(timeout(t), d.client, nil, data); !explainFailure(t, err).retry {
		t.Errorf("beyond the space on disk: %v", err)
	}
	if _, err := d.client.DeleteReplay(timeout(t), &replaydv1.DeleteReplayRequest{Replay: names[0]}); err != nil {
		t.Fatal(err)
	}
	tiny := read(t, filepath.Join(samples(), "datafile", "sample.map"))
	for range 2 {
		if _, err := createReplay(timeout(t), d.client, nil, tiny); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := createReplay(timeout(t), d.client, nil, tiny); !explainFailure(t, err).retry || !strings.Contains(err.Error(), "temporary replays") {
		t.Errorf("one too many: %v", err)
	}
	for what, name := range map[string]string{"a file": name("x"), "nothing": "", "the prefix": "@upload"} {
		if _, err := d.client.DeleteReplay(timeout(t), &replaydv1.DeleteReplayRequest{Replay: name}); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s is deleted: %v", what, err)
		}
	}
	d.stop()
	untaken(t, control)
}

// damaged returns gzipped data that is damaged behind its header.
func damaged(data []byte) []byte {
	data = slices.Clone(data)
	for i := range 64 {
		data[10+i] = 0xff // no block of DEFLATE
	}
	return data
}
