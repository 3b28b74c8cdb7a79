package service_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service"
	"github.com/replayd/replayd/service/playcast"
	"github.com/replayd/replayd/service/playcast/playcasttest"
	"github.com/replayd/replayd/service/streamtest"
)

// TestFollowBroadcast: whoever may upload has a broadcast followed, by gRPC and by HTTP, and streams it under the name in the answer from
// before its first byte to its end. URLs that the operator did not allow are refused, and so is who does not see the root.
func TestFollowBroadcast(t *testing.T) {
	t.Parallel()
	relay, refused, dir := playcasttest.Talk(t, 30), playcasttest.Talk(t, 1), t.TempDir()
	var allowed []playcast.Pattern
	for _, r := range []*playcasttest.Relay{relay, refused} {
		pattern, err := playcast.ParsePattern(r.URL + "/tv/*")
		if err != nil {
			t.Fatal(err)
		}
		allowed = append(allowed, pattern)
	}
	ctx, cancel := context.WithCancel(timeout(t))
	follower := playcast.NewFollower(ctx, playcast.FollowerOptions{
		Dir: filepath.Join(dir, "tv"), Name: alias + "/tv", Allow: allowed,
		Known: map[string]string{"http://example.org": others + "/elsewhere"},
		Like:  playcast.Match{Pace: time.Millisecond, Log: slog.New(slog.DiscardHandler)},
	})
	defer follower.Wait()
	defer cancel()
	g := startGuarded(t, dir, t.TempDir(), "all\nhere roots="+alias+"\nelsewhere roots="+others+"\nmaps formats=datafile\n", func(c *service.Config) {
		c.Broadcasts = follower
	})
	at, never := relay.At(t).String(), refused.At(t).String()
	for _, c := range []struct {
		token, url string
		code       codes.Code
	}{
		{"all", "", codes.InvalidArgument},
		{"all", "http://user:secret@example.org/secret", codes.InvalidArgument},
		{"all", "http://example.org/secret", codes.PermissionDenied},
		{"all", "http://example.org", codes.OK},
		{"here", "http://example.org", codes.PermissionDenied},
		{"elsewhere", never, codes.PermissionDenied},
		{"maps", never, codes.PermissionDenied},
		{"", never, codes.Unauthenticated},
	} {
		_, err := g.client.FollowBroadcast(as(ctx, c.token), &replaydv1.FollowBroadcastRequest{Url: c.url})
		if status.Code(err) != c.code || err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%q by %q: %v", c.url, c.token, err)
		}
	}
	followed, err := g.client.FollowBroadcast(as(ctx, "here"), &replaydv1.FollowBroadcastRequest{Url: at})
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+g.web+"/v1/broadcasts?url="+url.QueryEscape(at), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer here")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if body, err := io.ReadAll(response.Body); err != nil || response.StatusCode != http.StatusOK || string(body) != `{"replay":"`+followed.GetReplay()+`"}`+"\n" {
		t.Error(response.Status, string(body), err)
	}
	s := g.Session(as(ctx, "here"), &replaydv1.StreamEventsRequest{Replay: followed.GetReplay(), Follow: true}, nil)
	if end := (streamtest.History{s}).End(); s.Err != nil || end.GetReason() != replaydv1.EndReason_END_REASON_FINISHED || end.GetEventsSent() < 30 {
		t.Error(s.Err, end)
	}
	if strings.Contains(g.log.String(), "/tv/1234") {
		t.Error("the log has the URL")
	}
	if refused.Asked() > 0 { // a match has passed since
		t.Error("who was refused has reached a relay")
	}
	none := startGuarded(t, dir, t.TempDir(), "all\n")
	if _, err := none.client.FollowBroadcast(as(ctx, "all"), &replaydv1.FollowBroadcastRequest{Url: at}); status.Code(err) != codes.Unimplemented {
		t.Error(err)
	}
}
