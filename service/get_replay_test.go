package service_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/ulikunitz/xz"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec/sc2replay"
	"github.com/replayd/replayd/service"
	"github.com/replayd/replayd/service/admission"
)

// xzipped compresses data to .xz.
func xzipped(tb testing.TB, data []byte) []byte {
	tb.Helper()
	var b bytes.Buffer
	w, err := xz.NewWriter(&b)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// TestViewBudget: reading a file for a view takes from the call's budget. It takes memory for the decoder and the decompressor,
// and bytes on disk. They are given back before the next file is read.
func TestViewBudget(t *testing.T) {
	dir := t.TempDir()
	packed := xzipped(t, read(t, samples("sc2replay", "5.0.SC2Replay")))
	decoder := sc2replay.Codec.DescribeCost(int64(len(packed)))
	const files = 5
	for i := range files {
		write(t, filepath.Join(dir, fmt.Sprint(i, ".SC2Replay.xz")), packed)
	}
	for what, test := range map[string]struct {
		limits  admission.Amounts
		refused bool
	}{
		"no memory for the decoder":       {admission.Amounts{admission.Memory: 64 << 10}, true},
		"no memory to unpack":             {admission.Amounts{admission.Memory: decoder + 100<<10}, true},
		"no room on disk":                 {admission.Amounts{admission.Spool: 100}, true},
		"enough for two files, not for 5": {admission.Amounts{admission.Memory: 2*decoder + 512<<10, admission.Spool: 1 << 20}, false},
	} {
		t.Run(what, func(t *testing.T) {
			control := admission.New(admission.Limits{All: test.limits})
			d := start(t, dir, func(c *service.Config) { c.Admission = control })
			for _, view := range []replaydv1.ReplayView{replaydv1.ReplayView_REPLAY_VIEW_FULL, replaydv1.ReplayView_REPLAY_VIEW_PLAYERS} {
				_, one := d.client.GetReplay(timeout(t), &replaydv1.GetReplayRequest{Replay: name("0.SC2Replay.xz"), View: view})
				list, all := d.client.ListReplays(timeout(t), &replaydv1.ListReplaysRequest{View: view, PageSize: 100})
				for call, err := range map[string]error{"GetReplay": one, "ListReplays": all} {
					switch {
					case !test.refused && err != nil:
						t.Errorf("%s, %v: %v", call, view, err)
					case test.refused && call == "ListReplays": // which has them without what takes so much
						if err != nil {
							t.Errorf("%s, %v: %v", call, view, err)
						}
					case test.refused:
						if f := explainFailure(t, err); f.code != codes.FailedPrecondition || f.reason != "TOO_LARGE" || f.retry {
							t.Errorf("%s, %v: %v", call, view, err)
						}
					}
				}
				if n := len(list.GetReplays()); n != files {
					t.Errorf("%d replays are listed", n)
				}
			}
			for _, r := range []admission.Resource{admission.Memory, admission.Spool} {
				if n := control.Taken(r); n != 0 {
					t.Errorf("%d of %v stay taken", n, r)
				}
			}
			basic, err := d.client.ListReplays(timeout(t), &replaydv1.ListReplaysRequest{})
			if err != nil || len(basic.GetReplays()) != files {
				t.Errorf("without reading files: %v, %v", basic, err)
			}
		})
	}
}

// TestListViews: ListReplays describes each replay to the extent of the view, and lists damaged files. It refuses an unknown
// view, even if there are few replays.
func TestListViews(t *testing.T) {
	dir := t.TempDir()
	whole := copyIn(t, dir, finishedSample)
	data := read(t, finishedSample)
	write(t, filepath.Join(dir, "cut.teehistorian"), data[:200]) // inside the header
	empty := start(t, t.TempDir())
	d := start(t, dir)
	for view, test := range map[replaydv1.ReplayView]struct{ header, players bool }{
		replaydv1.ReplayView_REPLAY_VIEW_UNSPECIFIED: {},
		replaydv1.ReplayView_REPLAY_VIEW_BASIC:       {},
		replaydv1.ReplayView_REPLAY_VIEW_FULL:        {header: true},
		replaydv1.ReplayView_REPLAY_VIEW_PLAYERS:     {players: true},
	} {
		resp, err := d.client.ListReplays(timeout(t), &replaydv1.ListReplaysRequest{View: view, PageSize: 100})
		if err != nil {
			t.Fatal(err)
		}
		listed := map[string]*replaydv1.Replay{}
		for _, r := range resp.GetReplays() {
			listed[r.GetName()] = r
		}
		r, cut := listed[whole], listed[name("cut.teehistorian")]
		if len(listed) != 2 || cut.GetFormat() != replaydv1.Format_FORMAT_TEEHISTORIAN || cut.GetHeader() != nil {
			t.Errorf("%v: %v", view, resp)
		}
		if r.GetIdentity() != goodIdentity || (r.GetTeehistorian().GetGameUuid() != "") != test.header || (r.PlayersTick != nil) != test.players {
			t.Errorf("%v: %v", view, r)
		}
	}
	if _, err := d.client.ListReplays(timeout(t), &replaydv1.ListReplaysRequest{View: replaydv1.ReplayView_REPLAY_VIEW_PARTICIPANTS}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("a list of participants: %v", err)
	}
	bad := func(field string) failure { return failure{codes.InvalidArgument, "BAD_REQUEST", field, nil, false} }
	for what, test := range map[string]struct {
		d    *daemon
		req  *replaydv1.ListReplaysRequest
		want failure
	}{
		"an unknown view":                 {d, &replaydv1.ListReplaysRequest{View: 99}, bad("view")},
		"an unknown view of nothing":      {empty, &replaydv1.ListReplaysRequest{View: 99}, bad("view")},
		"a large page with headers":       {d, &replaydv1.ListReplaysRequest{View: replaydv1.ReplayView_REPLAY_VIEW_FULL, PageSize: 101}, bad("page_size")},
		"a large page with players":       {d, &replaydv1.ListReplaysRequest{View: replaydv1.ReplayView_REPLAY_VIEW_PLAYERS, PageSize: 101}, bad("page_size")},
		"a large page of nothing, of all": {empty, &replaydv1.ListReplaysRequest{View: replaydv1.ReplayView_REPLAY_VIEW_FULL, PageSize: 1000}, bad("page_size")},
	} {
		_, err := test.d.client.ListReplays(timeout(t), test.req)
		if got := explainFailure(t, err); !got.equal(test.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := d.client.GetReplay(timeout(t), &replaydv1.GetReplayRequest{Replay: whole, View: 99})
	if got := explainFailure(t, err); !got.equal(bad("view")) {
		t.Errorf("a replay by an unknown view: %v", err)
	}
}

// TestNotThere: a server that stores no replays returns an error that says so.
func TestNotThere(t *testing.T) {
	d := start(t, t.TempDir(), func(c *service.Config) { c.TemporaryLife = -1 })
	s, err := d.client.CreateReplay(timeout(t))
	if err != nil {
		t.Fatal(err)
	}
	_, created := s.CloseAndRecv()
	if f := explainFailure(t, created); f.code != codes.Unimplemented || f.reason != "NOT_IMPLEMENTED" {
		t.Error(created)
	}
	if info, err := d.client.GetServerInfo(timeout(t), &replaydv1.GetServerInfoRequest{}); err != nil || info.GetLimits().GetMaxTimeToLive() != nil {
		t.Error(info, err)
	}
}

// TestDamagedViewBudget: searching for the parts of a damaged archive takes from the call's budget, for descriptions and for
// streams, even if its format declares little.
func TestDamagedViewBudget(t *testing.T) {
	dir := t.TempDir()
	whole := read(t, samples("sc2replay", "5.0.SC2Replay"))
	damaged := append(bytes.Replace(whole, []byte("MPQ\x1a"), []byte("none"), 1), make([]byte, 4<<20)...)
	write(t, filepath.Join(dir, "cut.SC2Replay"), damaged)
	for what, test := range map[string]struct {
		memory int64
		view   codes.Code // while another call has memory
		code   codes.Code
	}{
		"enough for a whole one": {sc2replay.Codec.Cost(4<<20) + 4<<20, codes.ResourceExhausted, codes.FailedPrecondition},
		"enough":                 {sc2replay.Codec.Cost(4<<20) + 64<<20, codes.DataLoss, codes.DataLoss},
	} {
		t.Run(what, func(t *testing.T) {
			control := admission.New(admission.Limits{All: admission.Amounts{admission.Memory: test.memory}})
			d := start(t, dir, func(c *service.Config) { c.Admission, c.SurveyBudget = control, 0 })
			other, err := control.Enter(admission.Who{}, admission.Streams)
			if err != nil {
				t.Fatal(err)
			}
			if err := other.Memory(sc2replay.Codec.Cost(4<<20) - 4<<20); err != nil { // a view takes less than a stream
				t.Fatal(err)
			}
			_, err = d.client.GetReplay(timeout(t), &replaydv1.GetReplayRequest{Replay: name("cut.SC2Replay")})
			if status.Code(err) != test.view {
				t.Errorf("a view: %v", err)
			}
			other.Return()
			s := d.Session(timeout(t), &replaydv1.StreamEventsRequest{Replay: name("cut.SC2Replay")}, nil)
			if status.Code(s.Err) != test.code {
				t.Errorf("a stream: %v", s.Err)
			}
			for control.Taken(admission.Memory) != 0 {
				time.Sleep(time.Millisecond)
			}
		})
	}
}
