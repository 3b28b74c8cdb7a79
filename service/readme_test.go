package service_test

import (
	"encoding/base64"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// TestReadme: the daemon sends the stream that README.md shows.
func TestReadme(t *testing.T) {
	_, shown, _ := strings.Cut(string(read(t, filepath.Join("..", "README.md"))), "$ grpcurl ")
	shown, _, _ = strings.Cut(shown, "```")
	cursor := regexp.MustCompile(`"cursor": "([^"]+)"`).FindStringSubmatch(shown)
	next := regexp.MustCompile(`"nextSequence": "(\d+)"`).FindStringSubmatch(shown)
	if cursor == nil || next == nil || !strings.Contains(shown, filepath.Base(finishedSample)) {
		t.Fatalf("README.md shows something else:\n%s", shown)
	}
	d := start(t, samples())
	s := d.Session(timeout(t), &replaydv1.StreamEventsRequest{
		Replay:  name("teehistorian", "finished", filepath.Base(finishedSample)),
		Include: []*replaydv1.EventFilter{{Kinds: []string{"join", "player_new", "drop"}}},
	}, nil)
	for i := range s.Responses {
		r := response(t, s, i)
		b := r.GetBatch()
		if b == nil {
			continue
		}
		if got := base64.StdEncoding.EncodeToString(r.GetCursor()); got != cursor[1] || next[1] != "11" || b.GetNextSequence() != 11 {
			t.Errorf("cursor %s behind %d events, README.md shows %s behind %s", got, b.GetNextSequence(), cursor[1], next[1])
		}
		first, second := b.GetTeehistorian().GetEvents()[0], b.GetTeehistorian().GetEvents()[1]
		if p := second.GetPlayerNew(); first.GetAtTick() != 10 || first.GetJoin() == nil || p.GetX() != 336 || p.GetY() != 1520 {
			t.Errorf("README.md shows other events than %v, %v", first, second)
		}
		return
	}
	t.Errorf("no events, %v", s.Err)
}
