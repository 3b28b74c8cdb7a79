package replayd_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	replayd "github.com/replayd/replayd/clients/go"
	"github.com/replayd/replayd/internal/daemontest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// TestFollowBroadcast: a broadcast is followed from before its first byte to its end.
func TestFollowBroadcast(t *testing.T) {
	relay := httptest.NewServer(http.FileServer(http.Dir(filepath.Join("..", "testdata"))))
	defer relay.Close()
	ctx, d := soon(t), daemontest.New(root, t.TempDir())
	d.Broadcasts = relay.URL + "/*"
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Stop() }()
	client, err := replayd.Dial(d.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	name, err := client.FollowBroadcast(ctx, relay.URL+"/broadcast")
	if again, wrong := client.FollowBroadcast(ctx, relay.URL+"/broadcast/"); err != nil || wrong != nil || again != name || !strings.HasPrefix(name, root+"/tv/") {
		t.Fatal(name, err, again, wrong)
	}
	stream := client.Stream(ctx, &replaydv1.StreamEventsRequest{Replay: name, Follow: true})
	var kinds []string
	for e, err := range stream.Events() {
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, e.Kind)
	}
	if reason := stream.End().GetReason(); !slices.Contains(kinds, "kill") || reason != replaydv1.EndReason_END_REASON_FINISHED {
		t.Error(kinds, reason)
	}
	var refused *replayd.Error
	if _, err := client.FollowBroadcast(ctx, "http://example.org/"); !errors.As(err, &refused) || refused.Code != codes.PermissionDenied {
		t.Error(err)
	}
}
