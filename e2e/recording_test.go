//go:build e2e

package e2e

import (
	"errors"
	"io"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/teehistorian"
	"github.com/replayd/replayd/e2e/ddnet"
)

// TestRecordingsAgreeWithLog decodes the recordings of a server over two map
// changes and a kill -9, and compares them with the server's log.
func TestRecordingsAgreeWithLog(t *testing.T) {
	t.Parallel()
	ctx, srv, bots := start(t, ddnet.Config{})
	play := func(script string) {
		t.Helper()
		if err := bots.Run(ctx, script); err != nil {
			t.Fatal(err)
		}
	}
	play(`
		alice join
		bob join
		* wander on
		sleep 2s
		bob leave
		sleep 500ms
	`)
	if err := srv.ChangeMap(ctx, "dm1"); err != nil {
		t.Fatal(err)
	}
	play(`
		sleep 2s
		carol join
		carol emote 3
		sleep 1s
	`)
	if err := srv.ChangeMap(ctx, "LearnToPlay"); err != nil {
		t.Fatal(err)
	}
	play(`
		sleep 2s
		alice leave
		sleep 1s
	`)
	if err := srv.Kill(); err != nil {
		t.Fatal(err)
	}

	games := srv.Games()
	if len(games) != 3 {
		t.Fatalf("the log has %d games, want 3", len(games))
	}
	for i, want := range games {
		got, end := decode(t, want.Recording)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("game %d: log (-) and recording (+) differ:\n%s", i, diff)
		}
		wantEnd := io.EOF
		if i == len(games)-1 {
			wantEnd = decoders.ErrMore // killed, so the file has no end
		}
		if !errors.Is(end, wantEnd) {
			t.Errorf("game %d ends by %v, want %v", i, end, wantEnd)
		}
	}
	if want := []int32{0, 1}; !cmp.Equal(games[0].Entered, want) {
		t.Errorf("players %v entered the first game, want %v", games[0].Entered, want)
	}
}

// decode returns the facts in a recording that are also in the log, and the
// error at the end of the recording.
func decode(t *testing.T, path string) (game ddnet.Game, end error) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	game.Recording = path
	d := teehistorian.New(file, teehistorian.Options{})
	var ev teehistorian.Event
	for {
		if err := d.Next(&ev); err != nil {
			return game, err
		}
		switch ev.Kind {
		case teehistorian.KindPlayerReady:
			game.Entered = append(game.Entered, ev.PlayerReady.ClientId)
		case teehistorian.KindDrop:
			game.Left = append(game.Left, ev.Drop.ClientId)
		}
	}
}
