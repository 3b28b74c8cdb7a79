package service_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/fleet/bucket"
	"github.com/replayd/replayd/fleet/bucket/buckettest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/streamtest"
)

// stored is the root of the objects in the tests' daemons.
const stored = "stored"

// quickly are budgets with which a test of a failing store is short.
var quickly = bucket.Options{Attempts: 2, Pause: time.Millisecond, Silence: 5 * time.Second, Budget: 10 * time.Second}

// storeOf makes a Catalog of a directory and the objects below p/ of a store.
func storeOf(tb testing.TB, dir string, s *buckettest.Store, o bucket.Options, parameters ...string) func(*service.Config) {
	tb.Helper()
	at, err := bucket.Parse(s.URL("p", parameters...))
	if err != nil {
		tb.Fatal(err)
	}
	b, err := bucket.Open(tb.Context(), at, o)
	if err != nil {
		tb.Fatal(err)
	}
	return func(c *service.Config) {
		c.Catalog, err = catalog.New([]catalog.Root{{Alias: alias, Dir: dir}, {Alias: stored, Store: b}}, catalog.Options{})
		if err != nil {
			tb.Fatal(err)
		}
	}
}

// store puts all files of a directory into a store.
func store(tb testing.TB, s *buckettest.Store, dir string) {
	tb.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		s.Put("p/"+filepath.ToSlash(rel), read(tb, path))
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
}

// TestObjectsAreReplays checks that a replay in a bucket gives what the same file in a directory gives: to every kind of request.
func TestObjectsAreReplays(t *testing.T) {
	streamtest.SkipLong(t)
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(samples())); err != nil {
		t.Fatal(err)
	}
	long := longRecording(t, samples("teehistorian", "finished", "4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian"), 150_000)
	write(t, filepath.Join(dir, "long.teehistorian"), long)
	write(t, filepath.Join(dir, "long.teehistorian.gz"), decodertest.Gzip(t, long))
	write(t, filepath.Join(dir, "archive.SC2Replay.gz"), decodertest.Gzip(t, read(t, samples("sc2replay", "archive.SC2Replay"))))
	write(t, filepath.Join(dir, "no-replay.txt"), []byte("text"))
	write(t, filepath.Join(dir, "empty"), nil)
	s := buckettest.New(t)
	store(t, s, dir)
	d := start(t, dir, storeOf(t, dir, s, quickly))

	tick := int32(20)
	type request = replaydv1.StreamEventsRequest
	requests := map[string]*request{
		"whole":         {},
		"tables":        {Encoding: replaydv1.Encoding_ENCODING_ARROW},
		"narrow tables": {Encoding: replaydv1.Encoding_ENCODING_ARROW, NarrowColumns: true},
		"small batches": {MaxBatchEvents: 50},
		"kinds":         {Include: []*replaydv1.EventFilter{{Kinds: []string{"*"}}}, Exclude: []*replaydv1.EventFilter{{Kinds: []string{"join"}}}},
		"player":        {Include: []*replaydv1.EventFilter{{Players: []int32{0, 1}}}},
		"team":          {Include: []*replaydv1.EventFilter{{Teams: []int32{0}}}},
		"ticks":         {Include: []*replaydv1.EventFilter{{Ticks: &replaydv1.TickRange{Min: &tick}}}},
		"class":         {Include: []*replaydv1.EventFilter{{Dem: &replaydv1.DemFilter{Classes: []string{"C*"}}}}},
		"layer":         {Include: []*replaydv1.EventFilter{{Datafile: &replaydv1.DatafileFilter{Layers: []int32{0}}}}},
		"tick":          {Start: &replaydv1.Start{At: &replaydv1.Start_Tick{Tick: 20}}},
		"state":         {Start: &replaydv1.Start{At: &replaydv1.Start_Tick{Tick: 20}, WithState: true}},
		"now":           {Start: &replaydv1.Start{At: &replaydv1.Start_Now{Now: &replaydv1.Now{}}}},
		"last":          {Start: &replaydv1.Start{At: &replaydv1.Start_LastEvents{LastEvents: 10}}},
		"strict":        {Strict: true},
		"resolved":      {ResolvePlayers: true},
	}
	list, err := d.client.ListReplays(timeout(t), &replaydv1.ListReplaysRequest{PageSize: 1000, Directory: alias})
	if err != nil || len(list.GetReplays()) < 20 {
		t.Fatal(len(list.GetReplays()), err)
	}
	objects, err := d.client.ListReplays(timeout(t), &replaydv1.ListReplaysRequest{PageSize: 1000, Directory: stored})
	if err != nil || len(objects.GetReplays()) != len(list.GetReplays()) {
		t.Fatalf("%d objects, want %d: %v", len(objects.GetReplays()), len(list.GetReplays()), err)
	}
	// told returns all that a session says, without what differs by nature.
	told := func(s streamtest.Session) (said []string) {
		for _, raw := range s.Responses {
			var r replaydv1.StreamEventsResponse
			if err := proto.Unmarshal(raw, &r); err != nil {
				t.Fatal(err)
			}
			if replay := r.GetStart().GetReplay(); replay != nil {
				replay.Name, replay.ModifyTime, replay.MapReplay = "", nil, ""
				withoutKnown(replay)
			}
			b, err := proto.MarshalOptions{Deterministic: true}.Marshal(&r)
			if err != nil {
				t.Fatal(err)
			}
			said = append(said, string(b))
		}
		return append(said, strings.ReplaceAll(fmt.Sprint(s.Err), stored+"/", alias+"/"))
	}
	names := []string{alias + "/no-replay.txt", alias + "/empty", alias + "/missing"}
	for i, replay := range list.GetReplays() {
		names = append(names, replay.GetName())
		object := objects.GetReplays()[i]
		if want := stored + strings.TrimPrefix(replay.GetName(), alias); object.GetName() != want ||
			object.GetIdentity() != replay.GetIdentity() || object.GetSizeBytes() != replay.GetSizeBytes() {
			t.Errorf("%v\nis not\n%v", object, replay)
		}
	}
	for _, replay := range names {
		object := stored + strings.TrimPrefix(replay, alias)
		for what, req := range requests {
			if strings.Contains(replay, "sc2replay/") && what != "whole" && !strings.Contains(replay, "archive") ||
				strings.Contains(replay, "mapchange/") {
				continue // there are others like them
			}
			req = proto.CloneOf(req)
			req.Replay = replay
			want := d.Session(timeout(t), req, nil)
			req.Replay = object
			got := d.Session(timeout(t), req, nil)
			if !slices.Equal(told(got), told(want)) {
				t.Errorf("%s, %s: %d responses and %v, want %d and %v", object, what, len(got.Responses), got.Err, len(want.Responses), want.Err)
			}
			// Resumed by a cursor of either.
			if n := len(want.Responses); want.Err == nil && n > 2 && (what == "small batches" || what == "state") {
				h := streamtest.History{{Responses: want.Responses[:n/2], Cut: true}}
				rest := d.Session(timeout(t), streamtest.Resumed(req, h), nil)
				req.Replay = replay
				if all := d.Session(timeout(t), streamtest.Resumed(req, h), nil); !slices.Equal(told(rest), told(all)) {
					t.Errorf("%s, %s, resumed: %d responses and %v, want %d and %v", object, what, len(rest.Responses), rest.Err, len(all.Responses), all.Err)
				}
			}
		}
		want, wantErr := d.client.GetReplay(timeout(t), &replaydv1.GetReplayRequest{Replay: replay})
		got, gotErr := d.client.GetReplay(timeout(t), &replaydv1.GetReplayRequest{Replay: object})
		for _, r := range []*replaydv1.Replay{want.GetReplay(), got.GetReplay()} {
			if r != nil {
				r.Name, r.ModifyTime, r.MapReplay, r.State = "", nil, "", 0
			}
		}
		if !proto.Equal(got, want) || strings.ReplaceAll(fmt.Sprint(gotErr), stored+"/", alias+"/") != fmt.Sprint(wantErr) {
			t.Errorf("GetReplay of %s: %v, %v; want %v, %v", object, got, gotErr, want, wantErr)
		}
	}
}

// recording stores a long recording and returns its bytes.
func recording(tb testing.TB, s *buckettest.Store, size int) []byte {
	tb.Helper()
	return recordingAs(tb, s, "p/a.teehistorian", size)
}

// recordingAs is recording under another key.
func recordingAs(tb testing.TB, s *buckettest.Store, key string, size int) []byte {
	tb.Helper()
	data := longRecording(tb, samples("teehistorian", "finished", "4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian"), size)
	s.Put(key, data)
	return data
}

const object = stored + "/a.teehistorian"

// codeOf returns the code of a session's error, and the name of its reason.
func reasonOf(err error) string {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(interface{ GetReason() string }); ok {
			return status.Code(err).String() + " " + info.GetReason()
		}
	}
	return status.Code(err).String()
}

// TestObjectsDoNotGrow: who follows an object gets all of it, and then the end of the stream. There is no newest object to follow.
func TestObjectsDoNotGrow(t *testing.T) {
	s := buckettest.New(t)
	data := recording(t, s, 100_000)
	s.Put("p/empty", nil)
	d := start(t, t.TempDir(), storeOf(t, t.TempDir(), s, quickly))
	want := []streamtest.Replay{offlineBytes(t, data, nil)}
	check(t, streamtest.History{d.Session(timeout(t), &replaydv1.StreamEventsRequest{Replay: object, Follow: true}, nil)}, want, streamtest.Options{})
	for _, req := range []*replaydv1.StreamEventsRequest{
		{Replay: stored, Follow: true},
		{Replay: stored, Follow: true, FollowSuccessors: true},
	} {
		got := d.Session(timeout(t), req, nil)
		if reasonOf(got.Err) != "InvalidArgument BAD_REQUEST" || !strings.Contains(got.Err.Error(), "below a bucket") {
			t.Errorf("%v: %v", req, got.Err)
		}
	}
	if got := d.Session(timeout(t), &replaydv1.StreamEventsRequest{Replay: stored + "/empty", Follow: true}, nil); got.Err == nil {
		t.Error("an empty object is followed")
	}
}

// TestObjectReplaced checks that an object that changes ends its streams, and that nothing of the old one is left: no cursor fits, and
// the index has the new one.
func TestObjectReplaced(t *testing.T) {
	t.Parallel()
	s := buckettest.New(t)
	old := recording(t, s, 4<<20)
	d := start(t, t.TempDir(), storeOf(t, t.TempDir(), s, quickly))
	other := bytes.Replace(old, []byte("4fa04b32-db1c"), []byte("00000000-db1c"), 1)
	got := d.Session(timeout(t), &replaydv1.StreamEventsRequest{Replay: object, MaxBatchEvents: 100}, func(r *replaydv1.StreamEventsResponse) bool {
		if r.GetStart() != nil {
			s.Put("p/a.teehistorian", other)
		}
		return true
	})
	var end *replaydv1.StreamEnd
	for _, raw := range got.Responses {
		var r replaydv1.StreamEventsResponse
		if err := proto.Unmarshal(raw, &r); err != nil {
			t.Fatal(err)
		}
		end = r.GetEnd()
	}
	if got.Err != nil || end.GetReason() != replaydv1.EndReason_END_REASON_REPLACED {
		t.Fatal(end, got.Err)
	}
	whole := offlineBytes(t, old, &replaydv1.StreamEventsRequest{})
	events, err := streamtest.History{got}.Events()
	if err != nil || len(events) == 0 || len(events) >= len(whole.Events) || !slices.Equal(events, whole.Events[:len(events)]) {
		t.Errorf("%d events, not the first of the old object: %v", len(events), err)
	}
	cut := streamtest.Session{Responses: got.Responses[:len(got.Responses)-1], Cut: true}
	resumed := d.Session(timeout(t), streamtest.Resumed(&replaydv1.StreamEventsRequest{Replay: object}, streamtest.History{cut}), nil)
	if reasonOf(resumed.Err) != "FailedPrecondition CURSOR_MISMATCH" {
		t.Error("a cursor of the old object:", resumed.Err)
	}
	// The same game, with another byte before the cursor.
	edited := bytes.Clone(old)
	edited[20_000] ^= 1
	s.Put("p/a.teehistorian", edited)
	resumed = d.Session(timeout(t), streamtest.Resumed(&replaydv1.StreamEventsRequest{Replay: object}, streamtest.History{cut}), nil)
	if code := status.Code(resumed.Err); code == codes.OK || code == codes.Internal {
		t.Error("a cursor of an object that was edited:", resumed.Err)
	}
	s.Put("p/a.teehistorian", other)
	r, err := d.client.GetReplay(timeout(t), &replaydv1.GetReplayRequest{Replay: object})
	if err != nil || !strings.Contains(r.GetReplay().GetIdentity(), "00000000-db1c") {
		t.Error("the index has the old object:", r, err)
	}
	list, err := d.client.ListReplays(timeout(t), &replaydv1.ListReplaysRequest{Directory: stored})
	if err != nil || len(list.GetReplays()) != 1 || !strings.Contains(list.GetReplays()[0].GetIdentity(), "00000000-db1c") {
		t.Error(list, err)
	}
	// Removed in the middle.
	got = d.Session(timeout(t), &replaydv1.StreamEventsRequest{Replay: object, MaxBatchEvents: 100}, func(r *replaydv1.StreamEventsResponse) bool {
		if r.GetStart() != nil {
			s.Remove("p/a.teehistorian")
		}
		end = r.GetEnd()
		return true
	})
	if got.Err != nil || end.GetReason() != replaydv1.EndReason_END_REASON_REMOVED {
		t.Error(end, got.Err)
	}
	// A flight has no reason for its end, so it fails.
	s.Put("p/a.teehistorian", old)
	flown, err := flight.NewFlightServiceClient(d.conn).DoGet(timeout(t), flightOf(t, &replaydv1.StreamEventsRequest{Replay: object, MaxBatchEvents: 100}, "player_diff"))
	if err == nil {
		_, err = flown.Recv() // the schema
	}
	if err != nil {
		t.Fatal(err)
	}
	s.Put("p/a.teehistorian", other)
	for err == nil {
		_, err = flown.Recv()
	}
	if status.Code(err) != codes.Unavailable {
		t.Error("a flight of an object that was replaced:", err)
	}
}

// TestKnownObjectsAreNotReadAgain checks that the index lists objects and reads only those whose tag it does not know, also after a
// restart.
func TestKnownObjectsAreNotReadAgain(t *testing.T) {
	s := buckettest.New(t)
	data := read(t, samples("teehistorian", "finished", "4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian"))
	const objects = 20
	game := func(n int) []byte {
		return bytes.Replace(data, []byte("4fa04b32-db1c"), fmt.Appendf(nil, "%08d-db1c", n), 1)
	}
	for n := range objects {
		s.Put(fmt.Sprintf("p/day%d/%d.teehistorian", n%3, n), game(n))
	}
	for _, key := range []string{"p/.hidden", "p/.d/x", "p/a\\b", "p/d//x", "p/../x", "p/d/./y"} {
		s.Put(key, data)
	}
	index := filepath.Join(t.TempDir(), "index")
	list := func(d *daemon, want int) (names []string) {
		t.Helper()
		resp, err := d.client.ListReplays(timeout(t), &replaydv1.ListReplaysRequest{Directory: stored, PageSize: 1000})
		if err != nil || len(resp.GetReplays()) != want {
			t.Fatalf("%d replays, want %d: %v", len(resp.GetReplays()), want, err)
		}
		for _, r := range resp.GetReplays() {
			names = append(names, r.GetName())
		}
		return names
	}
	// reads returns the keys that were looked up or read.
	reads := func() (keys []string) {
		for _, r := range s.Requests() {
			if !r.List {
				keys = append(keys, r.Key)
			}
		}
		slices.Sort(keys)
		return slices.Compact(keys)
	}
	config := func(refresh string) []func(*service.Config) {
		return []func(*service.Config){storeOf(t, t.TempDir(), s, quickly, "refresh", refresh), func(c *service.Config) {
			c.IndexPath, c.SurveyBudget = index, 0
		}}
	}
	d := start(t, t.TempDir(), config("1h")...)
	list(d, objects)
	if got := reads(); len(got) != objects {
		t.Errorf("%d objects were read: %q", len(got), got)
	}
	list(d, objects)
	if got := s.Requests(); len(got) > 0 {
		t.Errorf("the second list made requests: %v", got)
	}
	d.stop()
	s.Later(time.Hour)
	s.Put("p/day1/1.teehistorian", game(1)) // the same contents at another time
	s.Put("p/day1/4.teehistorian", game(444))
	s.Put("p/day3/new.teehistorian", game(100))
	s.Remove("p/day2/2.teehistorian")
	s.Requests()
	d = start(t, t.TempDir(), config("1s")...)
	for listed := false; !listed; { // at first it may be what was known before
		resp, err := d.client.ListReplays(timeout(t), &replaydv1.ListReplaysRequest{Directory: stored + "/day3"})
		listed = err == nil && len(resp.GetReplays()) == 1
	}
	list(d, objects)
	if got, want := reads(), []string{"p/day1/4.teehistorian", "p/day3/new.teehistorian"}; !slices.Equal(got, want) {
		t.Errorf("read after the restart: %q, want %q", got, want)
	}
	search, err := d.client.ListReplays(timeout(t), &replaydv1.ListReplaysRequest{Directory: stored, Filter: &replaydv1.ReplayFilter{MapName: "*"}})
	if err != nil || len(search.GetReplays()) != objects || search.GetCoverage().GetSearchedFiles() != objects {
		t.Error(len(search.GetReplays()), search.GetCoverage(), err)
	}
	// A watcher sees what becomes of objects, an interval later.
	ctx, cancel := context.WithCancel(timeout(t))
	defer cancel()
	watch, err := d.client.WatchReplays(ctx, &replaydv1.WatchReplaysRequest{Directory: stored})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]replaydv1.ChangeKind{
		stored + "/day9/late.teehistorian": replaydv1.ChangeKind_CHANGE_KIND_ADDED,
		stored + "/day0/0.teehistorian":    replaydv1.ChangeKind_CHANGE_KIND_REMOVED,
		stored + "/day0/3.teehistorian":    replaydv1.ChangeKind_CHANGE_KIND_ADDED,
	}
	for done := false; len(want) > 0; {
		resp, err := watch.Recv()
		if err != nil {
			t.Fatal(want, err)
		}
		for _, c := range resp.GetChanges() {
			if done && want[c.GetReplay().GetName()] == c.GetKind() {
				delete(want, c.GetReplay().GetName())
			}
		}
		if resp.GetInitialDone() && !done {
			done = true
			s.Put("p/day9/late.teehistorian", game(999))
			s.Remove("p/day0/0.teehistorian")
			s.Put("p/day0/3.teehistorian", game(333))
		}
	}
	list(d, objects)
}

// TestObjectsTakeMemory checks that what an open object holds is charged, and given back.
func TestObjectsTakeMemory(t *testing.T) {
	s := buckettest.New(t)
	recording(t, s, 8<<20)
	limits := admission.Limits{All: admission.Amounts{admission.Streams: 10, admission.Memory: 3 << 20}}
	d := start(t, t.TempDir(), storeOf(t, t.TempDir(), s, quickly), func(c *service.Config) { c.Admission = admission.New(limits) })
	if got := d.Session(timeout(t), &replaydv1.StreamEventsRequest{Replay: object}, nil); reasonOf(got.Err) != "FailedPrecondition TOO_LARGE" {
		t.Error(got.Err)
	}
	s.Put("p/small.teehistorian", read(t, samples("teehistorian", "finished", "4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian")))
	for range 20 { // what was refused is given back
		if got := d.Session(timeout(t), &replaydv1.StreamEventsRequest{Replay: stored + "/small.teehistorian"}, nil); got.Err != nil {
			t.Fatal(got.Err)
		}
	}
}

// TestMapInBucket checks that the map of a game is found in a bucket, by a game in a directory and in a bucket.
func TestMapInBucket(t *testing.T) {
	sample := read(t, samples("datafile", "sample.map"))
	game := mapGame(sample)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "game.teehistorian"), game)
	s := buckettest.New(t)
	s.Put("p/maps/a.map", sample)
	s.Put("p/game.teehistorian", game)
	d := start(t, dir, storeOf(t, dir, s, quickly))
	for _, replay := range []string{name("game.teehistorian"), stored + "/game.teehistorian"} {
		if got := mapOf(t, d, replay, stored+"/maps/a.map"); got != stored+"/maps/a.map" {
			t.Error(replay, got)
		}
	}
}

// TestSuccessorInBucket checks that a followed game goes on with a successor that lies in a bucket: it is read as it is.
func TestSuccessorInBucket(t *testing.T) {
	const uuid = "4fa04b32-db1c-48f1-b0fe-ea831e23f409"
	first := read(t, samples("teehistorian", "finished", uuid+".teehistorian"))
	second := bytes.Replace(first, []byte(uuid), []byte("00000000-db1c-48f1-b0fe-ea831e23f409"), 1)
	second = bytes.Replace(second, []byte(`{"comment"`), []byte(`{"prev_game_uuid":"`+uuid+`","comment"`), 1)
	s := buckettest.New(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "first.teehistorian"), first)
	s.Put("p/next.teehistorian", second)
	d := start(t, dir, storeOf(t, dir, s, quickly), func(c *service.Config) { c.Lineages = oneLineage(t, alias, stored) })
	if _, err := d.client.ListReplays(timeout(t), &replaydv1.ListReplaysRequest{}); err != nil {
		t.Fatal(err)
	}
	successor := ""
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	d.Session(ctx, &replaydv1.StreamEventsRequest{
		Replay: name("first.teehistorian"), Follow: true, FollowSuccessors: true,
	}, func(r *replaydv1.StreamEventsResponse) bool {
		if n := r.GetFollowStatus().GetSuccessor(); n != nil {
			successor = n.GetName()
		}
		return successor == ""
	})
	if successor != stored+"/next.teehistorian" {
		t.Error(successor)
	}
}

// TestInflatesWhileItDownloads checks that a compressed replay is decoded while the rest of it is on its way. With TIMING set it also
// checks, with a slow store, that this takes hardly longer than downloading it.
func TestInflatesWhileItDownloads(t *testing.T) {
	streamtest.SkipLong(t)
	sample := read(t, samples("teehistorian", "finished", "4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian"))
	data, random := slices.Clone(sample[:len(sample)-1]), rand.NewChaCha8([32]byte{})
	for len(data) < 6<<20 { // records of an extension that nobody knows, which hardly compress
		data = append(data, 0x4a)
		payload := make([]byte, 16+1000)
		_, _ = random.Read(payload)
		data = append(append(append(data, payload[:16]...), 1000&0x3f|0x80, 1000>>6), payload[16:]...)
	}
	data = append(data, sample[len(sample)-1])
	cmd := exec.CommandContext(t.Context(), "bzip2", "-9", "-c")
	cmd.Stdin = bytes.NewReader(data)
	packed, err := cmd.Output()
	if err != nil {
		t.Skip("no bzip2:", err)
	}
	s := buckettest.New(t)
	s.Put("p/a.teehistorian.bz2", packed)
	d := start(t, t.TempDir(), storeOf(t, t.TempDir(), s, quickly), func(c *service.Config) { c.SurveyBudget = 0 })
	want := offlineBytes(t, data, &replaydv1.StreamEventsRequest{})
	if _, err := d.client.ListReplays(timeout(t), &replaydv1.ListReplaysRequest{}); err != nil {
		t.Fatal(err)
	}
	timed := os.Getenv("TIMING") != "" // on a machine with nothing else to do
	var download time.Duration
	if timed {
		s.Throttle(len(packed) / 4) // four seconds
		began := time.Now()
		resp, err := http.Get(s.Endpoint() + "/" + buckettest.Name + "/p/a.teehistorian.bz2")
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, resp.Body)
		if err := errors.Join(err, resp.Body.Close()); err != nil || n != int64(len(packed)) {
			t.Fatal(n, err)
		}
		download = time.Since(began)
	}
	// The second half waits for the first events.
	first := make(chan struct{})
	s.Hook(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		var from int
		if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); err == nil && from > len(packed)/2 && !timed {
			select {
			case <-first:
			case <-r.Context().Done():
			}
		}
		next.ServeHTTP(w, r)
	})
	s.Requests()
	began := time.Now()
	early, most := false, int64(0)
	got := d.Session(timeout(t), &replaydv1.StreamEventsRequest{Replay: stored + "/a.teehistorian.bz2"}, func(r *replaydv1.StreamEventsResponse) bool {
		if r.GetBatch() != nil && !early {
			early = true
			close(first)
		}
		return true
	})
	took := time.Since(began)
	for _, r := range s.Requests() {
		most = max(most, r.Sent)
	}
	check(t, streamtest.History{got}, []streamtest.Replay{want}, streamtest.Options{})
	if !early || most > bucket.MaxHeld {
		t.Errorf("events came: %v; up to %d bytes at once", early, most)
	}
	if timed {
		ratio := float64(took) / float64(download)
		t.Logf("%d bytes: download %v, decoded %v, %.3f times", len(packed), download, took, ratio)
		if ratio > 1.1 {
			t.Error("too slow")
		}
	}
}

// mapGame returns a game that names a map.
func mapGame(data []byte) []byte {
	return fmt.Appendf(nil, "\x69\x9d\xb1\x7b\x8e\xfb\x34\xff\xb1\xd8\xda\x6f\x60\xc1\x5d\xd1"+
		`{"version":"2","game_uuid":"1ef1b84f-e194-4af4-944e-9573abe74f92","map_name":"a","map_size":"%d","map_sha256":"%x"}`+
		"\x00\x40", len(data), sha256.Sum256(data))
}
