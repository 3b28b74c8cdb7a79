package service_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/describe"
)

// TestUnary calls the unary methods.
func TestUnary(t *testing.T) {
	d := start(t, samples())
	ctx := context.Background()

	var names []string
	for token := ""; ; {
		page, err := d.client.ListReplays(ctx, &replaydv1.ListReplaysRequest{PageSize: 2, PageToken: token})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.GetReplays() {
			names = append(names, r.GetName())
			if r.GetSizeBytes() == 0 || r.GetModifyTime() == nil || r.GetFormat() == 0 {
				t.Errorf("%v says too little", r)
			}
		}
		if token = page.GetNextPageToken(); token == "" {
			break
		}
		if len(page.GetReplays()) != 2 {
			t.Errorf("a page of %d", len(page.GetReplays()))
		}
	}
	if !slices.IsSorted(names) || len(names) < 5 {
		t.Errorf("names %q", names)
	}

	only, err := d.client.ListReplays(ctx, &replaydv1.ListReplaysRequest{
		Directory: name("teehistorian"), Formats: []replaydv1.Format{replaydv1.Format_FORMAT_TEEHISTORIAN},
	})
	if err != nil || len(only.GetReplays()) != 6 {
		t.Errorf("teehistorian alone: %v, %v", only, err)
	}

	got, err := d.client.GetReplay(ctx, &replaydv1.GetReplayRequest{
		Replay: name("teehistorian", "finished", filepath.Base(finishedSample)),
	})
	if err != nil {
		t.Fatal(err)
	}
	if r := got.GetReplay(); r.GetIdentity() != goodIdentity || r.GetMapName() == "" || r.GetTeehistorian().GetGameUuid() == "" ||
		r.GetTicksPerSecond() != 50 || r.GetStartTime() == nil {
		t.Errorf("got %v", r)
	}

	info, err := d.client.GetServerInfo(ctx, &replaydv1.GetServerInfoRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if info.GetVersion() != "test" || len(info.GetFormats()) != len(describe.Codecs()) || info.GetLimits().GetMaxStreams() != 1024 ||
		info.GetLimits().GetMaxBatchEvents() != 16384 || len(info.GetRoots()) != 1 || info.GetRoots()[0].GetAlias() != alias {
		t.Errorf("got %v", info)
	}
	for _, f := range info.GetFormats() {
		for _, k := range f.GetKinds() {
			if k.GetName() == "" {
				t.Errorf("kinds of %v: %v", f.GetFormat(), f.GetKinds())
			}
			if k.GetName() == "player_diff" && !slices.Equal(k.GetConditions(), []string{"players"}) {
				t.Errorf("got %v", k)
			}
			if k.GetName() == "entity_updated" && !slices.Equal(k.GetConditions(), []string{"dem.classes", "dem.fields"}) {
				t.Errorf("got %v", k)
			}
		}
		if len(f.GetKinds()) == 0 {
			t.Errorf("no kinds of %v", f.GetFormat())
		}
	}
}
