package service_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/dem/demtest"
	"github.com/replayd/replayd/decoders/teehistorian/teetest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	codecdem "github.com/replayd/replayd/replay/codec/dem"
	"github.com/replayd/replayd/replay/cursor"
	"github.com/replayd/replayd/service/streamtest"
)

var (
	requests = flag.Int("requests", 60, "how many requests of each format TestRandomRequests makes")
	seed     = flag.Uint64("seed", 1, "what the random requests follow from")
	corpus   = flag.Bool("corpus", false, "TestRandomRequests takes the files of the corpus instead of the samples")
	only     = flag.String("only", "", "TestRandomRequests takes only files whose path contains this")
)

// TestRandomRequests makes random requests of all kinds by all ways. It compares the responses with an oracle that knows the
// whole stream and the documentation.
func TestRandomRequests(t *testing.T) { //nolint:tparallel // tests beside this one must not use its peers
	startPeers(t)
	for format, files := range replayFiles(t) {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			made, most := 0, *requests
			if streamtest.Race {
				most = min(most, 10)
			}
			for i, n := range share(t, files, most) {
				if n > 0 && !t.Failed() {
					made += randomRequests(t, files[i], n)
				}
			}
			t.Logf("%d requests for %d files", made, len(files))
		})
	}
}

// TestRandomRequestsOfLongDemo is TestRandomRequests for a demo that leaves checkpoints: the stream of the whole, which comes first,
// leaves them, and what starts in the middle starts from one.
func TestRandomRequestsOfLongDemo(t *testing.T) {
	t.Parallel()
	streamtest.SkipLong(t)
	short := filepath.Join(samples(), "dem", "dota.dem")
	if *corpus {
		short = filepath.Join("..", "..", "shared", "corpus", "dem", "haste", "auto-20240102-2233-start-____.dem")
	}
	path := filepath.Join(t.TempDir(), "long.dem")
	data, err := demtest.Repeat(read(t, short), 2*int(codecdem.Codec.Spacing))
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, data)
	randomRequests(t, path, *requests/8)
}

// TestRandomRequestsOfUserCommands is TestRandomRequestsOfLongDemo for user commands that are differences from others, of which some are
// lost: what begins between them, with other kinds before or without a state, has the same commands.
func TestRandomRequestsOfUserCommands(t *testing.T) {
	t.Parallel()
	streamtest.SkipLong(t)
	g := rand.New(rand.NewPCG(*seed, 76))
	all := demtest.Commands(g, 4, 2000)
	for i := range all {
		all[i].Lost = g.IntN(200) == 0
	}
	data, err := demtest.Repeat(demtest.Round(), 2*int(codecdem.Codec.Spacing))
	if err != nil {
		t.Fatal(err)
	}
	if data, err = demtest.WithCommands(data, all); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "commands.dem")
	write(t, path, data)
	randomRequests(t, path, *requests/4)
}

// TestRandomRequestsOfFacts is TestRandomRequests for made games that have all facts.
func TestRandomRequestsOfFacts(t *testing.T) {
	t.Parallel()
	streamtest.SkipLong(t)
	rounds, _ := demtest.Rounds(7, 3, demtest.ByCounts)
	match, _ := demtest.MatchOf(7, 100)
	for name, data := range map[string][]byte{
		"rounds": rounds, "match": match, "dota": demtest.Players("dota"), "csgo": demtest.Players("csgo"), "citadel": demtest.Players("citadel"),
	} {
		path := filepath.Join(t.TempDir(), name+".dem")
		end := demtest.New() // without it, who follows the demo waits
		head := len(end.Bytes())
		end.Record(demtest.CmdFileInfo, 1<<20, demtest.Proto(nil).Varint(2, 1<<20))
		write(t, path, append(data, end.Bytes()[head:]...))
		if made := randomRequests(t, path, max(*requests/10, 4)); made == 0 {
			t.Error("no request was made")
		}
	}
}

// TestRandomRequestsOfDamage is TestRandomRequests for a recording with seams, behind which values are absent.
func TestRandomRequestsOfDamage(t *testing.T) {
	t.Parallel()
	streamtest.SkipLong(t)
	path := filepath.Join(t.TempDir(), filepath.Base(finishedSample))
	write(t, path, teetest.Damage(longRecording(t, finishedSample, 60_000)))
	if made := randomRequests(t, path, max(*requests/6, 8)); made == 0 {
		t.Error("no request was made")
	}
}

// TestRandomRequestsOfPlayed is TestRandomRequests for games whose map is there, so that they have what needs it.
func TestRandomRequestsOfPlayed(t *testing.T) {
	t.Parallel()
	streamtest.SkipLong(t)
	const rooms = "../decoders/teehistorian/physics/testdata/rooms/"
	for _, room := range []string{"arms", "freeze"} {
		packed, err := gzip.NewReader(bytes.NewReader(read(t, rooms+room+".teehistorian.gz")))
		if err != nil {
			t.Fatal(err)
		}
		game, err := io.ReadAll(packed)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), room+".teehistorian")
		write(t, path, game)
		write(t, strings.TrimSuffix(path, filepath.Ext(path))+".map", read(t, rooms+room+".map"))
		randomRequests(t, path, *requests/20)
	}
}

// replayFiles returns the files to make requests for, by format.
func replayFiles(tb testing.TB) map[string][]string {
	tb.Helper()
	dir := samples()
	if *corpus {
		if dir = filepath.Join("..", "..", "shared", "corpus"); !exists(dir) {
			tb.Skip("there is no corpus")
		}
	}
	files := map[string][]string{}
	for format, suffixes := range map[string][]string{
		"teehistorian": {".teehistorian", ".teehistorian.gz"}, "datafile": {".map"}, "dem": {".dem"}, "sc2replay": {".SC2Replay"},
	} {
		for _, suffix := range suffixes {
			for _, f := range find(tb, filepath.Join(dir, format), suffix) {
				if strings.Contains(f, *only) {
					files[format] = append(files[format], f)
				}
			}
		}
		slices.Sort(files[format])
	}
	return files
}

// share returns how many of n requests each file gets. Large files get fewer, because they take longer.
func share(tb testing.TB, files []string, n int) []int {
	tb.Helper()
	weights, sum := make([]float64, len(files)), 0.0
	for i, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			tb.Fatal(err)
		}
		weights[i] = 1 / float64(200_000+info.Size())
		sum += weights[i]
	}
	shares, left := make([]int, len(files)), 0.0
	for i := range files {
		left += float64(n) * weights[i] / sum
		shares[i] = int(left + 0.5)
		left -= float64(shares[i])
	}
	return shares
}

// randomRequests makes requests for a file and returns how many.
func randomRequests(t *testing.T, path string, n int) int {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Base(path)
	write(t, filepath.Join(dir, file), read(t, path))
	course := strings.TrimSuffix(path, filepath.Ext(path)) + ".map"
	played := filepath.Ext(path) == ".teehistorian" && exists(course)
	if played {
		write(t, filepath.Join(dir, "course.map"), read(t, course))
	}
	w := newWays(t, dir, path)
	everything := &replaydv1.StreamEventsRequest{Replay: name(file), MaxBatchEvents: 16384}
	switch {
	case strings.Contains(path, ".SC2Replay"):
		everything.Include = streamtest.Everything(replaydv1.Format_FORMAT_SC2REPLAY)
	case strings.Contains(path, ".dem"):
		everything.Include = streamtest.Everything(replaydv1.Format_FORMAT_DEM)
	case played:
		everything.Include = streamtest.EverythingPlayed()
	case strings.Contains(path, ".teehistorian"):
		everything.Include = streamtest.Everything(replaydv1.Format_FORMAT_TEEHISTORIAN)
	}
	whole := w.grpc(timeout(t), everything)
	if len(whole.Responses) == 0 {
		return 0 // the file cannot be read at all
	}
	oracle, err := streamtest.NewOracle(&whole)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if oracle.State = w.stateAt; filepath.Ext(path) == ".SC2Replay" {
		if oracle.State, err = streamtest.SumSC2(&whole); err != nil {
			t.Fatal(err)
		}
	}
	maker := streamtest.NewMaker(oracle, *seed^hashOf(path))
	maker.Keep(&whole)
	random := randomOf(path)
	for range n {
		req := maker.Request(name(file))
		way := w.choose(random, oracle, req)
		s := way.session(timeout(t), req)
		if err := oracle.Judge(req, &s); err != nil {
			t.Errorf("%s by %s: %v\n%s\nstatus: %v", path, way.name, err, protojson.Format(req), s.Err)
			return n
		}
		maker.Keep(&s)
		resume(t, w, oracle, maker, random, req, &s)
		w.compare(t, req)
	}
	t.Logf("%s: %d requests, %v", path, n, w.compared)
	return n
}

// resume resumes at one of the cursors of a session, as if the connection had broken there.
func resume(
	t *testing.T, w *ways, oracle *streamtest.Oracle, maker *streamtest.Maker, random *rand.Rand,
	req *replaydv1.StreamEventsRequest, s *streamtest.Session,
) {
	t.Helper()
	if len(s.Responses) == 0 {
		return
	}
	cut := streamtest.Session{Responses: s.Responses[:1+random.IntN(len(s.Responses))], Cut: true}
	next := streamtest.Resumed(req, streamtest.History{cut})
	what := "the same request"
	if random.IntN(2) > 0 {
		other := maker.Request(req.GetReplay())
		next.Include, next.Exclude, next.Where = other.GetInclude(), other.GetExclude(), other.GetWhere()
		next.Encoding, next.NarrowColumns = other.GetEncoding(), other.GetNarrowColumns()
		what = "other filters"
	}
	got := w.grpc(timeout(t), next)
	if err := oracle.Judge(next, &got); err != nil {
		at, _ := cursor.Parse(next.GetStart().GetCursor())
		t.Errorf("%s, resumed at %+v with %s: %v\nfirst: %s\nthen: %s\nstatus: %v",
			w.path, at, what, err, protojson.Format(req), protojson.Format(next), got.Err)
	}
}

// ways are the ways in which a request can be made.
type ways struct {
	d         *daemon
	address   string // of plain HTTP
	dir       string
	path      string // of the file
	data      []byte
	web       map[string]*connect.Client[replaydv1.StreamEventsRequest, replaydv1.StreamEventsResponse]
	random    *rand.Rand
	grown     int
	states    map[int64]*streamtest.Session // by offset
	places    []int64                       // that are damaged
	compared  map[string]int                // requests, by door
	forwarded string                        // address for programs
}

type way struct {
	name    string
	session func(context.Context, *replaydv1.StreamEventsRequest) streamtest.Session
}

func newWays(t *testing.T, dir, path string) *ways {
	t.Helper()
	// The listener is not in memory, because the deadlines of such a listener can end HTTP's waiting for the next request.
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &ways{
		d: startWith(t, dir, listener, 5*time.Second), dir: dir, path: path, data: read(t, path),
		random: rand.New(rand.NewPCG(*seed^hashOf(path), 7)), states: map[int64]*streamtest.Session{}, compared: map[string]int{},
		address: "http://" + listener.Addr().String(),
		web:     map[string]*connect.Client[replaydv1.StreamEventsRequest, replaydv1.StreamEventsResponse]{},
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	by := &http.Client{Transport: transport}
	for name, options := range map[string][]connect.ClientOption{
		"Connect": nil, "Connect with JSON": {connect.WithProtoJSON()}, "gRPC-Web": {connect.WithGRPCWeb()},
		"gRPC-Web, compressed": {connect.WithGRPCWeb(), connect.WithSendGzip()},
	} {
		w.web[name] = connect.NewClient[replaydv1.StreamEventsRequest, replaydv1.StreamEventsResponse](
			by, "http://"+listener.Addr().String()+replaydv1.ReplayService_StreamEvents_FullMethodName, options...)
	}
	return w
}

// choose returns one of the ways that are possible for a request.
func (w *ways) choose(random *rand.Rand, o *streamtest.Oracle, req *replaydv1.StreamEventsRequest) way {
	all := []way{{"gRPC", w.grpc}, {"gRPC", w.grpc}, {"gRPC", w.grpc}}
	for name, client := range w.web {
		if random.IntN(4) == 0 {
			all = append(all, way{name, func(ctx context.Context, req *replaydv1.StreamEventsRequest) streamtest.Session {
				return viaWeb(ctx, client, req)
			}})
		}
	}
	slices.SortFunc(all, func(a, b way) int { return strings.Compare(a.name, b.name) })
	if req.GetStart().GetLastEvents() == 0 && req.GetStart().GetNow() == nil && !streamtest.NeedsMap(req) {
		all = append(all, way{"upload", w.upload})
	}
	finished := o.Err == nil && o.End.GetReason() == replaydv1.EndReason_END_REASON_FINISHED && !strings.HasSuffix(w.path, ".gz")
	if finished {
		all = append(all, way{"following", w.follow})
	}
	switch filepath.Ext(w.path) {
	case ".teehistorian", ".dem":
		if finished && req.GetStart().GetLastEvents() == 0 && req.GetStart().GetNow() == nil {
			all = append(all, way{"following while it grows", w.grow})
		}
	}
	return all[random.IntN(len(all))]
}

func (w *ways) grpc(ctx context.Context, req *replaydv1.StreamEventsRequest) streamtest.Session {
	return w.d.Session(ctx, req, nil)
}

func (w *ways) follow(ctx context.Context, req *replaydv1.StreamEventsRequest) streamtest.Session {
	req = proto.CloneOf(req)
	req.Follow = true
	return w.d.Session(ctx, req, nil)
}

// stateAt requests the current state of a file that is cut at a place. The whole file must have the same state there. This is
// not possible inside a record.
func (w *ways) stateAt(at decoders.Position) *streamtest.Session {
	if at.Index != 0 || strings.HasSuffix(w.path, ".gz") || filepath.Ext(w.path) == ".map" {
		return nil
	}
	if s, ok := w.states[at.Offset]; ok {
		return s
	}
	file := "cut" + filepath.Ext(w.path)
	path := filepath.Join(w.dir, file)
	if err := os.WriteFile(path, w.data[:min(at.Offset, int64(len(w.data)))], 0o600); err != nil {
		return nil
	}
	defer os.Remove(path)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s := w.d.Session(ctx, &replaydv1.StreamEventsRequest{
		Replay: name(file), Start: &replaydv1.Start{At: &replaydv1.Start_Now{Now: &replaydv1.Now{}}, WithState: true},
	}, nil)
	w.states[at.Offset] = &s
	if w.places == nil {
		w.places = w.damages(ctx, filepath.Base(w.path))
	}
	before, _ := slices.BinarySearch(w.places, at.Offset)
	if before > 0 && len(w.damages(ctx, file)) < before { // too little is behind a damaged place to see its end
		w.states[at.Offset] = nil
	}
	if status.Code(s.Err) == codes.DataLoss { // the same of a demo, behind a record of an unknown kind
		w.states[at.Offset] = nil
	}
	return w.states[at.Offset]
}

// damages returns where the damaged places of a recording begin, of which the ends are known.
func (w *ways) damages(ctx context.Context, file string) []int64 {
	places := []int64{}
	if filepath.Ext(file) != ".teehistorian" {
		return places
	}
	s := w.d.Session(ctx, &replaydv1.StreamEventsRequest{Replay: name(file), Include: []*replaydv1.EventFilter{{Kinds: []string{"damage"}}}}, nil)
	for _, raw := range s.Responses {
		var r replaydv1.StreamEventsResponse
		if proto.Unmarshal(raw, &r) != nil {
			continue
		}
		for _, e := range r.GetBatch().GetTeehistorian().GetEvents() {
			places = append(places, e.GetDamage().GetFrom())
		}
	}
	return places
}

// upload sends the file's bytes in pieces.
func (w *ways) upload(ctx context.Context, req *replaydv1.StreamEventsRequest) (s streamtest.Session) {
	call, err := w.d.client.DecodeReplay(ctx)
	if err != nil {
		return streamtest.Session{Err: err}
	}
	options := &replaydv1.DecodeReplayRequest{Part: &replaydv1.DecodeReplayRequest_Options{Options: req}}
	if err := call.Send(options); err != nil {
		return streamtest.Session{Err: err}
	}
	done := make(chan struct{})
	defer func() { <-done }()
	u := upload{call}
	go func() {
		defer close(done)
		u.send(w.data)
		_ = call.CloseSend()
	}()
	for {
		r, err := call.Recv()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				s.Err = err
			}
			return s
		}
		raw, err := proto.Marshal(r)
		if err != nil {
			return streamtest.Session{Err: err}
		}
		s.Responses = append(s.Responses, raw)
	}
}

// grow follows a copy of the file that is written meanwhile.
func (w *ways) grow(ctx context.Context, req *replaydv1.StreamEventsRequest) streamtest.Session {
	w.grown++
	file := fmt.Sprintf("growing-%d%s", w.grown, filepath.Ext(w.path))
	path := filepath.Join(w.dir, file)
	there := w.random.IntN(len(w.data) + 1)
	if at, err := cursor.Parse(req.GetStart().GetCursor()); err == nil { // beyond the written bytes it would be refused
		there = max(there, int(at.Position.Offset))
	}
	if err := os.WriteFile(path, w.data[:there], 0o600); err != nil {
		return streamtest.Session{Err: err}
	}
	defer os.Remove(path)
	req = proto.CloneOf(req)
	req.Follow, req.Replay = true, name(file)
	done := make(chan error, 1)
	go func() { done <- w.append(path, w.data[there:]) }()
	s := w.d.Session(ctx, req, nil)
	if err := <-done; err != nil {
		return streamtest.Session{Err: err}
	}
	return s
}

// append writes to a file in pieces of any size.
func (w *ways) append(path string, rest []byte) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(uint64(len(rest)), 3))
	largest := 1 + len(rest)/(1+random.IntN(12))
	for len(rest) > 0 {
		n := min(len(rest), 1+random.IntN(largest))
		if _, err := f.Write(rest[:n]); err != nil {
			return errors.Join(err, f.Close())
		}
		rest = rest[n:]
		time.Sleep(time.Duration(random.IntN(3)) * time.Millisecond)
	}
	return f.Close()
}

// viaWeb makes a request by one of the web protocols.
func viaWeb(
	ctx context.Context, client *connect.Client[replaydv1.StreamEventsRequest, replaydv1.StreamEventsResponse],
	req *replaydv1.StreamEventsRequest,
) (s streamtest.Session) {
	stream, err := client.CallServerStream(ctx, connect.NewRequest(req))
	if err != nil {
		return streamtest.Session{Err: err}
	}
	defer stream.Close()
	for stream.Receive() {
		raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(stream.Msg())
		if err != nil {
			return streamtest.Session{Err: err}
		}
		s.Responses = append(s.Responses, raw)
	}
	if failed, ok := errors.AsType[*connect.Error](stream.Err()); ok {
		s.Err = status.Error(codes.Code(failed.Code()), failed.Message())
	} else {
		s.Err = stream.Err()
	}
	return s
}

// hashOf returns a hash of a file's name. The random choices for the file depend on it and on the seed.
func hashOf(path string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(filepath.Base(path)))
	return h.Sum64()
}

func randomOf(path string) *rand.Rand { return rand.New(rand.NewPCG(*seed, hashOf(path))) }
