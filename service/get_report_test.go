package service_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// TestReport: each format's report is that of the whole replay, over gRPC as over plain HTTP, and at a tick it is what was there by then.
func TestReport(t *testing.T) {
	d := startPlain(t, samples())
	for _, test := range []struct {
		replay string
		names  []string // of players, in order
		ended  bool
	}{
		{"teehistorian/finished/" + filepath.Base(finishedSample), []string{"alice", "bob", "Carol der Große"}, true},
		{"sc2replay/5.0.SC2Replay", nil, true},
		{"dem/sample.dem", nil, true},
		{"datafile/sample.map", nil, true},
	} {
		got, err := d.client.GetReport(timeout(t), &replaydv1.GetReportRequest{Replay: name(test.replay)})
		if err != nil {
			t.Fatal(err)
		}
		r := got.GetReport()
		if r.GetGame() == nil || r.GetEnded() != test.ended || r.GetDamage() != "" || r.GetReplay().GetName() != name(test.replay) || r.GetReplay().GetHeader() != nil {
			t.Errorf("%s: %v", test.replay, r)
		}
		if players := reportedPlayers(r); test.names != nil && !slices.Equal(players, test.names) {
			t.Errorf("%s: %q took part", test.replay, players)
		}
		for _, query := range []string{"", "?tick=1"} {
			code, body := d.get(t, "/v1/replays/"+name(test.replay)+"/report"+query, nil)
			plain := &replaydv1.GetReportResponse{}
			if err := protojson.Unmarshal([]byte(body), plain); code != http.StatusOK || err != nil || !json.Valid([]byte(body)) {
				t.Fatalf("%s%s: %d, %v: %s", test.replay, query, code, err, body)
			}
			want := got
			if query != "" {
				if want, err = d.client.GetReport(timeout(t), &replaydv1.GetReportRequest{Replay: name(test.replay), Tick: new(int32(1))}); err != nil {
					t.Fatal(err)
				}
				if want.GetReport().GetTick() > 1 || r.GetTick() > 1 && want.GetReport().GetEnded() {
					t.Errorf("%s at tick 1: %v", test.replay, want)
				}
			}
			plain.Report.Replay.State, want.Report.Replay.State = 0, 0 // the index may have found it meanwhile
			if !proto.Equal(plain, want) {
				t.Errorf("%s%s: plain HTTP has\n%v\ngRPC\n%v", test.replay, query, plain, want)
			}
		}
	}
}

func reportedPlayers(r *replaydv1.Report) (names []string) {
	for _, p := range r.GetTeehistorian().GetPlayers() {
		names = append(names, p.GetName())
	}
	for _, p := range r.GetSc2Replay().GetPlayers() {
		names = append(names, p.GetName())
	}
	for _, p := range r.GetDem().GetPlayers() {
		names = append(names, p.GetName())
	}
	return names
}

// TestReportRefused: what a token may not see has the report of a missing file, whatever else there is; and bad requests say so.
func TestReportRefused(t *testing.T) {
	g := startGuarded(t, samples("datafile"), samples("teehistorian"), "maps roots="+alias+"\nnothing roots="+others+" formats=datafile\nall\n")
	list, err := g.client.ListReplays(as(timeout(t), "all"), &replaydv1.ListReplaysRequest{})
	if err != nil || len(list.GetReplays()) < 2 {
		t.Fatal(list, err)
	}
	seen, unseen := 0, 0
	for _, r := range list.GetReplays() {
		for _, token := range []string{"maps", "nothing"} {
			_, described := g.client.GetReplay(as(timeout(t), token), &replaydv1.GetReplayRequest{Replay: r.GetName()})
			_, reported := g.client.GetReport(as(timeout(t), token), &replaydv1.GetReportRequest{Replay: r.GetName()})
			if status.Code(described) != status.Code(reported) || status.Convert(described).Message() != status.Convert(reported).Message() {
				t.Errorf("%s with %s: described %v, reported %v", r.GetName(), token, described, reported)
			}
			if reported == nil {
				seen++
				continue
			}
			unseen++
			directory, _, _ := strings.Cut(r.GetName(), "/")
			_, missing := g.client.GetReport(as(timeout(t), token), &replaydv1.GetReportRequest{Replay: directory + "/missing"})
			got := strings.ReplaceAll(status.Convert(reported).Message(), r.GetName(), "")
			if want := strings.ReplaceAll(status.Convert(missing).Message(), directory+"/missing", ""); got != want || status.Code(reported) != codes.NotFound {
				t.Errorf("%s: %q, a missing one %q", r.GetName(), got, want)
			}
		}
	}
	if seen == 0 || unseen == 0 {
		t.Errorf("%d reports were given and %d refused", seen, unseen)
	}
	for _, replay := range []string{"", strings.Repeat("x", 5000)} {
		if _, err := g.client.GetReport(as(timeout(t), "all"), &replaydv1.GetReportRequest{Replay: replay}); status.Code(err) != codes.InvalidArgument {
			t.Errorf("a replay %.9q: %v", replay, err)
		}
	}
}

// TestReportTemporary: a replay that a client has stored has a report, for this client alone.
func TestReportTemporary(t *testing.T) {
	g := startGuarded(t, samples("datafile"), samples("teehistorian"), "owner\nother\n")
	data, err := os.ReadFile(finishedSample)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := createReplay(as(timeout(t), "owner"), g.client, nil, data)
	if err != nil {
		t.Fatal(err)
	}
	got, err := g.client.GetReport(as(timeout(t), "owner"), &replaydv1.GetReportRequest{Replay: stored.GetName()})
	if err != nil || len(got.GetReport().GetTeehistorian().GetPlayers()) == 0 || got.GetReport().GetReplay().GetExpireTime() == nil {
		t.Fatal(got, err)
	}
	if r, err := g.client.GetReport(as(timeout(t), "other"), &replaydv1.GetReportRequest{Replay: stored.GetName()}); status.Code(err) != codes.NotFound {
		t.Error(r, err)
	}
}
