package service_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/describe"
	"github.com/replayd/replayd/service/streamtest"
)

// TestAllFormats streams every sample of every format, whole, twice, in batches of several sizes, and resumed at
// several places.
func TestAllFormats(t *testing.T) {
	streamtest.SkipLong(t)
	dir := samples()
	d := start(t, dir)
	list, err := d.client.ListReplays(timeout(t), &replaydv1.ListReplaysRequest{PageSize: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.GetReplays()) < 5 {
		t.Fatalf("only %d samples", len(list.GetReplays()))
	}
	for _, replay := range list.GetReplays() {
		t.Run(replay.GetName(), func(t *testing.T) {
			if !decoded(replay.GetFormat()) {
				t.Skipf("%v is not decoded yet", replay.GetFormat())
			}
			whole := func(size uint32) []string {
				req := &replaydv1.StreamEventsRequest{Replay: replay.GetName(), MaxBatchEvents: size}
				s := d.Session(timeout(t), req, nil)
				again := d.Session(timeout(t), req, nil)
				if !sameResponses(t, s.Responses, again.Responses) || fmt.Sprint(s.Err) != fmt.Sprint(again.Err) {
					t.Errorf("batches of %d: other bytes the second time, or another end: %v, %v", size, s.Err, again.Err)
				}
				if s.Err != nil { // this sample is broken on purpose
					explainFailure(t, s.Err)
				}
				events, err := streamtest.History{s}.Events()
				if err != nil {
					t.Fatal(err)
				}
				return events
			}
			want := streamtest.Replay{Identity: identity(t, d, replay.GetName()), Events: whole(4096)}
			sizes := []uint32{1, 7, 512}
			if len(want.Events) > 3000 {
				sizes = []uint32{511} // enough for what takes long
			}
			for _, size := range sizes {
				if got := whole(size); !slices.Equal(got, want.Events) {
					t.Errorf("batches of %d have other events: %d instead of %d", size, len(got), len(want.Events))
				}
			}
			for _, size := range sizes {
				req := &replaydv1.StreamEventsRequest{Replay: replay.GetName(), MaxBatchEvents: size}
				begun := d.Session(timeout(t), req, nil)
				step := max(1, len(begun.Responses)/20)
				for n := 1; n <= len(begun.Responses); n += step {
					h := streamtest.History{{Responses: begun.Responses[:n], Cut: true}}
					h = append(h, d.Session(timeout(t), streamtest.Resumed(req, h), nil))
					check(t, h, []streamtest.Replay{want}, streamtest.Options{})
					if t.Failed() {
						t.Fatalf("batches of %d, resumed after %d of %d responses", size, n, len(begun.Responses))
					}
				}
			}
			for _, n := range []uint32{1, 10, 1_000_000} {
				req := &replaydv1.StreamEventsRequest{
					Replay: replay.GetName(), Start: &replaydv1.Start{At: &replaydv1.Start_LastEvents{LastEvents: n}},
				}
				check(t, streamtest.History{d.Session(timeout(t), req, nil)}, []streamtest.Replay{want},
					streamtest.Options{From: max(0, len(want.Events)-int(n))})
			}
		})
	}
}

// TestCorpus streams files of the corpus, of the formats that recordings does not include, in batches of two sizes. It resumes
// them at some places.
func TestCorpus(t *testing.T) {
	streamtest.SkipLong(t)
	every, largest := 12, int64(1<<20)
	if wholeCorpus() {
		every, largest = 1, 20<<20
	}
	for _, format := range []string{"datafile", "dem", "sc2replay"} {
		corpus := filepath.Join("..", "..", "shared", "corpus", format)
		if !exists(corpus) {
			t.Skip("the corpus is not here")
		}
		d := start(t, corpus)
		list, err := d.client.ListReplays(timeout(t), &replaydv1.ListReplaysRequest{PageSize: 1000})
		if err != nil {
			t.Fatal(err)
		}
		for i, replay := range list.GetReplays() {
			if i%every != 0 || replay.GetSizeBytes() > largest {
				continue
			}
			t.Run(format+"/"+replay.GetName(), func(t *testing.T) {
				req := &replaydv1.StreamEventsRequest{Replay: replay.GetName(), MaxBatchEvents: 4096}
				whole := d.Session(timeout(t), req, nil)
				if len(whole.Responses) == 0 {
					explainFailure(t, whole.Err)
					return
				}
				events, err := streamtest.History{whole}.Events()
				if err != nil {
					t.Fatal(err)
				}
				want := []streamtest.Replay{{Identity: identity(t, d, replay.GetName()), Events: events}}
				req.MaxBatchEvents = uint32(len(events)/50 + 1)
				parts := d.Session(timeout(t), req, nil)
				check(t, streamtest.History{parts}, want, streamtest.Options{})
				if fmt.Sprint(whole.Err) != fmt.Sprint(parts.Err) {
					t.Errorf("one ends by %v, the other by %v", whole.Err, parts.Err)
				}
				for n := 1; n <= len(parts.Responses); n += 1 + len(parts.Responses)/3 {
					h := streamtest.History{{Responses: parts.Responses[:n], Cut: true}}
					h = append(h, d.Session(timeout(t), streamtest.Resumed(req, h), nil))
					check(t, h, want, streamtest.Options{})
					if t.Failed() {
						t.Fatalf("resumed after %d of %d responses", n, len(parts.Responses))
					}
				}
			})
		}
	}
}

func decoded(f replaydv1.Format) bool {
	for _, c := range describe.Codecs() {
		if replaydv1.Format(c.Format) == f {
			return true
		}
	}
	return false
}
