package subscription_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/decodertest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/cursor"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/describe"
	"github.com/replayd/replayd/service/frame"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/stream"
	"github.com/replayd/replayd/service/subscription"
)

// world is files below an index, and streams of them as package stream makes them: a start, four batches, the end. A test decides what
// happens meanwhile.
type world struct {
	*testing.T
	index *index.Index
	dirs  map[string]string // by alias
	// opens is called before a stream opens its file, with how often that file was opened before.
	opens func(ctx context.Context, name string, before int) error
	// sends is called before a stream sends a batch, from 0. If it returns an end or an error, the stream ends so.
	sends  func(name string, batch int) (replaydv1.EndReason, error)
	opened map[string]int
	// live reports whether a game goes on behind its batches, and wants is the error with which the subscription ends.
	live  func(name string) bool
	wants error
	// named is the subscription that is kept, nil for none, and responses gets all responses.
	named     *subscription.Named
	responses func(*replaydv1.SubscribeEventsResponse)
	turn      chan struct{} // holds a value while the functions may be called
}

const batches = 4

var errDamaged = errors.New("a damaged file")

func newWorld(t *testing.T, aliases ...string) *world {
	w := &world{
		T: t, dirs: map[string]string{}, opened: map[string]int{}, turn: make(chan struct{}, 1),
		opens: func(context.Context, string, int) error { return nil },
		sends: func(string, int) (replaydv1.EndReason, error) { return 0, nil },
		live:  func(string) bool { return false }, responses: func(*replaydv1.SubscribeEventsResponse) {}, wants: context.Canceled,
	}
	for _, alias := range aliases {
		w.dirs[alias] = t.TempDir()
	}
	return w
}

func (w *world) must(err error) {
	if w.Helper(); err != nil {
		w.Error(err)
	}
}

func (w *world) path(name string) string {
	alias, rest, _ := strings.Cut(name, "/")
	return filepath.Join(w.dirs[alias], rest)
}

func identity(number int) string {
	return fmt.Sprintf("teehistorian:00000000-0000-4000-8000-%012d", number)
}

// game returns the beginning of a recording.
func (w *world) game(number int) []byte {
	sample, err := os.ReadFile(filepath.Join("..", "..", "testdata", "teehistorian", "finished", "4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian"))
	w.must(err)
	end := bytes.IndexByte(sample[16:], 0) + 16
	fields := map[string]any{}
	w.must(json.Unmarshal(sample[16:end], &fields))
	fields["game_uuid"] = strings.TrimPrefix(identity(number), "teehistorian:")
	text, err := json.Marshal(fields)
	w.must(err)
	return slices.Concat(sample[:16], text, sample[end:])
}

// write writes a file that nobody has written to for long.
func (w *world) write(name string, data []byte) {
	w.Helper()
	w.must(os.WriteFile(w.path(name), data, 0o600))
	old := time.Now().Add(-time.Hour)
	w.must(os.Chtimes(w.path(name), old, old))
}

func (w *world) rename(from, to string) { w.Helper(); w.must(os.Rename(w.path(from), w.path(to))) }

// pack compresses a file.
func (w *world) pack(name string) {
	w.Helper()
	data, err := os.ReadFile(w.path(name))
	w.must(err)
	w.must(os.Remove(w.path(name)))
	w.write(name+".gz", decodertest.Gzip(w, data))
}

// open opens the index.
func (w *world) open() {
	w.Helper()
	var roots []catalog.Root
	for alias, dir := range w.dirs {
		roots = append(roots, catalog.Root{Alias: alias, Dir: dir})
	}
	files, err := catalog.New(roots, catalog.Options{})
	if err != nil {
		w.Fatal(err)
	}
	if w.index, err = index.Open(index.Config{
		Files: files, Log: slog.New(slog.DiscardHandler), Describe: describe.Replay,
		Codec: func(f decoders.Format) *codec.Codec { c, _ := describe.CodecOf(f); return c },
	}); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { w.must(w.index.Close()) })
}

// reads returns the identity of the replay that a file has.
func (w *world) reads(name string) (string, error) {
	data, err := os.ReadFile(w.path(name))
	if err != nil {
		return "", catalog.NotFound(name)
	}
	if strings.HasSuffix(name, ".gz") {
		from, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return "", err
		}
		if data, err = io.ReadAll(from); err != nil {
			return "", err
		}
	}
	var header struct {
		UUID string `json:"game_uuid"`
	}
	err = json.Unmarshal(data[16:16+bytes.IndexByte(data[16:], 0)], &header)
	return "teehistorian:" + header.UUID, err
}

// stream is Config.Stream.
func (w *world) stream(ctx context.Context, req *replaydv1.StreamEventsRequest, send stream.Send) error {
	name := req.GetReplay()
	w.turn <- struct{}{}
	err := w.opens(ctx, name, w.opened[name])
	w.opened[name]++
	<-w.turn
	if errors.Is(err, context.DeadlineExceeded) { // it does not answer
		<-ctx.Done()
	}
	if err != nil {
		return err
	}
	of, err := w.reads(name)
	if err != nil {
		return err
	}
	at := cursor.Cursor{Format: decoders.Teehistorian, Replay: cursor.HashOf(of)}
	if from := req.GetStart().GetCursor(); from != nil {
		c, err := cursor.Parse(from)
		if err != nil || c.Replay != at.Replay {
			return stream.ErrCursorReplay
		}
		at = c
	}
	var box frame.Outbox
	tell := func(r *replaydv1.StreamEventsResponse) error {
		f, err := box.Of(r, at.Append(nil))
		if err != nil {
			return err
		}
		return send(f)
	}
	if err := tell(&replaydv1.StreamEventsResponse{Response: &replaydv1.StreamEventsResponse_Start{Start: &replaydv1.StreamStart{
		Replay: &replaydv1.Replay{Name: name, Identity: of},
	}}}); err != nil {
		return err
	}
	reason := replaydv1.EndReason_END_REASON_FINISHED
	for at.Sequence < batches {
		w.turn <- struct{}{}
		end, err := w.sends(name, int(at.Sequence))
		<-w.turn
		if err != nil {
			return err
		}
		if end != 0 {
			reason = end
			break
		}
		batch := &replaydv1.EventBatch{FirstSequence: at.Sequence}
		at.Sequence++
		at.Position.Offset++
		if err := tell(&replaydv1.StreamEventsResponse{Response: &replaydv1.StreamEventsResponse_Batch{Batch: batch}}); err != nil {
			return err
		}
	}
	if w.live(name) {
		if err := tell(&replaydv1.StreamEventsResponse{Response: &replaydv1.StreamEventsResponse_FollowStatus{FollowStatus: &replaydv1.FollowStatus{
			State: replaydv1.FollowState_FOLLOW_STATE_CAUGHT_UP,
		}}}); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	}
	return tell(&replaydv1.StreamEventsResponse{Response: &replaydv1.StreamEventsResponse_End{End: &replaydv1.StreamEnd{Reason: reason}}})
}

// told is what a subscriber was told of the replays, by identity.
type told struct {
	batches  map[string][]uint64
	ends     map[string][]replaydv1.EndReason
	failures map[string][]string // by name
}

func explain(err error, name string) *replaydv1.SubscriptionFailure {
	code := codes.Internal
	switch {
	case errors.Is(err, source.ErrIO):
		code = codes.Unavailable
	case errors.Is(err, errDamaged):
		code = codes.DataLoss
	case errors.Is(err, context.Canceled):
		code = codes.Canceled
	}
	return &replaydv1.SubscriptionFailure{Name: name, Code: int32(code), Message: err.Error(), Reason: replaydv1.ErrorReason_ERROR_REASON_IO}
}

// subscribe streams one replay of each root at a time until a condition holds.
func (w *world) subscribe(until func(*told) bool) *told {
	w.Helper()
	got := &told{map[string][]uint64{}, map[string][]replaydv1.EndReason{}, map[string][]string{}}
	numbers := map[uint32]string{}
	ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
	defer cancel()
	send := func(f *frame.Frame) error {
		b := f.Buffer()
		defer f.Free()
		defer b.Free()
		var r replaydv1.SubscribeEventsResponse
		if err := proto.Unmarshal(b.ReadOnlyData(), &r); err != nil {
			return err
		}
		w.responses(&r)
		streamed := r.GetStreamed()
		if start := streamed.GetStart(); start != nil {
			of := start.GetReplay().GetIdentity()
			if numbers[r.GetReplay()] != "" && numbers[r.GetReplay()] != of {
				w.Errorf("%d is %s, and was %s", r.GetReplay(), of, numbers[r.GetReplay()])
			}
			numbers[r.GetReplay()] = of
		}
		of := numbers[r.GetReplay()]
		if c := streamed.GetCursor(); len(c) > 0 {
			if at, err := cursor.Parse(c); err != nil || at.Replay != cursor.HashOf(of) || at.Format != decoders.Teehistorian {
				w.Errorf("the cursor of %s is %+v, %v", of, at, err)
			}
		}
		if streamed.GetBatch() != nil {
			got.batches[of] = append(got.batches[of], streamed.GetBatch().GetFirstSequence())
		}
		if end := streamed.GetEnd(); end != nil {
			got.ends[of] = append(got.ends[of], end.GetReason())
		}
		if f := r.GetFailure(); f != nil {
			got.failures[f.GetName()] = append(got.failures[f.GetName()], fmt.Sprint(codes.Code(f.GetCode()), f.GetRetried()))
		}
		if until(got) {
			cancel()
		}
		return nil
	}
	err := subscription.Run(ctx, subscription.Config{
		Index: w.index, Named: w.named, Selection: w.index.Select(index.Query{Scope: index.Everything()}), Options: &replaydv1.StreamEventsRequest{},
		Parallel: 1, Heartbeat: 50 * time.Millisecond, Stream: w.stream, Reserve: func(int) error { return nil }, Explain: explain,
		Panicked: func(p any, _ string) error { return fmt.Errorf("%v", p) }, Resolves: func(decoders.Format) bool { return false },
	}, send)
	if !errors.Is(err, w.wants) {
		w.Errorf("%v; it was told %v", err, got)
	}
	return got
}

func ended(n int) func(*told) bool { return func(got *told) bool { return len(got.ends) == n } }

// whole checks that the replays with numbers from 1 were told, each batch and the end once.
func (w *world) whole(got *told, n int) {
	w.Helper()
	for number := 1; number <= n; number++ {
		of := identity(number)
		if !slices.Equal(got.batches[of], []uint64{0, 1, 2, 3}) || !slices.Equal(got.ends[of], []replaydv1.EndReason{replaydv1.EndReason_END_REASON_FINISHED}) {
			w.Errorf("%d: batches %v, ends %v", number, got.batches[of], got.ends[of])
		}
	}
}

// TestMoved: a replay goes on where it was when another file has it, whichever way its stream learns that; nobody is told that the first
// file is gone. If no file has it, its end says so.
func TestMoved(t *testing.T) {
	for name, test := range map[string]struct {
		end replaydv1.EndReason
		err error
	}{
		"end removed":   {end: replaydv1.EndReason_END_REASON_REMOVED},
		"end replaced":  {end: replaydv1.EndReason_END_REASON_REPLACED},
		"end shrunk":    {end: replaydv1.EndReason_END_REASON_SHRUNK},
		"error removed": {err: source.ErrRemoved}, "error replaced": {err: source.ErrReplaced}, "error shrunk": {err: source.ErrShrunk},
	} {
		for what, move := range map[string]func(w *world){
			"compressed": func(w *world) { w.pack("live/a.teehistorian") },
			"renamed":    func(w *world) { w.rename("live/a.teehistorian", "live/b.teehistorian") },
			"removed":    func(w *world) { w.must(os.Remove(w.path("live/a.teehistorian"))) },
		} {
			t.Run(name+"/"+what, func(t *testing.T) {
				w := newWorld(t, "live")
				w.write("live/a.teehistorian", w.game(1))
				moved := false
				w.sends = func(_ string, batch int) (replaydv1.EndReason, error) {
					if batch != 2 || moved {
						return 0, nil
					}
					moved = true
					move(w)
					return test.end, test.err
				}
				w.open()
				got := w.subscribe(ended(1))
				if what != "removed" {
					w.whole(got, 1)
				} else if ends := got.ends[identity(1)]; len(got.batches[identity(1)]) != 2 || len(ends) != 1 ||
					ends[0] == replaydv1.EndReason_END_REASON_FINISHED {
					t.Errorf("removed: %v", got)
				}
				if len(got.failures) > 0 {
					t.Errorf("failures: %v", got.failures)
				}
			})
		}
	}
}

// TestNameReused: between the look-up of a file and its opening, another replay takes its name, and perhaps gives it back. Each replay has
// its own events.
func TestNameReused(t *testing.T) {
	const a, b, c = "live/a.teehistorian", "live/b.teehistorian", "live/c.teehistorian"
	for name, begun := range map[string]bool{"before it has begun": false, "after": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "live")
			w.write(a, w.game(1))
			w.write(b, w.game(2))
			reused := 0
			w.opens = func(_ context.Context, name string, before int) error {
				switch {
				case !begun && name == a && before == 0:
					w.rename(a, c)
					w.write(a, w.game(2))
				case begun && (name == a && before == 1 || name == b && before == 0):
					w.rename(a, c)
					w.rename(b, a)
					w.rename(c, b)
				default:
					return nil
				}
				reused++
				return nil
			}
			broken := false
			w.sends = func(_ string, batch int) (replaydv1.EndReason, error) {
				if broken || !begun || batch < 2 {
					return 0, nil
				}
				broken = true
				return 0, source.ErrReplaced // though it is there
			}
			w.open()
			got := w.subscribe(ended(2))
			if w.whole(got, 2); reused == 0 || begun && reused != 2 || len(got.failures) > 0 {
				t.Errorf("reused %d times, failures %v", reused, got.failures)
			}
		})
	}
}

// TestNeighbours: a replay that does not answer, cannot be read or is damaged, perhaps because it is being copied, holds up neither
// those of its root nor those of others, though only one of a root is streamed at a time. It goes on when it can be read.
func TestNeighbours(t *testing.T) {
	t.Parallel()
	const others = 5
	for name, test := range map[string]struct {
		fails error
		fresh bool // the file was written just now
		tells []string
	}{
		"root hangs":   {fails: context.DeadlineExceeded},
		"unreadable":   {fails: source.ErrIO, tells: []string{"Unavailable true"}},
		"damaged":      {fails: errDamaged, tells: []string{"DataLoss false"}},
		"being copied": {fails: errDamaged, fresh: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "live", "fine")
			first, of := "live/0.teehistorian", "live"
			if w.write(first, w.game(1)); errors.Is(test.fails, context.DeadlineExceeded) {
				of = "fine"
			}
			if test.fresh { // and is not one that grows
				w.pack(first)
				first += ".gz"
				w.must(os.Chtimes(w.path(first), time.Now(), time.Now()))
			}
			for n := 2; n < 2+others; n++ {
				w.write(fmt.Sprintf("%s/%d.teehistorian", of, n), w.game(n))
			}
			var mended atomic.Bool
			w.opens = func(_ context.Context, name string, _ int) error {
				if name == first && !mended.Load() {
					return test.fails
				}
				return nil
			}
			w.open()
			// What is damaged for good does not come back, and a root that hangs does not either.
			want := others
			if test.fresh || errors.Is(test.fails, source.ErrIO) {
				want++
			}
			got := w.subscribe(func(got *told) bool {
				if len(got.ends) == others && !mended.Swap(true) && test.fresh {
					now := time.Now()
					w.must(os.Chtimes(w.path(first), now, now.Add(time.Second)))
					if _, err := w.index.Get(w.Context(), first, index.Everything()); err != nil {
						w.Error(err)
					}
				}
				return len(got.ends) == want && len(got.failures[first]) == len(test.tells)
			})
			for number := 1; number <= 1+others; number++ {
				if number > 1 || want > others {
					of := identity(number)
					if !slices.Equal(got.batches[of], []uint64{0, 1, 2, 3}) || len(got.ends[of]) != 1 {
						t.Errorf("%d: %v", number, got)
					}
				}
			}
			if !slices.Equal(got.failures[first], test.tells) {
				t.Errorf("failures %v, want %v", got.failures, test.tells)
			}
		})
	}
}

// TestRoom: of more games than a token has room for, as many are played at once as there is room. Those that end make room for others; when
// all go on and were sent up to their present ends, the subscription ends with an error. No token is longer than the longest.
func TestRoom(t *testing.T) {
	const games = 500
	for name, ends := range map[string]int{"they end": games, "they go on": 0, "some end": 50} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "live")
			for n := 1; n <= games; n++ {
				file := fmt.Sprintf("live/%d.teehistorian", n)
				w.write(file, w.game(n))
				now := time.Now()
				w.must(os.Chtimes(w.path(file), now, now))
			}
			longest, caughtUp := 0, 0
			w.responses = func(r *replaydv1.SubscribeEventsResponse) {
				longest = max(longest, len(r.GetToken()))
				if r.GetStreamed().GetFollowStatus() != nil {
					caughtUp++
				}
			}
			live := ends < games
			w.live = func(name string) bool {
				n, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(name), ".teehistorian"))
				w.must(err)
				return n > ends
			}
			if live {
				w.wants = subscription.ErrFull
			}
			w.open()
			got := w.subscribe(ended(games))
			if !live {
				w.whole(got, games)
			} else if caughtUp < 200 || caughtUp != len(got.batches)-len(got.ends) {
				t.Errorf("%d games have begun, %d were sent up to their present ends", len(got.batches), caughtUp)
			}
			if longest > subscription.MaxToken || live && longest < subscription.MaxToken/2 {
				t.Errorf("a token of %d bytes", longest)
			}
		})
	}
}
