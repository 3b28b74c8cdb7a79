package service_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/decodertest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/cursor"
	"github.com/replayd/replayd/service"
)

// failure holds the machine-readable parts of a status.
type failure struct {
	code   codes.Code
	reason string
	field  string   // of BadRequest
	meta   []string // keys of the ErrorInfo's metadata
	retry  bool     // there is a RetryInfo
}

// explainFailure parses a status. It fails the test if the status lacks what every status of this service has.
func explainFailure(t *testing.T, err error) failure {
	t.Helper()
	s := status.Convert(err)
	f := failure{code: s.Code()}
	for _, d := range s.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			f.reason, f.meta = d.GetReason(), slices.Sorted(maps.Keys(d.GetMetadata()))
			if d.GetDomain() != "replayd.dev" {
				t.Errorf("domain %q", d.GetDomain())
			}
			if _, known := replaydv1.ErrorReason_value["ERROR_REASON_"+d.GetReason()]; !known {
				t.Errorf("reason %q is not in the .proto", d.GetReason())
			}
		case *errdetails.BadRequest:
			if len(d.GetFieldViolations()) != 1 {
				t.Fatalf("violations %v", d.GetFieldViolations())
			}
			f.field = d.GetFieldViolations()[0].GetField()
			if d.GetFieldViolations()[0].GetDescription() == "" {
				t.Error("a violation without a description")
			}
		case *replaydv1.ResumeInfo:
			if _, err := cursor.Parse(d.GetCursor()); err != nil {
				t.Error(err)
			}
			f.meta = append(f.meta, "cursor")
		case *errdetails.RetryInfo:
			f.retry = d.GetRetryDelay().AsDuration() > 0
		default:
			t.Errorf("detail %T", d)
		}
	}
	if s.Message() == "" {
		t.Error("no message")
	}
	slices.Sort(f.meta)
	return f
}

func (f failure) equal(g failure) bool {
	return f.code == g.code && f.reason == g.reason && f.field == g.field && f.retry == g.retry && slices.Equal(f.meta, g.meta)
}

// messUp makes a directory with every kind of faulty file, and one good file.
func messUp(t *testing.T) (dir string) {
	dir = t.TempDir()
	good := read(t, samples("teehistorian", "finished", "4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian"))
	put := func(name string, data []byte) { write(t, filepath.Join(dir, name), data) }
	put("good.teehistorian", good)
	put("packed.teehistorian.gz", decodertest.Gzip(t, good))
	put("good.SC2Replay", read(t, samples("sc2replay", "5.0.SC2Replay")))
	put("empty", nil)
	put("text.txt", []byte("these are words and no replay"))
	put("header.teehistorian", good[:100])
	put("cut.teehistorian", good[:len(good)-10])
	put("version.teehistorian", []byte(strings.Replace(string(good), `"version":"2"`, `"version":"9"`, 1)))
	put("source1.dem", append([]byte("HL2DEMO\x00"), make([]byte, 2000)...))
	put("corrupt.teehistorian", corrupt(good))
	put("limit.teehistorian", slices.Concat(good[:16], []byte(`{"comment":"`), slices.Repeat([]byte("x"), 300<<10)))
	put("broken.gz", append([]byte("\x1f\x8b\x08\x00"), slices.Repeat([]byte{0xff}, 100)...))
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"escape": "/etc/passwd", "escape-nowhere": "/etc/there/is/no/such/file"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// corrupt replaces the end of a replay by bytes with which no record begins.
func corrupt(good []byte) []byte {
	return append(slices.Clone(good[:len(good)-1]), slices.Repeat([]byte{0xff}, 64)...)
}

// cursorOf returns a cursor from some place in a replay.
func cursorOf(identity string, at decoders.Position) []byte {
	return cursor.Cursor{
		Format: decoders.Teehistorian, Replay: cursor.HashOf(identity), Position: at, Sequence: 3,
	}.Append(nil)
}

const goodIdentity = "teehistorian:4fa04b32-db1c-48f1-b0fe-ea831e23f409"

// TestStreamErrors is the error model of StreamEvents, row by row.
func TestStreamErrors(t *testing.T) {
	d := start(t, messUp(t))
	type request = replaydv1.StreamEventsRequest
	type filters = []*replaydv1.EventFilter
	good := name("good.teehistorian")
	at := func(c []byte) *replaydv1.Start {
		return &replaydv1.Start{At: &replaydv1.Start_Cursor{Cursor: c}}
	}
	seven := int32(7)
	six := int32(6)
	for _, test := range []struct {
		name string
		req  *request
		want failure
	}{
		{"no replay named", &request{}, failure{codes.InvalidArgument, "BAD_REQUEST", "replay", nil, false}},
		{"no such file", &request{Replay: name("nothing")}, failure{codes.NotFound, "REPLAY_NOT_FOUND", "", []string{"replay"}, false}},
		{"no such root", &request{Replay: "other/file"}, failure{codes.NotFound, "REPLAY_NOT_FOUND", "", []string{"replay"}, false}},
		{"below a file", &request{Replay: good + "/x"}, failure{codes.NotFound, "REPLAY_NOT_FOUND", "", []string{"replay"}, false}},
		{"directory", &request{Replay: name("sub")}, failure{codes.InvalidArgument, "BAD_REQUEST", "replay", nil, false}},
		{"root", &request{Replay: alias}, failure{codes.InvalidArgument, "BAD_REQUEST", "replay", nil, false}},
		{"name with dots", &request{Replay: alias + "/../etc/passwd"}, failure{codes.NotFound, "REPLAY_NOT_FOUND", "", []string{"replay"}, false}},
		{"absolute name", &request{Replay: "/etc/passwd"}, failure{codes.NotFound, "REPLAY_NOT_FOUND", "", []string{"replay"}, false}},
		{"name with a trailing slash", &request{Replay: good + "/"}, failure{codes.InvalidArgument, "BAD_REQUEST", "replay", nil, false}},
		{"name with a NUL", &request{Replay: alias + "/a\x00b"}, failure{codes.InvalidArgument, "BAD_REQUEST", "replay", nil, false}},
		{"name with a backslash", &request{Replay: alias + `/a\b`}, failure{codes.InvalidArgument, "BAD_REQUEST", "replay", nil, false}},
		{"link out of the root", &request{Replay: name("escape")}, failure{codes.NotFound, "REPLAY_NOT_FOUND", "", []string{"replay"}, false}},
		{"link out of the root to nothing", &request{Replay: name("escape-nowhere")}, failure{codes.NotFound, "REPLAY_NOT_FOUND", "", []string{"replay"}, false}},
		{"pipe", &request{Replay: name("pipe")}, failure{codes.NotFound, "REPLAY_NOT_FOUND", "", []string{"replay"}, false}},
		{"kind of 100,000 bytes", &request{Replay: good, Include: filters{{Kinds: []string{strings.Repeat("x", 100_000)}}}}, failure{codes.InvalidArgument, "BAD_REQUEST", "include[0].kinds[0]", nil, false}},
		{"name of 100,000 bytes", &request{Replay: name(strings.Repeat("x", 100_000))}, failure{codes.InvalidArgument, "BAD_REQUEST", "replay", nil, false}},

		{"no replay at all", &request{Replay: name("text.txt")}, failure{codes.InvalidArgument, "UNKNOWN_FORMAT", "", []string{"format", "offset", "replay"}, false}},
		{"empty file", &request{Replay: name("empty")}, failure{codes.DataLoss, "TRUNCATED", "", []string{"format", "offset", "replay"}, false}},
		{"cut in the header", &request{Replay: name("header.teehistorian")}, failure{codes.DataLoss, "TRUNCATED", "", []string{"format", "offset", "replay"}, false}},
		{"unknown version", &request{Replay: name("version.teehistorian")}, failure{codes.Unimplemented, "UNSUPPORTED_VERSION", "", []string{"format", "offset", "replay"}, false}},
		{"Source 1 demo", &request{Replay: name("source1.dem")}, failure{codes.Unimplemented, "UNSUPPORTED_VERSION", "", []string{"format", "offset", "replay"}, false}},
		{"header beyond the limit", &request{Replay: name("limit.teehistorian")}, failure{codes.FailedPrecondition, "TOO_LARGE", "", []string{"format", "offset", "replay"}, false}},
		{"broken gzip", &request{Replay: name("broken.gz")}, failure{codes.DataLoss, "CORRUPT", "", []string{"format", "offset", "replay"}, false}},
		{"corrupt record", &request{Replay: name("corrupt.teehistorian")}, failure{codes.DataLoss, "CORRUPT", "", []string{"cursor", "format", "offset", "replay", "tick"}, false}},
		{"cut, strict", &request{Replay: name("cut.teehistorian"), Strict: true}, failure{codes.DataLoss, "TRUNCATED", "", []string{"cursor", "format", "offset", "replay", "tick"}, false}},

		{"no cursor", &request{Replay: good, Start: at([]byte("nonsense"))}, failure{codes.InvalidArgument, "BAD_REQUEST", "start.cursor", nil, false}},
		{"empty cursor", &request{Replay: good, Start: at(nil)}, failure{codes.InvalidArgument, "BAD_REQUEST", "start.cursor", nil, false}},
		{"cursor of another replay", &request{Replay: good, Start: at(cursorOf("teehistorian:other", decoders.Position{}))}, failure{codes.FailedPrecondition, "CURSOR_MISMATCH", "", []string{"replay"}, false}},
		{"cursor beyond the end", &request{Replay: good, Start: at(cursorOf(goodIdentity, decoders.Position{Offset: 1 << 40}))}, failure{codes.OutOfRange, "CURSOR_BEYOND_END", "", []string{"replay"}, false}},
		{"cursor beyond the end, following", &request{Replay: good, Follow: true, Start: at(cursorOf(goodIdentity, decoders.Position{Offset: 1 << 40}))}, failure{codes.OutOfRange, "CURSOR_BEYOND_END", "", []string{"replay"}, false}},
		{"cursor inside a record", &request{Replay: good, Start: at(cursorOf(goodIdentity, decoders.Position{Offset: 20}))}, failure{codes.FailedPrecondition, "CURSOR_MISMATCH", "", []string{"replay"}, false}},
		{"condition of another format", &request{Replay: good, Include: filters{{Dem: &replaydv1.DemFilter{Classes: []string{"*"}}}, {Datafile: &replaydv1.DatafileFilter{Layers: []int32{1}}}}}, failure{codes.InvalidArgument, "BAD_REQUEST", "include[0].dem.classes", nil, false}},
		{"condition that no kind has", &request{Replay: good, Include: filters{{Kinds: []string{"tick"}, Players: []int32{1}}}}, failure{codes.InvalidArgument, "BAD_REQUEST", "include[0].players", nil, false}},
		{"condition of another format, newest of a directory", &request{Replay: alias, Follow: true, Include: filters{{Datafile: &replaydv1.DatafileFilter{Groups: []int32{1}}}}}, failure{codes.InvalidArgument, "BAD_REQUEST", "include[0].datafile.groups", nil, false}},
		{"cursor of no replay in the directory", &request{Replay: alias, Follow: true, Start: at(cursorOf("teehistorian:other", decoders.Position{}))}, failure{codes.FailedPrecondition, "CURSOR_MISMATCH", "", []string{"replay"}, false}},
		{"no last events", &request{Replay: good, Start: &replaydv1.Start{At: &replaydv1.Start_LastEvents{}}}, failure{codes.InvalidArgument, "BAD_REQUEST", "start.last_events", nil, false}},
		{"too many last events", &request{Replay: good, Start: &replaydv1.Start{At: &replaydv1.Start_LastEvents{LastEvents: 1_000_001}}}, failure{codes.InvalidArgument, "BAD_REQUEST", "start.last_events", nil, false}},

		{"unknown kind", &request{Replay: good, Include: filters{{}, {Kinds: []string{"tick", "nonsense"}}}}, failure{codes.InvalidArgument, "BAD_REQUEST", "include[1].kinds[1]", nil, false}},
		{"unknown kind excluded", &request{Replay: good, Exclude: filters{{Kinds: []string{""}}}}, failure{codes.InvalidArgument, "BAD_REQUEST", "exclude[0].kinds[0]", nil, false}},
		{"tick range upside down", &request{Replay: good, Include: filters{{Ticks: &replaydv1.TickRange{Min: &seven, Max: &six}}}}, failure{codes.InvalidArgument, "BAD_REQUEST", "include[0].ticks", nil, false}},
		{"too many filters", &request{Replay: good, Include: slices.Repeat(filters{{}}, 65)}, failure{codes.InvalidArgument, "BAD_REQUEST", "include", nil, false}},
		{"too many values", &request{Replay: good, Include: filters{{Players: make([]int32, 1025)}}}, failure{codes.InvalidArgument, "BAD_REQUEST", "include[0]", nil, false}},

		{"negative delay", &request{Replay: good, MaxBatchDelay: durationpb.New(-1)}, failure{codes.InvalidArgument, "BAD_REQUEST", "max_batch_delay", nil, false}},
		{"long delay", &request{Replay: good, MaxBatchDelay: durationpb.New(11 * time.Second)}, failure{codes.InvalidArgument, "BAD_REQUEST", "max_batch_delay", nil, false}},
		{"delay that is no duration", &request{Replay: good, MaxBatchDelay: &durationpb.Duration{Seconds: 1, Nanos: -1}}, failure{codes.InvalidArgument, "BAD_REQUEST", "max_batch_delay", nil, false}},
		{"negative heartbeat", &request{Replay: good, HeartbeatInterval: durationpb.New(-1)}, failure{codes.InvalidArgument, "BAD_REQUEST", "heartbeat_interval", nil, false}},
		{"unknown encoding", &request{Replay: good, Encoding: 99}, failure{codes.InvalidArgument, "BAD_REQUEST", "encoding", nil, false}},
		{"unknown slow consumer", &request{Replay: good, SlowConsumer: 9}, failure{codes.InvalidArgument, "BAD_REQUEST", "slow_consumer", nil, false}},
		{"successors without following", &request{Replay: good, FollowSuccessors: true}, failure{codes.InvalidArgument, "BAD_REQUEST", "follow_successors", nil, false}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := d.Session(timeout(t), test.req, nil)
			if s.Err == nil {
				t.Fatalf("no error after %d responses", len(s.Responses))
			}
			if got := explainFailure(t, s.Err); !got.equal(test.want) {
				t.Errorf("got  %+v\nwant %+v\n%v", got, test.want, s.Err)
			}
			if text := s.Err.Error(); strings.Contains(text, d.dir) {
				t.Errorf("it shows where the root is: %s", text)
			}
			if n := len(s.Err.Error()); n > 4000 {
				t.Errorf("a message of %d bytes does not fit in every client's metadata", n)
			}
		})
	}
}

// TestOutsideLooksTheSame: the answer does not reveal whether a file outside the roots exists.
func TestOutsideLooksTheSame(t *testing.T) {
	d := start(t, messUp(t))
	text := func(replay string) string {
		s := d.Session(timeout(t), &replaydv1.StreamEventsRequest{Replay: replay}, nil)
		return strings.ReplaceAll(s.Err.Error(), replay, "NAME")
	}
	if there, nowhere := text(name("escape")), text(name("escape-nowhere")); there != nowhere {
		t.Errorf("%s\n%s", there, nowhere)
	}
	if there, nowhere := text("../../../etc/passwd"), text("../../../etc/nothing/of/the/sort"); there != nowhere {
		t.Errorf("%s\n%s", there, nowhere)
	}
}

// TestUnaryErrors is the error model of the other calls.
func TestUnaryErrors(t *testing.T) {
	d := start(t, messUp(t))
	get := func(replay string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := d.client.GetReplay(ctx, &replaydv1.GetReplayRequest{Replay: replay})
			return err
		}
	}
	list := func(req *replaydv1.ListReplaysRequest) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := d.client.ListReplays(ctx, req)
			return err
		}
	}
	watch := func(dir string) func(context.Context) error {
		return func(ctx context.Context) error {
			s, err := d.client.WatchReplays(ctx, &replaydv1.WatchReplaysRequest{Directory: dir})
			if err != nil {
				return err
			}
			_, err = s.Recv()
			return err
		}
	}
	for _, test := range []struct {
		name string
		call func(context.Context) error
		want failure
	}{
		{"get nothing", get(""), failure{codes.InvalidArgument, "BAD_REQUEST", "replay", nil, false}},
		{"get what is not there", get(name("nothing")), failure{codes.NotFound, "REPLAY_NOT_FOUND", "", []string{"replay"}, false}},
		{"get from outside", get(name("escape")), failure{codes.NotFound, "REPLAY_NOT_FOUND", "", []string{"replay"}, false}},
		{"get a directory", get(name("sub")), failure{codes.InvalidArgument, "BAD_REQUEST", "replay", nil, false}},
		{"get no replay", get(name("text.txt")), failure{codes.InvalidArgument, "UNKNOWN_FORMAT", "", []string{"format", "offset", "replay"}, false}},
		{"get a cut header", get(name("header.teehistorian")), failure{codes.DataLoss, "TRUNCATED", "", []string{"format", "offset", "replay"}, false}},
		{"list less than nothing", list(&replaydv1.ListReplaysRequest{PageSize: -1}), failure{codes.InvalidArgument, "BAD_REQUEST", "page_size", nil, false}},
		{"list an unknown format", list(&replaydv1.ListReplaysRequest{Formats: []replaydv1.Format{1, 99}}), failure{codes.InvalidArgument, "BAD_REQUEST", "formats[1]", nil, false}},
		{"list no format", list(&replaydv1.ListReplaysRequest{Formats: []replaydv1.Format{0}}), failure{codes.InvalidArgument, "BAD_REQUEST", "formats[0]", nil, false}},
		{"list with nonsense for a token", list(&replaydv1.ListReplaysRequest{PageToken: "nonsense"}), failure{codes.InvalidArgument, "BAD_REQUEST", "page_token", nil, false}},
		{"list a file", list(&replaydv1.ListReplaysRequest{Directory: name("good.teehistorian")}), failure{codes.InvalidArgument, "BAD_REQUEST", "directory", nil, false}},
		{"list what is not there", list(&replaydv1.ListReplaysRequest{Directory: name("nothing")}), failure{codes.NotFound, "REPLAY_NOT_FOUND", "", []string{"replay"}, false}},
		{"list what cannot be a name", list(&replaydv1.ListReplaysRequest{Directory: name("")}), failure{codes.InvalidArgument, "BAD_REQUEST", "directory", nil, false}},
		{"watch what cannot be a name", watch(name("")), failure{codes.InvalidArgument, "BAD_REQUEST", "directory", nil, false}},
		{"list outside", list(&replaydv1.ListReplaysRequest{Directory: "../.."}), failure{codes.NotFound, "REPLAY_NOT_FOUND", "", []string{"replay"}, false}},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.call(timeout(t))
			if err == nil {
				t.Fatal("no error")
			}
			if got := explainFailure(t, err); !got.equal(test.want) {
				t.Errorf("got  %+v\nwant %+v\n%v", got, test.want, err)
			}
		})
	}
}

// TestTooManyStreams: one stream more than allowed is refused. When a stream ends, a new one is accepted.
func TestTooManyStreams(t *testing.T) {
	dir := t.TempDir()
	replay := copyIn(t, dir, samples("teehistorian", "killed", "d3a324eb-75e3-43b2-8684-d2cb343e85ec.teehistorian"))
	d := start(t, dir, func(c *service.Config) { c.MaxStreams = 2 })
	ctx := timeout(t)
	req := &replaydv1.StreamEventsRequest{Replay: replay, Follow: true}
	var cancels []context.CancelFunc
	for range 2 {
		ctx, cancel := context.WithCancel(ctx)
		t.Cleanup(cancel)
		cancels = append(cancels, cancel)
		s, err := d.client.StreamEvents(ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Recv(); err != nil {
			t.Fatal(err)
		}
	}
	want := failure{codes.ResourceExhausted, "TOO_MANY_STREAMS", "", nil, true} // before the request is read
	if got := explainFailure(t, d.Session(ctx, req, nil).Err); !got.equal(want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	cancels[0]()
	for {
		s := d.Session(ctx, &replaydv1.StreamEventsRequest{Replay: replay}, nil)
		if s.Err == nil {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("the place was never given back: %v", s.Err)
		}
		time.Sleep(time.Millisecond)
	}
}
