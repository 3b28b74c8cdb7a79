package service_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// playedIn requests what needs the map of a game, characters and facts, and returns them as texts.
func playedIn(t *testing.T, d *daemon, req *replaydv1.StreamEventsRequest) (all []string, err error) {
	t.Helper()
	every := int32(100)
	req.Include = []*replaydv1.EventFilter{
		{Kinds: []string{"sample_character"}, Ticks: &replaydv1.TickRange{Every: &every}},
		{Kinds: []string{"fact_freeze", "fact_thaw", "fact_hit", "fact_hook", "fact_block", "fact_character_end", "fact_run"}},
	}
	stream, err := d.client.StreamEvents(timeout(t), req)
	if err != nil {
		return nil, err
	}
	for {
		r, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		for _, ev := range r.GetBatch().GetTeehistorian().GetEvents() {
			b, err := proto.MarshalOptions{Deterministic: true}.Marshal(ev)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, string(b))
		}
	}
}

// TestPlayed: the daemon finds the map of a game in its roots, also for a game that grows, and refuses what needs
// it if there is none.
func TestPlayed(t *testing.T) {
	const race = "../cmd/internal/demo/race/"
	game, course := read(t, race+"race.teehistorian"), read(t, race+"course.map")
	dir := t.TempDir()
	path := filepath.Join(dir, "games", "race.teehistorian")
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "games"), 0o755), os.Mkdir(filepath.Join(dir, "maps"), 0o755)); err != nil {
		t.Fatal(err)
	}
	write(t, path, game)
	d := start(t, dir)
	replay := name("games", "race.teehistorian")
	_, err := playedIn(t, d, &replaydv1.StreamEventsRequest{Replay: replay})
	if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "sample_character needs the map of the game, course, SHA-256 ") {
		t.Errorf("without the map: %v", err)
	}
	write(t, filepath.Join(dir, "maps", "other-name.map"), course)
	d.stop()
	d = start(t, dir) // which looks through its roots at once
	whole, err := playedIn(t, d, &replaydv1.StreamEventsRequest{Replay: replay})
	if err != nil || len(whole) < 100 {
		t.Fatal(len(whole), err)
	}
	proven, err := playedIn(t, d, &replaydv1.StreamEventsRequest{Replay: replay, Where: `event.proof == "PROOF_PROVEN"`})
	if err != nil || len(proven) == 0 || len(proven) >= len(whole) {
		t.Errorf("%d of %d are proven: %v", len(proven), len(whole), err)
	}
	asked := &replaydv1.StreamEventsRequest{Include: []*replaydv1.EventFilter{{Kinds: []string{"sample_character"}}}}
	if err := uploaded(t, d, asked, game).Err; status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "there are no maps for this replay") {
		t.Errorf("of an upload: %v", err)
	}
	write(t, path, game[:len(game)/2])
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	appended := make(chan error, 1)
	go func() {
		_, err := file.Write(game[len(game)/2:])
		appended <- errors.Join(err, file.Close())
	}()
	grown, err := playedIn(t, d, &replaydv1.StreamEventsRequest{Replay: replay, Follow: true})
	if err := <-appended; err != nil {
		t.Fatal(err)
	}
	if err != nil || strings.Join(grown, "\n") != strings.Join(whole, "\n") {
		t.Errorf("of a game that grows there are %d, want %d: %v", len(grown), len(whole), err)
	}
}

// TestPlayedOfMany: of many games those without their map are named, and the others are sent.
func TestPlayedOfMany(t *testing.T) {
	const race = "../cmd/internal/demo/race/"
	dir := t.TempDir()
	write(t, filepath.Join(dir, "race.teehistorian"), read(t, race+"race.teehistorian"))
	write(t, filepath.Join(dir, "course.map"), read(t, race+"course.map"))
	without := copyIn(t, dir, finishedSample)
	d := start(t, dir)
	options := &replaydv1.StreamEventsRequest{Include: []*replaydv1.EventFilter{{Kinds: []string{"sample_character"}}}}
	c := newSubscriber(t, &replaydv1.SubscribeEventsRequest{Options: options})
	err := c.run(timeout(t), d.client, func() bool { return true }, func() bool { return c.failed[without] > 0 && len(c.ended) == 1 })
	if err != nil || c.failed[without] != 1 || len(c.failed) != 1 {
		t.Errorf("%v: these failed: %v", err, c.failed)
	}
	ticket := &flight.Ticket{Ticket: []byte(`{"formats": ["FORMAT_TEEHISTORIAN"], "options": {"include": [{"kinds": ["sample_character"]}]}}`)}
	rows, _, err := fly(timeout(t), flight.NewFlightServiceClient(d.conn), ticket, 0)
	if len(rows) == 0 || err == nil || !strings.Contains(err.Error(), "1 replays are not complete: "+without) {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}
