package service_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/replayd/replayd/decoders/decodertest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/streamtest"
)

// age sets the modification time of a file.
func age(tb testing.TB, path string, ago time.Duration) {
	tb.Helper()
	at := time.Now().Add(-ago)
	if err := os.Chtimes(path, at, at); err != nil {
		tb.Fatal(err)
	}
}

// TestOtherContents replaces a game with known checkpoints by another one with the same name, and often the same inode.
func TestOtherContents(t *testing.T) {
	other := longRecording(t, samples("teehistorian", "mapchange", "64942c8c-5d04-42ab-bdbd-49a0f50a2550.teehistorian"), beyondCheckpoint())
	want := offlineBytes(t, other, nil)
	for how, replace := range map[string]func(t *testing.T, path string){
		"written over":     func(t *testing.T, path string) { write(t, path, other) },
		"removed and made": func(t *testing.T, path string) { _ = os.Remove(path); write(t, path, other) },
	} {
		t.Run(how, func(t *testing.T) {
			dir := t.TempDir()
			d := start(t, dir)
			path := filepath.Join(dir, "game.teehistorian")
			write(t, path, longRecording(t, finishedSample, beyondCheckpoint()))
			if s := d.Session(timeout(t), &replaydv1.StreamEventsRequest{Replay: name("game.teehistorian")}, nil); s.Err != nil {
				t.Fatal(s.Err)
			}
			replace(t, path)
			for _, n := range []int{10, 100_000} {
				h := streamtest.History{d.Session(timeout(t), &replaydv1.StreamEventsRequest{
					Replay: name("game.teehistorian"), Start: &replaydv1.Start{At: &replaydv1.Start_LastEvents{LastEvents: uint32(n)}},
				}, nil)}
				check(t, h, []streamtest.Replay{want}, streamtest.Options{From: len(want.Events) - n})
			}
		})
	}
}

// TestTwoNames removes one of two names of a file that is followed by both names. The other name remains.
func TestTwoNames(t *testing.T) {
	for how, link := range map[string]func(of, link string) error{
		"hard":     os.Link,
		"symbolic": func(of, link string) error { return os.Symlink(filepath.Base(of), link) },
	} {
		t.Run(how, func(t *testing.T) {
			dir := t.TempDir()
			d := start(t, dir)
			data := read(t, finishedSample)
			w := create(t, dir, "game.teehistorian")
			w.write(data[:5000])
			if err := link(filepath.Join(dir, "game.teehistorian"), filepath.Join(dir, "current")); err != nil {
				t.Skip(err)
			}
			byLink := follow(t, d, &replaydv1.StreamEventsRequest{Replay: name("current"), Follow: true})
			byLink.caughtUp(t)
			byName := follow(t, d, &replaydv1.StreamEventsRequest{Replay: name("game.teehistorian"), Follow: true})
			byName.caughtUp(t)
			if err := os.Remove(filepath.Join(dir, "current")); err != nil {
				t.Fatal(err)
			}
			byLink.await(t, "MOVED", func(r *replaydv1.StreamEventsResponse) bool {
				return r.GetFollowStatus().GetReplay() == name("game.teehistorian")
			})
			w.write(data[5000:])
			check(t, byLink.history(), []streamtest.Replay{offlineBytes(t, data, nil)}, streamtest.Options{})
			check(t, byName.history(), []streamtest.Replay{offlineBytes(t, data, nil)}, streamtest.Options{})
		})
	}
}

// TestComesBack moves a file away and back, while a stream whose client does not read still holds the old state of the file.
func TestComesBack(t *testing.T) {
	dir := t.TempDir()
	d := start(t, dir)
	data := longRecording(t, finishedSample, beyondCheckpoint())
	path := filepath.Join(dir, "live.teehistorian")
	write(t, path, data[:len(data)-1])
	ctx, cancel := context.WithCancel(timeout(t))
	defer cancel()
	if _, err := d.Open(ctx, &replaydv1.StreamEventsRequest{Replay: name("live.teehistorian"), Follow: true}); err != nil {
		t.Fatal(err)
	}
	last := &replaydv1.StreamEventsRequest{
		Replay: name("live.teehistorian"), Follow: true, Start: &replaydv1.Start{At: &replaydv1.Start_LastEvents{LastEvents: 1}},
	}
	witness := follow(t, d, last)
	witness.caughtUp(t)
	away := filepath.Join(t.TempDir(), "away") // not below the root
	if err := os.Rename(path, away); err != nil {
		t.Fatal(err)
	}
	if got := witness.history().End().GetReason(); got != replaydv1.EndReason_END_REASON_REMOVED {
		t.Fatalf("it went: %v", got)
	}
	if err := os.Rename(away, path); err != nil {
		t.Fatal(err)
	}
	again := follow(t, d, last)
	again.caughtUp(t)
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.Write(data[len(data)-1:]); err != nil {
		t.Fatal(err)
	}
	want := offlineBytes(t, data, nil)
	check(t, again.history(), []streamtest.Replay{want}, streamtest.Options{From: len(want.Events) - 2})
}

// TestLateFirstBytes waits for files whose format is known only long after they were created.
func TestLateFirstBytes(t *testing.T) {
	t.Parallel()
	paths, replays := chainOf(t)
	second := read(t, paths[1])
	for what, test := range map[string]struct {
		early int // bytes that are written at once
		begin bool
	}{"nothing at first": {0, false}, "a successor's header in two parts": {1000, true}} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			d := start(t, dir)
			req := &replaydv1.StreamEventsRequest{Replay: alias, Follow: true}
			want := replays[1:2]
			if test.begin {
				write(t, filepath.Join(dir, "a.teehistorian"), read(t, paths[0]))
				req.FollowSuccessors, req.HeartbeatInterval = true, durationpb.New(time.Second)
				want = replays[:2]
			}
			f := follow(t, d, req)
			if test.begin {
				f.await(t, "start", func(r *replaydv1.StreamEventsResponse) bool { return r.GetStart() != nil })
			}
			w := create(t, dir, "b.teehistorian")
			w.write(second[:test.early])
			time.Sleep(7 * time.Second) // new entries are not checked for that long
			w.write(second[test.early:])
			f.await(t, "of the late file", func(r *replaydv1.StreamEventsResponse) bool {
				return r.GetFollowStatus().GetSuccessor() != nil || !test.begin && r.GetStart() != nil
			})
			if test.begin { // it waits for the next file
				f.await(t, "heartbeat at its end", func(r *replaydv1.StreamEventsResponse) bool {
					return r.GetHeartbeat().GetBytesRead() == int64(len(second))
				})
				f.cancel()
			}
			check(t, f.history(), want, streamtest.Options{})
		})
	}
}

// TestCompressedNeighbours follows a server whose older games are compressed meanwhile.
func TestCompressedNeighbours(t *testing.T) {
	t.Parallel()
	paths, replays := chainOf(t)
	data := [][]byte{read(t, paths[0]), read(t, paths[1]), read(t, paths[2])}
	t.Run("newest", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		write(t, filepath.Join(dir, "live.teehistorian"), data[1])
		age(t, filepath.Join(dir, "live.teehistorian"), 10*time.Second)
		write(t, filepath.Join(dir, "old.teehistorian.gz"), decodertest.Gzip(t, data[0]))
		h := streamtest.History{start(t, dir).Session(timeout(t), &replaydv1.StreamEventsRequest{Replay: alias, Follow: true}, nil)}
		check(t, h, replays[1:2], streamtest.Options{})
	})
	for what, files := range map[string]map[string][]byte{
		"one between":   {"b.teehistorian.gz": decodertest.Gzip(t, data[1])},
		"beside a copy": {"b.teehistorian": data[1], "aa.teehistorian.gz": decodertest.Gzip(t, data[1])},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, filepath.Join(dir, "a.teehistorian"), data[0])
			for file, contents := range files {
				write(t, filepath.Join(dir, file), contents)
			}
			write(t, filepath.Join(dir, "c.teehistorian"), data[2])
			f := follow(t, start(t, dir), &replaydv1.StreamEventsRequest{
				Replay: name("a.teehistorian"), Follow: true, FollowSuccessors: true, HeartbeatInterval: durationpb.New(time.Second),
			})
			f.await(t, "heartbeat at the end of the last", func(r *replaydv1.StreamEventsResponse) bool {
				return r.GetHeartbeat().GetBytesRead() == int64(len(data[2]))
			})
			f.cancel()
			check(t, f.history(), replays, streamtest.Options{})
		})
	}
}

// TestFollowCompressed compresses a game in the middle of which a client was cut off, and starts the daemon anew. Whatever the client
// follows by, it gets the rest, and what its server wrote next.
func TestFollowCompressed(t *testing.T) {
	t.Parallel()
	paths, replays := chainOf(t)
	first, second := read(t, paths[0]), read(t, paths[1])
	for _, test := range []struct {
		what       string
		now        string // the name to go on by
		successors bool
		encoding   replaydv1.Encoding
	}{
		{"by the name of before", "a.teehistorian", false, replaydv1.Encoding_ENCODING_ROWS},
		{"by the new name", "a.teehistorian.gz", false, replaydv1.Encoding_ENCODING_ROWS},
		{"with successors", "a.teehistorian", true, replaydv1.Encoding_ENCODING_ROWS},
		{"with successors, tables", "a.teehistorian", true, replaydv1.Encoding_ENCODING_ARROW},
		{"by the directory", "", true, replaydv1.Encoding_ENCODING_ROWS},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, filepath.Join(dir, "a.teehistorian"), first[:len(first)/2])
			d := start(t, dir)
			req := &replaydv1.StreamEventsRequest{
				Replay: name("a.teehistorian"), Follow: true, FollowSuccessors: test.successors, Encoding: test.encoding,
				HeartbeatInterval: durationpb.New(time.Second),
			}
			f := follow(t, d, req)
			f.caughtUp(t)
			f.cancel()
			h := f.history()
			d.stop()
			_ = os.Remove(filepath.Join(dir, "a.teehistorian"))
			write(t, filepath.Join(dir, "a.teehistorian.gz"), decodertest.Gzip(t, first))
			want := replays[:1]
			if test.successors {
				write(t, filepath.Join(dir, "b.teehistorian"), second)
				want = replays[:2]
			}
			req.Replay, req.Start = strings.TrimSuffix(name(test.now), "/"), &replaydv1.Start{At: &replaydv1.Start_Cursor{Cursor: h.Cursor()}}
			again := follow(t, start(t, dir), req)
			if test.successors {
				again.await(t, "heartbeat at the end of the successor", func(r *replaydv1.StreamEventsResponse) bool {
					return r.GetHeartbeat().GetBytesRead() == int64(len(second))
				})
				again.cancel()
			}
			check(t, append(h, again.history()...), want, streamtest.Options{})
		})
	}
}

// TestCopiedChain follows games whose files have other times than the games.
func TestCopiedChain(t *testing.T) {
	paths, replays := chainOf(t)
	dir := t.TempDir()
	for i, path := range paths {
		n := copyIn(t, dir, path)
		age(t, filepath.Join(dir, filepath.Base(n)), time.Hour+time.Duration(i)*time.Minute)
	}
	size := len(read(t, paths[len(paths)-1]))
	f := follow(t, start(t, dir), &replaydv1.StreamEventsRequest{
		Replay: name(filepath.Base(paths[0])), Follow: true, FollowSuccessors: true, HeartbeatInterval: durationpb.New(time.Second),
	})
	f.await(t, "heartbeat at the end of the last", func(r *replaydv1.StreamEventsResponse) bool {
		return r.GetHeartbeat().GetBytesRead() == int64(size)
	})
	f.cancel()
	check(t, f.history(), replays, streamtest.Options{})
}

// TestNothingToCome: a stream that can get no more events ends, whether or not others follow the same file.
func TestNothingToCome(t *testing.T) {
	dir := t.TempDir()
	d := start(t, dir)
	write(t, filepath.Join(dir, "live.teehistorian"), read(t, killedSample))
	follow(t, d, &replaydv1.StreamEventsRequest{Replay: name("live.teehistorian"), Follow: true}).caughtUp(t)
	for what, req := range map[string]*replaydv1.StreamEventsRequest{
		"all excluded":      {Exclude: []*replaydv1.EventFilter{{}}},
		"the range is over": {Include: []*replaydv1.EventFilter{ticks(0, 1)}},
	} {
		for _, encoding := range []replaydv1.Encoding{replaydv1.Encoding_ENCODING_ROWS, replaydv1.Encoding_ENCODING_ARROW} {
			req.Replay, req.Follow, req.Encoding = name("live.teehistorian"), true, encoding
			req.Start = &replaydv1.Start{At: &replaydv1.Start_Now{Now: &replaydv1.Now{}}}
			s := d.Session(timeout(t), req, nil)
			if got := (streamtest.History{s}).End().GetReason(); got != replaydv1.EndReason_END_REASON_RANGE_DONE {
				t.Errorf("%s, %v: %v, %v", what, encoding, got, s.Err)
			}
		}
	}
}

// TestDirectoryGone removes a followed file with its whole directory.
func TestDirectoryGone(t *testing.T) {
	for _, successors := range []bool{false, true} {
		dir := t.TempDir()
		d := start(t, dir)
		write(t, filepath.Join(dir, "sub", "live.teehistorian"), read(t, killedSample))
		f := follow(t, d, &replaydv1.StreamEventsRequest{
			Replay: name("sub", "live.teehistorian"), Follow: true, FollowSuccessors: successors,
		})
		f.caughtUp(t)
		if err := os.RemoveAll(filepath.Join(dir, "sub")); err != nil {
			t.Fatal(err)
		}
		if h := f.history(); h.End().GetReason() != replaydv1.EndReason_END_REASON_REMOVED {
			t.Errorf("with successors %v: %v, %v", successors, h.End().GetReason(), h[0].Err)
		}
	}
}
